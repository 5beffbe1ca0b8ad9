//! What holds after everything that happens, once everything was looked at.

use std::collections::BTreeMap;

use assisted_core::decide::refresh::refresh;
use assisted_core::model::event::NewEvent;
use assisted_wire::cluster::ClusterProgressInfo;
use assisted_wire::cluster::ClusterStatus::{
    self, AddingHosts, Cancelled, Error, Finalizing, Installed, Installing, InstallingPendingUserAction,
    PreparingForInstallation, Ready,
};
use assisted_wire::host::{HostKind, HostStatus as H};
use assisted_wire::id::HostId;
use jiff::SignedDuration;
use proptest::prelude::*;

use super::act::{Act, HostAct};
use super::walk::Walk;
use crate::world::key;

/// What is compared with what comes after.
pub struct Before {
    hosts: BTreeMap<HostId, H>,
    cluster: ClusterStatus,
    progress: ClusterProgressInfo,
}

impl Before {
    pub fn of(walk: &Walk) -> Self {
        Self {
            hosts: walk.hosts().map(|host| (host.record.host.id, host.record.host.status)).collect(),
            cluster: walk.world.at(),
            progress: walk.world.progress(),
        }
    }
}

pub fn holds(before: &Before, acts: &[Act], walk: &Walk) -> Result<(), TestCaseError> {
    fit(walk)?;
    never_back(before, walk)?;
    let told = || walk.parts().flat_map(|part| &part.told);
    for event in told() {
        well_told(event)?;
    }
    for host in walk.hosts() {
        let fields = &host.record.host;
        let of_host = told().filter(|event| event.host_id == Some(fields.id));
        every_change_told(before.hosts.get(&fields.id).copied(), fields.status, of_host)?;
    }
    let mut status = before.cluster.as_str();
    for event in told().filter(|event| event.name == "cluster_status_updated") {
        let new = event.message.strip_prefix("Updated status of the cluster to ").unwrap();
        prop_assert_ne!(status, new, "told without need");
        status = new;
    }
    if !acts.iter().any(|act| matches!(act, Act::Transform)) {
        prop_assert_eq!(status, walk.world.at().as_str(), "every change of the cluster is told");
    }
    Ok(())
}

/// Whether a host in this state has no cluster.
fn is_of_pool(status: H) -> bool {
    matches!(
        status,
        H::Unbinding
            | H::UnbindingPendingUserAction
            | H::Reclaiming
            | H::ReclaimingRebooting
            | H::DiscoveringUnbound
            | H::KnownUnbound
            | H::DisconnectedUnbound
            | H::InsufficientUnbound
            | H::DisabledUnbound
    )
}

/// Hosts are in states that go with that of their cluster.
fn fit(walk: &Walk) -> Result<(), TestCaseError> {
    let status = walk.world.at();
    for host in &walk.world.facts.hosts {
        let of_host = host.record.host.status;
        let joins = host.record.host.kind == HostKind::AddToExistingClusterHost && status == AddingHosts;
        let fits = match of_host {
            H::PreparingForInstallation | H::PreparingSuccessful => status == PreparingForInstallation,
            H::Installing | H::InstallingInProgress => {
                joins || matches!(status, Installing | InstallingPendingUserAction | Finalizing)
            }
            H::Resetting => false,
            _ => !is_of_pool(of_host),
        };
        prop_assert!(fits, "host {of_host} in cluster {status}");
    }
    for part in walk.pool.values() {
        let of_host = part.facts.hosts[0].record.host.status;
        prop_assert!(is_of_pool(of_host), "host {of_host} in a pool");
    }
    Ok(())
}

/// What an installation reached is not lost as long as it goes on.
fn never_back(before: &Before, walk: &Walk) -> Result<(), TestCaseError> {
    let runs = |status| matches!(status, Installing | InstallingPendingUserAction | Finalizing | Installed);
    let (then, now) = (&before.progress, walk.world.progress());
    if runs(before.cluster) && runs(walk.world.at()) {
        prop_assert!(now.total_percentage >= then.total_percentage, "{then:?} {now:?}");
        prop_assert!(now.installing_stage_percentage >= then.installing_stage_percentage);
    }
    Ok(())
}

/// Nothing is left open in a text, and no secret is in it.
fn well_told(event: &NewEvent) -> Result<(), TestCaseError> {
    let open = event.message.contains('{') || event.message.contains('$');
    prop_assert!(!open && !event.message.contains("s3cr3t"), "{}", event.message);
    Ok(())
}

/// The changes that were told lead from where a host was to where it is.
fn every_change_told<'a>(
    from: Option<H>,
    to: H,
    told: impl Iterator<Item = &'a NewEvent>,
) -> Result<(), TestCaseError> {
    let mut at = from.map(H::as_str);
    for event in told {
        // It was removed, and is heard of for the first time.
        if event.name == "host_registration_succeeded" {
            at = None;
        }
        if event.name != "host_status_updated" {
            continue;
        }
        let (_, words) = event.message.split_once(": updated status from ").unwrap();
        let mut words = words.split(' ');
        let (src, new) = (words.next().unwrap(), words.nth(1).unwrap());
        prop_assert!(at.is_none_or(|at| at == src) && src != new, "{at:?}: {}", event.message);
        at = Some(new);
    }
    prop_assert!(at.is_none_or(|at| at == to.as_str()), "{at:?} was told, {to} is it");
    Ok(())
}

/// Until the moment that is announced, the clock changes nothing; without one, never.
pub fn clock(walk: &Walk) -> Result<(), TestCaseError> {
    for part in walk.parts() {
        let mut facts = part.facts.clone();
        let decade = facts.now + SignedDuration::from_hours(24 * 3650);
        let next = refresh(&facts).next_check;
        prop_assert!(next.is_none_or(|next| next > facts.now), "announced for what has been");
        facts.now = next.map_or(decade, |next| next - SignedDuration::from_millis(1));
        let later = refresh(&facts);
        prop_assert!(later.cluster.is_none(), "{:?}", later.events);
        // Where nobody waits for a sign of life, the validations may tell late that there was none.
        let changed = later.hosts.iter().find(|change| change.record.is_some());
        prop_assert!(changed.is_none(), "{:?}", later.events);
    }
    Ok(())
}

/// Two worlds are the same.
pub fn same(one: &Walk, other: &Walk) -> Result<(), TestCaseError> {
    prop_assert_eq!(&one.world.facts.cluster, &other.world.facts.cluster);
    prop_assert_eq!(one.hosts().count(), other.hosts().count());
    for (one, other) in one.hosts().zip(other.hosts()) {
        prop_assert_eq!(&one.record, &other.record);
        prop_assert_eq!(&one.reports, &other.reports);
    }
    Ok(())
}

/// A user who wants to start over gets a cluster that is ready, or one that is installed.
pub fn leads_back(mut walk: Walk) -> Result<(), TestCaseError> {
    walk.silent.clear();
    for number in 1..=walk.topology.hosts {
        walk.perform(&Act::Host(number, HostAct::Enable));
    }
    // Long enough for a machine that is on its way back into the pool.
    for _ in 0..2 {
        walk.perform(&Act::Wait(3601));
        walk.refresh();
    }
    if walk.world.at() == Installed {
        return Ok(());
    }
    let resettable =
        [PreparingForInstallation, Installing, InstallingPendingUserAction, Finalizing, Error, Cancelled];
    if resettable.contains(&walk.world.at()) {
        // A host that is discovered anew while the others are installed refuses for all: it is removed first.
        let strays = [H::Discovering, H::Disconnected, H::Insufficient, H::PendingForInput, H::Binding];
        for number in 1..=walk.topology.hosts {
            if walk.world.find(number).is_some_and(|host| strays.contains(&host.record.host.status)) {
                walk.remove(number);
            }
        }
        let decided = assisted_core::decide::install::reset(&walk.world.facts);
        prop_assert!(decided.is_ok(), "{decided:?}");
        walk.world.take(decided.unwrap());
    }
    for number in 1..=walk.topology.hosts {
        walk.perform(&Act::Host(number, HostAct::Reset));
        // One that failed alone, or was added to another cluster, comes back as a new one.
        let gone = [H::Error, H::Cancelled, H::Installed, H::AddedToExistingCluster];
        if walk.world.find(number).is_some_and(|host| gone.contains(&host.record.host.status)) {
            walk.remove(number);
        }
    }
    walk.refresh();
    for _ in 0..2 {
        walk.heal();
    }
    let infos: Vec<_> = walk.hosts().map(|host| &host.record.host.status_info).collect();
    let expected = if walk.world.at() == AddingHosts { AddingHosts } else { Ready };
    prop_assert_eq!(walk.world.at(), expected, "{:?} {}", infos, walk.world.cluster().validations_info);
    for number in 1..=walk.topology.hosts {
        let host = walk.world.facts.hosts.iter().find(|host| host.key() == key(number));
        let status = host.map(|host| host.record.host.status);
        prop_assert_eq!(status, Some(H::Known), "host {}: {:?}", number, infos);
    }
    Ok(())
}
