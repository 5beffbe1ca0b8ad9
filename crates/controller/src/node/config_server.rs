//! Hosts that have fetched their machine config: the log of its server names their addresses
//! (installer-and-controller §A16, §B4.3).

use std::collections::BTreeSet;
use std::net::IpAddr;

use assisted_base::error::chain;
use assisted_wire::host::{HostStage, HostStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::{Api, ResourceExt};
use tracing::{info, warn};

use crate::context::Context;

const NAMESPACE: &str = "openshift-machine-config-operator";
const SELECTOR: &str = "k8s-app=machine-config-server";
/// What is read of the log, in seconds back from now.
const WINDOW: i64 = 300;
/// And in bytes per pod: a server that is asked more often has told enough.
const LONGEST: i64 = 8 << 20;
const AGENT: &str = "User-Agent:\"Ignition";

/// Looks for hosts that have asked for their config, and tells the service.
pub(crate) async fn report_configuring(context: &Context) {
    let is_past = |stage| matches!(stage, Some(HostStage::Configuring | HostStage::Joined | HostStage::Done));
    // Stages as they are after this pass has told of nodes.
    let hosts = match context.service.hosts(&[HostStatus::Disabled]).await {
        Ok(hosts) => hosts,
        Err(error) => return warn!(error = chain(&error), "hosts are not known"),
    };
    let waiting: Vec<_> =
        hosts.iter().filter(|host| !host.is(HostStatus::Installed) && !is_past(host.stage())).collect();
    if waiting.is_empty() {
        return;
    }
    let addresses = requesters(&log(context).await);
    for host in waiting.into_iter().filter(|host| addresses.iter().any(|address| host.has_address(*address)))
    {
        match context.service.progress(&host.host, HostStage::Configuring).await {
            Ok(()) => info!(host = %host.host.id, "it has fetched its machine config"),
            Err(error) => {
                warn!(host = %host.host.id, error = chain(&error), "that it has fetched its machine config is not reported");
            }
        }
    }
}

/// What the servers have logged lately; empty where they can't be read.
async fn log(context: &Context) -> String {
    let pods = Api::<Pod>::namespaced(context.kube.clone(), NAMESPACE);
    let list = pods.list(&ListParams::default().labels(SELECTOR)).await;
    let params =
        LogParams { since_seconds: Some(WINDOW), limit_bytes: Some(LONGEST), ..LogParams::default() };
    let mut all = String::new();
    for pod in list.into_iter().flatten() {
        match pods.logs(&pod.name_any(), &params).await {
            Ok(log) => all += &log,
            Err(error) => {
                warn!(
                    pod = pod.name_any(),
                    error = chain(&error),
                    "the log of machine configs can't be read"
                );
            }
        }
    }
    all
}

/// The addresses that Ignition asked from: the word before its name, `address:port`, in brackets and with a zone as the
/// case may be, or quoted after `address:`.
fn requesters(log: &str) -> BTreeSet<IpAddr> {
    let before = log.lines().filter_map(|line| line.split_once(AGENT)).map(|(before, _)| before.trim_end());
    before.filter_map(|before| remote(before.rsplit(char::is_whitespace).next()?)).collect()
}

fn remote(word: &str) -> Option<IpAddr> {
    let word = word.strip_suffix('"').unwrap_or(word);
    let word = word.rsplit_once('"').map_or(word, |(_, address)| address);
    let (address, port) = word.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    let address = match address.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?,
        None => address,
    };
    address.split('%').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_the_log_is_read() {
        let log = r#"
I0101 Pool master requested by 192.168.126.12:32780 User-Agent:"Ignition/2.6.0"
I0101 Pool worker requested by [fe80::5054:ff:fe9a:4739%ens3]:40548 User-Agent:"Ignition/2.6.0"
I0101 Pool worker requested by [fd00::7%br-ex]:40548 User-Agent:"Ignition/2.6.0"
I0101 Pool worker requested by address:"[2620:52:0:1351::83]:47018" User-Agent:"Ignition/2.14.0" Accept-Header: "x"
I0101 Pool worker requested by address:"10.0.0.3:47018" User-Agent:"Ignition/2.14.0"
I0101 Pool master requested by 192.168.126.99:32780 User-Agent:"curl/8"
User-Agent:"Ignition
nothing User-Agent:"Ignition
1.2.3.4 User-Agent:"Ignition
1.2.3.4:port User-Agent:"Ignition
1.2.3.4:99999 User-Agent:"Ignition
[1.2.3.4:5 User-Agent:"Ignition
"#;
        let expected =
            ["192.168.126.12", "fe80::5054:ff:fe9a:4739", "fd00::7", "2620:52:0:1351::83", "10.0.0.3"];
        assert_eq!(requesters(log), expected.iter().map(|address| address.parse().unwrap()).collect());
    }
}
