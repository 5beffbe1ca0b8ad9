//! The Debian package: installed, used, removed and purged by a real dpkg, below a folder of its own; and the tarball.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assisted_oci::Packing;
use assisted_package::machine::MACHINES;
use assisted_package::{deb, files, tarball};
use assisted_testkit::{Port, tied};

use crate::world::{MACHINE, inputs, programs, run};

async fn package() -> Vec<files::PackageFile> {
    let inputs = inputs("registry.example.com", Path::new("/nowhere"));
    let machine = MACHINES.iter().find(|machine| machine.name == MACHINE).unwrap();
    files::package_files(&inputs, machine, &programs().join(MACHINE).join("assisted")).await.unwrap()
}

/// The package as a file in a folder.
pub async fn package_file(dir: &Path) -> PathBuf {
    let machine = MACHINES.iter().find(|machine| machine.name == MACHINE).unwrap();
    let path = dir.join(deb::file_name(machine));
    fs::write(&path, deb::package(&package().await, machine, Packing::Quick).unwrap()).unwrap();
    path
}

/// A command of dpkg for a system below a folder. Its scripts are told where that is, and run outside of it: there is no shell in it.
fn dpkg(root: &Path, args: &[&str]) -> Command {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display())).arg("--force-script-chrootless").args(args);
    dpkg.env("DEBIAN_FRONTEND", "noninteractive").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    dpkg
}

/// The same package under an earlier version.
fn earlier(dir: &Path, package: &Path) -> PathBuf {
    let (unpacked, to) = (dir.join("earlier"), dir.join("earlier.deb"));
    run(Command::new("dpkg-deb").arg("--raw-extract").arg(package).arg(&unpacked));
    let control = unpacked.join("DEBIAN/control");
    let text = fs::read_to_string(&control).unwrap();
    let version = format!("Version: {}\n", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{text}");
    fs::write(&control, text.replace(&version, "Version: 0.0.1\n")).unwrap();
    run(Command::new("dpkg-deb").args(["-Znone", "--root-owner-group", "--build"]).arg(&unpacked).arg(&to));
    to
}

#[tokio::test]
async fn dpkg_installs_and_purges() {
    let dir = tempfile::tempdir().unwrap();
    let path = package_file(dir.path()).await;
    let told = run(Command::new("dpkg-deb").arg("--info").arg(&path));
    assert!(told.contains("Package: assisted"), "{told}");

    let root = dir.path().join("root");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    // An earlier version has served before; what it has kept, and what a person has set, stays.
    run(dpkg(&root, &["--install"]).arg(earlier(dir.path(), &path)));
    run(&mut dpkg(&root, &["--verify", "assisted"]));
    serves(&root);
    let (settings, database) =
        (root.join("etc/assisted/assisted.env"), root.join("var/lib/assisted/assisted.db"));
    fs::write(&settings, "LOG_LEVEL=debug\n").unwrap();
    let before = database.metadata().unwrap().ino();
    run(dpkg(&root, &["--install"]).arg(&path));
    let told = run(&mut dpkg(&root, &["--status", "assisted"]));
    assert!(told.contains("Status: install ok installed"), "{told}");
    assert!(told.contains(&format!("Version: {}\n", env!("CARGO_PKG_VERSION"))), "{told}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "LOG_LEVEL=debug\n");
    // Whatever is told of the program is there.
    for place in [
        "usr/lib/systemd/system/assisted.service",
        "usr/share/bash-completion/completions/assisted",
        "usr/share/zsh/vendor-completions/_assisted",
        "usr/share/fish/vendor_completions.d/assisted.fish",
        "usr/share/man/man1/assisted.1.gz",
        "usr/share/man/man1/assisted-serve.1.gz",
    ] {
        assert!(root.join(place).is_file(), "{place}");
    }
    let page = run(Command::new("zcat").arg(root.join("usr/share/man/man1/assisted-serve.1.gz")));
    assert!(page.contains(".TH assisted-serve 1"), "{}", &page[..200.min(page.len())]);
    run(Command::new("bash").arg("-n").arg(root.join("usr/share/bash-completion/completions/assisted")));
    assert_has_ui(&serves(&root));
    assert_eq!(database.metadata().unwrap().ino(), before);

    // Both stay until a purge.
    run(&mut dpkg(&root, &["--remove", "assisted"]));
    assert!(settings.is_file() && database.is_file());
    assert!(!root.join("usr/bin/assisted").exists());
    run(&mut dpkg(&root, &["--purge", "assisted"]));
    for gone in ["etc/assisted", "var/lib/assisted", "usr/share/man/man1/assisted.1.gz"] {
        assert!(!root.join(gone).exists(), "{gone}");
    }
}

/// Holds that a page is the web UI's: a program without it answers one that says how it is built.
pub fn assert_has_ui(page: &str) {
    assert!(
        page.contains("/assets/"),
        "the web UI is not in the program; `cargo xtask test -p assisted-package` builds both:\n{page}"
    );
}

/// The installed program serves, as its unit starts it; the page that a browser gets first.
pub fn serves(root: &Path) -> String {
    let data = root.join("var/lib/assisted");
    let mut service = tied(&root.join("usr/bin/assisted"));
    service.env_clear().env("HOST_PROGRAMS_DIR", root.join("usr/lib/assisted")).env("HOME", &data);
    first_page(&mut service, &data)
}

/// The page that a browser gets first of the program that a command is for, which keeps its data in a folder.
pub fn first_page(service: &mut Command, data: &Path) -> String {
    let port = Port::free().unwrap();
    service
        .args(["up", "--address", "127.0.0.1", "--port", &port.number.to_string(), "--data-dir"])
        .arg(data);
    let mut child = service.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let curl = |path: &str| {
        let mut curl = Command::new("curl");
        let url = format!("http://127.0.0.1:{}{path}", port.number);
        curl.args(["-sf", "--max-time", "10", "--header", "Accept: text/html", &url]).output().unwrap()
    };
    while !curl("/ready").status.success() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the installed service never answers");
        std::thread::sleep(Duration::from_millis(100));
    }
    let page = curl("/");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(page.status.success(), "{page:?}");
    String::from_utf8(page.stdout).unwrap()
}

#[tokio::test]
async fn the_tarball_has_the_same() {
    let files = package().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("assisted.tar.gz");
    fs::write(&path, tarball::tarball(&files, "assisted-1", Packing::Quick).unwrap()).unwrap();
    run(Command::new("tar").args(["--strip-components=1", "-xzf"]).arg(&path).arg("-C").arg(dir.path()));
    for file in &files {
        assert!(fs::read(dir.path().join(&file.place)).unwrap() == file.content, "{}", file.place);
    }
    run(Command::new(dir.path().join("usr/lib/assisted").join(format!("assisted-host-{MACHINE}")))
        .arg("version"));
}
