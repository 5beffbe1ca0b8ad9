//! The installer as a process, with a machine's `/opt` and `/var/log` of its own, pretending.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::service::{self, Asked, stages};
use crate::{ID, PROGRAM};

const TOKEN: &str = "eyJhbGciOi-very-secret";

/// A service that takes everything; what it was asked, with bodies.
fn service() -> (String, Asked) {
    service::start(|_| (200, "{}".to_owned()))
}

/// Starts the installer as the first process of a namespace; `tool` is what stands for the one that writes the image.
fn start(dir: &Path, url: &str, tool: &str, more: &[&str]) -> Child {
    let path = dir.join("dry-installer");
    std::fs::write(&path, format!("#!/bin/sh\n{tool}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = "mount -t tmpfs tmpfs /opt && mount -t tmpfs tmpfs /var/log && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        own,
        PROGRAM,
        "installer",
    ]);
    command.args([
        "--role",
        "master",
        "--cluster-id",
        ID,
        "--host-id",
        ID,
        "--boot-device",
        "/dev/none",
        "--url",
        url,
    ]);
    command
        .args(["-dry-run", "-force-id", ID, "-fake-reboot-marker-path"])
        .arg(dir.join("rebooted"))
        .args(more);
    command.env_clear().env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", dir.display()));
    command.env("PULL_SECRET_TOKEN", TOKEN);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_pretended_host_is_installed() {
    let dir = tempfile::tempdir().unwrap();
    let (url, asked) = service();
    let tool =
        "env > \"${0%/*}/environment\"; echo \"$*\" > \"${0%/*}/arguments\"; echo 'Read disk (100%)' >&2";
    let more = [
        "--http-proxy=http://proxy.invalid:3128",
        "--no-proxy",
        "127.0.0.1,.svc",
        "--installer-args",
        r#"["-n"]"#,
    ];
    let output = start(dir.path(), &url, tool, &more).wait_with_output().unwrap();
    let log = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let asked = asked.lock().unwrap();
    let mut told = stages(&asked);
    told.dedup();
    assert_eq!(
        told,
        ["Starting installation", "Installing", "Writing image to disk", "Rebooting"],
        "{asked:#?}"
    );
    assert!(dir.path().join("rebooted").exists());
    let arguments = std::fs::read_to_string(dir.path().join("arguments")).unwrap();
    assert_eq!(arguments, format!("install --insecure -i /opt/install-dir/master-{ID}.ign -n /dev/none\n"));
    let environment = std::fs::read_to_string(dir.path().join("environment")).unwrap();
    for line in ["HTTP_PROXY=http://proxy.invalid:3128", "NO_PROXY=127.0.0.1,.svc", "no_proxy=127.0.0.1,.svc"]
    {
        assert!(environment.lines().any(|other| other == line), "{line}: {environment}");
    }
    assert!(!environment.contains(TOKEN) && !log.contains(TOKEN), "{log}");
}

#[test]
fn it_stops_when_told_and_reports_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (url, asked) = service();
    let child = start(dir.path(), &url, "sleep 1000", &[]);
    let begin = Instant::now();
    while !stages(&asked.lock().unwrap()).contains(&"Writing image to disk") {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never writes: {:#?}", asked.lock().unwrap());
        std::thread::sleep(Duration::from_millis(20));
    }
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let inner = std::fs::read_to_string(children).unwrap();
    assert!(Command::new("kill").arg(inner.trim()).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!stages(&asked.lock().unwrap()).contains(&"Failed"));
}
