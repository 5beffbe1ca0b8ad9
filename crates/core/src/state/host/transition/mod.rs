//! The tables of the host's machine: for hosts of a cluster first, then for those of a pool (state-machines §4, §5).

mod agent;
mod binding;
mod effect;
mod installation;
mod refresh;
mod register;
#[cfg(test)]
mod tests;

use assisted_wire::host::HostStatus;
use jiff::Timestamp;

pub use agent::{ARTIFACTS_FAILED, ARTIFACTS_READY, INSTALL_FAILED, MEDIA_LOST};
pub use binding::{BIND, DISABLE, ENABLE, RECLAIM, UNBIND};
pub use effect::Effect;
pub use installation::{CANCEL, INSTALL, PROGRESS, RESET};
pub use refresh::{REFRESH, REFRESH_POOL};
pub use register::REGISTER;

use super::condition::Condition;
use super::state;
use crate::model::event::NewEvent;
use crate::model::facts::HostFacts;
use crate::state::machine::When::Always;
use crate::state::machine::{Rule, Table, choose};

/// A rule of the host's machine.
pub type HostRule = Rule<HostStatus, Condition, Effect>;

const fn to(
    from: &'static [HostStatus],
    to: HostStatus,
    info: &'static str,
    effects: &'static [Effect],
) -> HostRule {
    Rule { from, when: Always, to: Some(to), info: Some(info), effects }
}

const fn stay(from: &'static [HostStatus]) -> HostRule {
    Rule { from, when: Always, to: None, info: None, effects: &[] }
}

/// The rule of a table that asks for nothing but the state of a host.
pub(crate) fn rule_of(table: &'static [HostRule], host: &HostFacts) -> Option<&'static HostRule> {
    choose(table, &host.record.host.status, &|_| false)
}

/// Puts a host into the state, and gives it the text, of a rule; what else the rule asks for is the caller's.
pub(crate) fn follow(rule: &HostRule, host: &mut HostFacts, now: Timestamp, events: &mut Vec<NewEvent>) {
    if let (Some(to), Some(info)) = (rule.to, rule.info) {
        state::enter(host, to, info, now, events);
    }
}

/// Every table with its title, in the order of a host's life.
pub const TABLES: &[(&str, &[HostRule])] = &[
    ("A host registers again", REGISTER),
    ("A user binds a host", BIND),
    ("A user unbinds a host", UNBIND),
    ("An installed host goes back into the pool", RECLAIM),
    ("A user disables a host", DISABLE),
    ("A user enables a host", ENABLE),
    ("A host loses its discovery media", MEDIA_LOST),
    ("A host of a cluster is looked at again", REFRESH),
    ("A host of a pool is looked at again", REFRESH_POOL),
    ("A user installs a host that joins a cluster", INSTALL),
    ("A host fails to start its installer", INSTALL_FAILED),
    ("A host reaches a stage", PROGRESS),
    ("A user cancels an installation", CANCEL),
    ("A user resets a host", RESET),
    ("A host has what it takes to boot the discovery image", ARTIFACTS_READY),
    ("A host can't get what it takes to boot the discovery image", ARTIFACTS_FAILED),
];

/// Every table of the machine, in words.
pub fn tables() -> Vec<Table> {
    TABLES.iter().map(|(title, rules)| Table::new(title, *rules)).collect()
}
