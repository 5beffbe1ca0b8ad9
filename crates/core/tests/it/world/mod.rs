//! A small world: facts, and a caller that writes down what the domain decides, as the service does.

mod installation;
mod machine;

pub use installation::several;
pub use machine::{
    API_VIP, INGRESS_VIP, connectivity, dual_inventory, free_addresses, inventory, links, poor_inventory,
    resolutions, time_sources, virtual_inventory,
};

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_core::decide::host::machine::Origin;
use assisted_core::decide::host::registration::{Registered, register_host};
use assisted_core::decide::host::reply::{ReplyEffect, reply};
use assisted_core::decide::refresh::{refresh, refresh_after};
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::decision::{Decision, HostChange};
use assisted_core::model::event::NewEvent;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::host::{HostKey, HostRecord};
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::refusal::Refusal;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_core::policy::Policy;
use assisted_core::state::host::check_in::{CheckInReport, check_in};
use assisted_core::validation::PassedHosts;
use assisted_wire::host::{Host, HostStatus};
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::step::{StepReply, StepType};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

/// The moment at which every world begins.
pub fn start() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

pub fn host_id(number: u16) -> HostId {
    HostId(Uuid::from_u128(0x1000 + u128::from(number)))
}

pub fn key(number: u16) -> HostKey {
    HostKey { infra_env_id: InfraEnvId(Uuid::from_u128(1)), host_id: host_id(number) }
}

pub fn infra_env(cluster_id: Option<ClusterId>) -> InfraEnvRecord {
    let at = start().to_string();
    let infra_env = serde_json::from_value(json!({
        "kind": "InfraEnv", "id": Uuid::from_u128(1), "href": "", "name": "lab", "type": "full-iso",
        "openshift_version": "4.17", "cpu_architecture": "x86_64", "cluster_id": cluster_id,
        "created_at": at, "updated_at": at, "ntp_sources": "time.example.com",
    }));
    InfraEnvRecord {
        infra_env: infra_env.unwrap(),
        pull_secret: "secret".into(),
        image_token_key: "00".into(),
        token_generation: 0,
        mirror_registry: None,
        internal_ignition: String::new(),
        object_key: None,
    }
}

/// A cluster with every input but the VIPs; `overrides` replace members.
pub fn cluster(overrides: &Value) -> ClusterRecord {
    let mut cluster = json!({
        "kind": "Cluster", "id": Uuid::from_u128(2), "href": "", "name": "c", "base_dns_domain": "example.com",
        "openshift_version": "4.17.3", "image_info": {}, "status": "insufficient",
        "status_info": "Cluster is not ready for install", "platform": {"type": "baremetal"},
        "control_plane_count": 3, "high_availability_mode": "Full", "cpu_architecture": "x86_64",
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}],
        "service_networks": [{"cidr": "172.30.0.0/16"}], "machine_networks": [],
        "api_vips": [], "ingress_vips": [], "pull_secret_set": true, "network_type": "OVNKubernetes",
        "user_managed_networking": false, "vip_dhcp_allocation": false, "monitored_operators": [],
    });
    for (name, value) in overrides.as_object().unwrap() {
        cluster[name] = value.clone();
    }
    serde_json::from_value(json!({"cluster": cluster, "pull_secret": "secret"})).unwrap()
}

/// A cluster of one node.
pub fn single_node() -> ClusterRecord {
    cluster(&json!({
        "control_plane_count": 1, "high_availability_mode": "None", "user_managed_networking": true,
        "platform": {"type": "none"},
    }))
}

#[derive(Clone, Debug)]
pub struct World {
    pub facts: Facts,
    pub infra_env: InfraEnvRecord,
    /// What the machines are like.
    pub machine: fn(u16) -> Value,
    /// All that was told, in order.
    pub told: Vec<NewEvent>,
    /// What the last look has found.
    pub passed: PassedHosts,
    /// How often a host was written.
    writes: u64,
}

impl World {
    pub fn new(cluster: Option<ClusterRecord>) -> Self {
        let infra_env = infra_env(cluster.as_ref().map(|record| record.cluster.id));
        let facts = Facts {
            cluster,
            hosts: Vec::new(),
            infra_envs: BTreeMap::from([(infra_env.infra_env.id, infra_env.clone())]),
            policy: Arc::new(Policy::default()),
            now: start(),
        };
        let passed = PassedHosts::default();
        Self { facts, infra_env, machine: inventory, told: Vec::new(), passed, writes: 0 }
    }

    pub fn find(&self, number: u16) -> Option<&HostFacts> {
        self.facts.hosts.iter().find(|host| host.key() == key(number))
    }

    pub fn host(&self, number: u16) -> &Host {
        &self.find(number).unwrap().record.host
    }

    pub fn status(&self, number: u16) -> HostStatus {
        self.host(number).status
    }

    pub fn position(&self, number: u16) -> usize {
        self.facts.hosts.iter().position(|host| host.key() == key(number)).unwrap()
    }

    pub fn wait(&mut self, seconds: i64) {
        self.facts.now += SignedDuration::from_secs(seconds);
    }

    /// A host registers, and everything is looked at.
    pub fn register(&mut self, number: u16) -> Result<Registered, RefusalWithEvents> {
        let version = self.facts.policy.images.agent.clone();
        let params = HostCreateParams { host_id: host_id(number), discovery_agent_version: version };
        let existing = self.find(number).cloned();
        let registered = register_host(
            existing.as_ref(),
            &self.infra_env,
            self.facts.cluster.as_ref(),
            &params,
            "admin",
            &Origin::default(),
            self.facts.now,
        )?;
        let decision = registered.decision.clone();
        if registered.created {
            assert!(decision.hosts.is_empty());
            self.insert(registered.host.clone());
        }
        self.check_in(number);
        self.write(decision.hosts, decision.cluster);
        self.told.extend(decision.events);
        Ok(registered)
    }

    fn insert(&mut self, record: HostRecord) {
        let checked_in_at = self.facts.now;
        self.facts.hosts.push(HostFacts::new(record, checked_in_at));
    }

    fn check_in(&mut self, number: u16) {
        let (place, now) = (self.position(number), self.facts.now);
        self.facts.hosts[place].checked_in_at = now;
    }

    /// A host polls, telling a right clock.
    pub fn poll(&mut self, number: u16) {
        self.check_in(number);
        let place = self.position(number);
        let told = CheckInReport { agent_version: None, clock: self.facts.now.as_second() };
        if let Some(record) = check_in(&self.facts.hosts[place], &told, self.facts.now) {
            self.facts.hosts[place].record = record.into();
        }
    }

    /// A host answers; what changes is written down.
    pub fn answer(&mut self, number: u16, answer: &StepReply) -> Result<ReplyEffect, Refusal> {
        self.check_in(number);
        let effect = reply(&self.facts, key(number), answer)?;
        let decision = effect.decision.clone();
        self.write(decision.hosts, decision.cluster);
        self.told.extend(decision.events);
        Ok(effect)
    }

    /// A host answers a step that went well.
    pub fn reply(&mut self, number: u16, step: StepType, output: &Value) -> Result<ReplyEffect, Refusal> {
        let answer = StepReply { step_type: Some(step), output: output.to_string(), ..StepReply::default() };
        self.answer(number, &answer)
    }

    pub fn write(&mut self, changes: impl IntoIterator<Item = HostChange>, cluster: Option<ClusterRecord>) {
        for change in changes {
            let host = self.facts.hosts.iter_mut().find(|host| host.key() == change.key).unwrap();
            if let Some(record) = change.record {
                host.record = record.into();
            }
            for (kind, text) in change.reports {
                host.put_report(kind, text.into());
            }
            self.writes += 1;
            host.set_revision(self.writes);
        }
        if let Some(cluster) = cluster {
            self.facts.cluster = Some(cluster);
        }
    }

    /// Looks at everything.
    pub fn look(&mut self) -> Decision {
        refresh_after(&mut self.passed, &self.facts)
    }

    /// Looks at everything, and writes down what changed.
    pub fn glance(&mut self) -> Decision {
        let outcome = self.look();
        self.write(outcome.hosts.clone(), outcome.cluster.clone());
        self.told.extend(outcome.events.clone());
        outcome
    }

    /// The same, and holds that a second look finds nothing to do, without what the first one has found.
    pub fn refresh(&mut self) -> Decision {
        let outcome = self.glance();
        let again = refresh(&self.facts);
        assert!(again.hosts.is_empty(), "a second look changes hosts: {:?}", again.hosts);
        assert!(again.cluster.is_none(), "a second look changes the cluster");
        assert!(again.events.is_empty(), "a second look tells {:?}", again.events);
        assert_eq!(again.next_check, outcome.next_check);
        outcome
    }

    /// A host registers, polls, and tells all it is asked for.
    pub fn bring(&mut self, number: u16) {
        self.register(number).unwrap();
        self.poll(number);
        self.reply(number, StepType::Inventory, &(self.machine)(number)).unwrap();
        self.reply(number, StepType::NtpSynchronizer, &time_sources()).unwrap();
        if self.facts.cluster.is_some() {
            self.reply(number, StepType::DomainResolution, &resolutions()).unwrap();
        }
    }
}

/// Names of events, in order.
pub fn names(events: &[NewEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.name).collect()
}
