//! Conditions: what they say, and how one is set so that a time changes only with what it tells.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition as MetaCondition, Time};

use crate::cluster_api::common::V1Beta1Condition;
use crate::common::Condition;
use crate::hive_extensions::agent_cluster_install::ClusterInstallCondition;

/// What a condition can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub r#type: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    pub reason: &'static str,
    /// The message; `{}` stands for a value.
    pub message: &'static str,
}

impl Outcome {
    /// What is said, with these values in the message, in their order.
    pub fn with(&self, values: &[&str]) -> Statement {
        let mut message = String::with_capacity(self.message.len());
        let mut values = values.iter();
        for (index, part) in self.message.split("{}").enumerate() {
            if index > 0 {
                message.push_str(values.next().copied().unwrap_or_default());
            }
            message.push_str(part);
        }
        Statement { r#type: self.r#type, status: self.status, reason: self.reason, message, generation: None }
    }
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub r#type: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    pub reason: &'static str,
    pub message: String,
    /// Generation of the object that this is about; only [`MetaCondition`] keeps it.
    pub generation: Option<i64>,
}

/// Defines outcomes by name, and the list of all.
macro_rules! outcomes {
    ($($name:ident = $type:literal $status:ident $reason:literal $message:literal;)+) => {
        $(
            pub const $name: crate::condition::Outcome = crate::condition::Outcome {
                r#type: $type,
                status: stringify!($status),
                reason: $reason,
                message: $message,
            };
        )+
        /// All of them.
        pub const ALL: &[crate::condition::Outcome] = &[$($name,)+];
    };
}

pub(crate) use outcomes;

/// An entry of a list of conditions.
pub trait Entry: Sized {
    fn r#type(&self) -> &str;

    /// The entry that says this since `now`.
    fn new(statement: Statement, now: &Time) -> Self;

    /// Makes the entry say this; the answer is whether it said anything else before.
    fn update(&mut self, statement: Statement, now: &Time) -> bool;
}

/// The condition of a type, of those of an object.
pub fn find<'a, E: Entry + 'a>(conditions: impl IntoIterator<Item = &'a E>, r#type: &str) -> Option<&'a E> {
    conditions.into_iter().find(|entry| entry.r#type() == r#type)
}

/// Makes a list of conditions say this. The answer is whether it said anything else before: if not, there is nothing to
/// write.
pub fn set<E: Entry>(conditions: &mut Vec<E>, statement: Statement, now: &Time) -> bool {
    match conditions.iter_mut().find(|entry| entry.r#type() == statement.r#type) {
        Some(entry) => entry.update(statement, now),
        None => {
            conditions.push(E::new(statement, now));
            true
        }
    }
}

/// The time follows the status alone (kube-api §3.5).
impl Entry for Condition {
    fn r#type(&self) -> &str {
        &self.r#type
    }

    fn new(statement: Statement, now: &Time) -> Self {
        Self {
            last_heartbeat_time: None,
            last_transition_time: Some(now.clone()),
            message: statement.message,
            reason: statement.reason.to_owned(),
            status: statement.status.to_owned(),
            r#type: statement.r#type.to_owned(),
        }
    }

    fn update(&mut self, statement: Statement, now: &Time) -> bool {
        let before = self.clone();
        let since = if self.status == statement.status { self.last_transition_time.take() } else { None };
        *self = Self {
            last_heartbeat_time: self.last_heartbeat_time.take(),
            last_transition_time: since.or_else(|| Some(now.clone())),
            ..Self::new(statement, now)
        };
        *self != before
    }
}

/// Both times follow everything that is said (kube-api §3.5).
impl Entry for ClusterInstallCondition {
    fn r#type(&self) -> &str {
        &self.r#type
    }

    fn new(statement: Statement, now: &Time) -> Self {
        Self {
            last_probe_time: Some(now.clone()),
            last_transition_time: Some(now.clone()),
            message: statement.message,
            reason: statement.reason.to_owned(),
            status: statement.status.to_owned(),
            r#type: statement.r#type.to_owned(),
        }
    }

    fn update(&mut self, statement: Statement, now: &Time) -> bool {
        if self.status == statement.status
            && self.reason == statement.reason
            && self.message == statement.message
        {
            return false;
        }
        *self = Self::new(statement, now);
        true
    }
}

/// The time follows the status alone.
impl Entry for MetaCondition {
    fn r#type(&self) -> &str {
        &self.type_
    }

    fn new(statement: Statement, now: &Time) -> Self {
        Self {
            last_transition_time: now.clone(),
            message: statement.message,
            observed_generation: statement.generation,
            reason: statement.reason.to_owned(),
            status: statement.status.to_owned(),
            type_: statement.r#type.to_owned(),
        }
    }

    fn update(&mut self, statement: Statement, now: &Time) -> bool {
        let since =
            if self.status == statement.status { self.last_transition_time.clone() } else { now.clone() };
        let after = Self { last_transition_time: since, ..Self::new(statement, now) };
        let changed = *self != after;
        *self = after;
        changed
    }
}

/// The time follows the status alone; what is not so weighs nothing but as information, unless its owner says more.
impl Entry for V1Beta1Condition {
    fn r#type(&self) -> &str {
        &self.r#type
    }

    fn new(statement: Statement, now: &Time) -> Self {
        let severity = if statement.status == "False" { "Info" } else { "" };
        Self {
            last_transition_time: now.clone(),
            message: statement.message,
            reason: statement.reason.to_owned(),
            severity: severity.to_owned(),
            status: statement.status.to_owned(),
            r#type: statement.r#type.to_owned(),
        }
    }

    fn update(&mut self, statement: Statement, now: &Time) -> bool {
        let since =
            if self.status == statement.status { self.last_transition_time.clone() } else { now.clone() };
        let after = Self { last_transition_time: since, ..Self::new(statement, now) };
        let changed = *self != after;
        *self = after;
        changed
    }
}
