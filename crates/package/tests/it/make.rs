//! `make`: it builds and pushes, to where its variables say.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use assisted_package::image::Kind;
use assisted_testkit::block::{Block, Needs, blocks};
use assisted_testkit::built;

use crate::run::{RUN, World, its_signature_is_good, output_of, what_is_in_it_is_attached};
use crate::world::{root, run};

/// make at the root of the checkout, which knows nothing of what this test was told.
fn command() -> Command {
    let mut make = Command::new("make");
    make.current_dir(root("")).arg("--no-print-directory");
    for name in
        ["SERVICE", "AGENT", "INSTALLER", "CONTROLLER", "OC", "SIGN_KEY", "BUNDLE", "MAKEFLAGS", "MAKELEVEL"]
    {
        make.env_remove(name);
    }
    // Cargo would build some libraries anew for what it has told this test of itself.
    for (name, _) in std::env::vars_os() {
        let own = name.to_string_lossy();
        if own.starts_with("CARGO_PKG_") || own.starts_with("CARGO_MANIFEST_") {
            make.env_remove(&name);
        }
    }
    make
}

/// Runs make with something in the place of cargo that tells how it was called.
fn make(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> String {
    let cargo = dir.join("cargo");
    let told = "#!/bin/sh\necho \"args: $*\"\nenv | grep -E '^(SERVICE|AGENT|INSTALLER|CONTROLLER|OC|SIGN_KEY|BUNDLE)=' | sort\n";
    fs::write(&cargo, told).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let mut make = command();
    make.arg(format!("CARGO={}", cargo.display())).args(args);
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

#[test]
fn everything_images_are_made_as_the_page_says() {
    let page = fs::read_to_string(root("docs/deploy.md")).unwrap();
    let mut blocks = blocks("docs/deploy.md", &page).unwrap();
    blocks.retain(|block| block.needs().unwrap() == Some(Needs::Everything));
    let commands: Vec<_> = blocks.iter().flat_map(Block::commands).collect();
    let [command_line] = &commands[..] else { panic!("other commands than this test types: {commands:?}") };
    let (line, _) = command_line.split_once('#').unwrap();
    let goals = line.trim().strip_prefix("make ").unwrap();
    // They are in Cargo's folder; those of before don't count.
    let programs = built("assisted").unwrap();
    let images = programs.ancestors().nth(2).unwrap().join("images");
    let _ = fs::remove_dir_all(&images);
    let told = run(command().args(goals.split(' ')));
    for name in ["service", "agent", "installer", "controller"] {
        assert!(images.join(format!("image-{name}.oci.tar")).is_file(), "{name}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_make_has_pushed_is_signed_and_listed_and_runs() {
    let world = World::new();
    let name = format!("{}/assisted/installer:7", world.registry.name());
    let to = world.dir.path().join("images");
    let mut make = command();
    make.env("INSTALLER", &name).env("SIGN_KEY", world.dir.path().join("key"));
    make.arg(format!("ARGS=--only installer --to {}", to.display()));
    let told = run(&mut make);
    // One image was asked for, and nothing was built that only others have.
    assert!(!told.contains("web UI") && !told.contains("--- assisted for"), "{told}");
    for file in ["image-installer.oci.tar", "image-installer-x86_64.spdx.json"] {
        assert!(to.join(file).is_file(), "{file}: {told}");
    }
    let list = world.json("installer/manifests/7").await;
    let digest = list["manifests"][0]["digest"].as_str().unwrap();
    what_is_in_it_is_attached(&world, "installer", digest).await;
    its_signature_is_good(&world, "installer", digest).await;
    let mut git = Command::new("git");
    let commit = run(git.args(["rev-parse", "HEAD"]).current_dir(root("")));
    let script = format!(
        "{RUN} --rm {name} --help | grep -q boot-device\n\
         podman image inspect --format 'made of {{{{.Labels.git_revision}}}}' {name}\n"
    );
    let told = output_of(&world.host(), &script);
    assert!(told.contains(&format!("\nmade of {}", commit.trim())), "{told}");
}
