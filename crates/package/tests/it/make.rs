//! `make`: it builds and pushes, to where its variables say.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use assisted_package::image::Kind;

use crate::world::{root, run};

/// Runs make with something in the place of cargo that tells how it was called.
fn make(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> String {
    let cargo = dir.join("cargo");
    let told = "#!/bin/sh\necho \"args: $*\"\nenv | grep -E '^(SERVICE|AGENT|INSTALLER|CONTROLLER|OC|SIGN_KEY|BUNDLE)=' | sort\n";
    fs::write(&cargo, told).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let mut make = Command::new("make");
    make.current_dir(root(""))
        .arg("--no-print-directory")
        .arg(format!("CARGO={}", cargo.display()))
        .args(args);
    for name in
        ["SERVICE", "AGENT", "INSTALLER", "CONTROLLER", "OC", "SIGN_KEY", "BUNDLE", "MAKEFLAGS", "MAKELEVEL"]
    {
        make.env_remove(name);
    }
    run(make.envs(variables.iter().copied()))
}

#[test]
fn make_builds_and_pushes_to_where_its_variables_say() {
    let dir = tempfile::tempdir().unwrap();
    let told = make(dir.path(), &[], &[]);
    assert!(told.contains("args: xtask images --push\n"), "{told}");
    for kind in Kind::ALL {
        let expected = format!("\n{}={}\n", kind.name().to_uppercase(), kind.default_name());
        assert!(told.contains(&expected), "{expected}: {told}");
    }
    // Exported, as the seed has it, or named.
    let exported =
        make(dir.path(), &[], &[("INSTALLER", "registry.example.com/installer:7"), ("OC", "/opt/oc")]);
    let named = make(
        dir.path(),
        &["INSTALLER=registry.example.com/installer:7", "AGENT=r/a:1", "ARGS=--only agent"],
        &[],
    );
    for told in [&exported, &named] {
        assert!(told.contains("\nINSTALLER=registry.example.com/installer:7\n"), "{told}");
    }
    assert!(exported.contains("\nOC=/opt/oc\n"), "{exported}");
    assert!(named.contains("\nAGENT=r/a:1\n") && named.contains("images --push --only agent\n"), "{named}");
    let told = make(dir.path(), &["release"], &[]);
    assert!(told.contains("args: xtask release\n"), "{told}");
    let told = make(dir.path(), &["help"], &[]);
    assert!(told.contains("make push: build the images and push them\n"), "{told}");
}
