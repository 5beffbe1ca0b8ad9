//! Secrets that vanish, come again, and change.

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::condition::find;
use assisted_simhost::plan::PULL_SECRET;
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use super::super::agent::{condition_of as agent_said, infra_env_id, register};
use super::super::cluster::{deployment, image_set, install};
use super::super::world::{Site, condition_of, until, wait};

/// Credentials in the pull secret of all tests, and others.
const OLD: &str = "c2ltOnNpbQ==";
const NEW: &str = "b3RoZXI6b25l";

#[tokio::test(flavor = "multi_thread")]
async fn secrets_that_vanish_are_missed_and_their_successors_taken() {
    let site = Site::new("secrets").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    install(&site, "demo", json!({})).await;
    site.infra_env("pool", json!({})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let (agents, name) = (site.api::<Agent>(), host.host_id.to_string());
    site.install_says("demo", "SpecSynced", "SyncOK").await;

    // Both faces of the row say what is missing, and the rows stay as they are.
    site.delete::<Secret>("pull").await;
    let told = site.install_says("demo", "SpecSynced", "BackendError").await;
    assert!(condition_of(&told, "SpecSynced").1.contains("pull"), "{told:#?}");
    until(&site.api(), "pool", |object: &InfraEnv| {
        let conditions = object.status.iter().flat_map(|status| &status.conditions);
        find(conditions, "ImageCreated")
            .is_some_and(|condition| condition.status == "False" && condition.message.contains("pull"))
    })
    .await;
    let row = async || site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap();
    assert!(row().await.pull_secret.expose().contains(OLD));

    // Its successor has no label yet by which it is watched; what changes of it afterwards is heard of.
    site.pull_secret().await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
    infra_env_id(&site, "pool").await;
    let other = PULL_SECRET.replace(OLD, NEW);
    site.merge::<Secret>("pull", json!({"stringData": {".dockerconfigjson": other}})).await;
    wait("the cluster keeps the old credentials", || async {
        row().await.pull_secret.expose().contains(NEW)
    })
    .await;

    // The token of an Agent.
    let reference =
        json!({"spec": {"ignitionEndpointTokenReference": {"name": "token", "namespace": site.namespace}}});
    site.merge::<Agent>(&name, reference).await;
    until(&agents, &name, |agent: &Agent| agent_said(agent, "SpecSynced").1 == "BackendError").await;
    site.create::<Secret>("token", json!({"metadata": {}, "stringData": {"ignition-token": "one"}})).await;
    until(&agents, &name, |agent: &Agent| agent_said(agent, "SpecSynced").1 == "SyncOK").await;
    let token = async || {
        let found = site.service.hosts().described(host).await.unwrap().unwrap();
        found.ignition_endpoint_token.expose().to_owned()
    };
    assert_eq!(token().await, "one");
    site.merge::<Secret>("token", json!({"stringData": {"ignition-token": "two"}})).await;
    wait("the host keeps the old token", || async { token().await == "two" }).await;
    site.delete::<Secret>("token").await;
    let told =
        until(&agents, &name, |agent: &Agent| agent_said(agent, "SpecSynced").1 == "BackendError").await;
    let conditions = &told.status.unwrap().conditions;
    assert!(find(conditions, "SpecSynced").unwrap().message.contains("token"), "{conditions:?}");
    assert_eq!(token().await, "two");
}
