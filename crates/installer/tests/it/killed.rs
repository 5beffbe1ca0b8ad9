//! Killed in the middle, and run again: as a process of its own, by `kill -9`, while each of its programs runs and at each
//! stage that it tells, in every role.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use assisted_testkit::built;
use assisted_testkit::kube::Kube;
use assisted_wire::host::HostRole;
use futures::StreamExt;

use crate::cluster;
use crate::machine::Machine;
use crate::service::{Service, Site};

const DOCS: &str = include_str!("../../../../docs/installer.md");
/// Installations at the same time.
const AT_ONCE: usize = 8;
/// Far longer than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A host that is installed.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    role: HostRole,
    masters: u32,
}

const KINDS: [Kind; 4] = [
    Kind { name: "single node", role: HostRole::Bootstrap, masters: 1 },
    Kind { name: "bootstrap of three", role: HostRole::Bootstrap, masters: 3 },
    Kind { name: "master", role: HostRole::Master, masters: 3 },
    Kind { name: "worker", role: HostRole::Worker, masters: 3 },
];

impl Kind {
    fn bootstraps(&self) -> bool {
        self.role == HostRole::Bootstrap
    }
}

/// When it is killed.
#[derive(Clone, Copy)]
enum When {
    /// While a program runs: the beginning of its command line.
    Runs(&'static str),
    /// While it tells a stage.
    Tells(&'static str),
}

/// Which hosts come to a moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    All,
    Bootstraps,
    Single,
    Three,
    Workers,
}

use When::{Runs, Tells};

/// What an installer does when it is killed, in the order in which it does that.
const MOMENTS: [(&str, When, Who); 22] = [
    ("telling *Starting installation*", Tells("Starting installation / "), Who::All),
    ("looking for volume groups", Runs("vgs "), Who::All),
    ("wiping signatures", Runs("wipefs "), Who::All),
    ("laying the bootstrap's files", Runs("podman run --net host"), Who::Bootstraps),
    ("making a key for the other hosts", Runs("ssh-keygen "), Who::Three),
    ("reloading systemd", Runs("systemctl daemon-reload"), Who::Bootstraps),
    ("restarting the network", Runs("systemctl restart NetworkManager"), Who::Three),
    ("starting bootkube", Runs("systemctl start bootkube"), Who::Bootstraps),
    ("starting the last unit", Runs("systemctl start progress"), Who::Bootstraps),
    ("telling *Installing*", Tells("Installing / "), Who::All),
    ("telling *Writing image to disk*", Tells("Writing image to disk / "), Who::All),
    ("writing the image", Runs("coreos-installer "), Who::All),
    ("telling *Waiting for control plane*", Tells("Waiting for control plane / "), Who::Workers),
    ("mounting the EFI partition", Runs("mount "), Who::All),
    ("setting the boot order", Runs("efibootmgr -v -d"), Who::All),
    ("waiting for the other masters", Tells("Waiting for control plane / Waiting for masters"), Who::Three),
    ("waiting for etcd", Runs("systemctl is-active progress"), Who::Three),
    ("waiting for the controller", Tells("Waiting for controller / "), Who::Three),
    ("collecting logs", Runs("journalctl "), Who::All),
    ("looking for other managers", Runs("systemctl list-units"), Who::Single),
    ("telling *Rebooting*", Tells("Rebooting / "), Who::All),
    ("ordering the restart", Runs("systemd-run "), Who::All),
];

impl Who {
    fn has(self, kind: &Kind) -> bool {
        match self {
            Self::All => true,
            Self::Bootstraps => kind.bootstraps(),
            Self::Single => kind.bootstraps() && kind.masters == 1,
            Self::Three => kind.bootstraps() && kind.masters == 3,
            Self::Workers => kind.role == HostRole::Worker,
        }
    }
}

fn begin(kind: &Kind, machine: &Machine, url: &str) -> Child {
    let mut command = Command::new(built("examples/installation").unwrap());
    command.arg(machine.root.path()).arg(url).arg(kind.role.as_str()).arg(kind.masters.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

async fn end(what: &str, mut child: Child) -> ExitStatus {
    let ended = async {
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    match tokio::time::timeout(TIMEOUT, ended).await {
        Ok(status) => status,
        Err(_) => {
            child.kill().unwrap();
            panic!("{what}: it didn't end")
        }
    }
}

/// Runs it until it is killed.
async fn killed(what: &str, kind: &Kind, when: When, machine: &Machine, service: &Service) {
    let child = match when {
        Runs(command) => {
            machine.fault("kill", command);
            begin(kind, machine, &service.url)
        }
        Tells(stage) => {
            // The service takes the stage, and doesn't answer.
            let held = service.hold(stage);
            let mut child = begin(kind, machine, &service.url);
            if tokio::time::timeout(TIMEOUT, held).await.is_err() {
                child.kill().unwrap();
                panic!("{what}: it told {:?}", service.reports());
            }
            child.kill().unwrap();
            child
        }
    };
    assert_eq!(end(what, child).await.signal(), Some(9), "{what}");
}

/// A line of the table in the documentation.
async fn outcome(kind: Kind, what: &'static str, when: When, kubeconfig: &[u8]) -> String {
    let label = format!("{}, {what}", kind.name);
    // A bootstrap host is a master.
    let role = if kind.bootstraps() { HostRole::Master } else { kind.role };
    let site = Site { role, bootstrap: kind.bootstraps(), masters: kind.masters, day_two: false };
    let service = Service::start(site).await;
    let machine = Machine::new();
    std::fs::write(machine.path("kubeconfig"), kubeconfig).unwrap();
    killed(&label, &kind, when, &machine, &service).await;
    let before = machine.calls();
    std::fs::write(machine.path("asked"), "").unwrap();
    let ended = end(&label, begin(&kind, &machine, &service.url)).await;
    assert!(ended.success(), "{label}: {:?}", service.reports());
    let after = machine.calls();
    let again = |begin: &str| {
        let began = |asked: &[String]| asked.iter().any(|line| line.starts_with(begin));
        match (began(&before), began(&after)) {
            (false, false) => "",
            (true, false) => "left as it is",
            (true, true) => "again",
            (false, true) => "for the first time",
        }
    };
    let (bootstrap, disk) = (again("podman run --net host"), again("coreos-installer"));
    assert_eq!(bootstrap.is_empty(), !kind.bootstraps(), "{label}");
    assert_eq!(service.reports().last().unwrap(), "Rebooting / ", "{label}");
    assert!(!service.reports().iter().any(|report| report.starts_with("Failed")), "{label}");
    assert_eq!(std::fs::read_to_string(machine.path("dev/sda")).unwrap(), "image\n", "{label}");
    assert!(after.last().unwrap().starts_with("systemd-run "), "{label}: {after:?}");
    format!("| {} | {what} | {bootstrap} | {disk} |", kind.name)
}

#[tokio::test]
async fn an_installer_that_was_killed_goes_on() {
    // The rest of the cluster has come already.
    let kube = tokio::task::spawn_blocking(|| {
        let kube = Kube::launch(&[]).unwrap();
        cluster::stand(&kube);
        kube
    });
    let kube = kube.await.unwrap();
    let kubeconfig = std::fs::read(kube.kubeconfig()).unwrap();
    let kubeconfig = kubeconfig.as_slice();
    let moments = KINDS.iter().flat_map(|kind| {
        let of_kind = MOMENTS.iter().filter(move |(_, _, who)| who.has(kind));
        of_kind.map(move |(what, when, _)| outcome(*kind, what, *when, kubeconfig))
    });
    let rows: Vec<_> = futures::stream::iter(moments).buffered(AT_ONCE).collect().await;
    let table = rows.join("\n");
    assert!(DOCS.contains(&table), "docs/installer.md must hold:\n{table}");
}
