//! Certificates of registries.

use assisted_release::error::Certificate;
use assisted_release::{Mirrors, PullError, PullSecret, Reference, Registries, RegistryError, Transport};
use assisted_testkit::{Authority, DockerRegistry};

use crate::lab::{Lab, QUICK, X86, plain, transport};

async fn version(
    registry: &DockerRegistry,
    image: &Reference,
    trusted: &str,
    mirrors: Mirrors,
) -> Result<String, PullError> {
    let transport = Transport { trusted: vec![trusted.to_owned()], ..transport() };
    let session = Registries::new(&transport, mirrors, QUICK).unwrap().session(PullSecret::default());
    let mut image = image.clone();
    image.repository.registry = registry.name();
    session.release(&image, X86).await.map(|release| release.version)
}

#[tokio::test]
async fn what_is_trusted_and_what_is_not() {
    let lab = Lab::new();
    let image = lab.release().await;
    let (authority, other) = (Authority::new("lab").unwrap(), Authority::new("other").unwrap());
    let now = (2020, 2090);
    for (names, years, trusted, expected) in [
        (&["127.0.0.1"], now, &authority, None),
        (&["127.0.0.1"], now, &other, Some(Certificate::UnknownIssuer)),
        (&["127.0.0.1"], (2020, 2021), &authority, Some(Certificate::Expired)),
        (&["127.0.0.1"], (2080, 2090), &authority, Some(Certificate::NotYetValid)),
        (&["other.example.com"], now, &authority, Some(Certificate::WrongName)),
    ] {
        let registry = authority.registry(lab.images.path(), names, years).unwrap();
        let read = version(&registry, &image, &trusted.pem, Mirrors::default()).await;
        match expected {
            None => assert_eq!(read.unwrap(), crate::lab::VERSION),
            Some(expected) => {
                let error = read.unwrap_err();
                assert!(
                    matches!(&error.cause, RegistryError::Certificate(found) if *found == expected),
                    "{error}"
                );
                assert!(
                    error.to_string().contains(&format!("{}/ocp/release@sha256:", registry.name())),
                    "{error}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_insecure_registry_is_not_checked() {
    let lab = Lab::new();
    let image = lab.release().await;
    let registry = Authority::new("lab").unwrap();
    let registry = registry.registry(lab.images.path(), &["other.example.com"], (2020, 2021)).unwrap();
    let mirrors = || Mirrors::new([plain(&registry.name())]).unwrap();
    let other = Authority::new("other").unwrap().pem;
    assert!(version(&registry, &image, &other, mirrors()).await.is_ok());
    // One without TLS is taken only when it is told to be insecure.
    assert!(
        version(&lab.registry, &image, &other, Mirrors::new([plain(&lab.registry.name())]).unwrap())
            .await
            .is_ok()
    );
    let error = version(&lab.registry, &image, &other, Mirrors::default()).await.unwrap_err();
    assert!(matches!(error.cause, RegistryError::Unreachable(_)), "{error}");
}

#[test]
fn bundles_that_can_t_be_used() {
    let transport = Transport {
        trusted: vec!["-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".to_owned()],
        ..transport()
    };
    assert!(matches!(
        Registries::new(&transport, Mirrors::default(), QUICK),
        Err(RegistryError::Settings(_))
    ));
}
