//! A release: everything is in it, and each file is what its checksum says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use assisted_package::release::Release;
use assisted_package::signature::Signer;

use crate::deb::{assert_has_ui, serves};
use crate::world::{MACHINE, OTHER, crates, inputs, key, libraries, programs, programs_of_two, root, run};

#[tokio::test]
async fn a_release_has_everything_with_its_checksum() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    libraries(&at("libraries"));
    let (mut inputs, crates) = (inputs("registry.example.com", &at("libraries")), crates());
    inputs.programs = programs_of_two(dir.path());
    let signer = Signer::from_pem(&fs::read_to_string(key(dir.path(), "key")).unwrap().into()).unwrap();
    let speaks = programs().join(MACHINE).join("assisted");
    let changes = "* Something is better";
    let book = at("book");
    fs::create_dir_all(book.join("reference")).unwrap();
    for page in ["index.html", "reference/README.html"] {
        fs::write(book.join(page), page).unwrap();
    }
    let release = Release {
        inputs: &inputs,
        crates: &crates,
        speaks: &speaks,
        checkout: &root(""),
        book: &book,
        signer: Some(&signer),
        changes,
    };
    let to = at("dist");
    let told: BTreeSet<_> = release.make(&to).await.unwrap().into_iter().collect();
    let version = env!("CARGO_PKG_VERSION");
    let mut expected: BTreeSet<_> = [
        "NOTES.md",
        "SHA256SUMS",
        "SHA256SUMS.sig",
        "assisted-data.volume",
        "assisted-operator.yaml",
        "assisted.container",
        "assisted.kube.yaml",
        "assisted.pub",
        "bootstrap-components.yaml",
        "control-plane-components.yaml",
        "image-bundle.oci.tar",
        "metadata.yaml",
    ]
    .map(str::to_owned)
    .into();
    for image in ["service", "agent", "installer", "controller"] {
        expected.insert(format!("image-{image}.oci.tar"));
        expected.insert(format!("image-{image}-{MACHINE}.spdx.json"));
    }
    // The program for hosts is there for another architecture, too; the service is not.
    for image in ["agent", "installer"] {
        expected.insert(format!("image-{image}-{OTHER}.spdx.json"));
    }
    expected.extend([MACHINE, OTHER].map(|machine| format!("assisted-host-{machine}")));
    for archive in [format!("linux-{MACHINE}").as_str(), "kustomize", "book"] {
        expected.insert(format!("assisted-{version}-{archive}.tar.gz"));
    }
    expected.insert(format!("assisted_{version}_amd64.deb"));
    let found = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!((&found.collect::<BTreeSet<_>>(), &told), (&expected, &expected));

    // As the notes say it is checked.
    let notes = fs::read_to_string(to.join("NOTES.md")).unwrap();
    run(Command::new("sha256sum").args(["--strict", "-c", "SHA256SUMS"]).current_dir(&to));
    let sums = fs::read_to_string(to.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), expected.len() - 2);
    for line in [
        "base64 -d SHA256SUMS.sig > sums.der",
        "openssl dgst -sha256 -verify assisted.pub -signature sums.der SHA256SUMS",
    ] {
        assert!(notes.contains(line), "{notes}");
        run(Command::new("sh").args(["-c", line]).current_dir(&to));
    }
    assert!(notes.contains(changes) && notes.contains("0123456789abcdef"), "{notes}");
    // What names images names those that were pushed.
    for name in [
        "assisted.container",
        "assisted.kube.yaml",
        "assisted-operator.yaml",
        "bootstrap-components.yaml",
        "control-plane-components.yaml",
    ] {
        let text = fs::read_to_string(to.join(name)).unwrap();
        assert!(
            text.contains("registry.example.com/assisted/service:1") && !text.contains("quay.io"),
            "{name}"
        );
    }
    // One file tells of both providers of Cluster API, since clusterctl looks for it beside either.
    let told = fs::read(to.join("metadata.yaml")).unwrap();
    for provider in ["bootstrap", "control-plane"] {
        let own = root(&format!("deploy/cluster-api/{provider}-openshift-assisted/metadata.yaml"));
        assert!(fs::read(own).unwrap() == told, "{provider}");
    }
    // Archives have one folder, of their name.
    for (archive, files) in [
        ("book", &["index.html", "reference/README.html"][..]),
        ("kustomize", &["kustomization.yaml", "definitions/kustomization.yaml", "service/base/service.yaml"]),
    ] {
        let name = format!("assisted-{version}-{archive}");
        run(Command::new("tar").arg("-xzf").arg(to.join(format!("{name}.tar.gz"))).arg("-C").arg(dir.path()));
        for file in files {
            assert!(at(&name).join(file).is_file(), "{archive}: {file}");
        }
    }
}

/// The builds that a release takes, as they ship: the service is small, needs nothing but itself, and has the web UI.
#[test]
fn everything_as_it_ships_is_small_and_static() {
    let dir = tempfile::tempdir().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut xtask = Command::new(cargo);
    xtask.current_dir(root("")).args(["xtask", "release", "--to"]).arg(dir.path().join("dist"));
    run(&mut xtask);
    let size = dir.path().join("dist/image-service.oci.tar").metadata().unwrap().len();
    assert!(size < 60_000_000, "the image of the service takes {size} bytes");
    let (root, version) = (dir.path().join("root"), env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(root.join("var/lib/assisted")).unwrap();
    let unpack = |archive: &str, to: &Path| {
        let archive = dir.path().join(format!("dist/assisted-{version}-{archive}.tar.gz"));
        run(Command::new("tar").args(["--strip-components=1", "-xzf"]).arg(archive).arg("-C").arg(to));
    };
    unpack(&format!("linux-{MACHINE}"), &root);
    assert_has_ui(&serves(&root));
    unpack("book", dir.path());
    assert!(dir.path().join("first-hour.html").is_file());
}
