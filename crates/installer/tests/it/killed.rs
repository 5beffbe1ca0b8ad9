//! Killed in the middle, and run again: as a process of its own, by `kill -9`, while each of its programs runs.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use assisted_wire::host::HostRole;

use crate::machine::{Machine, config};
use crate::service::{Service, Site};

const ROOT: &str = "ASSISTED_TEST_MACHINE";
const URL: &str = "ASSISTED_TEST_SERVICE";
const DOCS: &str = include_str!("../../../../docs/installer.md");

/// What an installer does when it is killed, for people and as the beginning of a command line.
const MOMENTS: [(&str, &str); 12] = [
    ("looking for volume groups", "vgs "),
    ("wiping signatures", "wipefs "),
    ("laying the bootstrap's files", "podman run --net host"),
    ("reloading systemd", "systemctl daemon-reload"),
    ("starting bootkube", "systemctl start bootkube"),
    ("starting the last unit", "systemctl start progress"),
    ("writing the image", "coreos-installer "),
    ("mounting the EFI partition", "mount "),
    ("setting the boot order", "efibootmgr -v -d"),
    ("collecting logs", "journalctl "),
    ("looking for other managers", "systemctl list-units"),
    ("ordering the restart", "shutdown "),
];

/// Not a test by itself: the process that is killed. Without a machine it has nothing to do.
#[tokio::test]
async fn child() {
    let (Some(root), Ok(url)) = (std::env::var_os(ROOT), std::env::var(URL)) else { return };
    let host = Machine::host(Path::new(&root));
    let config = config(&url, HostRole::Bootstrap, 1);
    assisted_installer::Installer::new(config, host).unwrap().run().await.unwrap();
}

async fn run(machine: &Machine, url: &str) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "killed::child", "--nocapture"]).env(ROOT, machine.root.path()).env(URL, url);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap()
}

/// A line of the table in the documentation.
async fn outcome(what: &str, command: &str) -> String {
    let site = Site { role: HostRole::Master, bootstrap: true, masters: 1, day_two: false };
    let service = Service::start(site).await;
    let machine = Machine::new();
    machine.fault("kill", command);
    let killed = run(&machine, &service.url).await;
    assert_eq!(killed.signal(), Some(9), "{what}");
    let before = machine.asked();
    let began = |asked: &[String], begin: &str| asked.iter().any(|line| line.starts_with(begin));
    std::fs::write(machine.path("asked"), "").unwrap();
    let ended = run(&machine, &service.url).await;
    assert!(ended.success(), "{what}: {:?}", service.reports());
    let after = machine.asked();
    let again = |begin: &str| match (began(&before, begin), began(&after, begin)) {
        (_, false) => "left as it is",
        (true, true) => "again",
        (false, true) => "for the first time",
    };
    let (bootstrap, disk) = (again("podman run --net host"), again("coreos-installer"));
    assert_eq!(service.reports().last().unwrap(), "Rebooting / ", "{what}");
    assert!(!service.reports().iter().any(|report| report.starts_with("Failed")), "{what}");
    assert_eq!(std::fs::read_to_string(machine.path("dev/sda")).unwrap(), "image\n", "{what}");
    assert!(after.last().unwrap().starts_with("shutdown -r now"), "{what}: {after:?}");
    format!("| {what} | {bootstrap} | {disk} | restarts from the disk |")
}

#[tokio::test]
async fn an_installer_that_was_killed_goes_on() {
    let rows = futures::future::join_all(MOMENTS.map(|(what, command)| outcome(what, command))).await;
    let table = rows.join("\n");
    assert!(DOCS.contains(&table), "docs/installer.md must hold:\n{table}");
}
