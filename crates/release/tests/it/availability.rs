//! Whether images are to be had: asked of real registries, which give nothing for it but their word.

use assisted_release::mirror::{Pull, Rule};
use assisted_release::{
    AvailabilityChecker, Depth, Mirrors, PullSecret, Reference, Registries, RegistryError,
};
use assisted_testkit::oci::{Image, Layer};
use assisted_testkit::{Access, Auth, Fault, Proxy};

use crate::lab::{Lab, PARTS, QUICK, X86, mirror, plain, pull_secret, session_with, transport};

fn rules(mirrors: &[&str], source: &str) -> Mirrors {
    let mirrors = mirrors.iter().map(|location| mirror(location, Pull::ByDigest)).collect();
    Mirrors::new([Rule { mirrors, ..plain(source) }]).unwrap()
}

fn checker(mirrors: &Mirrors, depth: Depth) -> AvailabilityChecker {
    AvailabilityChecker::new(session_with(mirrors.rules().to_vec()), depth, vec![X86])
}

#[tokio::test]
async fn the_first_mirror_that_has_it_is_told_and_nothing_is_fetched() {
    let (empty, full) = (Lab::new(), Lab::new());
    let image = full.release().await;
    let front = Proxy::start(full.registry.address()).await;
    let wanted: Reference = format!("quay.io/ocp/release@{}", image.digest.unwrap()).parse().unwrap();
    let mirrors = rules(&[&empty.registry.name(), &front.name()], "quay.io");
    let at = checker(&mirrors, Depth::Manifest).locate(&wanted, mirrors.copies(&wanted)).await.unwrap();
    assert_eq!(at.to_string(), format!("{}/ocp/release@{}", front.name(), image.digest.unwrap()));
    let seen = front.seen("");
    // Whether it speaks TLS was tried, too.
    let asked: Vec<_> = seen.iter().filter(|seen| seen.path != "/v2/").collect();
    assert!(
        matches!(asked.as_slice(), [one] if one.method == "HEAD" && one.path.contains("manifests/sha256:")),
        "{seen:?}"
    );

    // By a tag nobody is asked: the mirrors are for digests.
    let tagged: Reference = "quay.io/ocp/release:4.22.9".parse().unwrap();
    assert!(mirrors.copies(&tagged).is_empty());
    let at = checker(&mirrors, Depth::Manifest).locate(&tagged, mirrors.all_copies(&tagged)).await.unwrap();
    assert_eq!(at.repository.registry, front.name());
}

#[tokio::test]
async fn each_place_says_why_it_has_it_not() {
    let (empty, damaged) = (Lab::new(), Lab::new());
    let image = damaged.release().await;
    let front = Proxy::start(damaged.registry.address()).await;
    // Nobody listens there.
    let gone = "127.0.0.1:1";
    front.spoil("manifests", 1, Fault::Status(403, None));
    let wanted: Reference = format!("quay.io/ocp/release@{}", image.digest.unwrap()).parse().unwrap();
    let mirrors = rules(&[&empty.registry.name(), &front.name(), gone], "quay.io");
    let checker = checker(&mirrors, Depth::Manifest);
    let error = checker.locate(&wanted, mirrors.copies(&wanted)).await.unwrap_err();
    let RegistryError::Everywhere(places) = &error.cause else { panic!("{error}") };
    assert!(
        matches!(
            [&places[0].cause, &places[1].cause, &places[2].cause],
            [RegistryError::NoImage, RegistryError::Forbidden, RegistryError::Unreachable(_)]
        ),
        "{error}"
    );
    // Now the second has it, and the third is not waited for again.
    let at = checker.locate(&wanted, mirrors.copies(&wanted)).await.unwrap();
    assert_eq!(at.repository.registry, front.name());
}

#[tokio::test]
async fn layers_are_asked_for_one_by_one() {
    let lab = Lab::new();
    let layer = |name: &str| Layer::new().unwrap().file(name, name.as_bytes()).unwrap().finish().unwrap();
    let image = Image::new("amd64", vec![layer("etc/one"), layer("etc/two")]).unwrap();
    let pinned = lab.push(PARTS, None, &image).await;
    let mirrors = rules(&[], &lab.registry.name());
    let own = || vec![mirrors.own(&pinned)];
    checker(&mirrors, Depth::Layers).locate(&pinned, own()).await.unwrap();

    // A layer whose file was lost: the manifest alone does not tell.
    let lost = &image.blobs[1].digest;
    let hex = lost.strip_prefix("sha256:").unwrap();
    let kept = lab.images.path().join(format!("docker/registry/v2/blobs/sha256/{}/{hex}/data", &hex[..2]));
    std::fs::remove_file(kept).unwrap();
    checker(&mirrors, Depth::Manifest).locate(&pinned, own()).await.unwrap();
    let error = checker(&mirrors, Depth::Layers).locate(&pinned, own()).await.unwrap_err();
    assert!(matches!(&error.cause, RegistryError::NoBlob(digest) if digest.to_string() == *lost), "{error}");
}

#[tokio::test]
async fn credentials_are_those_of_the_pull_secret() {
    let lab = Lab::new();
    let image = lab.release().await;
    let guarded = lab.again(&Access { auth: Auth::Basic, ..Access::default() });
    let mirrors = rules(&[&guarded.name()], "quay.io");
    let wanted: Reference = format!("quay.io/ocp/release@{}", image.digest.unwrap()).parse().unwrap();
    let registries = Registries::new(&transport(), mirrors.clone(), QUICK).unwrap();
    let ask = async |secret: PullSecret| {
        let checker = AvailabilityChecker::new(registries.session(secret), Depth::Layers, vec![X86]);
        checker.locate(&wanted, mirrors.copies(&wanted)).await
    };
    let refused = ask(PullSecret::default()).await.unwrap_err();
    assert!(matches!(refused.cause, RegistryError::Credentials(None)), "{refused}");
    let pair = format!("{}:{}", Auth::USER, Auth::PASSWORD);
    ask(pull_secret(&[(&guarded.name(), &pair)])).await.unwrap();
}
