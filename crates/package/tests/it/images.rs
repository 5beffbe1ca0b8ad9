//! Images as they are made: the same from the same, with what they say of themselves, without anything that needs a base.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use assisted_oci::{Index, write_archive};
use assisted_package::image::Kind;
use assisted_package::release::lists;
use assisted_package::signature::Signer;
use serde_json::Value;

use crate::world::{MACHINE, crates, inputs, key, programs, root, run};

#[test]
fn the_same_programs_give_the_same_image() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs("registry.example.com", dir.path());
    let made = |kind| inputs.build(kind).unwrap();
    let archive = |index: &Index| {
        let mut bytes = Vec::new();
        write_archive(index, "1", &mut bytes).unwrap();
        bytes
    };
    for kind in Kind::ALL {
        let (one, other) = (made(kind), made(kind));
        assert_eq!(one.manifest.digest, other.manifest.digest, "{kind:?}");
        assert!(archive(&one) == archive(&other), "{kind:?}");
    }
    let mut changed = inputs.clone();
    changed.revision = "another".to_owned();
    assert_ne!(changed.build(Kind::Agent).unwrap().manifest.digest, made(Kind::Agent).manifest.digest);
}

#[test]
fn the_program_for_hosts_tells_nothing_of_where_it_was_built() {
    let program = fs::read(programs().join(MACHINE).join("assisted-host")).unwrap();
    let text = String::from_utf8_lossy(&program);
    // Where libraries panic, which is the same wherever they were.
    assert!(text.contains("/cargo/registry/src/"));
    let home = || Some(std::env::home_dir()?.join(".cargo"));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).unwrap();
    for folder in [home.join("registry"), root("").canonicalize().unwrap()] {
        let folder = format!("{}/", folder.display());
        assert!(!text.contains(&folder), "{folder}");
    }
}

#[test]
fn an_image_says_what_it_is_made_of() {
    let dir = tempfile::tempdir().unwrap();
    let index = inputs("registry.example.com", dir.path()).build(Kind::Installer).unwrap();
    let list: Value = serde_json::from_str(&index.manifest.text).unwrap();
    assert_eq!(list["manifests"][0]["platform"]["architecture"], "amd64");
    let path = dir.path().join("image.tar");
    write_archive(&index, "1", fs::File::create(&path).unwrap()).unwrap();
    // What others read of it.
    let told = run(Command::new("skopeo").arg("inspect").arg(format!("oci-archive:{}:1", path.display())));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["Labels"]["git_revision"], "0123456789abcdef");
    assert_eq!(told["Labels"]["org.opencontainers.image.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(told["Created"], "2026-01-02T03:04:05Z");
}

#[test]
fn the_settings_name_the_same_images() {
    let images = assisted_config::Settings::from_env(&|_: &str| None).unwrap().images;
    for (kind, named) in [
        (Kind::Agent, images.agent),
        (Kind::Installer, images.installer),
        (Kind::Controller, images.controller),
    ] {
        assert_eq!(named, kind.default_name());
    }
}

#[test]
fn a_program_that_needs_libraries_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut inputs = inputs("registry.example.com", dir.path());
    inputs.may_be_dynamic = false;
    let error = format!("{:#}", inputs.build(Kind::Service).unwrap_err());
    assert!(error.contains("is linked with libraries") && error.contains("build it static"), "{error}");
    inputs.programs = dir.path().to_owned();
    let error = inputs.build(Kind::Agent).unwrap_err().to_string();
    assert!(error.contains("there is no assisted-host"), "{error}");
}

#[test]
fn each_crate_that_is_linked_is_listed_and_each_package_of_the_ui() {
    let dir = tempfile::tempdir().unwrap();
    let (inputs, crates) = (inputs("registry.example.com", dir.path()), crates());
    let names = |kind| {
        let list = lists(&inputs, kind, &crates).unwrap().remove(0);
        let document: Value = serde_json::from_slice(&list).unwrap();
        let packages = document["packages"].as_array().unwrap().clone();
        for package in &packages {
            let ours = package["downloadLocation"] == "NOASSERTION";
            let of_npm = package["SPDXID"].as_str().unwrap().starts_with("SPDXRef-npm-");
            let digits = if of_npm { 128 } else { 64 };
            assert!(
                ours || package["checksums"][0]["checksumValue"].as_str().unwrap().len() == digits,
                "{package}"
            );
            // This one is types alone, of which nothing is left in what a browser gets.
            let without_license = package["name"] == "@openshift-assisted/types";
            assert!(
                package["licenseDeclared"] != "NOASSERTION"
                    || without_license
                    || package["SPDXID"].as_str().unwrap().contains("file"),
                "{package}"
            );
        }
        let ids: std::collections::BTreeSet<_> =
            packages.iter().map(|one| one["SPDXID"].to_string()).collect();
        assert_eq!(ids.len(), packages.len(), "identifiers are told twice");
        packages.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (service, agent, controller) = (names(Kind::Service), names(Kind::Agent), names(Kind::Controller));
    let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
    for (name, in_service, in_agent) in [
        ("rusqlite", true, false),
        ("kube", true, false),
        ("assisted-hostinfo", false, true),
        ("rustls", true, true),
        ("proptest", false, false),
        ("assisted-testkit", false, false),
        // The web UI, and what only builds and tests it.
        ("react", true, false),
        ("@patternfly/react-core", true, false),
        ("vite", false, false),
        ("playwright-core", false, false),
    ] {
        assert_eq!((has(&service, name), has(&agent, name)), (in_service, in_agent), "{name}");
    }
    assert!(has(&controller, "bash") && has(&controller, "busybox"), "{controller:?}");
}

#[test]
fn openssl_takes_a_signature() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let signer = Signer::from_pem(&fs::read_to_string(key(dir.path(), "key")).unwrap().into()).unwrap();
    fs::write(at("pub"), signer.public_pem().unwrap()).unwrap();
    fs::write(at("signed"), "what is signed").unwrap();
    fs::write(at("other"), "something else").unwrap();
    fs::write(at("base64"), signer.sign(b"what is signed") + "\n").unwrap();
    run(Command::new("openssl")
        .args(["base64", "-A", "-d", "-in"])
        .arg(at("base64"))
        .arg("-out")
        .arg(at("der")));
    let verify = |name: &str| {
        let mut openssl = Command::new("openssl");
        openssl
            .args(["dgst", "-sha256", "-verify"])
            .arg(at("pub"))
            .arg("-signature")
            .arg(at("der"))
            .arg(at(name));
        openssl.output().unwrap().status.success()
    };
    assert!(verify("signed") && !verify("other"));
}
