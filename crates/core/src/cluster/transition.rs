//! The tables of the cluster's machine (state-machines §3.6).

use std::convert::Infallible;

use assisted_wire::cluster::ClusterStatus::{self, *};

use super::condition::Condition::{self, InputComplete, Installable, VipDhcp, VipsDefined};
use super::status_info as info;
use crate::machine::When::{All, Any, Is, Not};
use crate::machine::{Rule, Table, When};

/// A rule of the cluster's machine.
pub type ClusterRule = Rule<ClusterStatus, Condition, Infallible>;

/// States in which a cluster is described, and its networks and groups are worked out.
pub const DESCRIBED: &[ClusterStatus] = &[PendingForInput, Ready, Insufficient];

const fn rule(when: When<Condition>, to: ClusterStatus, info: &'static str) -> ClusterRule {
    Rule { from: DESCRIBED, when, to: Some(to), info: Some(info), effects: &[] }
}

/// A cluster is looked at again.
pub const REFRESH: &[ClusterRule] = &[
    rule(
        All(&[Not(&Is(VipDhcp)), Any(&[Not(&Is(VipsDefined)), Not(&Is(InputComplete))])]),
        PendingForInput,
        info::PENDING,
    ),
    rule(
        All(&[Not(&Is(VipDhcp)), Is(VipsDefined), Is(InputComplete), Not(&Is(Installable))]),
        Insufficient,
        info::INSUFFICIENT,
    ),
    rule(All(&[Is(VipDhcp), Not(&Is(InputComplete))]), PendingForInput, info::PENDING),
    rule(
        All(&[Is(VipDhcp), Is(InputComplete), Any(&[Not(&Is(Installable)), Not(&Is(VipsDefined))])]),
        Insufficient,
        info::INSUFFICIENT,
    ),
    rule(All(&[Is(InputComplete), Is(VipsDefined), Is(Installable)]), Ready, info::READY),
];

/// Every table of the machine, in words.
pub fn tables() -> Vec<Table> {
    vec![Table::new("A cluster is looked at again", REFRESH)]
}
