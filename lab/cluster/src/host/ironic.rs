//! The agent of Ironic, as the unit of the discovery image runs it out of its image: it tells what the machine is, and asks what it is to do.
//! Of all the steps of the real one it has the one by which a machine is installed: it starts the service's agent on the host, and waits until
//! the installer has ended that.

use std::time::Duration;

use anyhow::{Result, bail};
use assisted_base::process::Cmd;
use assisted_hostinfo::Root;
use assisted_hostinfo::nic::Nic;
use reqwest::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::info;

use crate::{cluster, files};

/// Where the container has its settings, and the host.
const SETTINGS: &str = "/etc/ironic-python-agent/ignition.conf";
const HOST: &str = "/mnt/coreos";
const INSTALL: &str = "start_assisted_install";
const AGENT: &str = "agent.service";
/// Between two looks at Ironic, and at the service's agent.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
const REQUEST: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Known {
    uuid: String,
}

#[derive(Deserialize)]
struct Wanted {
    step: Option<String>,
}

/// Runs until the machine goes; its unit starts it again when Ironic does not answer.
pub async fn run() -> Result<i32> {
    let settings = files::text(SETTINGS)?;
    let (ironic, inspector) = (url(&settings, "api_url")?, url(&settings, "inspection_callback_url")?);
    let client = Client::builder().timeout(REQUEST).build()?;
    let known: Known = tell(&client, inspector, &json!({"inventory": inventory()})).await?;
    info!(node = known.uuid, "Ironic knows this machine");
    let heartbeat = format!("{ironic}/v1/heartbeat/{}", known.uuid);
    let mut status: Option<&str> = None;
    loop {
        let wanted: Wanted = tell(&client, &heartbeat, &json!({"status": status})).await?;
        status = match wanted.step.as_deref() {
            Some(INSTALL) => Some(install().await?),
            Some(step) => bail!("the lab's agent of Ironic does not know {step}"),
            None => None,
        };
        sleep(POLL_INTERVAL).await;
    }
}

/// Tells Ironic something; what it answers.
async fn tell<T: DeserializeOwned>(client: &Client, url: &str, told: &Value) -> Result<T> {
    Ok(client.post(url).json(told).send().await?.error_for_status()?.json().await?)
}

/// The first address of a setting.
fn url<'a>(settings: &'a str, name: &str) -> Result<&'a str> {
    let mut lines = settings.lines().filter_map(|line| line.split_once('='));
    let (_, urls) = lines.find(|(found, _)| found.trim() == name).unwrap_or_default();
    let first = urls.split(',').next().unwrap_or_default().trim();
    if first.is_empty() {
        bail!("{SETTINGS} has no {name}");
    }
    Ok(first)
}

fn inventory() -> Value {
    let cards = Nic::list(&Root::live()).into_iter().filter_map(|nic| {
        let mac = nic.mac?.to_string();
        Some(json!({"name": nic.name, "mac_address": mac}))
    });
    json!({"hostname": cluster::hostname(), "interfaces": cards.collect::<Vec<_>>()})
}

/// Has the service's agent run to its end; what is to be told of that.
async fn install() -> Result<&'static str> {
    info!("{AGENT} is started");
    on_host(&["start", "--no-block", AGENT]).await?;
    loop {
        sleep(POLL_INTERVAL).await;
        match on_host(&["show", "-P", "ActiveState", AGENT]).await?.trim() {
            "inactive" => return Ok("SUCCEEDED"),
            "failed" => return Ok("FAILED"),
            _ => {}
        }
    }
}

/// The host's `systemctl`.
async fn on_host(words: &[&str]) -> Result<String> {
    let output = Cmd::new("chroot").args([HOST, "systemctl"]).args(words).run().await?;
    if !output.success() {
        bail!("systemctl {}: {}", words.join(" "), output.complaint());
    }
    Ok(output.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_ironic_is() {
        let settings =
            "[DEFAULT]\napi_url = http://192.0.2.1:6385,http://192.0.2.2:6385\ninsecure = True\nempty =\n";
        assert_eq!(url(settings, "api_url").unwrap(), "http://192.0.2.1:6385");
        for name in ["empty", "inspection_callback_url"] {
            assert!(url(settings, name).unwrap_err().to_string().contains(name));
        }
    }
}
