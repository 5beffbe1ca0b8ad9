//! The API server is away, or has forgotten what a watch wants to go on from.

use std::time::Duration;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use futures::StreamExt;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use serde_json::json;

use super::super::agent::{condition_of, infra_env_id, register};
use super::super::world::{until, wait};
use crate::controllers::own_hub::OwnHub;

const LEASE: Duration = Duration::from_secs(4);

/// Longer than the lease lasts, and than most pauses between attempts.
#[tokio::test(flavor = "multi_thread")]
async fn what_happens_while_the_api_server_is_away_is_made_up_for() {
    Box::pin(is_made_up_for("away", Duration::from_secs(12), 150)).await;
}

/// So long that hosts which nobody hears of count as lost meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn everything_that_happens_in_ten_minutes_without_an_api_server_is_made_up_for() {
    Box::pin(is_made_up_for("ten-minutes", Duration::from_secs(600), 3_000)).await;
}

/// The API server is away for so long, in which no more connections to it are tried than these: by a dozen of watches, after pauses that
/// grow, until the lease is lost, and by whoever asks for the lease, eight times in its duration.
async fn is_made_up_for(namespace: &'static str, away: Duration, most: usize) {
    let mut hub = OwnHub::lease().await;
    hub.start(LEASE).await;
    let site = hub.site(namespace).await;
    site.pull_secret().await;
    site.infra_env("pool", json!({})).await;
    let pool = infra_env_id(&site, "pool").await;
    let first = register(&site, pool).await.host_id.to_string();
    until(&site.api(), &first, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "SyncOK").await;

    // Hosts come all the same: the service does not end with its API server.
    tokio::task::block_in_place(|| hub.kube.stop_api());
    let before = hub.network.connections();
    let second = register(&site, pool).await.host_id.to_string();
    tokio::time::sleep(away).await;
    let attempts = hub.network.connections() - before;
    assert!(attempts < most, "{attempts} connections within {away:?}");
    tokio::task::block_in_place(|| hub.kube.start_api().unwrap());

    until(&site.api(), &second, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "SyncOK").await;
    site.merge::<Agent>(&first, json!({"spec": {"hostname": "after"}})).await;
    wait("the name does not come", || async {
        let key = assisted_core::model::host::HostKey { infra_env_id: pool, host_id: first.parse().unwrap() };
        site.service.hosts().described(key).await.unwrap().unwrap().host.requested_hostname == "after"
    })
    .await;
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_has_expired_misses_nothing() {
    let mut hub = OwnHub::lease().await;
    // The lease outlives the cut: what is watched anew is watched by the same controllers.
    hub.start(Duration::from_secs(3600)).await;
    let site = hub.site("expired").await;
    site.pull_secret().await;
    let nmstate = |mac: &str, address: &str| {
        json!({"metadata": {"labels": {"site": "a"}}, "spec": {
            "interfaces": [{"name": "eth0", "macAddress": mac}],
            "config": {"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "ipv4": {
                "enabled": true, "dhcp": false, "address": [{"ip": address, "prefix-length": 24}]}}]},
        }})
    };
    site.create::<NMStateConfig>("kept", nmstate("02:00:00:00:00:01", "192.0.2.1")).await;
    site.create::<NMStateConfig>("lost", nmstate("02:00:00:00:00:02", "192.0.2.2")).await;
    let selector = json!({"nmStateConfigLabelSelector": {"matchLabels": {"site": "a"}}});
    site.infra_env("pool", selector).await;
    let pool = infra_env_id(&site, "pool").await;
    let host = register(&site, pool).await.host_id.to_string();
    let agents = site.api::<Agent>();
    let agent = until(&agents, &host, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "SyncOK").await;
    let row =
        async || site.service.infra_envs().of_object(&site.key("pool")).await.unwrap().unwrap().infra_env;
    assert!(row().await.static_network_config.contains("192.0.2.2"));

    // Nothing is heard, and much happens.
    hub.network.open(true);
    let past = agents.list(&Default::default()).await.unwrap().metadata.resource_version.unwrap();
    site.remove_by_force::<Agent>(&host).await;
    site.delete::<NMStateConfig>("lost").await;
    site.merge::<InfraEnv>("pool", json!({"spec": {"additionalNTPSources": ["time.example.com"]}})).await;
    site.infra_env("other", json!({})).await;
    tokio::task::block_in_place(|| {
        hub.kube.forget_past().unwrap();
        hub.kube.stop_api();
        hub.kube.start_api().unwrap();
    });
    assert!(is_forgotten(&agents, &past).await);
    hub.network.open(false);

    infra_env_id(&site, "other").await;
    let again = until(&agents, &host, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "SyncOK").await;
    assert_ne!(agent.metadata.uid, again.metadata.uid);
    wait("the time server does not come", || async {
        row().await.additional_ntp_sources == "time.example.com"
    })
    .await;
    wait("the network stays", || async { !row().await.static_network_config.contains("192.0.2.2") }).await;
    assert!(row().await.static_network_config.contains("192.0.2.1"));
    hub.stop().await;
}

/// Whether nobody can watch from a version on any more.
async fn is_forgotten(agents: &Api<Agent>, version: &str) -> bool {
    let mut events = match agents.watch(&WatchParams::default(), version).await {
        Ok(events) => Box::pin(events),
        Err(kube::Error::Api(status)) => return status.code == 410,
        Err(error) => panic!("{error}"),
    };
    match events.next().await {
        Some(Ok(WatchEvent::Error(status)) | Err(kube::Error::Api(status))) => status.code == 410,
        other => panic!("{other:?}"),
    }
}
