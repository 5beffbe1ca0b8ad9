//! Clients that go away in the middle of a request.

use std::time::{Duration, Instant};

use assisted_service::infra_env::{DownloadInfraEnvFiles, ListInfraEnvs};
use serde_json::{Value, json};

use crate::lab::{Database, Lab, content, eventually, on_both_engines};

on_both_engines![what_was_written_is_what_is_known];

/// Two hosts' networks, which make an infra-env's files differ.
fn networks(name: &str) -> Value {
    json!([{
        "network_yaml": format!("interfaces:\n- {{name: {name}, type: ethernet, state: up}}\n"),
        "mac_interface_map": [{"mac_address": "52:54:00:00:00:01", "logical_nic_name": name}],
    }])
}

async fn what_was_written_is_what_is_known(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.infra_env(None).await.id;
    let known = async || {
        let query = DownloadInfraEnvFiles {
            infra_env_id: id,
            file_name: "static-network-config".to_owned(),
            discovery_iso_type: None,
            mac: None,
            ipxe_script_type: None,
        };
        content(lab.service.infra_envs().download_files(&lab.caller, query).await.unwrap()).await
    };
    let is_written = async |name: &str| {
        let list = lab.service.infra_envs().list(&lab.caller, ListInfraEnvs::default()).await.unwrap();
        list.0.iter().any(|infra_env| infra_env.static_network_config.contains(name))
    };
    let mut cut_off = 0;
    for round in 0..20 {
        known().await;
        let name = format!("eth{round}");
        let params = serde_json::from_value(json!({"static_network_config": networks(&name)})).unwrap();
        let mut update = Box::pin(lab.service.infra_envs().update(&lab.caller, id, params));
        // It gets on by one step at a time, until it has been written, and is not waited for any more.
        let begun = Instant::now();
        let finished = loop {
            if futures::poll!(&mut update).is_ready() {
                break true;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{name} is never written");
            tokio::time::sleep(Duration::from_millis(10)).await;
            if is_written(&name).await {
                break false;
            }
        };
        drop(update);
        cut_off += u32::from(!finished);
        eventually("what was written", async || {
            let files = String::from_utf8_lossy(&known().await).into_owned();
            if files.contains(&name) { Ok(()) } else { Err(files) }
        })
        .await;
    }
    assert!(cut_off > 0, "no request was cut off after its write");
    lab.stop().await;
}
