//! Hosts whose validations have all passed at an earlier look, so that the next one need not run them again: what calls for a look
//! at a cluster of a thousand hosts is mostly what one of them reported.
//!
//! What is known of a host holds for one revision of it, in one state of all else that its validations read, and as long as it
//! is heard. Where they read more of other hosts than whether those share its name, nothing is kept. In a build with assertions,
//! the validations run all the same, and have to say what was known.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;

use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::host::HostValidationId;
use assisted_wire::operator::OperatorType;
use assisted_wire::time::DateTime;

use super::Scope;
use super::host::{evaluate_in, is_silent};
use super::results::{Bits, Results};
use crate::model::facts::HostFacts;
use crate::model::host::HostKey;
use crate::model::report::ReportKind;
use crate::model::topology;
use crate::policy::Policy;

/// Hosts of one cluster whose validations have all passed.
#[derive(Clone, Debug, Default)]
pub struct PassedHosts {
    inputs: Option<SharedInputs>,
    hosts: HashMap<HostKey, Passed>,
}

/// All that the validations of a host read besides the host.
#[derive(Clone, Debug)]
struct SharedInputs {
    /// Of the cluster, the infra-envs, and how many hosts there are.
    fingerprint: u64,
    policy: Arc<Policy>,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    revision: u64,
    /// Hosts that were deleted and came back begin with the first revision again.
    created_at: DateTime,
    bits: Bits,
}

impl PassedHosts {
    /// How many are known.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Forgets all that was known of other inputs.
    pub(crate) fn set_inputs(&mut self, scope: &Scope<'_>) {
        let found = SharedInputs::of(scope);
        if found != self.inputs {
            self.hosts.clear();
        }
        self.inputs = found;
    }

    /// The results of a host, if it is known to pass.
    pub(crate) fn results(&self, scope: &Scope<'_>, host: &HostFacts) -> Option<Results<HostValidationId>> {
        let passed = self.hosts.get(&host.key())?;
        let holds = host.revision() == Some(passed.revision)
            && host.record.host.created_at == passed.created_at
            && !is_silent(host, &scope.facts.policy, scope.facts.now)
            && !scope.is_name_shared(topology::host_name(host));
        if !holds {
            return None;
        }
        debug_assert!(
            evaluate_in(scope, host).is_ok_and(|results| {
                let is_stored = results.new_info(host.report(ReportKind::ValidationsInfo)).is_none();
                results.passed() == Some(passed.bits) && is_stored
            }),
            "host {} does not pass its validations as it did",
            host.record.host.id
        );
        Some(Results::without_texts(passed.bits))
    }

    /// Notes the results of a host, if they can be relied on later and are stored with it already.
    pub(crate) fn note(&mut self, host: &HostFacts, results: &Results<HostValidationId>) {
        let (Some(revision), Some(bits), Some(_)) = (host.revision(), results.passed(), &self.inputs) else {
            self.hosts.remove(&host.key());
            return;
        };
        let created_at = host.record.host.created_at;
        self.hosts.insert(host.key(), Passed { revision, created_at, bits });
    }
}

impl PartialEq for SharedInputs {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && Arc::ptr_eq(&self.policy, &other.policy)
    }
}

impl SharedInputs {
    /// `None`: validations read more of other hosts than can be kept apart.
    fn of(scope: &Scope<'_>) -> Option<Self> {
        let facts = scope.facts;
        let mut record = facts.cluster.clone()?;
        let cluster = &mut record.cluster;
        if cluster.imported || scope.layering().is_some() || has_operators(cluster) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (facts.hosts.len(), scope.two_nodes_with_fencing).hash(&mut hasher);
        // Long texts, which need no quotes here.
        let texts = [&mut cluster.connectivity_majority_groups, &mut cluster.ip_collisions];
        texts.map(std::mem::take).hash(&mut hasher);
        // Hosts are not judged by the state of their cluster.
        cluster.status = ClusterStatus::Insufficient;
        cluster.progress = None;
        for text in [&mut cluster.status_info, &mut cluster.validations_info] {
            text.clear();
        }
        for time in [&mut cluster.status_updated_at, &mut cluster.updated_at] {
            *time = DateTime::default();
        }
        serde_json::to_writer(Hashed(&mut hasher), &(record, &facts.infra_envs)).ok()?;
        Some(Self { fingerprint: hasher.finish(), policy: Arc::clone(&facts.policy) })
    }
}

fn has_operators(cluster: &Cluster) -> bool {
    cluster.monitored_operators.iter().flatten().any(|each| each.operator_type == Some(OperatorType::Olm))
}

/// Hashes what is written, of which no text is kept: secrets are among it.
struct Hashed<'h>(&'h mut DefaultHasher);

impl io::Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
