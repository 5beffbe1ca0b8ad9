//! What goes wrong on purpose.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStage;

/// How far a wrong clock is ahead.
pub const CLOCK_AHEAD: i64 = 3600;
/// How late a delayed reply is.
pub const LATENESS: Duration = Duration::from_secs(150);
/// After so long someone boots the machine from the right disk.
pub const BOOT_REPAIR: Duration = Duration::from_secs(600);

/// What one host of each cluster does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// Nothing is heard of the host any more once it has reached the stage.
    Die,
    /// The installer gives up when it has reached the stage.
    Fail,
    /// Every reply comes twice.
    Double,
    /// Every reply comes late.
    Delay,
    /// The first reply to each kind of step carries another kind's name.
    WrongType,
    /// The clock is an hour ahead.
    Clock,
    /// The installation disk is slower than etcd likes.
    SlowDisk,
    /// The installation disk can't be measured.
    BrokenDisk,
    /// The release's images can't be pulled.
    ImagePull,
    /// The discovery image boots again instead of the disk, until someone corrects the boot order.
    WrongBoot,
}

impl Mishap {
    /// Every mishap.
    pub const ALL: &[Self] = &[
        Self::Die,
        Self::Fail,
        Self::Double,
        Self::Delay,
        Self::WrongType,
        Self::Clock,
        Self::SlowDisk,
        Self::BrokenDisk,
        Self::ImagePull,
        Self::WrongBoot,
    ];

    /// Its name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Die => "die",
            Self::Fail => "fail",
            Self::Double => "double",
            Self::Delay => "delay",
            Self::WrongType => "wrong-type",
            Self::Clock => "clock",
            Self::SlowDisk => "slow-disk",
            Self::BrokenDisk => "broken-disk",
            Self::ImagePull => "image-pull",
            Self::WrongBoot => "wrong-boot",
        }
    }

    /// Where the clusters end that it strikes, if no host can be spared.
    pub const fn outcome(self) -> ClusterStatus {
        match self {
            Self::Die | Self::Fail => ClusterStatus::Error,
            Self::Clock | Self::BrokenDisk => ClusterStatus::Insufficient,
            // The preparation fails; the cluster waits for the next attempt.
            Self::ImagePull => ClusterStatus::Ready,
            Self::Double | Self::Delay | Self::WrongType | Self::SlowDisk | Self::WrongBoot => {
                ClusterStatus::Installed
            }
        }
    }
}

/// A mishap, and the stage of the installation at which it happens; text form `NAME[@STAGE]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub mishap: Mishap,
    /// For [`Mishap::Die`] and [`Mishap::Fail`] alone.
    pub stage: HostStage,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, stage) = match text.split_once('@') {
            Some((name, stage)) => (name, Some(stage)),
            None => (text, None),
        };
        let mishap = Mishap::ALL.iter().copied().find(|mishap| mishap.as_str() == name).ok_or_else(|| {
            let all: Vec<_> = Mishap::ALL.iter().map(|mishap| mishap.as_str()).collect();
            format!("{name:?} is not one of {}", all.join(", "))
        })?;
        let stage = match stage {
            None => HostStage::WritingImageToDisk,
            Some(_) if !matches!(mishap, Mishap::Die | Mishap::Fail) => {
                return Err(format!("{name} happens at no stage of the installation"));
            }
            Some(stage) => {
                let all = || HostStage::ALL.iter().filter(|stage| **stage != HostStage::Failed);
                all()
                    .copied()
                    .find(|known| slug(*known) == stage.to_lowercase().replace(' ', "-"))
                    .ok_or_else(|| {
                        let all: Vec<_> = all().map(|stage| slug(*stage)).collect();
                        format!("{stage:?} is not one of {}", all.join(", "))
                    })?
            }
        };
        Ok(Self { mishap, stage })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mishap.as_str())?;
        match self.mishap {
            Mishap::Die | Mishap::Fail => write!(f, "@{}", slug(self.stage)),
            _ => Ok(()),
        }
    }
}

fn slug(stage: HostStage) -> String {
    stage.as_str().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_written_with_a_stage() {
        let fault: Fault = "die@waiting-for-bootkube".parse().unwrap();
        assert_eq!(fault, Fault { mishap: Mishap::Die, stage: HostStage::WaitingForBootkube });
        assert_eq!("die@Waiting for bootkube".parse(), Ok(fault));
        assert_eq!(fault.to_string().parse(), Ok(fault));
        assert_eq!("clock".parse::<Fault>().unwrap().to_string(), "clock");
        assert!("die@lunch".parse::<Fault>().is_err_and(|text| text.contains("rebooting")));
        assert!("clock@rebooting".parse::<Fault>().is_err());
        assert!("explode".parse::<Fault>().is_err_and(|text| text.contains("wrong-boot")));
    }
}
