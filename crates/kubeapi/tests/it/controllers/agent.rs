//! Agents.

use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::labels::{annotation, finalizer as names, label};
use assisted_kube::finalizer;
use assisted_service::event::ListEvents;
use assisted_service::host::Poll;
use assisted_service::object::DescribedHost;
use assisted_simhost::host::SimHost;
use assisted_simhost::plan::PULL_SECRET;
use assisted_wire::host::{HostRole, HostStage, HostStatus};
use assisted_wire::host_params::{BindHostParams, HostCreateParams};
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::step::{StepReply, StepType};
use kube::ResourceExt;
use serde_json::json;

use super::cluster::{deployment, image_set, install};
use super::world::{Site, until, wait};

/// Status and reason of a condition of an Agent.
pub fn condition_of<'a>(agent: &'a Agent, kind: &str) -> (&'a str, &'a str) {
    let mut conditions = agent.status.iter().flat_map(|status| &status.conditions);
    let found = conditions.find(|condition| condition.r#type == kind);
    found.map_or(("", ""), |condition| (condition.status.as_str(), condition.reason.as_str()))
}

pub async fn infra_env_id(site: &Site, name: &str) -> InfraEnvId {
    until(&site.api(), name, |object: &InfraEnv| {
        object.status.as_ref().is_some_and(|status| !status.iso_download_url.is_empty())
    })
    .await;
    site.service.infra_envs().of_object(&site.key(name)).await.unwrap().unwrap().infra_env.id
}

/// A host registers.
pub async fn register(site: &Site, infra_env_id: InfraEnvId) -> HostKey {
    let key = HostKey { infra_env_id, host_id: HostId::random() };
    register_again(site, key).await;
    key
}

/// A host registers that may have done so before.
async fn register_again(site: &Site, key: HostKey) {
    let discovery_agent_version = site.service.settings().images.agent.clone();
    let params = HostCreateParams { host_id: key.host_id, discovery_agent_version };
    Box::pin(site.service.hosts().register(&site.caller(), key.infra_env_id, params)).await.unwrap();
}

/// A host reports what makes it sufficient for a cluster.
pub async fn report_sufficient(site: &Site, key: HostKey) {
    let timestamp = jiff::Timestamp::now().as_second();
    let poll = Poll { host: key, timestamp, agent_version: None };
    site.service.hosts().get_next_steps(&site.caller(), poll).await.unwrap();
    let machine = SimHost::new(key.infra_env_id, 7);
    let time = json!({"ntp_sources": [{"source_name": "time.example.com", "source_state": "synced"}]});
    let time = StepReply {
        step_type: Some(StepType::NtpSynchronizer),
        step_id: "ntp-synchronizer-1".to_owned(),
        output: time.to_string(),
        ..StepReply::default()
    };
    for reply in [machine.inventory_reply(1).unwrap(), time] {
        Box::pin(site.service.hosts().post_step_reply(&site.caller(), key, reply)).await.unwrap();
    }
}

async fn described(site: &Site, key: HostKey) -> DescribedHost {
    site.service.hosts().described(key).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_host_gets_an_agent_and_goes_with_it() {
    let site = Site::new("agent").await;
    site.pull_secret().await;
    site.infra_env("pool", json!({"agentLabels": {"rack": "7"}})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let name = host.host_id.to_string();
    let agent = until(&site.api(), &name, |agent: &Agent| condition_of(agent, "Bound").1 == "Unbound").await;
    assert_eq!((agent.labels()[label::INFRA_ENV].as_str(), agent.labels()["rack"].as_str()), ("pool", "7"));
    assert!(finalizer::has(&agent.metadata, names::AGENT) && !agent.spec.approved);
    assert_eq!(agent.owner_references()[0].name, "pool");
    for (kind, expected) in [
        ("SpecSynced", ("True", "SyncOK")),
        ("Connected", ("True", "AgentIsConnected")),
        ("RequirementsMet", ("False", "AgentNotReady")),
        ("Installed", ("False", "InstallationNotStarted")),
    ] {
        assert_eq!(condition_of(&agent, kind), expected, "{agent:#?}");
    }

    // What is wanted of it comes to the host.
    let spec = json!({"spec": {
        "approved": true, "hostname": "host-a.example.com", "role": "worker", "machineConfigPool": "infra",
        "nodeLabels": {"node.example.com/zone": "a"}, "installerArgs": "[ \"--append-karg\", \"a=b\" ]",
        "ignitionEndpointHTTPHeaders": {"X-Zone": "a"},
    }});
    site.merge::<Agent>(&name, spec).await;
    wait("the role does not come", || async {
        described(&site, host).await.host.role.is_some_and(|role| role.as_str() == "worker")
    })
    .await;
    let found = described(&site, host).await;
    assert_eq!(found.host.requested_hostname, "host-a.example.com");
    assert_eq!(found.host.machine_config_pool_name, "infra");
    assert_eq!(found.host.node_labels, r#"{"node.example.com/zone":"a"}"#);
    assert_eq!(found.host.installer_args, r#"["--append-karg","a=b"]"#);
    assert_eq!(found.ignition_endpoint_http_headers, r#"{"X-Zone":"a"}"#);
    wait("the approval does not come", || async { described(&site, host).await.approved }).await;
    // And goes again, where that can be said.
    let spec =
        json!({"spec": {"nodeLabels": null, "installerArgs": null, "ignitionEndpointHTTPHeaders": null}});
    site.merge::<Agent>(&name, spec).await;
    wait("the labels stay", || async { described(&site, host).await.host.node_labels == "{}" }).await;
    assert_eq!(described(&site, host).await.ignition_endpoint_http_headers, "{}");

    // An approval that is taken back is told, too; each once.
    site.merge::<Agent>(&name, json!({"spec": {"approved": false}})).await;
    wait("the approval stays", || async { !described(&site, host).await.approved }).await;
    let of_host = ListEvents { host_id: Some(host.host_id), ..ListEvents::default() };
    let events = site.service.events().list(&site.caller(), of_host).await.unwrap().events.0;
    let told: Vec<_> = events.iter().filter(|event| event.name == "host_approved_updated").collect();
    let [given, taken] = told.as_slice() else { panic!("{events:#?}") };
    assert!(given.message.ends_with(": updated approved to true"), "{}", given.message);
    assert!(taken.message.ends_with(": updated approved to false"), "{}", taken.message);

    site.merge::<Agent>(&name, json!({"spec": {"installerArgs": "no list"}})).await;
    until(&site.api(), &name, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "InputError").await;

    site.delete::<Agent>(&name).await;
    site.gone::<Agent>(&name).await;
    assert!(site.service.hosts().described(host).await.unwrap().is_none());
}

#[tokio::test]
async fn an_agent_that_somebody_removed_by_force_comes_back_and_so_does_a_row() {
    let site = Site::new("lost").await;
    site.pull_secret().await;
    site.infra_env("pool", json!({"agentApproval": {"autoApprove": true}})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let name = host.host_id.to_string();
    let first = until(&site.api(), &name, |agent: &Agent| agent.spec.approved).await;
    // The host is there.
    site.delete::<Agent>(&name).await;
    site.gone::<Agent>(&name).await;
    register_again(&site, host).await;
    let second = until(&site.api(), &name, |agent: &Agent| condition_of(agent, "Bound").1 == "Unbound").await;
    assert_ne!(first.metadata.uid, second.metadata.uid);

    // The row goes, and the Agent has kept what it is made anew from.
    site.service.hosts().deregister(&site.caller(), host).await.unwrap();
    wait("the row does not come back", || async {
        site.service.hosts().described(host).await.unwrap().is_some()
    })
    .await;
    assert!(
        until(&site.api(), &name, |agent: &Agent| agent.spec.approved).await.metadata.uid
            == second.metadata.uid
    );
}

/// An Agent as a backup has it, of a host that was installed once.
fn saved(stage: &str) -> serde_json::Value {
    json!({
        "metadata": {
            "labels": {(label::INFRA_ENV): "pool"}, "finalizers": [names::AGENT],
            "annotations": {
                (annotation::AGENT_STATE): "disabled-unbound", (annotation::AGENT_ROLE): "worker",
                (annotation::AGENT_CURRENT_STAGE): stage,
            },
        },
        "spec": {"approved": true, "role": ""},
    })
}

#[tokio::test]
async fn a_row_is_made_anew_of_what_can_be_read_and_of_no_host_that_is_another_namespaces() {
    let site = Site::new("anew").await;
    site.pull_secret().await;
    site.infra_env("pool", json!({})).await;
    let infra_env_id = infra_env_id(&site, "pool").await;
    for (stage, expected) in [("Done", Some(HostStage::Done)), ("no stage", None)] {
        let host = HostKey { infra_env_id, host_id: HostId::random() };
        site.create::<Agent>(&host.host_id.to_string(), saved(stage)).await;
        wait("the row does not come back", || async {
            site.service.hosts().described(host).await.unwrap().is_some()
        })
        .await;
        let found = described(&site, host).await.host;
        assert_eq!((found.status, found.stage()), (HostStatus::DisabledUnbound, expected));
        assert_eq!(found.role, Some(HostRole::Worker));
    }

    // Somebody copies the Agent of a host that is there.
    let host = register(&site, infra_env_id).await;
    let name = host.host_id.to_string();
    until(&site.api(), &name, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "SyncOK").await;
    let other = Site::new("anew-other").await;
    other.pull_secret().await;
    other.infra_env("pool", json!({})).await;
    let elsewhere = self::infra_env_id(&other, "pool").await;
    other.create::<Agent>(&name, saved("")).await;
    let told =
        until(&other.api(), &name, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "InputError").await;
    let text = format!("already exists in infraEnv {infra_env_id} (namespace: anew). Cannot restore.");
    assert!(format!("{told:?}").contains(&text), "{told:#?}");
    let copy = HostKey { infra_env_id: elsewhere, host_id: host.host_id };
    assert!(other.service.hosts().described(copy).await.unwrap().is_none());
    other.delete::<Agent>(&name).await;
    other.gone::<Agent>(&name).await;
    assert!(site.service.hosts().described(host).await.unwrap().is_some());
}

#[tokio::test]
async fn a_host_that_goes_with_its_infra_env_is_not_made_anew() {
    let site = Site::new("goes").await;
    site.pull_secret().await;
    site.infra_env("pool", json!({"agentApproval": {"autoApprove": true}})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let name = host.host_id.to_string();
    until(&site.api(), &name, |agent: &Agent| agent.spec.approved).await;
    // Somebody keeps the object, and so its Agent, while it goes.
    let mut kept = site.api::<InfraEnv>().get("pool").await.unwrap().metadata.finalizers.unwrap();
    kept.push("example.com/kept".to_owned());
    site.merge::<InfraEnv>("pool", json!({"metadata": {"finalizers": kept}})).await;
    site.delete::<InfraEnv>("pool").await;
    wait("the infra-env stays", || async {
        site.service.infra_envs().of_object(&site.key("pool")).await.unwrap().is_none()
    })
    .await;
    // The Agent is looked at, and nothing is missed: that would be told at once.
    site.merge::<Agent>(&name, json!({"metadata": {"annotations": {"look": "now"}}})).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(site.service.hosts().described(host).await.unwrap().is_none());
    let agent = site.api::<Agent>().get(&name).await.unwrap();
    assert_eq!(condition_of(&agent, "SpecSynced").1, "SyncOK");

    site.delete::<Agent>(&name).await;
    site.gone::<Agent>(&name).await;
    site.merge::<InfraEnv>("pool", json!({"metadata": {"finalizers": null}})).await;
    site.gone::<InfraEnv>("pool").await;
}

/// Names of the events of an infra-env.
async fn events(site: &Site, infra_env_id: InfraEnvId) -> Vec<String> {
    let query = ListEvents { infra_env_id: Some(infra_env_id), ..ListEvents::default() };
    let found = site.service.events().list(&site.caller(), query).await.unwrap().events.0;
    found.into_iter().map(|event| event.name).collect()
}

#[tokio::test]
async fn a_host_that_boots_another_image_takes_its_agent_along() {
    let site = Site::new("moves").await;
    site.pull_secret().await;
    site.infra_env("one", json!({"agentLabels": {"rack": "1"}})).await;
    site.infra_env("two", json!({"agentLabels": {"room": "2"}})).await;
    let first = register(&site, infra_env_id(&site, "one").await).await;
    let second = HostKey { infra_env_id: infra_env_id(&site, "two").await, host_id: first.host_id };
    let (agents, name) = (site.api::<Agent>(), first.host_id.to_string());
    report_sufficient(&site, first).await;
    let before = until(&agents, &name, |agent: &Agent| state(agent) == "known-unbound").await;
    let wanted = json!({"spec": {"approved": true, "hostname": "host-a.example.com"}});
    site.merge::<Agent>(&name, wanted).await;
    wait("the name does not come", || async {
        described(&site, first).await.host.requested_hostname == "host-a.example.com"
    })
    .await;

    // Of what was wanted of it before nothing is wanted here, and nothing is known yet.
    register_again(&site, second).await;
    let is_of = |infra_env: &'static str| {
        move |agent: &Agent| {
            agent.labels().get(label::INFRA_ENV).is_some_and(|name| name == infra_env)
                && state(agent).ends_with("-unbound")
        }
    };
    let moved = until(&agents, &name, is_of("two")).await;
    assert_eq!(moved.metadata.uid, before.metadata.uid);
    assert_eq!((moved.labels().get("rack"), moved.labels()["room"].as_str()), (None, "2"));
    let owners: Vec<_> = moved.owner_references().iter().map(|owner| owner.name.as_str()).collect();
    assert_eq!(owners, ["two"]);
    assert!(!moved.spec.approved && moved.spec.hostname.is_empty(), "{moved:#?}");
    assert!(moved.status.unwrap().inventory.is_none());
    assert!(site.service.hosts().described(first).await.unwrap().is_none());
    assert!(events(&site, first.infra_env_id).await.iter().any(|name| name == "host_deregistered"));
    // Who has no name is called by its id.
    assert_eq!(described(&site, second).await.host.requested_hostname, name);
    assert_eq!(site.names::<Agent>().await, [name.as_str()]);

    // And back.
    boot(&site, first).await;
    let back = until(&agents, &name, |agent: &Agent| state(agent) == "known-unbound").await;
    assert_eq!((back.labels()["rack"].as_str(), back.labels().get("room")), ("1", None));
    assert!(site.service.hosts().described(second).await.unwrap().is_none());
    assert!(events(&site, second.infra_env_id).await.iter().any(|name| name == "host_deregistered"));
    site.delete::<Agent>(&name).await;
    site.gone::<Agent>(&name).await;
    assert!(site.service.hosts().of_object(&site.key(&name)).await.unwrap().is_empty());
}

#[tokio::test]
async fn hosts_of_a_pool_join_clusters() {
    let site = Site::new("binding").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    install(&site, "demo", json!({})).await;
    site.infra_env("pool", json!({})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let name = host.host_id.to_string();
    report_sufficient(&site, host).await;
    let pooled = until(&site.api(), &name, |agent: &Agent| {
        agent.status.as_ref().is_some_and(|status| {
            status.debug_info.as_ref().is_some_and(|debug| debug.state == "known-unbound")
        })
    })
    .await;
    assert_eq!(condition_of(&pooled, "RequirementsMet").1, "AgentIsNotApproved");
    assert_eq!(pooled.status.unwrap().inventory.unwrap().cpu.unwrap().architecture, "x86_64");
    site.install_says("demo", "SpecSynced", "SyncOK").await;

    let missing = json!({"spec": {"clusterDeploymentName": {"name": "none", "namespace": site.namespace}}});
    site.merge::<Agent>(&name, missing).await;
    until(&site.api(), &name, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "BackendError").await;
    let joins = json!({"spec": {"clusterDeploymentName": {"name": "demo", "namespace": site.namespace}}});
    site.merge::<Agent>(&name, joins).await;
    let bound = until(&site.api(), &name, |agent: &Agent| {
        ["Binding", "Bound"].contains(&condition_of(agent, "Bound").1)
            && condition_of(agent, "SpecSynced").1 == "SyncOK"
    })
    .await;
    let cluster = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster.id;
    assert_eq!(described(&site, host).await.host.cluster_id, Some(cluster));
    let debug = bound.status.unwrap().debug_info.unwrap();
    assert!(debug.events_url.contains(&format!("host_id={name}")), "{debug:?}");
}

/// The status of the host that an Agent shows.
pub fn state(agent: &Agent) -> &str {
    let debug = agent.status.as_ref().and_then(|status| status.debug_info.as_ref());
    debug.map_or("", |debug| debug.state.as_str())
}

/// The host boots the image of its InfraEnv again, and tells of itself.
pub async fn boot(site: &Site, key: HostKey) {
    register_again(site, key).await;
    report_sufficient(site, key).await;
}

#[tokio::test]
async fn a_host_that_leaves_its_cluster_returns_to_the_pool_or_joins_another() {
    let site = Site::new("leaving").await;
    site.pull_secret().await;
    image_set(&site).await;
    for name in ["one", "other"] {
        deployment(&site, name).await;
        install(&site, name, json!({})).await;
        site.install_says(name, "SpecSynced", "SyncOK").await;
    }
    site.infra_env("pool", json!({})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let name = host.host_id.to_string();
    report_sufficient(&site, host).await;
    let agents = site.api::<Agent>();
    let is = |expected: &'static str| move |agent: &Agent| state(agent) == expected;
    until(&agents, &name, is("known-unbound")).await;
    let joins = |cluster: &str| json!({"spec": {"clusterDeploymentName": {"name": cluster, "namespace": site.namespace}}});
    site.merge::<Agent>(&name, joins("one")).await;
    until(&agents, &name, is("binding")).await;
    boot(&site, host).await;
    until(&agents, &name, |agent| condition_of(agent, "Bound").1 == "Bound").await;

    // Nobody names a cluster any more: it leaves, and is of the pool again as soon as it has booted.
    site.merge::<Agent>(&name, json!({"spec": {"clusterDeploymentName": null}})).await;
    let leaving = until(&agents, &name, is("unbinding")).await;
    for kind in ["RequirementsMet", "Validated", "Installed", "Bound"] {
        assert_eq!(condition_of(&leaving, kind), ("False", "Unbinding"), "{leaving:#?}");
    }
    assert_eq!(condition_of(&leaving, "SpecSynced"), ("True", "SyncOK"));
    let row = described(&site, host).await;
    assert!(row.cluster.is_none() && row.host.cluster_id.is_none(), "{row:?}");
    boot(&site, host).await;
    let pooled = until(&agents, &name, is("known-unbound")).await;
    assert_eq!(condition_of(&pooled, "Bound"), ("False", "Unbound"));

    // Another cluster is named while it joins one: it leaves that first, as soon as it has come there.
    site.merge::<Agent>(&name, joins("one")).await;
    until(&agents, &name, is("binding")).await;
    site.merge::<Agent>(&name, joins("other")).await;
    until(&agents, &name, |agent| condition_of(agent, "SpecSynced").1 == "BackendError").await;
    boot(&site, host).await;
    until(&agents, &name, |agent| {
        state(agent) == "unbinding" && condition_of(agent, "SpecSynced").1 == "SyncOK"
    })
    .await;
    boot(&site, host).await;
    until(&agents, &name, is("binding")).await;
    let cluster = site.service.clusters().of_object(&site.key("other")).await.unwrap().unwrap().cluster.id;
    assert_eq!(described(&site, host).await.host.cluster_id, Some(cluster));
}

#[tokio::test]
async fn a_cluster_without_objects_keeps_no_host_of_a_pool() {
    let site = Site::new("unnamed").await;
    site.pull_secret().await;
    site.infra_env("pool", json!({})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let (agents, name) = (site.api::<Agent>(), host.host_id.to_string());
    report_sufficient(&site, host).await;
    until(&agents, &name, |agent: &Agent| state(agent) == "known-unbound").await;
    let params = json!({
        "name": "unnamed", "openshift_version": "4.20", "pull_secret": PULL_SECRET, "base_dns_domain": "example.com",
    });
    let (caller, params) = (site.caller(), serde_json::from_value(params).unwrap());
    let cluster_id = Box::pin(site.service.clusters().register(&caller, params)).await.unwrap().id;
    // Somebody binds it by the REST API, and its Agent names no cluster.
    site.service.hosts().bind(&caller, host, BindHostParams { cluster_id }).await.unwrap();
    until(&agents, &name, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "BackendError").await;
    boot(&site, host).await;
    let left = until(&agents, &name, |agent: &Agent| state(agent) == "unbinding").await;
    assert!(left.status.unwrap().deprovision_info.is_none());
    assert_eq!(described(&site, host).await.host.cluster_id, None);
}
