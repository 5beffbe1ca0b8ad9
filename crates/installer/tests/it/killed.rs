//! Killed in the middle, and run again: as a process of its own, by `kill -9`, while each of its programs runs.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use assisted_testkit::built;
use assisted_wire::host::HostRole;

use crate::machine::Machine;
use crate::service::{Service, Site};

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

async fn run(machine: &Machine, url: &str) -> ExitStatus {
    let mut command = Command::new(built("examples/installation").unwrap());
    command.arg(machine.root.path()).arg(url);
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
