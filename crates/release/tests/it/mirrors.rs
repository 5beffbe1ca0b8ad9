//! Mirrors: asked first, and passed over where they lack something.

use assisted_release::mirror::{Pull, Rule};
use assisted_release::{Reference, RegistryError, Session};
use assisted_testkit::{Fault, Proxy};

use crate::lab::{Lab, PARTS, RELEASES, VERSION, X86, installer_image, mirror, plain, session_with};

/// Two registries: the source with a release, and a mirror whose images lie under `mirrored/`.
struct Site {
    source: Lab,
    mirror: Lab,
    front: Proxy,
    release: Reference,
}

impl Site {
    /// `images` says whether the mirror has the release, and whether it has its parts.
    async fn new(images: [bool; 2]) -> Self {
        let (source, mirror) = (Lab::new(), Lab::new());
        let release = source.release().await;
        let copied = installer_image("amd64");
        if images[0] {
            let parts = source.push(PARTS, None, &copied).await;
            let other = other_part(&source).await;
            let components = [
                ("installer", parts.to_string()),
                ("machine-config-operator", other.clone()),
                ("must-gather", other),
            ];
            let copy = mirror
                .push("mirrored/release", Some(VERSION), &crate::lab::release("amd64", &components))
                .await;
            assert_eq!(copy.digest, release.digest);
        }
        if images[1] {
            mirror.push("mirrored/art", None, &installer_image("amd64")).await;
        }
        let front = Proxy::start(mirror.registry.address()).await;
        Self { source, mirror, front, release }
    }

    fn rules(&self, blocked: bool, pull: Pull) -> Vec<Rule> {
        let source = self.source.registry.name();
        let place = |place: &str| mirror(&format!("{}/{place}", self.front.name()), pull);
        vec![
            Rule {
                mirrors: vec![place("mirrored/release")],
                blocked,
                ..plain(&format!("{source}/{RELEASES}"))
            },
            Rule { mirrors: vec![place("mirrored/art")], blocked, ..plain(&format!("{source}/{PARTS}")) },
        ]
    }

    async fn extract(&self, session: &Session) -> Result<(), assisted_release::PullError> {
        let dir = tempfile::tempdir().unwrap();
        let release = session.release(&self.release, X86).await?;
        let (program, path) = (assisted_release::Program::OpenshiftInstall, dir.path().join("p"));
        assisted_release::extract(session, &release, program, X86, &path, 1 << 30).await.map(|_| ())
    }
}

/// The image beside the installer in a lab's release.
async fn other_part(lab: &Lab) -> String {
    use assisted_testkit::oci::{Image, Layer};
    let layer = Layer::new().unwrap().file("etc/x", b"x").unwrap().finish().unwrap();
    lab.push(PARTS, None, &Image::new("amd64", vec![layer]).unwrap()).await.to_string()
}

#[tokio::test]
async fn a_mirror_is_enough() {
    let site = Site::new([true, true]).await;
    let rules = site.rules(true, Pull::ByDigest);
    let Site { source, mirror, front, release } = site;
    // Nobody listens at the source any more.
    let session = session_with(rules);
    drop(source);
    let read = session.release(&release, X86).await.unwrap();
    assert_eq!(read.pinned(), release);
    let image = read.open(&session, "installer", X86).await.unwrap();
    assert!(image.home().to_string().starts_with(&format!("{}/mirrored/art@", front.name())));
    assert_eq!(image.pinned().repository.name, PARTS);
    drop(mirror);
}

#[tokio::test]
async fn what_a_mirror_lacks_comes_from_the_source() {
    for images in [[false, false], [true, false], [false, true]] {
        let site = Site::new(images).await;
        site.extract(&session_with(site.rules(false, Pull::ByDigest))).await.unwrap();
        assert!(!site.front.seen("manifests").is_empty());
    }
}

#[tokio::test]
async fn what_a_mirror_spoils_comes_from_the_source() {
    let site = Site::new([true, true]).await;
    for fault in [Fault::Alter, Fault::Status(404, None), Fault::Status(500, None), Fault::Break(5)] {
        site.front.spoil("art/blobs", 99, fault);
        site.extract(&session_with(site.rules(false, Pull::ByDigest))).await.unwrap();
    }
}

#[tokio::test]
async fn a_mirror_for_digests_is_not_asked_for_tags() {
    let site = Site::new([true, true]).await;
    let tagged: Reference = format!("{}/{RELEASES}:{VERSION}", site.source.registry.name()).parse().unwrap();
    let release = session_with(site.rules(false, Pull::ByDigest)).release(&tagged, X86).await.unwrap();
    assert!(site.front.seen("manifests").is_empty());
    assert_eq!(release.pinned(), site.release);
    session_with(site.rules(false, Pull::ByTag)).release(&tagged, X86).await.unwrap();
    assert!(!site.front.seen("manifests").is_empty());
}

#[tokio::test]
async fn each_place_is_told_of() {
    let site = Site::new([false, false]).await;
    let mut missing = site.release.clone();
    missing.digest = Some(assisted_release::Digest::of(b"none"));
    let session = session_with(site.rules(false, Pull::ByDigest));
    let error = session.release(&missing, X86).await.unwrap_err();
    let RegistryError::Everywhere(places) = &error.cause else { panic!("{error}") };
    let registries: Vec<_> = places.iter().map(|place| place.reference.repository.registry.clone()).collect();
    assert_eq!(registries, [site.front.name(), site.source.registry.name()]);
    assert!(places.iter().all(|place| matches!(place.cause, RegistryError::NoImage)));
    let text = error.to_string();
    assert!(registries.iter().all(|registry| text.contains(registry.as_str())), "{text}");
    // A blocked source is not asked, even where nothing else is left.
    let blocked = session_with(site.rules(true, Pull::ByTag)).release(&missing, X86).await.unwrap_err();
    assert!(matches!(&blocked.cause, RegistryError::Everywhere(places) if places.is_empty()), "{blocked}");
}
