//! A Debian of its own: its dpkg and its shell install the package, its systemd reads the unit where it belongs, and its podman the
//! quadlet.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use assisted_testkit::tied;

use crate::deb::{assert_has_ui, first_page, package_file};
use crate::world::{root, run};

/// Not older than that on which the programs were built, and with a podman that reads quadlets.
const SUITE: &str = "trixie";
/// Debian's user `nobody`.
const NOBODY: u32 = 65534;

#[tokio::test]
async fn everything_of_package_and_quadlet_is_taken_by_a_debian_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let debian = dir.path().join("debian");
    let mut bootstrap = Command::new("mmdebstrap");
    bootstrap.args(["--mode=root", "--variant=minbase", "--quiet", "--include=systemd,podman", SUITE]);
    run(bootstrap.arg(&debian));
    let within = |args: &[&str]| {
        let mut chroot = Command::new("chroot");
        run(chroot.arg(&debian).args(args).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))
    };

    let package = package_file(&debian).await;
    let package = format!("/{}", package.file_name().unwrap().to_str().unwrap());
    within(&["dpkg", "--install", &package]);
    within(&["systemctl", "enable", "assisted.service"]);
    let told = within(&["systemd-analyze", "--man=no", "verify", "assisted.service"]);
    assert!(!told.contains("assisted"), "{told}");

    // As its unit runs it: by a user without rights, who may write in one folder alone.
    let data = debian.join("var/lib/assisted");
    fs::create_dir_all(&data).unwrap();
    chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut service = tied(Path::new("/usr/bin/bwrap"));
    service.arg("--ro-bind").arg(&debian).arg("/").arg("--bind").arg(&data).arg("/var/lib/assisted");
    service.args([
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--unshare-pid",
        "--die-with-parent",
    ]);
    service.args(["--clearenv", "--setenv", "HOME", "/var/lib/assisted"]);
    service.args(["--setenv", "HOST_PROGRAMS_DIR", "/usr/lib/assisted", "--cap-add", "ALL"]);
    let nobody = NOBODY.to_string();
    service.args(["/usr/bin/setpriv", "--reuid", &nobody, "--regid", &nobody, "--clear-groups"]);
    service.args(["--bounding-set", "-all", "--no-new-privs", "/usr/bin/assisted"]);
    assert_has_ui(&first_page(&mut service, Path::new("/var/lib/assisted")));

    // Nothing stays, nor would anything be started.
    let enabled = "etc/systemd/system/multi-user.target.wants/assisted.service";
    let places = [enabled, "etc/assisted", "var/lib/assisted", "usr/bin/assisted"];
    let is_there = |place: &str| debian.join(place).symlink_metadata().is_ok();
    assert!(places.into_iter().all(is_there));
    within(&["dpkg", "--purge", "assisted"]);
    let left: Vec<_> = places.into_iter().filter(|place| is_there(place)).collect();
    assert!(left.is_empty(), "{left:?}");

    let quadlets = debian.join("etc/containers/systemd");
    fs::create_dir_all(&quadlets).unwrap();
    for name in ["assisted.container", "assisted-data.volume"] {
        fs::copy(root("deploy/podman").join(name), quadlets.join(name)).unwrap();
    }
    let units = "/run/units";
    fs::create_dir_all(debian.join("run/units")).unwrap();
    within(&["/usr/lib/systemd/system-generators/podman-system-generator", units, units, units]);
    let unit = fs::read_to_string(debian.join("run/units/assisted.service")).unwrap();
    for part in
        ["--read-only", "--cap-drop all", "-v assisted-data:/data", "Requires=assisted-data-volume.service"]
    {
        assert!(unit.contains(part), "{part}: {unit}");
    }
    within(&["systemd-analyze", "--man=no", "verify", "/run/units/assisted.service"]);
}
