//! What the account service is told of a cluster while it is installed.

use assisted_config::{AuthType, Generator, Settings};
use assisted_testkit::IdentityProvider;
use assisted_wire::cluster::{Cluster, ClusterStatus, InstallationPreparationStatus};
use assisted_wire::id::ClusterId;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, Time, eventually, on_both_engines};

on_both_engines![
    an_installation_is_told,
    without_the_account_service_a_preparation_fails,
    what_is_not_told_keeps_an_installation_open,
];

/// The account service of a lab.
pub fn start() -> IdentityProvider {
    IdentityProvider::start("assisted", "service-secret")
}

/// Has a service ask it.
pub fn set(settings: &mut Settings, provider: &IdentityProvider) {
    settings.generation.generator = Generator::Simulation;
    settings.auth.auth_type = AuthType::Rhsso;
    settings.versions.updates_url = provider.issuer();
    let accounts = &mut settings.accounts;
    accounts.jwks_cert = provider.key_set();
    accounts.ocm_token_url = format!("{}/token", provider.issuer());
    accounts.ocm_service_client_id = "assisted".to_owned();
    accounts.ocm_service_client_secret = "service-secret".into();
}

async fn lab(database: &Database, provider: &IdentityProvider) -> Lab {
    Lab::with(database, Time::default(), |settings| set(settings, provider)).await
}

/// What the account service keeps of a cluster.
pub async fn kept(lab: &Lab, provider: &IdentityProvider, id: ClusterId) -> Value {
    let subscription = lab.get_cluster(id).await.ams_subscription_id.unwrap();
    provider.subscriptions().remove(&subscription).unwrap()
}

/// Waits for a state, and turns the clock when everything else waits for it.
async fn turned_until(lab: &Lab, id: ClusterId, status: ClusterStatus) -> Cluster {
    eventually(status.as_str(), async || {
        let cluster = lab.get_cluster(id).await;
        if cluster.status == status {
            return Ok(cluster);
        }
        lab.pass_at_rest(1).await;
        Err(format!("{} ({})", cluster.status, cluster.status_info))
    })
    .await
}

async fn an_installation_is_told(database: Database) {
    let provider = start();
    let lab = lab(&database, &provider).await;
    let ready = lab.installed().await;
    let cluster = lab.get_cluster(ready.id).await;
    let expected = json!({
        "id": cluster.ams_subscription_id, "status": "Active", "cluster_id": cluster.id, "display_name": "c",
        "creator": "admin", "external_cluster_id": cluster.openshift_cluster_id,
        "console_url": "https://console-openshift-console.apps.c.example.com",
    });
    assert_eq!(kept(&lab, &provider, ready.id).await, expected);
    lab.until_idle(ready.id).await;
    // Whoever has a right to the cluster has it to hosts that are added to it.
    let params = json!({
        "name": "more", "api_vip_dnsname": "api.c.example.com", "openshift_cluster_id": cluster.openshift_cluster_id,
    });
    let params = serde_json::from_value(params).unwrap();
    let more = lab.service.clusters().import(&lab.caller, params).await.unwrap();
    assert_eq!(more.ams_subscription_id, None);
    assert_eq!(lab.service.access().subscription_of(more.id).await.unwrap(), cluster.ams_subscription_id);
    // It is in use: it outlives the cluster.
    lab.service.clusters().deregister(&lab.caller, ready.id).await.unwrap();
    assert_eq!(provider.subscriptions().len(), 1);
    // That of a cluster which was never installed does not.
    let other = lab.single_node().await.id;
    assert_eq!(provider.subscriptions().len(), 2);
    lab.service.clusters().deregister(&lab.caller, other).await.unwrap();
    assert_eq!(provider.subscriptions().len(), 1);
    // Whatever is asked is timed.
    for asked in [
        "CreateClusterAuthorization",
        "UpdateSubscriptionOpenshiftClusterID",
        "UpdateSubscriptionConsoleUrl",
        "UpdateSubscriptionStatusActive",
        "GetSubscription",
        "DeleteSubscription",
    ] {
        let line = format!(r#"operation_duration_miliseconds_count{{operation="OCM-{asked}"}}"#);
        assert!(lab.metric(&line).await.is_some_and(|count| count >= 1.0), "{line}");
    }
    lab.stop().await;
}

async fn without_the_account_service_a_preparation_fails(database: Database) {
    let provider = start();
    let lab = lab(&database, &provider).await;
    let id = lab.ready().await.id;
    provider.refuse_subscriptions(Some(400));
    lab.install(id).await;
    let failed = |cluster: &Cluster| {
        let last = cluster.last_installation_preparation.clone().unwrap_or_default();
        last.status == Some(InstallationPreparationStatus::Failed) && last.reason.contains("status 400")
    };
    lab.until_cluster(id, "preparation failed", failed).await;
    assert!(kept(&lab, &provider, id).await.get("external_cluster_id").is_none());
    let names = lab.event_names(id).await;
    assert!(names.iter().any(|name| name == "prepare_installation_failed"), "{names:?}");
    lab.stop().await;
}

async fn what_is_not_told_keeps_an_installation_open(database: Database) {
    let provider = start();
    let lab = lab(&database, &provider).await;
    let ready = lab.ready().await;
    lab.install_at(&ready).await;
    for host in &ready.hosts {
        lab.all_stages(*host).await;
    }
    provider.refuse_subscriptions(Some(403));
    lab.finalize(ready.id).await;
    eventually("refused", async || {
        let actions = lab.service.clusters().list_actions(&lab.caller, ready.id).await.unwrap().0;
        let is_refused = |error: &String| error.contains("status 403");
        let refused = actions.iter().any(|asked| {
            asked.action == "update_subscription" && asked.last_error.as_ref().is_some_and(is_refused)
        });
        if refused { Ok(()) } else { Err(format!("{actions:?}")) }
    })
    .await;
    let cluster = lab.get_cluster(ready.id).await;
    assert_eq!(cluster.status, ClusterStatus::Finalizing, "{}", cluster.status_info);
    assert_eq!(kept(&lab, &provider, ready.id).await["status"], json!("Reserved"));
    provider.refuse_subscriptions(None);
    turned_until(&lab, ready.id, ClusterStatus::Installed).await;
    assert_eq!(kept(&lab, &provider, ready.id).await["status"], json!("Active"));
    let names = lab.event_names(ready.id).await;
    let completed = names.iter().filter(|name| name.as_str() == "cluster_installation_completed").count();
    assert_eq!(completed, 1);
    lab.stop().await;
}
