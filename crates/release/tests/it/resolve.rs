//! What a name leads to.

use assisted_release::{Digest, Program, Reference, RegistryError, extract};
use assisted_testkit::Access;
use assisted_testkit::oci::{Image, Index, Layer};
use assisted_wire::cluster_params::CpuArchitecture;

use crate::lab::{Lab, PARTS, RELEASES, VERSION, X86, release, session};

#[tokio::test]
async fn a_release() {
    let lab = Lab::new();
    let pinned = lab.release().await;
    let session = session(&lab.registry.name());
    let tagged: Reference = format!("{}/{RELEASES}:{VERSION}", lab.registry.name()).parse().unwrap();
    for name in [&pinned, &tagged] {
        let release = session.release(name, X86).await.unwrap();
        assert_eq!((release.version.as_str(), release.architecture), (VERSION, X86));
        assert_eq!(release.pinned(), pinned);
        assert_eq!(release.metadata.url, "https://example.com/errata");
        for name in ["machine-config-operator", "must-gather"] {
            assert_eq!(release.component(name).unwrap().repository.name, PARTS);
        }
        let missing = release.component("ironic-agent").unwrap_err();
        assert!(
            missing.to_string().starts_with(&format!("{pinned}: the release has no image \"ironic-agent\""))
        );
    }
}

#[tokio::test]
async fn a_release_for_several_architectures() {
    let lab = Lab::new();
    let images = ["amd64", "arm64"].map(|architecture| release(architecture, &[])).to_vec();
    let list = lab.push_index(RELEASES, Some("multi"), &Index::new(images)).await;
    let session = session(&lab.registry.name());
    let release = session.release(&list, CpuArchitecture::Aarch64).await.unwrap();
    assert_eq!(release.architecture, CpuArchitecture::Multi);
    assert_eq!(release.architectures(), [X86, CpuArchitecture::Arm64]);
    assert_eq!(release.pinned(), list);
    let error = session.release(&list, CpuArchitecture::S390x).await.unwrap_err();
    assert!(
        matches!(&error.cause, RegistryError::NoArchitecture { wanted: "s390x", has } if has == "amd64, arm64"),
        "{error}"
    );
}

#[tokio::test]
async fn over_ipv6_alone() {
    let lab = Lab::with(&Access { ipv6: true, ..Access::default() });
    let pinned = lab.release().await;
    assert!(pinned.to_string().starts_with("[::1]:"));
    assert_eq!(session(&lab.registry.name()).release(&pinned, X86).await.unwrap().pinned(), pinned);
}

#[tokio::test]
async fn what_is_no_release() {
    let lab = Lab::new();
    let layer = || Layer::new().unwrap().file("etc/x", b"x").unwrap().finish().unwrap();
    let image = Image::new("amd64", vec![layer()]).unwrap();
    let pinned = lab.push("some/image", None, &image).await;
    let session = session(&lab.registry.name());
    let error = session.release(&pinned, X86).await.unwrap_err();
    assert!(
        error.to_string().contains("it is no release, it has no release-manifests/image-references"),
        "{error}"
    );
    let gone = Reference::pinned(pinned.repository.clone(), Digest::of(b"other"));
    let error = session.release(&gone, X86).await.unwrap_err();
    assert!(matches!(error.cause, RegistryError::NoImage), "{error}");
    assert_eq!(*error.reference, gone);
    let below =
        Layer::new().unwrap().file("release-manifests/image-references", b"{").unwrap().finish().unwrap();
    let broken = lab.push("some/image", None, &Image::new("amd64", vec![below, layer()]).unwrap()).await;
    let error = session.release(&broken, X86).await.unwrap_err();
    assert!(error.to_string().contains("its image-references can't be read"), "{error}");
}

/// Services do it on any of their threads.
#[tokio::test]
async fn it_may_change_threads() {
    let lab = Lab::new();
    let pinned = lab.release().await;
    let session = session(&lab.registry.name());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("program");
    let extracting = async move {
        let release = session.release(&pinned, X86).await?;
        extract(&session, &release, Program::OpenshiftInstall, X86, &path, 1 << 30).await
    };
    tokio::spawn(extracting).await.unwrap().unwrap();
}
