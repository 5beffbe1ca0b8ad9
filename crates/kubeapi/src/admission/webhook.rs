//! One trait for all webhooks, and the table of them.

use kube::Resource;
use serde::de::DeserializeOwned;

use super::agent::AgentValidator;
use super::agent_classification::AgentClassificationValidator;
use super::agent_cluster_install::{AgentClusterInstallMutator, AgentClusterInstallValidator};
use super::infra_env::InfraEnvValidator;
use super::review::Request;
use super::verdict::{Denial, Verdict};

/// Rules on the objects of a kind.
pub trait Webhook {
    type Object: Resource<DynamicType = ()> + DeserializeOwned;

    /// Last part of the path, and first part of the name of the configuration.
    const NAME: &'static str;
    const KIND: Kind;
    const OPERATIONS: &'static [Operation];

    /// Judges a change.
    fn judge(change: &Change<Self::Object>) -> Verdict;
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

/// A webhook, as a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Last part of its path, and first part of the name of its configuration.
    pub name: &'static str,
    pub kind: Kind,
    pub operations: &'static [Operation],
    /// Group, version and plural name of the resource that it judges.
    pub resource: fn() -> [String; 3],
    judge: fn(&Request<'_>) -> Verdict,
}

/// All webhooks, in the order in which they are told.
pub const WEBHOOKS: &[Entry] = &[
    entry::<AgentClusterInstallMutator>(),
    entry::<AgentClusterInstallValidator>(),
    entry::<InfraEnvValidator>(),
    entry::<AgentValidator>(),
    entry::<AgentClassificationValidator>(),
];

impl Entry {
    /// Judges a request. One about another resource, or about something else than the creation or the update of an object, is
    /// allowed unread.
    pub fn judge(&self, request: &Request<'_>) -> Verdict {
        let [group, version, resource] = (self.resource)();
        let asked = &request.resource;
        let is_own = (&*asked.group, &*asked.version, &*asked.resource) == (&*group, &*version, &*resource);
        if !is_own || !request.sub_resource.is_empty() {
            return Verdict::Allowed;
        }
        (self.judge)(request)
    }
}

const fn entry<W: Webhook>() -> Entry {
    Entry {
        name: W::NAME,
        kind: W::KIND,
        operations: W::OPERATIONS,
        resource: resource::<W::Object>,
        judge: judge::<W>,
    }
}

fn resource<K: Resource<DynamicType = ()>>() -> [String; 3] {
    [K::group(&()).into_owned(), K::version(&()).into_owned(), K::plural(&()).into_owned()]
}

fn judge<W: Webhook>(request: &Request<'_>) -> Verdict {
    let Some(operation) = W::OPERATIONS.iter().find(|known| known.as_str() == request.operation) else {
        return Verdict::Allowed;
    };
    let change = match operation {
        Operation::Create => request.object().map(Change::Create),
        Operation::Update => {
            request.old_object().and_then(|old| Ok(Change::Update { old, new: request.object()? }))
        }
    };
    match change {
        Ok(change) => W::judge(&change),
        Err(error) => Denial::bad_request(error).into(),
    }
}
