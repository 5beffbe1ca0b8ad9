//! Every row of every table is hit, in each of its states, by a situation of its own.

use std::collections::BTreeSet;

use assisted_wire::cluster::ClusterStatus as C;
use assisted_wire::host::HostStage as Stages;
use assisted_wire::host::HostStatus::{self, *};
use assisted_wire::host::HostValidationId::*;

use super::*;
use crate::state::host::condition::Condition::*;
use crate::state::host::condition::{Condition as Ask, Group, Limit};

/// The row that is chosen in a state when some facts hold.
fn row(table: &[HostRule], state: HostStatus, facts: &[Ask]) -> Option<usize> {
    table.iter().position(|rule| rule.from.contains(&state) && rule.when.holds(&|name| facts.contains(&name)))
}

/// A situation, and the row that is to be chosen in it (from 1, as printed) in each state of the row but some.
struct Case {
    row: usize,
    facts: Vec<Ask>,
    /// States of the row in which another one wins or this one needs other facts.
    but: &'static [HostStatus],
}

fn case(row: usize, facts: &[&[Ask]]) -> Case {
    Case { row, facts: facts.concat(), but: &[] }
}

impl Case {
    fn without(self, but: &'static [HostStatus]) -> Self {
        Self { but, ..self }
    }
}

fn check(title: &str, cases: &[Case]) {
    let (_, table) = TABLES.iter().find(|(each, _)| *each == title).unwrap();
    let mut hit = BTreeSet::new();
    for case in cases {
        for state in table[case.row - 1].from.iter().filter(|state| !case.but.contains(state)) {
            let chosen = row(table, *state, &case.facts).map(|row| row + 1);
            assert_eq!(chosen, Some(case.row), "{title}: {state} with {:?}", case.facts);
            hit.insert((case.row, state.as_str()));
        }
    }
    for (number, rule) in table.iter().enumerate() {
        for state in rule.from {
            assert!(
                hit.contains(&(number + 1, state.as_str())),
                "{title}: no test of row {} in {state}",
                number + 1
            );
        }
    }
}

const THERE: &[Ask] = &[Passes(Connected), Passes(MediaConnected)];
const HEARD: &[Ask] = &[Passes(Connected)];
const PREPARES: &[Ask] = &[Cluster(C::PreparingForInstallation)];
const FINE: &[Ask] = &[Passes(SufficientInstallationDiskSpeed), Passes(ContainerImagesAvailable)];
const TESTED: &[Ask] = &[DiskTested, ImagesPulled];
const SOFT: &[Ask] = &[SoftTimeouts];
const OVERDUE: &[Ask] = &[StageOverdue];
const FAILED: &[Ask] = &[Cluster(C::Error)];
const VALID: &[Ask] = &[All(Group::ValidInventory), Passes(HasInventory), Passes(InventoryNotFullyTruncated)];
const STRONG: &[Ask] = &[All(Group::MinimalHardware)];
const DEFINED: &[Ask] = &[All(Group::InputDefined)];
const SUFFICIENT: &[Ask] = &[All(Group::Sufficient)];
const UUID: &[Ask] = &[Passes(VsphereDiskUuidEnabled)];

#[test]
fn looked_at_again() {
    let in_stage = |stage| [Stage(stage)];
    let ready: &[&[Ask]] = &[THERE, FINE, VALID, STRONG, DEFINED, SUFFICIENT, UUID];
    let with = |more: &[Ask]| [ready.concat().as_slice(), more].concat();
    check(
        "A host of a cluster is looked at again",
        &[
            case(1, &[&[Overdue(Limit::Reclaim)]]),
            case(2, &[THERE, &[HasRole], PREPARES, FINE]),
            case(3, &[THERE, PREPARES, FINE, TESTED]),
            case(4, &[THERE, PREPARES]),
            case(5, &[THERE, &[Cluster(C::Installing)]]),
            case(6, &[THERE, FINE]),
            case(6, &[THERE, FINE, TESTED, &[Overdue(Limit::Preparation)]]),
            case(7, &[THERE, PREPARES, &[Passes(ContainerImagesAvailable)]]),
            case(8, &[THERE, PREPARES, FINE, &[Overdue(Limit::Preparation)]]),
            case(8, &[THERE, PREPARES, FINE, &[Overdue(Limit::Preparation), DiskTested]]),
            case(8, &[THERE, PREPARES, FINE, &[Overdue(Limit::Preparation), ImagesPulled]]),
            case(9, &[THERE, PREPARES, &[Passes(SufficientInstallationDiskSpeed)]]),
            case(10, &[THERE, PREPARES, FINE]),
            case(10, &[THERE, PREPARES, FINE, &[ImagesPulled]]),
            case(11, &[THERE, FINE]),
            case(12, &[THERE, &[Cluster(C::Ready)]]),
            case(13, &[FINE, HEARD]),
            case(13, &[FINE, &[Passes(MediaConnected)]]),
            case(13, &[]),
            case(14, &[THERE, FAILED]),
            case(14, &[FAILED, &[Overdue(Limit::Start)]]),
            case(15, &[THERE, &[Overdue(Limit::Start)]]),
            case(15, &[&[Overdue(Limit::Start), SoftTimeouts]]),
            case(16, &[HEARD]),
            case(16, &[FINE, &[Overdue(Limit::Preparation)]]),
            case(17, &[]),
            case(18, &[SOFT]),
            case(19, &[SOFT]),
            case(20, &[HEARD, SOFT, &[SilenceReported]]),
            case(21, &[HEARD, SOFT, &[SilenceReported], OVERDUE]),
            case(22, &[HEARD, &[StageHeldBack]]),
            case(22, &[SOFT, &[SilenceReported, StageHeldBack]]),
            case(23, &[HEARD, OVERDUE]),
            case(23, &[HEARD, OVERDUE, &in_stage(Stages::Configuring)]),
            case(24, &[HEARD, OVERDUE, &in_stage(Stages::WritingImageToDisk)]),
            case(25, &[HEARD, OVERDUE, &in_stage(Stages::CopyingRegistryDataToDisk)]),
            case(26, &[HEARD, OVERDUE, SOFT, &in_stage(Stages::Joined)]),
            case(27, &[HEARD, OVERDUE, SOFT, &in_stage(Stages::WritingImageToDisk)]),
            case(28, &[HEARD, OVERDUE, SOFT, &in_stage(Stages::CopyingRegistryDataToDisk)]),
            case(29, &[HEARD, OVERDUE, &in_stage(Stages::Rebooting)]),
            case(29, &[HEARD, OVERDUE, SOFT, &in_stage(Stages::Rebooting)]),
            case(30, &[HEARD, &[Overdue(Limit::UserAction), Dispensable, Cluster(C::Finalizing)]]),
            case(31, &[HEARD]),
            case(31, &[HEARD, SOFT, OVERDUE, &[StageOverdueReported]]),
            case(31, &[HEARD, &[Overdue(Limit::UserAction), Cluster(C::Installed), Dispensable]]),
            case(31, &[HEARD, &[Overdue(Limit::UserAction), Cluster(C::Installing)]]),
            case(32, &[THERE, FINE]),
            case(33, &[THERE, FINE, VALID]),
            case(34, &[THERE, FINE, VALID, STRONG, UUID]),
            case(35, &[THERE, FINE, VALID, STRONG, UUID, DEFINED]),
            case(35, &[THERE, FINE, VALID, STRONG]),
            case(35, &[THERE, FINE, &[Passes(HasInventory)]]).without(&[Disconnected, Discovering]),
            case(36, ready),
            Case { row: 37, facts: with(&[]), but: &[] },
            Case { row: 37, facts: with(PREPARES), but: &[] },
            Case { row: 37, facts: with(&[HasRole]), but: &[] },
            case(38, &[&[LogsOverdue]]),
            case(39, &[]),
            case(40, &[&[Day2]]),
            case(41, &[]),
        ],
    );
}

/// The combinations in which nothing is known to be right: the host stays as it is (state-machines §4.8).
#[test]
fn no_row() {
    for (state, facts) in [
        (PreparingFailed, [THERE, FINE, PREPARES].concat()),
        (Installed, [FAILED, &[Day2]].concat()),
        (Insufficient, [THERE, FINE].concat()),
        (AddedToExistingCluster, vec![]),
        (UnbindingPendingUserAction, vec![]),
        (Disabled, THERE.to_vec()),
    ] {
        assert_eq!(row(REFRESH, state, &facts), None, "{state}");
        assert_eq!(row(REFRESH_POOL, state, &facts), None, "{state}");
    }
    let media_lost = [HEARD, VALID, &[All(Group::Bindable)]].concat();
    assert_eq!(row(REFRESH_POOL, KnownUnbound, &media_lost), None);
}

#[test]
fn looked_at_again_in_a_pool() {
    check(
        "A host of a pool is looked at again",
        &[
            case(1, &[]),
            case(1, &[&[Passes(MediaConnected)], VALID]),
            case(2, &[THERE]),
            case(3, &[THERE, VALID]),
            case(4, &[THERE]),
            case(5, &[THERE, VALID, &[All(Group::Bindable)]]),
        ],
    );
}

#[test]
fn registered_again() {
    let rebooting: &[Ask] = &[Stage(Stages::Rebooting), BootedWrongDevice];
    check(
        "A host registers again",
        &[
            case(1, &[]),
            case(2, &[]),
            case(3, &[rebooting]),
            case(4, &[]),
            case(5, &[rebooting]),
            case(6, &[]),
            case(7, &[]),
            case(8, &[]),
            case(9, &[]),
            case(10, &[]),
        ],
    );
    for state in [PreparingFailed, Cancelled, Reclaiming, InstallingPendingUserAction, AddedToExistingCluster]
    {
        assert_eq!(row(REGISTER, state, &[]), None, "{state}");
    }
}

#[test]
fn a_stage_reached() {
    let (rebooting, done) = (&[Stage(Stages::Rebooting)], &[Stage(Stages::Done)]);
    check(
        "A host reaches a stage",
        &[
            case(1, &[rebooting, &[Day2]]),
            case(2, &[done, &[Day2]]),
            case(3, &[done]),
            case(4, &[rebooting]),
            case(4, &[&[Day2]]),
            case(5, &[]),
        ],
    );
    // A host that waits for a person is installed again before it can be done.
    assert_eq!(row(PROGRESS, InstallingPendingUserAction, done), Some(3));
}

#[test]
fn one_row_for_each_state() {
    for (title, table) in TABLES {
        if table.iter().any(|rule| !matches!(rule.when, Always)) {
            continue;
        }
        let cases: Vec<_> = (1..=table.len()).map(|row| case(row, &[])).collect();
        check(title, &cases);
    }
    check("A user installs a host that joins a cluster", &[case(1, &[&[Day2]])]);
    assert_eq!(row(INSTALL, Known, &[]), None);
}

/// Hosts begin to be discovered; from there rules lead into every state but one, which nothing brings about any more
/// (state-machines §4.12).
#[test]
fn every_state_but_one_is_reached() {
    let mut reached = vec![Discovering, DiscoveringUnbound];
    let mut looked = 0;
    while let Some(state) = reached.get(looked).copied() {
        let rules = TABLES.iter().flat_map(|(_, rules)| rules.iter());
        for to in rules.filter(|rule| rule.from.contains(&state)).filter_map(|rule| rule.to) {
            if !reached.contains(&to) {
                reached.push(to);
            }
        }
        looked += 1;
    }
    let missed: Vec<_> = HostStatus::ALL.iter().filter(|state| !reached.contains(state)).collect();
    assert_eq!(missed, [&Resetting]);
}

/// A state without a way out is one that only a person, or nothing, brings a host out of.
#[test]
fn every_state_has_a_way_out() {
    let leaves = |state: HostStatus| {
        let rules = TABLES.iter().flat_map(|(_, rules)| rules.iter());
        rules.filter(|rule| rule.from.contains(&state)).any(|rule| rule.to.is_some_and(|to| to != state))
    };
    let states = HostStatus::ALL;
    assert_eq!(states.len(), 28);
    for state in states {
        assert!(leaves(*state), "{state}");
    }
}
