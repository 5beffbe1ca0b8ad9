//! The table of all webhooks.

use kube::Resource;

use super::agent::AgentValidator;
use super::agent_classification::AgentClassificationValidator;
use super::agent_cluster_install::{AgentClusterInstallMutator, AgentClusterInstallValidator};
use super::infra_env::InfraEnvValidator;
use super::review::Request;
use super::verdict::{Denial, Verdict};
use super::webhook::{Change, Kind, Operation, Webhook};

/// A webhook, as a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Last part of its path, and first part of the name of its configuration.
    pub name: &'static str,
    pub kind: Kind,
    pub operations: &'static [Operation],
    /// Group, version and plural name of the resource that it judges.
    pub resource: fn() -> [String; 3],
    review: fn(&Request<'_>) -> Verdict,
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
    /// Reviews a request. One about another resource, or about something else than the creation or the update of an object, is
    /// allowed unread.
    pub fn review(&self, request: &Request<'_>) -> Verdict {
        let [group, version, resource] = (self.resource)();
        let asked = &request.resource;
        let is_own = (&*asked.group, &*asked.version, &*asked.resource) == (&*group, &*version, &*resource);
        if !is_own || !request.sub_resource.is_empty() {
            return Verdict::Allowed;
        }
        (self.review)(request)
    }
}

const fn entry<W: Webhook>() -> Entry {
    Entry {
        name: W::NAME,
        kind: W::KIND,
        operations: W::OPERATIONS,
        resource: resource::<W::Object>,
        review: review::<W>,
    }
}

fn resource<K: Resource<DynamicType = ()>>() -> [String; 3] {
    [K::group(&()).into_owned(), K::version(&()).into_owned(), K::plural(&()).into_owned()]
}

fn review<W: Webhook>(request: &Request<'_>) -> Verdict {
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
        Ok(change) => W::review(&change),
        Err(error) => Denial::bad_request(error).into(),
    }
}
