//! Registries that misbehave: mended, or told of precisely.

use std::time::Duration;

use assisted_release::{
    Mirrors, PullError, PullSecret, Reference, Registries, RegistryError, Session, Transport,
};
use assisted_testkit::{Fault, Proxy};

use crate::lab::{Lab, PARTS, QUICK, X86, plain, session, session_with, transport};

/// A registry with a release, behind a proxy.
struct Site {
    lab: Lab,
    proxy: Proxy,
    release: Reference,
    /// The path of the layer with the installer.
    layer: String,
}

impl Site {
    async fn new() -> Self {
        let lab = Lab::new();
        let proxy = Proxy::start(lab.registry.address()).await;
        let mut release = lab.release_at(&proxy.name()).await;
        release.repository.registry = proxy.name();
        let image = crate::lab::installer_image("amd64");
        let layer = format!("{PARTS}/blobs/{}", image.blobs.last().unwrap().digest);
        Self { lab, proxy, release, layer }
    }

    async fn extract(&self, session: &Session) -> Result<Vec<u8>, PullError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        let release = session.release(&self.release, X86).await?;
        let program = assisted_release::Program::OpenshiftInstall;
        assisted_release::extract(session, &release, program, X86, &path, 1 << 30).await?;
        Ok(std::fs::read(&path).unwrap())
    }

    fn session(&self) -> Session {
        session(&self.proxy.name())
    }

    async fn fails(&self) -> PullError {
        self.extract(&self.session()).await.unwrap_err()
    }

    async fn works(&self) {
        let length = self.extract(&self.session()).await.unwrap().len();
        assert_eq!(length, crate::lab::program().len());
    }
}

#[tokio::test]
async fn a_download_goes_on_where_it_broke() {
    let site = Site::new().await;
    site.proxy.spoil(&site.layer, 1, Fault::Break(100_000));
    site.works().await;
    let seen = site.proxy.seen(&site.layer);
    assert_eq!(seen.len(), 2);
    let from: u64 = seen[1]
        .range
        .as_ref()
        .unwrap()
        .strip_prefix("bytes=")
        .unwrap()
        .strip_suffix('-')
        .unwrap()
        .parse()
        .unwrap();
    assert!(seen[0].range.is_none() && from > 0 && from <= 100_000, "{seen:?}");
}

#[tokio::test]
async fn a_registry_that_gives_no_parts() {
    let site = Site::new().await;
    site.proxy.spoil(&site.layer, 1, Fault::Break(100_000));
    site.proxy.spoil(&site.layer, 1, Fault::Whole);
    site.works().await;
    assert_eq!(site.proxy.seen(&site.layer).len(), 2);
}

#[tokio::test]
async fn a_download_that_breaks_again_and_again() {
    let site = Site::new().await;
    site.proxy.spoil(&site.layer, 99, Fault::Break(10));
    let error = site.fails().await;
    assert!(matches!(error.cause, RegistryError::Truncated { .. }), "{error}");
    assert_eq!(site.proxy.seen(&site.layer).len(), QUICK.attempts as usize);
    assert!(error.to_string().contains(PARTS) && error.to_string().contains(" bytes of sha256:"), "{error}");
}

#[tokio::test]
async fn a_registry_that_falls_silent() {
    let site = Site::new().await;
    site.proxy.spoil(&site.layer, 1, Fault::Silence(1000));
    let transport = Transport { silence: Duration::from_millis(500), ..transport() };
    let mirrors = Mirrors::new([plain(&site.proxy.name())]).unwrap();
    let session = Registries::new(&transport, mirrors, QUICK).unwrap().session(PullSecret::default());
    site.extract(&session).await.unwrap();
    assert!(site.proxy.seen(&site.layer)[1].range.is_some());
}

#[tokio::test]
async fn altered_on_the_way() {
    let site = Site::new().await;
    for part in [site.layer.as_str(), "release/manifests/sha256:"] {
        site.proxy.spoil(part, 1, Fault::Alter);
        let error = site.fails().await;
        let RegistryError::WrongDigest { wanted, got } = &error.cause else { panic!("{error}") };
        assert!(wanted != got && error.to_string().contains(&wanted.to_string()), "{error}");
    }
    site.works().await;
}

#[tokio::test]
async fn a_part_that_is_missing() {
    let site = Site::new().await;
    site.proxy.spoil(&site.layer, 1, Fault::Status(404, None));
    let error = site.fails().await;
    assert!(
        matches!(&error.cause, RegistryError::NoBlob(digest) if site.layer.ends_with(&digest.to_string())),
        "{error}"
    );
    assert_eq!(site.proxy.seen(&site.layer).len(), 1);
}

#[tokio::test]
async fn overload_and_failures_pass() {
    for fault in [
        Fault::Status(429, None),
        Fault::Status(429, Some("0")),
        Fault::Status(503, Some("Thu, 01 Jan 1970 00:00:00 GMT")),
        Fault::Status(500, None),
        Fault::Status(502, None),
    ] {
        let site = Site::new().await;
        site.proxy.spoil("release/manifests", 2, fault.clone());
        site.proxy.spoil(&site.layer, 2, fault);
        site.works().await;
    }
}

#[tokio::test]
async fn overload_and_failures_that_stay() {
    let site = Site::new().await;
    for (fault, requests) in [
        (Fault::Status(500, None), QUICK.attempts as usize),
        (Fault::Status(429, None), QUICK.attempts as usize),
        // Longer than anybody here waits.
        (Fault::Status(429, Some("3600")), 1),
        (Fault::Status(403, None), 1),
        (Fault::Status(418, None), 1),
    ] {
        let before = site.proxy.seen("release/manifests").len();
        site.proxy.spoil("release/manifests", requests, fault.clone());
        let error = site.fails().await;
        assert_eq!(site.proxy.seen("release/manifests").len() - before, requests, "{fault:?}");
        let fits = match (&fault, &error.cause) {
            (Fault::Status(500, _), RegistryError::Server(500)) => true,
            (Fault::Status(429, None), RegistryError::Throttled(None)) => true,
            (Fault::Status(429, _), RegistryError::Throttled(Some(after))) => after.as_secs() == 3600,
            (Fault::Status(403, _), RegistryError::Forbidden) => true,
            (Fault::Status(418, _), RegistryError::Status(418)) => true,
            _ => false,
        };
        assert!(fits, "{fault:?}: {error}");
    }
}

#[tokio::test]
async fn redirects() {
    let site = Site::new().await;
    let other = Proxy::start(site.lab.registry.address()).await;
    site.proxy.spoil(&site.layer, 1, Fault::Redirect(format!("http://{}", other.address)));
    site.works().await;
    assert_eq!(other.seen(&site.layer).len(), 1);
    site.proxy.spoil(&site.layer, 99, Fault::Redirect(format!("http://{}", site.proxy.address)));
    let error = site.fails().await;
    assert!(matches!(error.cause, RegistryError::Redirect(_)), "{error}");
}

/// The registry was set, and may be on this machine; where it sends somebody was not.
#[tokio::test]
async fn a_registry_leads_nobody_inward() {
    let site = Site::new().await;
    let port = Proxy::start(site.lab.registry.address()).await.address.port();
    for host in ["127.0.0.2", "0.0.0.0", "[::1]", "169.254.169.254", "[fe80::1]", "224.0.0.1"] {
        site.proxy.spoil(&site.layer, 1, Fault::Redirect(format!("http://{host}:{port}")));
        let error = site.fails().await;
        assert!(matches!(&error.cause, RegistryError::Redirect(to) if to.contains(host)), "{error}");
    }
    site.proxy.spoil(&site.layer, 9, Fault::Redirect(format!("http://localhost:{port}")));
    let error = site.fails().await;
    assert!(error.to_string().contains("localhost was named by another server"), "{error}");
}

#[tokio::test]
async fn credentials_stay_with_their_host() {
    use assisted_testkit::{Access, Auth};
    let lab = Lab::new();
    let image = lab.release().await;
    let registry = lab.again(&Access { auth: Auth::Basic, ..Access::default() });
    let (proxy, other) = (Proxy::start(registry.address()).await, Proxy::start(lab.registry.address()).await);
    proxy.spoil("/blobs/", 99, Fault::Redirect(format!("http://{}", other.address)));
    let secret = crate::lab::pull_secret(&[(&proxy.name(), &format!("{}:{}", Auth::USER, Auth::PASSWORD))]);
    let mirrors = Mirrors::new([plain(&proxy.name())]).unwrap();
    let session = Registries::new(&transport(), mirrors, QUICK).unwrap().session(secret);
    let mut image = image;
    image.repository.registry = proxy.name();
    session.release(&image, X86).await.unwrap();
    assert!(proxy.seen("/blobs/").iter().any(|seen| seen.authorized));
    // A redirect leads to another host, though it has the same address here: the port tells them apart.
    assert!(!other.seen("/blobs/").is_empty() && other.seen("/blobs/").iter().all(|seen| !seen.authorized));
}

#[tokio::test]
async fn answers_without_end() {
    let site = Site::new().await;
    site.proxy.spoil("release/manifests", 1, Fault::Endless);
    let error = site.fails().await;
    assert!(matches!(error.cause, RegistryError::TooLarge { what: "the manifest", .. }), "{error}");
    site.proxy.spoil(&site.layer, 1, Fault::Endless);
    let error = site.fails().await;
    assert!(matches!(error.cause, RegistryError::TooLarge { what: "the layer", .. }), "{error}");
}

#[tokio::test]
async fn nobody_there() {
    let image: Reference = "127.0.0.1:1/ocp/release:4.22".parse().unwrap();
    for session in [session("127.0.0.1:1"), session_with([])] {
        let error = session.release(&image, X86).await.unwrap_err();
        assert!(
            matches!(&error.cause, RegistryError::Unreachable(cause) if cause.contains("refused")),
            "{error}"
        );
        assert!(
            error.to_string().starts_with("127.0.0.1:1/ocp/release:4.22: the server can't be reached"),
            "{error}"
        );
    }
    let nowhere: Reference = "registry.invalid/ocp/release:4.22".parse().unwrap();
    assert!(session_with([]).release(&nowhere, X86).await.is_err());
}
