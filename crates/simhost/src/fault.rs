//! Faults that are injected into simulated hosts and clusters: kind, moment and target.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::{HostRole, HostStage};

/// How far a wrong clock is off, in seconds: by more than the hour that a service bears.
pub const CLOCK_OFF: i64 = 3900;
/// How late a delayed reply is.
pub const LATENESS: Duration = Duration::from_secs(150);
/// After so long someone boots the machine from the right disk.
pub const BOOT_REPAIR: Duration = Duration::from_secs(600);
/// How long the agent of a silent host is not heard.
pub const SILENCE: Duration = Duration::from_secs(600);

/// What goes wrong, on one host of a cluster or in the whole of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Nothing is heard of the host any more.
    Die,
    /// The installer gives up.
    Fail,
    /// The agent is not heard for a while; the installer works on.
    Silence,
    /// The machine restarts from its discovery image.
    Restart,
    /// The discovery image can't be read once.
    Media,
    /// The user cancels the installation.
    Cancel,
    /// The user resets the installation, and begins anew.
    Reset,
    /// Every reply comes twice.
    Double,
    /// Every reply comes late.
    Delay,
    /// Every other reply comes late, so that a later one overtakes it.
    Disorder,
    /// The first reply to each kind of step carries another kind's name.
    WrongType,
    /// What is in the host is told once more, as another host's.
    WrongHost,
    /// After each stage the installer reports one that it has passed and one that its role does not have.
    WrongStage,
    /// The clock is more than an hour ahead.
    Clock,
    /// The clock is more than an hour behind.
    ClockBehind,
    /// The installation disk is slower than etcd likes.
    SlowDisk,
    /// The installation disk can't be measured.
    BrokenDisk,
    /// The release's images can't be pulled.
    ImagePull,
    /// The discovery image boots again instead of the disk, until someone corrects the boot order.
    WrongBoot,
    /// An operator that the user wants besides does not start.
    OlmOperator,
    /// An operator of the cluster itself does not start.
    ClusterOperator,
}

/// When faults can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// All the time.
    Always,
    /// While the agent is given steps to run: until the installer runs.
    Before,
    /// While the installer runs.
    Installer,
    /// From the discovery on, until the machine restarts.
    Agent,
    /// From the discovery on, until the node is there.
    Machine,
    /// While there is an installation.
    Installation,
}

use When::{Agent, Always, Before, Installation, Installer, Machine};

/// Every fault: its name on the command line, and when it can happen.
const ALL: &[(FaultKind, &str, When)] = &[
    (FaultKind::Die, "die", Machine),
    (FaultKind::Fail, "fail", Installer),
    (FaultKind::Silence, "silence", Agent),
    (FaultKind::Restart, "restart", Agent),
    (FaultKind::Media, "media", Before),
    (FaultKind::Cancel, "cancel", Installation),
    (FaultKind::Reset, "reset", Installation),
    (FaultKind::Double, "double", Always),
    (FaultKind::Delay, "delay", Always),
    (FaultKind::Disorder, "disorder", Always),
    (FaultKind::WrongType, "wrong-type", Always),
    (FaultKind::WrongHost, "wrong-host", Always),
    (FaultKind::WrongStage, "wrong-stage", Always),
    (FaultKind::Clock, "clock", Always),
    (FaultKind::ClockBehind, "clock-behind", Always),
    (FaultKind::SlowDisk, "slow-disk", Always),
    (FaultKind::BrokenDisk, "broken-disk", Always),
    (FaultKind::ImagePull, "image-pull", Always),
    (FaultKind::WrongBoot, "wrong-boot", Always),
    (FaultKind::OlmOperator, "olm-operator", Always),
    (FaultKind::ClusterOperator, "cluster-operator", Always),
];

impl FaultKind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|(fault_kind, ..)| *fault_kind)
    }

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Whether it happens at a certain moment, not all the time.
    pub fn has_trigger(self) -> bool {
        self.row().2 != Always
    }

    /// Whether it strikes a cluster, and no host of it.
    pub fn is_of_cluster(self) -> bool {
        matches!(self, Self::OlmOperator | Self::ClusterOperator)
    }

    /// The moment at which what happens all the time is noticed first.
    fn begins(self) -> Trigger {
        match self {
            Self::SlowDisk | Self::BrokenDisk | Self::ImagePull => Trigger::Preparing,
            Self::WrongStage | Self::WrongBoot => Trigger::Stage(HostStage::StartingInstallation),
            _ => Trigger::Discovery,
        }
    }

    fn row(self) -> (Self, &'static str, When) {
        ALL.iter().copied().find(|(fault_kind, ..)| *fault_kind == self).unwrap_or((self, "", Always))
    }

    /// Whether it can happen at a moment.
    pub fn can_happen(self, trigger: Trigger) -> bool {
        let of_installer = matches!(trigger, Trigger::Stage(stage) if is_of_installer(stage));
        let before = matches!(trigger, Trigger::Discovery | Trigger::Preparing);
        let restarts = trigger == Trigger::Stage(HostStage::Rebooting);
        let of_node = matches!(trigger, Trigger::Stage(stage) if is_of_node(stage));
        match self.row().2 {
            Always => false,
            Before => before,
            Installer => of_installer,
            Agent => before || of_installer && !restarts,
            Machine => before || of_installer || of_node && trigger != Trigger::Stage(HostStage::Done),
            Installation => {
                trigger == Trigger::Preparing || of_installer || of_node || trigger == Trigger::Finalizing
            }
        }
    }

    /// Where a cluster ends that it strikes at a moment, if no host can be spared.
    fn outcome(self, trigger: Trigger) -> ClusterStatus {
        let before = matches!(trigger, Trigger::Discovery | Trigger::Preparing);
        match self {
            Self::Die | Self::Silence | Self::Media if trigger == Trigger::Preparing => {
                ClusterStatus::Insufficient
            }
            Self::Die if trigger == Trigger::Discovery => ClusterStatus::Insufficient,
            Self::Silence | Self::Restart | Self::Media if before => ClusterStatus::Installed,
            Self::Die | Self::Fail | Self::Silence | Self::Restart | Self::Media | Self::ClusterOperator => {
                ClusterStatus::Error
            }
            // The preparation ends; the cluster waits for the next attempt.
            Self::Cancel if trigger == Trigger::Preparing => ClusterStatus::Ready,
            Self::ImagePull => ClusterStatus::Ready,
            Self::Cancel => ClusterStatus::Cancelled,
            Self::Clock | Self::ClockBehind | Self::BrokenDisk | Self::WrongHost => {
                ClusterStatus::Insufficient
            }
            Self::Reset
            | Self::Double
            | Self::Delay
            | Self::Disorder
            | Self::WrongType
            | Self::WrongStage
            | Self::SlowDisk
            | Self::WrongBoot
            | Self::OlmOperator => ClusterStatus::Installed,
        }
    }
}

/// When something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The host is asked what is in it for the first time.
    Discovery,
    /// The host tries its disk and its images.
    Preparing,
    /// The host has reached a stage of its installation.
    Stage(HostStage),
    /// The cluster waits for its operators.
    Finalizing,
}

impl Trigger {
    fn all() -> impl Iterator<Item = Self> {
        let stages = HostStage::ALL.iter().filter(|stage| **stage != HostStage::Failed);
        [Self::Discovery, Self::Preparing]
            .into_iter()
            .chain(stages.map(|stage| Self::Stage(*stage)))
            .chain([Self::Finalizing])
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discovery => f.write_str("discovery"),
            Self::Preparing => f.write_str("preparing"),
            Self::Stage(stage) => f.write_str(&slug(stage.as_str())),
            Self::Finalizing => f.write_str("finalizing"),
        }
    }
}

/// Which host is struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// One that is drawn.
    Drawn,
    /// The one at this place in its cluster.
    NetworkAddress(u32),
    /// The bootstrap, or the first of those of another role that gets so far. A master is not the bootstrap, unless it is
    /// struck before the service has chosen that.
    Role(HostRole),
}

/// Roles by which a victim can be named.
const ROLES: [HostRole; 4] = [HostRole::Bootstrap, HostRole::Master, HostRole::Worker, HostRole::Arbiter];

/// A fault, when it happens, and on which host; text form `NAME[@MOMENT][:HOST]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// Means something only for faults that happen at a moment.
    pub trigger: Trigger,
    pub target: FaultTarget,
}

impl Fault {
    /// Whether this is that fault, and that moment its own.
    pub fn is(&self, fault_kind: FaultKind, trigger: Trigger) -> bool {
        self.kind == fault_kind && self.trigger == trigger
    }

    /// Where a cluster ends that it strikes, of a single node or of several, if no host can be spared.
    pub fn outcome(&self, single: bool) -> ClusterStatus {
        use HostStage::{WaitingForBootkube, WaitingForController};
        // With several nodes these stages are over, and the host has restarted, before its silence is too long.
        let soon_over = matches!(self.trigger, Trigger::Stage(WaitingForBootkube | WaitingForController));
        match self.kind {
            FaultKind::Silence if soon_over && !single => ClusterStatus::Installed,
            fault_kind => fault_kind.outcome(self.trigger),
        }
    }

    /// Whether it strikes before the service has chosen a bootstrap: when an installation begins.
    pub fn is_early(&self) -> bool {
        let trigger = if self.kind.has_trigger() { self.trigger } else { self.kind.begins() };
        trigger == Trigger::Discovery && !self.kind.is_of_cluster()
    }

    /// Whether it strikes before there is an installation, and stays.
    pub fn keeps_from_being_ready(&self) -> bool {
        matches!(self.kind, FaultKind::Clock | FaultKind::ClockBehind | FaultKind::WrongHost)
            || self.is(FaultKind::Die, Trigger::Discovery)
    }

    /// Whether a cluster may do without the host that it strikes.
    pub fn takes_a_host(&self) -> bool {
        let lost = matches!(
            self.kind,
            FaultKind::Die | FaultKind::Fail | FaultKind::Silence | FaultKind::Restart | FaultKind::Media
        );
        lost && matches!(self.trigger, Trigger::Stage(_))
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, target) = match text.rsplit_once(':') {
            Some((text, whom)) => (text, whom.parse()?),
            None => (text, FaultTarget::Drawn),
        };
        let (name, trigger) = match text.split_once('@') {
            Some((name, trigger)) => (name, Some(slug(trigger))),
            None => (text, None),
        };
        let (fault_kind, _, when) =
            ALL.iter().copied().find(|(_, known, _)| *known == name).ok_or_else(|| {
                let all: Vec<_> = ALL.iter().map(|(_, name, _)| *name).collect();
                format!("{name:?} is not one of {}", all.join(", "))
            })?;
        let trigger = match trigger {
            None => Trigger::Stage(HostStage::WritingImageToDisk),
            Some(_) if when == Always => return Err(format!("{name} happens at no certain moment")),
            Some(wanted) => {
                let mut possible = Trigger::all().filter(|trigger| fault_kind.can_happen(*trigger));
                possible.find(|trigger| trigger.to_string() == wanted).ok_or_else(|| {
                    let all = Trigger::all().filter(|trigger| fault_kind.can_happen(*trigger));
                    let all: Vec<_> = all.map(|trigger| trigger.to_string()).collect();
                    format!("{name} can't happen at {wanted:?}, only at {}", all.join(", "))
                })?
            }
        };
        Ok(Self { kind: fault_kind, trigger, target })
    }
}

impl FromStr for FaultTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(role) = ROLES.iter().find(|role| role.as_str() == text) {
            return Ok(Self::Role(*role));
        }
        text.parse().map(Self::NetworkAddress).map_err(|_| {
            let roles = ROLES.map(HostRole::as_str).join(", ");
            format!("{text:?} is neither a host's number, the first being 0, nor one of {roles}")
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name, when) = self.kind.row();
        f.write_str(name)?;
        if when != Always {
            write!(f, "@{}", self.trigger)?;
        }
        match self.target {
            FaultTarget::Drawn => Ok(()),
            FaultTarget::NetworkAddress(place) => write!(f, ":{place}"),
            FaultTarget::Role(role) => write!(f, ":{}", role.as_str()),
        }
    }
}

/// What goes wrong in one cluster; text form: faults joined by `+`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split('+').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.0.iter().enumerate() {
            let plus = if number > 0 { "+" } else { "" };
            write!(f, "{plus}{fault}")?;
        }
        Ok(())
    }
}

/// Whether a stage is reported after the restart, by others. That a worker waits for its Ignition is seen too rarely.
pub fn is_of_node(stage: HostStage) -> bool {
    matches!(stage, HostStage::Configuring | HostStage::Joined | HostStage::Done)
}

fn is_of_installer(stage: HostStage) -> bool {
    // Nobody here has a registry on the discovery image, from which one stage would copy.
    let never = matches!(
        stage,
        HostStage::Failed | HostStage::CopyingRegistryDataToDisk | HostStage::WaitingForIgnition
    );
    !is_of_node(stage) && !never
}

fn slug(text: &str) -> String {
    text.to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_written_with_moment_and_place() {
        let fault: Fault = "die@waiting-for-bootkube".parse().unwrap();
        let trigger = Trigger::Stage(HostStage::WaitingForBootkube);
        assert_eq!(fault, Fault { kind: FaultKind::Die, trigger, target: FaultTarget::Drawn });
        assert_eq!("die@Waiting for bootkube".parse(), Ok(fault));
        let placed: Fault = "cancel@finalizing:4".parse().unwrap();
        assert_eq!((placed.trigger, placed.target), (Trigger::Finalizing, FaultTarget::NetworkAddress(4)));
        for text in [
            "die@waiting-for-bootkube:bootstrap",
            "cancel@finalizing:4",
            "clock",
            "wrong-boot:0",
            "die@joined:worker",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        let both: Faults = "die@joined:3+clock:4".parse().unwrap();
        assert_eq!((both.0.len(), both.to_string()), (2, "die@joined:3+clock:4".to_owned()));
    }

    #[test]
    fn what_can_not_happen_is_refused_with_what_can() {
        for (text, why) in [
            ("die@lunch", "rebooting"),
            ("fail@joined", "installing, writing-image-to-disk"),
            ("silence@rebooting", "preparing"),
            ("media@installing", "preparing"),
            ("die@done", "joined"),
            ("cancel@discovery", "finalizing"),
            ("clock@rebooting", "no certain moment"),
            ("explode", "wrong-boot"),
            ("die:first", "0"),
            ("die:auto-assign", "bootstrap, master, worker, arbiter"),
            ("die@waiting-for-ignition", "configuring"),
            ("", "die"),
        ] {
            let refused = text.parse::<Fault>();
            assert!(refused.as_ref().is_err_and(|text| text.contains(why)), "{text}: {refused:?}");
        }
    }

    #[test]
    fn every_mishap_has_its_row() {
        for (fault_kind, name, _) in ALL {
            assert_eq!((fault_kind.as_str(), ALL.iter().filter(|row| row.1 == *name).count()), (*name, 1));
        }
    }
}
