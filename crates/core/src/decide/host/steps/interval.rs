//! When a host polls next: soon while something new is to be expected, else as its state says.
//!
//! A host only hears of anything when it polls, so during discovery and preparation most of an installation's time was
//! spent waiting for the next poll. Soon is a few seconds for a small cluster and grows with the number of hosts, so that
//! the load stays what it is with one poll a minute each.

use std::time::Duration;

use assisted_wire::host::HostStatus::{self, *};
use assisted_wire::step::StepType;
use jiff::Timestamp;

use crate::model::facts::{Facts, HostFacts};

/// Shortest interval between two polls of a host, seconds.
const SHORTEST: i64 = 1;
/// So many hosts of a cluster poll in a second, at most, while something is expected of them.
const POLLS_PER_SECOND: i64 = 4;
/// The interval of a host without a cluster, seconds: nothing tells how many others come with it, and as many as an infra-env takes must not be
/// more than a replica holds.
const UNBOUND: i64 = 5;

/// Minutes for which something is expected of a host that was discovered, or whose cluster changed.
const DISCOVERY: i64 = 5;
/// Minutes for which something is expected of a host that prepares for its installation; then the state times out.
const PREPARATION: i64 = 20;

/// How soon a host polls again while something is expected, and until when that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) seconds: i64,
    until: Timestamp,
}

impl Prompt {
    pub(super) fn is_over(self, now: Timestamp) -> bool {
        self.until <= now
    }
}

/// `None` where the state of the host calls for nothing that could not wait for an ordinary poll.
pub(super) fn prompt(facts: &Facts, host: &HostFacts, quiet_seconds: i64) -> Option<Prompt> {
    let fields = &host.record.host;
    let minutes = expected_minutes(fields.status)?;
    let cluster = facts.cluster.as_ref().map(|record| record.cluster.status_updated_at);
    let shortest = if cluster.is_some() { SHORTEST } else { UNBOUND };
    let changes = [fields.status_updated_at, fields.registered_at].into_iter().chain(cluster);
    let until = changes.max()?.0 + Duration::from_secs(u64::try_from(minutes * 60).ok()?);
    let hosts = i64::try_from(facts.hosts.len()).unwrap_or(i64::MAX);
    let seconds = (hosts.saturating_add(POLLS_PER_SECOND - 1) / POLLS_PER_SECOND).max(shortest);
    (seconds < quiet_seconds).then_some(Prompt { seconds, until })
}

fn expected_minutes(status: HostStatus) -> Option<i64> {
    match status {
        Discovering | Insufficient | PendingForInput | Known | DiscoveringUnbound | InsufficientUnbound
        | KnownUnbound => Some(DISCOVERY),
        PreparingForInstallation | PreparingSuccessful | Installing => Some(PREPARATION),
        _ => None,
    }
}

/// How long after a step was handed out it is handed out again with the same arguments, while a host polls soon. Cheap
/// probes whose outcome changes by itself are tried again sooner.
pub fn repeat_after(step: StepType) -> Duration {
    match step {
        StepType::NtpSynchronizer | StepType::ConnectivityCheck | StepType::DomainResolution => {
            Duration::from_secs(15)
        }
        _ => Duration::from_secs(60),
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster::ClusterStatus as C;

    use super::*;
    use crate::decide::host::tests::host_in;
    use crate::validation::testing::now;

    fn at(minutes: i64) -> Timestamp {
        now() + Duration::from_secs(60 * minutes.unsigned_abs())
    }

    #[test]
    fn something_is_expected_for_a_while_after_a_change() {
        for (status, minutes) in [
            (Discovering, Some(5)),
            (Insufficient, Some(5)),
            (Known, Some(5)),
            (PreparingForInstallation, Some(20)),
            (Installing, Some(20)),
            (InstallingInProgress, None),
            (Installed, None),
            (Disconnected, None),
            (Disabled, None),
            (Binding, None),
            (Error, None),
        ] {
            let mut facts = host_in(status, C::Ready);
            let old = at(0) - Duration::from_secs(24 * 3600);
            if let Some(record) = &mut facts.cluster {
                record.cluster.status_updated_at = old.into();
            }
            facts.hosts[0].record.host.registered_at = old.into();
            facts.hosts[0].record.host.status_updated_at = now().into();
            let prompt = prompt(&facts, &facts.hosts[0], 60);
            assert_eq!(prompt.map(|prompt| prompt.until), minutes.map(at), "{status}");
            assert!(prompt.is_none_or(|prompt| !prompt.is_over(at(4)) && prompt.is_over(at(20))), "{status}");
        }
    }

    #[test]
    fn a_change_of_the_cluster_is_one_of_its_hosts() {
        let mut facts = host_in(Known, C::Ready);
        facts.hosts[0].record.host.status_updated_at = (now() - Duration::from_secs(3600)).into();
        facts.cluster.as_mut().unwrap().cluster.status_updated_at = now().into();
        assert!(!prompt(&facts, &facts.hosts[0], 60).unwrap().is_over(at(4)));
    }

    #[test]
    fn hosts_without_a_cluster_poll_as_if_they_were_many() {
        let mut facts = host_in(KnownUnbound, C::Ready);
        facts.cluster = None;
        facts.hosts[0].record.host.status_updated_at = now().into();
        assert_eq!(prompt(&facts, &facts.hosts[0], 60).map(|prompt| prompt.seconds), Some(UNBOUND));
    }

    #[test]
    fn many_hosts_poll_no_more_often_than_a_few_in_a_second() {
        let one = host_in(Known, C::Ready);
        let expected = [
            (1, Some(1)),
            (4, Some(1)),
            (5, Some(2)),
            (12, Some(3)),
            (100, Some(25)),
            (236, Some(59)),
            (240, None),
        ];
        for (hosts, seconds) in expected {
            let mut facts = one.clone();
            facts.hosts = vec![one.hosts[0].clone(); hosts];
            let prompt = prompt(&facts, &facts.hosts[0], 60);
            assert_eq!(prompt.map(|prompt| prompt.seconds), seconds, "{hosts} hosts");
        }
    }
}
