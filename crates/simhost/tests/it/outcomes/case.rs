//! What can go wrong in clusters of a topology: each fault, at each moment, on a host of each role.

use assisted_simhost::fault::{Fault, FaultKind, FaultTarget, Faults, Trigger};
use assisted_simhost::plan::Shape;
use assisted_simhost::topology::Topology;
use assisted_wire::host::{HostRole, HostStage};

use HostRole::{Arbiter, Bootstrap, Master, Worker};
use HostStage::{
    Configuring, Installing, Joined, Rebooting, StartingInstallation, WaitingForBootkube,
    WaitingForControlPlane, WaitingForController, WritingImageToDisk,
};

/// Stages in which a host of each role stays for a while (state-machines §4.4); nobody here copies a registry, and that a
/// worker waits for its Ignition is seen too rarely.
const OF_BOOTSTRAP: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    WaitingForControlPlane,
    WaitingForBootkube,
    WaitingForController,
    Rebooting,
    Configuring,
    Joined,
];
const OF_MASTER: &[HostStage] =
    &[StartingInstallation, Installing, WritingImageToDisk, Rebooting, Configuring, Joined];
pub(crate) const OF_WORKER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    WaitingForControlPlane,
    Rebooting,
    Configuring,
    Joined,
];
const OF_SINGLE_NODE: &[HostStage] =
    &[StartingInstallation, Installing, WaitingForBootkube, WritingImageToDisk, Rebooting];

/// One thing that goes wrong in one cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) shape: Shape,
    pub(crate) kind: FaultKind,
    /// `None`: all the time.
    pub(crate) trigger: Option<Trigger>,
    /// `None`: it strikes the cluster, and no host of it.
    pub(crate) role: Option<HostRole>,
}

/// The clusters that are struck.
pub(crate) fn shape(topology: Topology) -> Shape {
    let usual = Shape::of(topology);
    // Of three workers one can be spared.
    if topology == Topology::Ha { Shape { hosts: 6, ..usual } } else { usual }
}

fn roles(topology: Topology) -> &'static [HostRole] {
    match topology {
        Topology::Sno => &[Bootstrap],
        Topology::Compact | Topology::Ha4 | Topology::Ha5 | Topology::Tnf => &[Bootstrap, Master],
        Topology::Ha => &[Bootstrap, Master, Worker],
        Topology::Arbiter => &[Bootstrap, Master, Arbiter],
    }
}

fn triggers(topology: Topology, role: HostRole) -> impl Iterator<Item = Trigger> {
    let stages = match role {
        _ if topology == Topology::Sno => OF_SINGLE_NODE,
        Bootstrap => OF_BOOTSTRAP,
        Worker => OF_WORKER,
        _ => OF_MASTER,
    };
    let stages = stages.iter().map(|stage| Trigger::Stage(*stage));
    [Trigger::Discovery, Trigger::Preparing].into_iter().chain(stages).chain([Trigger::Finalizing])
}

/// Every case of a topology.
pub(crate) fn all(topology: Topology) -> Vec<Case> {
    let shape = shape(topology);
    let mut cases = Vec::new();
    for fault_kind in FaultKind::all() {
        let case = Case { shape, kind: fault_kind, trigger: None, role: None };
        if fault_kind.is_of_cluster() {
            cases.push(case);
            continue;
        }
        // The user acts on the whole cluster; a host only tells when.
        let users_own = matches!(fault_kind, FaultKind::Cancel | FaultKind::Reset);
        if users_own {
            let triggers = [Trigger::Preparing, Trigger::Finalizing].map(Some);
            cases.extend(triggers.map(|trigger| Case { trigger, ..case }));
        }
        for role in roles(topology) {
            let case = Case { role: Some(*role), ..case };
            if fault_kind.has_trigger() {
                let of_host = |trigger: &Trigger| !users_own || matches!(trigger, Trigger::Stage(_));
                let triggers = triggers(topology, *role).filter(|trigger| fault_kind.can_happen(*trigger));
                cases.extend(triggers.filter(of_host).map(|trigger| Case { trigger: Some(trigger), ..case }));
            } else {
                cases.push(case);
            }
        }
    }
    cases.retain(Case::can_be);
    cases
}

impl Case {
    /// Its fault.
    pub(crate) fn fault(&self) -> Fault {
        let target = self.role.map_or(FaultTarget::Drawn, FaultTarget::Role);
        Fault { kind: self.kind, trigger: self.trigger.unwrap_or(Trigger::Discovery), target }
    }

    pub(crate) fn faults(&self) -> Faults {
        Faults(vec![self.fault()])
    }

    /// Whether there is one host, and nobody that it could be taken for.
    pub(crate) fn is_alone(&self) -> bool {
        self.shape.hosts == 1
    }

    fn can_be(&self) -> bool {
        let chosen_later = self.role == Some(Bootstrap) && self.fault().is_early() && !self.is_alone();
        !(chosen_later || self.kind == FaultKind::WrongHost && self.is_alone())
    }

    /// Whether the cluster can do without the host.
    pub(crate) fn is_spared(&self) -> bool {
        self.role == Some(Worker)
    }

    /// The stage at which it happens.
    pub(crate) fn stage(&self) -> Option<HostStage> {
        match self.trigger? {
            Trigger::Stage(stage) => Some(stage),
            _ => None,
        }
    }

    /// Whether it happens at one of these stages.
    pub(crate) fn at(&self, stages: &[HostStage]) -> bool {
        self.stage().is_some_and(|stage| stages.contains(&stage))
    }

    /// Whom it strikes, for people.
    pub(crate) fn on(&self) -> &'static str {
        match self.role {
            None => "cluster",
            Some(Master) if self.fault().is_early() => "control plane",
            Some(role) => role.as_str(),
        }
    }
}
