//! What goes wrong on purpose.

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
pub enum Mishap {
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
    /// The owner cancels the installation.
    Cancel,
    /// The owner resets the installation, and begins anew.
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
    /// An operator that the owner wants besides does not start.
    OlmOperator,
    /// An operator of the cluster itself does not start.
    ClusterOperator,
}

/// When mishaps can happen.
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

/// Every mishap: its name on the command line, and when it can happen.
const ALL: &[(Mishap, &str, When)] = &[
    (Mishap::Die, "die", Machine),
    (Mishap::Fail, "fail", Installer),
    (Mishap::Silence, "silence", Agent),
    (Mishap::Restart, "restart", Agent),
    (Mishap::Media, "media", Before),
    (Mishap::Cancel, "cancel", Installation),
    (Mishap::Reset, "reset", Installation),
    (Mishap::Double, "double", Always),
    (Mishap::Delay, "delay", Always),
    (Mishap::Disorder, "disorder", Always),
    (Mishap::WrongType, "wrong-type", Always),
    (Mishap::WrongHost, "wrong-host", Always),
    (Mishap::WrongStage, "wrong-stage", Always),
    (Mishap::Clock, "clock", Always),
    (Mishap::ClockBehind, "clock-behind", Always),
    (Mishap::SlowDisk, "slow-disk", Always),
    (Mishap::BrokenDisk, "broken-disk", Always),
    (Mishap::ImagePull, "image-pull", Always),
    (Mishap::WrongBoot, "wrong-boot", Always),
    (Mishap::OlmOperator, "olm-operator", Always),
    (Mishap::ClusterOperator, "cluster-operator", Always),
];

impl Mishap {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|(mishap, ..)| *mishap)
    }

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Whether it happens at a certain moment, not all the time.
    pub fn has_moment(self) -> bool {
        self.row().2 != Always
    }

    /// Whether it strikes a cluster, and no host of it.
    pub fn is_of_cluster(self) -> bool {
        matches!(self, Self::OlmOperator | Self::ClusterOperator)
    }

    /// The moment at which what happens all the time is noticed first.
    fn begins(self) -> Moment {
        match self {
            Self::SlowDisk | Self::BrokenDisk | Self::ImagePull => Moment::Preparing,
            Self::WrongStage | Self::WrongBoot => Moment::Stage(HostStage::StartingInstallation),
            _ => Moment::Discovery,
        }
    }

    fn row(self) -> (Self, &'static str, When) {
        ALL.iter().copied().find(|(mishap, ..)| *mishap == self).unwrap_or((self, "", Always))
    }

    /// Whether it can happen at a moment.
    pub fn can_happen(self, moment: Moment) -> bool {
        let of_installer = matches!(moment, Moment::Stage(stage) if is_of_installer(stage));
        let before = matches!(moment, Moment::Discovery | Moment::Preparing);
        let restarts = moment == Moment::Stage(HostStage::Rebooting);
        let of_node = matches!(moment, Moment::Stage(stage) if is_of_node(stage));
        match self.row().2 {
            Always => false,
            Before => before,
            Installer => of_installer,
            Agent => before || of_installer && !restarts,
            Machine => before || of_installer || of_node && moment != Moment::Stage(HostStage::Done),
            Installation => {
                moment == Moment::Preparing || of_installer || of_node || moment == Moment::Finalizing
            }
        }
    }

    /// Where a cluster ends that it strikes at a moment, if no host can be spared.
    fn outcome(self, moment: Moment) -> ClusterStatus {
        let before = matches!(moment, Moment::Discovery | Moment::Preparing);
        match self {
            Self::Die | Self::Silence | Self::Media if moment == Moment::Preparing => {
                ClusterStatus::Insufficient
            }
            Self::Die if moment == Moment::Discovery => ClusterStatus::Insufficient,
            Self::Silence | Self::Restart | Self::Media if before => ClusterStatus::Installed,
            Self::Die | Self::Fail | Self::Silence | Self::Restart | Self::Media | Self::ClusterOperator => {
                ClusterStatus::Error
            }
            // The preparation ends; the cluster waits for the next attempt.
            Self::Cancel if moment == Moment::Preparing => ClusterStatus::Ready,
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
pub enum Moment {
    /// The host is asked what is in it for the first time.
    Discovery,
    /// The host tries its disk and its images.
    Preparing,
    /// The host has reached a stage of its installation.
    Stage(HostStage),
    /// The cluster waits for its operators.
    Finalizing,
}

impl Moment {
    fn all() -> impl Iterator<Item = Self> {
        let stages = HostStage::ALL.iter().filter(|stage| **stage != HostStage::Failed);
        [Self::Discovery, Self::Preparing]
            .into_iter()
            .chain(stages.map(|stage| Self::Stage(*stage)))
            .chain([Self::Finalizing])
    }
}

impl fmt::Display for Moment {
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
pub enum Victim {
    /// One that is drawn.
    Drawn,
    /// The one at this place in its cluster.
    Place(u32),
    /// The bootstrap, or the first of those of another role that gets so far. A master is not the bootstrap, unless it is
    /// struck before the service has chosen that.
    Role(HostRole),
}

/// Roles by which a victim can be named.
const ROLES: [HostRole; 4] = [HostRole::Bootstrap, HostRole::Master, HostRole::Worker, HostRole::Arbiter];

/// A mishap, when it happens, and on which host; text form `NAME[@MOMENT][:HOST]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub mishap: Mishap,
    /// Means something only for mishaps that happen at a moment.
    pub moment: Moment,
    pub victim: Victim,
}

impl Fault {
    /// Whether this is that mishap, and that moment its own.
    pub fn is(&self, mishap: Mishap, moment: Moment) -> bool {
        self.mishap == mishap && self.moment == moment
    }

    /// Where a cluster ends that it strikes, of a single node or of several, if no host can be spared.
    pub fn outcome(&self, single: bool) -> ClusterStatus {
        use HostStage::{WaitingForBootkube, WaitingForController};
        // With several nodes these stages are over, and the host has restarted, before its silence is too long.
        let soon_over = matches!(self.moment, Moment::Stage(WaitingForBootkube | WaitingForController));
        match self.mishap {
            Mishap::Silence if soon_over && !single => ClusterStatus::Installed,
            mishap => mishap.outcome(self.moment),
        }
    }

    /// Whether it strikes before the service has chosen a bootstrap: when an installation begins.
    pub fn is_early(&self) -> bool {
        let moment = if self.mishap.has_moment() { self.moment } else { self.mishap.begins() };
        moment == Moment::Discovery && !self.mishap.is_of_cluster()
    }

    /// Whether it strikes before there is an installation, and stays.
    pub fn keeps_from_being_ready(&self) -> bool {
        matches!(self.mishap, Mishap::Clock | Mishap::ClockBehind | Mishap::WrongHost)
            || self.is(Mishap::Die, Moment::Discovery)
    }

    /// Whether a cluster may do without the host that it strikes.
    pub fn takes_a_host(&self) -> bool {
        let lost = matches!(
            self.mishap,
            Mishap::Die | Mishap::Fail | Mishap::Silence | Mishap::Restart | Mishap::Media
        );
        lost && matches!(self.moment, Moment::Stage(_))
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, victim) = match text.rsplit_once(':') {
            Some((text, whom)) => (text, whom.parse()?),
            None => (text, Victim::Drawn),
        };
        let (name, moment) = match text.split_once('@') {
            Some((name, moment)) => (name, Some(slug(moment))),
            None => (text, None),
        };
        let (mishap, _, when) =
            ALL.iter().copied().find(|(_, known, _)| *known == name).ok_or_else(|| {
                let all: Vec<_> = ALL.iter().map(|(_, name, _)| *name).collect();
                format!("{name:?} is not one of {}", all.join(", "))
            })?;
        let moment = match moment {
            None => Moment::Stage(HostStage::WritingImageToDisk),
            Some(_) if when == Always => return Err(format!("{name} happens at no certain moment")),
            Some(wanted) => {
                let mut possible = Moment::all().filter(|moment| mishap.can_happen(*moment));
                possible.find(|moment| moment.to_string() == wanted).ok_or_else(|| {
                    let all = Moment::all().filter(|moment| mishap.can_happen(*moment));
                    let all: Vec<_> = all.map(|moment| moment.to_string()).collect();
                    format!("{name} can't happen at {wanted:?}, only at {}", all.join(", "))
                })?
            }
        };
        Ok(Self { mishap, moment, victim })
    }
}

impl FromStr for Victim {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(role) = ROLES.iter().find(|role| role.as_str() == text) {
            return Ok(Self::Role(*role));
        }
        text.parse().map(Self::Place).map_err(|_| {
            let roles = ROLES.map(HostRole::as_str).join(", ");
            format!("{text:?} is neither a host's number, the first being 0, nor one of {roles}")
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name, when) = self.mishap.row();
        f.write_str(name)?;
        if when != Always {
            write!(f, "@{}", self.moment)?;
        }
        match self.victim {
            Victim::Drawn => Ok(()),
            Victim::Place(place) => write!(f, ":{place}"),
            Victim::Role(role) => write!(f, ":{}", role.as_str()),
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
        let moment = Moment::Stage(HostStage::WaitingForBootkube);
        assert_eq!(fault, Fault { mishap: Mishap::Die, moment, victim: Victim::Drawn });
        assert_eq!("die@Waiting for bootkube".parse(), Ok(fault));
        let placed: Fault = "cancel@finalizing:4".parse().unwrap();
        assert_eq!((placed.moment, placed.victim), (Moment::Finalizing, Victim::Place(4)));
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
        for (mishap, name, _) in ALL {
            assert_eq!((mishap.as_str(), ALL.iter().filter(|row| row.1 == *name).count()), (*name, 1));
        }
    }
}
