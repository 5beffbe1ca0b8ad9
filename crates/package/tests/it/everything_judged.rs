//! What others say of what is shipped: cosign of the signatures of images, SPDX's own tools of the lists of what is in them, the Operator
//! Framework of the bundle for OLM.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assisted_package::bundle;
use assisted_package::image::Kind;
use assisted_package::publish::{Access, publish};
use assisted_package::release::lists;
use assisted_package::signature::Signer;
use assisted_testkit::{cosign, operator_verify, python};
use serde_json::Value;

use crate::run::World;
use crate::world::{crates, inputs, key};

/// Runs a program; whether it succeeds, and what it writes.
fn told(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// A public key in a file.
fn public(dir: &Path, name: &str, signer: &Signer) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, signer.public_pem().unwrap()).unwrap();
    path
}

/// Has cosign look for a good signature of an image, as the documentation says.
fn verify(world: &World, key: &Path, image: &str) -> (bool, String) {
    let program = cosign().unwrap_or_else(|error| panic!("{error}, with release-judges"));
    let mut cosign = Command::new(program);
    // It would ask for the keys of Sigstore's own services, whatever it is told: behind a proxy that is not there it does without.
    cosign.env_clear().env("HOME", world.dir.path()).env("HTTPS_PROXY", "http://127.0.0.1:9");
    told(cosign.args(["verify", "--insecure-ignore-tlog", "--key"]).arg(key).arg(image))
}

#[tokio::test(flavor = "multi_thread")]
async fn cosign_takes_our_signatures_and_no_others() {
    let mut world = World::new();
    let (repository, tag) =
        (format!("{}/assisted/agent", world.registry.name()), world.push(Kind::Agent).await);
    let index = world.inputs.build(Kind::Agent).unwrap();
    let (whole, one) = (&index.manifest.digest, &index.images[0].manifest.digest);
    let own = public(world.dir.path(), "own.pub", &world.signer);
    for (name, digest) in
        [(tag.clone(), whole), (format!("{repository}@{whole}"), whole), (format!("{repository}@{one}"), one)]
    {
        let (good, text) = verify(&world, &own, &name);
        assert!(good, "{name}: {text}");
        // What was signed, as JSON, is on a line of its own.
        let signed = text.lines().find(|line| line.starts_with('[')).unwrap();
        let signed: Value = serde_json::from_str(signed).unwrap();
        assert_eq!(signed[0]["critical"]["image"]["docker-manifest-digest"], digest.as_str(), "{text}");
        assert_eq!(signed[0]["critical"]["identity"]["docker-reference"], repository.as_str(), "{text}");
    }

    // The bundle is an image like the others.
    let name = format!("{}/assisted/bundle:1", world.registry.name());
    let bundle = bundle::image(&world.inputs).unwrap();
    publish(&bundle, &name, &[], Some(&world.signer), &Access::default()).await.unwrap();
    let (good, text) = verify(&world, &own, &name);
    assert!(good, "{text}");

    let stranger = Signer::from_pem(&fs::read_to_string(key(world.dir.path(), "other")).unwrap().into());
    let stranger = public(world.dir.path(), "other.pub", &stranger.unwrap());
    let (good, text) = verify(&world, &stranger, &tag);
    assert!(!good && text.contains("invalid signature"), "{text}");

    // Somebody puts another image in its place, without a signature, and then with that of the first.
    world.inputs.revision = "another".to_owned();
    let changed = world.inputs.build(Kind::Agent).unwrap();
    publish(&changed, &tag, &[], None, &Access::default()).await.unwrap();
    let (good, text) = verify(&world, &own, &tag);
    assert!(!good && text.contains("no signatures found"), "{text}");
    let of = |digest: &str| format!("agent/manifests/{}.sig", digest.replace(':', "-"));
    let signature = world.ask(&of(whole)).await;
    let place = format!("http://{}/v2/assisted/{}", world.registry.name(), of(&changed.manifest.digest));
    let put = reqwest::Client::new().put(place).body(signature);
    let put = put.header("content-type", "application/vnd.oci.image.manifest.v1+json");
    put.send().await.unwrap().error_for_status().unwrap();
    let (good, text) = verify(&world, &own, &tag);
    assert!(!good && text.contains("invalid or missing digest in claim"), "{text}");
}

#[test]
fn the_tools_of_spdx_take_the_lists_of_what_is_in_images() {
    let dir = tempfile::tempdir().unwrap();
    let (inputs, crates) = (inputs("registry.example.com", dir.path()), crates());
    let program = python().unwrap_or_else(|error| panic!("{error}")).with_file_name("pyspdxtools");
    let path = dir.path().join("list.spdx.json");
    let judged = |list: &[u8]| {
        fs::write(&path, list).unwrap();
        told(Command::new(&program).arg("--infile").arg(&path))
    };
    let all = Kind::ALL.map(|kind| lists(&inputs, kind, &crates).unwrap().remove(0));
    for list in &all {
        assert_eq!(judged(list), (true, String::new()));
    }
    // They would say so.
    let mut changed: Value = serde_json::from_slice(&all[0]).unwrap();
    changed["packages"][1]["licenseDeclared"] = "Some-License-1.0".into();
    let (good, text) = judged(changed.to_string().as_bytes());
    assert!(!good && text.contains("Unrecognized license reference: Some-License-1.0"), "{text}");
}

/// What the Operator Framework has against a bundle, each in a line: errors and, of those that catalogues ask for, warnings.
fn judged(dir: &Path) -> String {
    let program = operator_verify().unwrap_or_else(|error| panic!("{error}, with release-judges"));
    let mut judge = Command::new(program);
    judge.args(["manifests", "--operatorhub_validate", "--object_validate"]).arg(dir.join("manifests"));
    let (good, text) = told(&mut judge);
    assert!(good, "{text}");
    text
}

#[test]
fn the_operator_framework_has_nothing_against_the_bundle() {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in bundle::files(&inputs("registry.example.com", Path::new("/nowhere"))).unwrap() {
        let place = dir.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    assert_eq!(judged(dir.path()), "");
    // It would say so.
    fs::remove_file(dir.path().join("manifests/infraenvs.agent-install.openshift.io.yaml")).unwrap();
    let text = judged(dir.path());
    assert!(text.contains("level=error") && text.contains("InfraEnv"), "{text}");
}
