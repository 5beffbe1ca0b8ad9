//! One trait for all webhooks.

use kube::Resource;
use serde::de::DeserializeOwned;

use super::verdict::Verdict;

/// Rules on the objects of a kind.
pub trait Webhook {
    type Object: Resource<DynamicType = ()> + DeserializeOwned;

    /// Last part of the path, and first part of the name of the configuration.
    const NAME: &'static str;
    const KIND: Kind;
    const OPERATIONS: &'static [Operation];

    /// Reviews a change.
    fn review(change: &Change<Self::Object>) -> Verdict;
}

/// What a webhook may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It can deny.
    Validating,
    /// It can change the object, too.
    Mutating,
}

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
}

impl Operation {
    /// As the API server writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
        }
    }
}

/// What is to become of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<T> {
    Create(T),
    Update { old: T, new: T },
}

impl<T> Change<T> {
    /// The object as it is to be.
    pub const fn after(&self) -> &T {
        match self {
            Self::Create(new) | Self::Update { new, .. } => new,
        }
    }

    /// The object as it is; none, if it is new.
    pub const fn before(&self) -> Option<&T> {
        match self {
            Self::Create(_) => None,
            Self::Update { old, .. } => Some(old),
        }
    }
}
