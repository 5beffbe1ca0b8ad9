//! Every program that an installation runs: failing, hanging, talking garbage, silent.

use std::time::Duration;

use assisted_wire::host::HostRole;
use futures::future::join_all;
use futures::{StreamExt, stream};

use crate::machine::{Machine, config};
use crate::service::{Service, Site};

/// What becomes of the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It goes on to the restart.
    Installed,
    /// It ends with `Failed` and the name of the program.
    Failed,
}

use End::{Failed, Installed};

/// Beginnings of command lines of a single node, which runs nearly all of them; what becomes of it when the program fails
/// or hangs, talks garbage, or says nothing.
const TABLE: [(&str, End, End, End); 17] = [
    ("vgs ", Installed, Installed, Installed),
    ("pvs ", Installed, Installed, Installed),
    ("dmsetup ls", Installed, Installed, Installed),
    ("mdadm ", Installed, Installed, Installed),
    ("wipefs ", Installed, Installed, Installed),
    ("podman run --net host", Failed, Installed, Installed),
    ("systemctl daemon-reload", Failed, Installed, Installed),
    ("systemctl start approve-csr", Failed, Installed, Installed),
    ("systemctl start progress", Failed, Installed, Installed),
    ("coreos-installer ", Failed, Installed, Installed),
    ("lsblk ", Installed, Installed, Installed),
    ("mount ", Installed, Installed, Installed),
    ("ls ", Installed, Installed, Installed),
    ("umount ", Installed, Installed, Installed),
    ("efibootmgr ", Installed, Installed, Installed),
    ("systemctl list-units", Failed, Installed, Installed),
    ("systemd-run ", Failed, Installed, Installed),
];

/// Those of them of whose output something is read.
const READ: [&str; 9] = [
    "vgs ",
    "pvs ",
    "dmsetup ls",
    "mdadm ",
    "coreos-installer ",
    "lsblk ",
    "ls ",
    "efibootmgr ",
    "systemctl list-units",
];

/// Installations at the same time.
const AT_ONCE: usize = 3;

/// Programs that are let hang; each is run once.
const HANGING: [(&str, End); 3] =
    [("vgs ", Installed), ("systemctl daemon-reload", Failed), ("systemd-run ", Failed)];
/// Long enough for all that doesn't hang.
const LIMIT: Duration = Duration::from_secs(15);

async fn misbehaving(command: &str, how: &str, end: End) {
    let site = Site { role: HostRole::Master, bootstrap: true, masters: 1, day_two: false };
    let service = Service::start(site).await;
    let machine = Machine::new();
    machine.fault(how, command);
    let done = machine.installer(config(&service.url, HostRole::Bootstrap, 1), LIMIT).run().await;
    let reports = service.reports();
    let last = reports.last().unwrap();
    match end {
        Installed => assert!(done.is_ok() && last == "Rebooting / ", "{how} {command}: {done:?} {reports:?}"),
        Failed => {
            let error = done.unwrap_err().to_string();
            let program = command.split(' ').next().unwrap();
            assert_eq!(*last, format!("Failed / {error}"), "{how} {command}");
            assert!(
                error.contains("failed executing ") && error.contains(&format!("/{program} [")),
                "{error}"
            );
            assert_eq!(error.contains("was timed out"), how == "hang", "{error}");
        }
    }
}

/// Lets those cases of the table happen that are wanted, a few at a time.
async fn each_misbehaving(is_wanted: impl Fn(&str, &str) -> bool) {
    let cases = TABLE.into_iter().flat_map(|(command, failing, garbage, empty)| {
        [("fail", failing), ("garbage", garbage), ("empty", empty)].map(|(how, end)| (command, how, end))
    });
    let cases: Vec<_> = cases.filter(|(command, how, _)| is_wanted(command, how)).collect();
    stream::iter(cases)
        .for_each_concurrent(AT_ONCE, |(command, how, end)| misbehaving(command, how, end))
        .await;
}

#[tokio::test]
async fn programs_that_misbehave() {
    each_misbehaving(|command, how| how == "fail" || READ.contains(&command)).await;
}

/// Of most programs nobody reads what they say, so that garbage is as good as anything.
#[tokio::test]
async fn everything_of_programs_that_misbehave() {
    each_misbehaving(|_, _| true).await;
}

#[tokio::test]
async fn programs_that_hang() {
    join_all(HANGING.map(|(command, end)| misbehaving(command, "hang", end))).await;
}

#[tokio::test]
async fn a_disk_that_is_not_clean_is_told() {
    let service = Service::start(crate::flows::site(HostRole::Master)).await;
    let machine = Machine::new();
    machine.fault("fail", "wipefs ");
    machine
        .installer(config(&service.url, HostRole::Master, 3), Duration::from_secs(60))
        .run()
        .await
        .unwrap();
    let told = "Starting installation / Could not clean install device /dev/sda. The installation will continue. If the \
                installation fails, clean the disk and try again";
    assert_eq!(service.reports()[1], told);
}
