//! `AUTH_TYPE=local`, as the operator sets it: what the objects show opens by tokens (kube-api §8).

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_auth::Signer;
use assisted_config::{AuthType, Settings};
use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_service::file::log::UploadLogs;
use assisted_wire::cluster::LogsType;
use assisted_wire::operation::BASE_PATH;
use bytes::Bytes;
use reqwest::{Client, Url};
use serde_json::json;

use super::agent::{infra_env_id, register, report_sufficient};
use super::cluster::{deployment, image_set, install};
use super::own_hub::OwnHub;
use super::world::{Site, serving_in, until, wait};

const LEASE: Duration = Duration::from_secs(15);
/// What is written in passes that were begun has been written by then.
const REST: Duration = Duration::from_secs(2);

type Addresses = BTreeMap<&'static str, String>;

/// The addresses that open by a token, as the objects `demo` and the Agent of a host show them.
async fn shown(site: &Site, host: HostKey) -> Addresses {
    let install = site.api::<AgentClusterInstall>().get("demo").await.unwrap().status.unwrap_or_default();
    let agent = site.api::<Agent>().get(&host.host_id.to_string()).await.unwrap().status.unwrap_or_default();
    let infra_env = site.api::<InfraEnv>().get("demo").await.unwrap().status.unwrap_or_default();
    let (install, agent) = (install.debug_info.unwrap_or_default(), agent.debug_info.unwrap_or_default());
    let (debug, artifacts) =
        (infra_env.debug_info.unwrap_or_default(), infra_env.boot_artifacts.unwrap_or_default());
    BTreeMap::from([
        ("events of the cluster", install.events_url),
        ("logs of the cluster", install.logs_url),
        ("events of the host", agent.events_url),
        ("logs of the host", agent.logs_url),
        ("events of the InfraEnv", debug.events_url),
        ("static networks", debug.static_network_download_url),
        ("image", infra_env.iso_download_url),
        ("RAM disk", artifacts.initrd),
        ("script", artifacts.ipxe_script),
        ("config", artifacts.discovery_ignition_url),
    ])
}

/// What an address carries, and the address without it.
fn token(address: &str) -> (Option<String>, Url) {
    let mut url: Url = address.parse().unwrap();
    let (own, others): (Vec<_>, Vec<_>) =
        url.query_pairs().into_owned().partition(|(name, _)| name == "api_key");
    url.query_pairs_mut().clear().extend_pairs(others);
    let mut path = address.split('/').skip_while(|part| *part != "byapikey").skip(1);
    let token = own.into_iter().map(|(_, token)| token).next();
    (token.or_else(|| path.next().map(str::to_owned)), url)
}

async fn open(client: &Client, url: Url) -> u16 {
    client.get(url).send().await.unwrap().status().as_u16()
}

async fn upload(site: &Site, upload: UploadLogs) {
    let content = futures::stream::iter([Ok(Bytes::from_static(b"logs"))]);
    site.service.files().upload_logs(&site.caller(), upload, content).await.unwrap();
}

fn guard(settings: &mut Settings, key: &Signer, private: &assisted_wire::secret::Secret) {
    settings.auth.auth_type = AuthType::Local;
    settings.auth.ec_public_key_pem = key.public_key().unwrap();
    settings.auth.ec_private_key_pem = private.clone();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_address_opens_by_its_token_and_is_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let private = Signer::generate().unwrap();
    let key = Signer::new(&private).unwrap();
    let mut hub = OwnHub::lease().await;
    hub.served = serving_in(dir.path(), |settings| guard(settings, &key, &private)).await;
    hub.start(LEASE).await;
    let site = hub.site("tokens").await;
    site.pull_secret().await;
    image_set(&site).await;
    deployment(&site, "demo").await;
    install(&site, "demo", json!({})).await;
    let config = json!({
        "metadata": {"labels": {"site": "a"}},
        "spec": {
            "interfaces": [{"name": "eth0", "macAddress": "02:00:00:00:00:01"}],
            "config": {"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up",
                "ipv4": {"enabled": true, "dhcp": false, "address": [{"ip": "192.0.2.20", "prefix-length": 24}]}}]},
        },
    });
    site.create::<NMStateConfig>("host-0", config).await;
    let spec = json!({
        "clusterRef": {"name": "demo", "namespace": site.namespace},
        "nmStateConfigLabelSelector": {"matchLabels": {"site": "a"}},
    });
    site.infra_env("demo", spec).await;
    let host = register(&site, infra_env_id(&site, "demo").await).await;
    let name = host.host_id.to_string();
    until(&site.api(), &name, |agent: &Agent| agent.status.is_some()).await;
    report_sufficient(&site, host).await;

    // Of logs nothing is said before there are some.
    let missing = |addresses: &Addresses| -> Vec<_> {
        addresses.iter().filter(|(_, address)| address.is_empty()).map(|(what, _)| *what).collect()
    };
    wait("addresses are missing", || async {
        missing(&shown(&site, host).await) == ["logs of the cluster", "logs of the host"]
    })
    .await;
    let cluster_id = site.service.clusters().of_object(&site.key("demo")).await.unwrap().unwrap().cluster.id;
    let of_host = UploadLogs {
        cluster_id,
        logs_type: LogsType::Host,
        infra_env_id: Some(host.infra_env_id),
        host_id: Some(host.host_id),
    };
    upload(&site, of_host).await;
    wait("logs are missing", || async { missing(&shown(&site, host).await).is_empty() }).await;
    let first = shown(&site, host).await;

    // Each opens by its token, and by nothing else. Images are given out by another program, which shows their tokens here.
    let base = site.service.settings().http.service_base_url.clone();
    let files = format!("{base}{BASE_PATH}/v2/infra-envs/{}/downloads", host.infra_env_id);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().no_proxy().build().unwrap();
    let stranger = Signer::new(&Signer::generate().unwrap()).unwrap();
    for (what, address) in &first {
        let (token, url) = token(address);
        let token = token.unwrap_or_else(|| panic!("{what} has no token: {address}"));
        let url =
            if address.starts_with(&base) { url } else { format!("{files}/minimal-initrd").parse().unwrap() };
        let by = |token: &str| {
            let mut url = url.clone();
            url.query_pairs_mut().append_pair("api_key", token);
            open(&client, url)
        };
        let status = by(&token).await;
        assert!(matches!(status, 200 | 204), "{what}: {status} for {address}");
        assert_eq!(open(&client, url.clone()).await, 401, "{what}");
        let until = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(60);
        let resource = assisted_auth::TokenResource::InfraEnv(host.infra_env_id);
        assert_eq!(by(stranger.token(resource, until).unwrap().expose()).await, 401, "{what}");
    }

    // Another start, which looks at all of them, by tokens that are others: nothing is written that is good.
    hub.stop().await;
    hub.start(LEASE).await;
    site.infra_env("news", json!({})).await;
    infra_env_id(&site, "news").await;
    site.merge::<Agent>(&name, json!({"spec": {"hostname": "after"}})).await;
    wait("the name does not come", || async {
        let found = site.service.hosts().described(host).await.unwrap().unwrap();
        found.host.requested_hostname == "after"
    })
    .await;
    site.merge::<AgentClusterInstall>("demo", json!({"spec": {"holdInstallation": true}})).await;
    tokio::time::sleep(REST).await;
    assert_eq!(shown(&site, host).await, first);

    // Another image has addresses of its own.
    let overrides = r#"{"ignition": {"version": "3.2.0"}}"#;
    site.merge::<InfraEnv>("demo", json!({"spec": {"ignitionConfigOverride": overrides}})).await;
    until(&site.api(), "demo", |object: &InfraEnv| {
        object.status.as_ref().is_some_and(|status| status.iso_download_url != first["image"])
    })
    .await;
    let second = shown(&site, host).await;
    let changed: Vec<_> = first.iter().filter(|(what, address)| second[*what] != **address).collect();
    let changed: Vec<_> = changed.into_iter().map(|(what, _)| *what).collect();
    assert_eq!(changed, ["RAM disk", "config", "image", "script"]);
    hub.stop().await;
}
