//! Which hosts have asked the server of machine configs for theirs, from its log (installer-and-controller §A16).

use std::collections::BTreeSet;
use std::net::IpAddr;

use assisted_wire::host::{HostRole, HostStage};
use tracing::warn;

use super::Bootstrap;
use crate::kube::DryRunCluster;
use crate::service::Peer;

const DIR: &str = "/var/log/containers";
const SCAN: u64 = 30;
const ASKS: &str = "User-Agent:\"Ignition";

impl Bootstrap<'_> {
    /// Reports each host that has asked, until all have.
    pub(crate) async fn watch_machine_config_server(&self) {
        let mut waited: Option<Vec<Peer>> = None;
        loop {
            self.config.intervals.pause(SCAN).await;
            let mut hosts = match waited.take() {
                Some(hosts) => hosts,
                None => match self.service.peers().await {
                    Ok(hosts) => hosts,
                    Err(error) => {
                        warn!(%error, "other hosts aren't known");
                        continue;
                    }
                },
            };
            let asked = clients(&self.machine_config_log());
            for peer in &mut hosts {
                if !is_past(peer) && !peer.ips.is_disjoint(&asked) {
                    let stage = match peer.role {
                        HostRole::Worker => HostStage::WaitingForIgnition,
                        _ => HostStage::Configuring,
                    };
                    match self.service.report_peer(peer, stage).await {
                        Ok(()) => peer.stage = Some(stage),
                        Err(error) => warn!(host = %peer.id, %error, "report not taken"),
                    }
                }
            }
            hosts.retain(|peer| !is_past(peer));
            if hosts.is_empty() {
                return;
            }
            waited = Some(hosts);
        }
    }

    fn machine_config_log(&self) -> String {
        if let Some(dry) = &self.config.dry_run {
            return DryRunCluster::new(&dry.cluster_hosts).machine_config_log();
        }
        let Ok(entries) = std::fs::read_dir(self.host.path(DIR)) else { return String::new() };
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
        let is_log = |name: &String| name.contains("machine-config-server") && name.ends_with(".log");
        let Some(name) = entries.flatten().filter_map(name).find(is_log) else { return String::new() };
        match self.host.read(format!("{DIR}/{name}")) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) => {
                warn!(%error, "no log of the server of machine configs");
                String::new()
            }
        }
    }
}

fn is_past(peer: &Peer) -> bool {
    use HostStage::{Configuring, Done, Joined, WaitingForIgnition};
    matches!(peer.stage, Some(Configuring | Joined | Done | WaitingForIgnition))
}

/// Addresses that asked by Ignition: what stands before the name of the program, in any of the shapes that servers have
/// written it.
fn clients(log: &str) -> BTreeSet<IpAddr> {
    let before = |line: &str| line.split_once(ASKS).map(|(before, _)| address(before));
    log.lines().filter_map(before).flatten().collect()
}

/// The address at the end of `… address:"[2620:52::83%br-ex]:47018" `.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim_end().trim_end_matches('"');
    let (text, port) = text.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    let begin = |c: char| c.is_whitespace() || matches!(c, '"' | '=' | '(' | ',');
    match text.strip_suffix(']') {
        Some(text) => {
            let (_, inner) = text.rsplit_once('[')?;
            inner.split('%').next()?.parse().ok()
        }
        // An address of IPv4 may stand right behind a name and a colon.
        None => text.rsplit(|c| begin(c) || c == ':').next()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_all_shapes() {
        for (line, found) in [
            (
                r#"Pool master requested by 192.168.126.12:32780 User-Agent:"Ignition/2.6.0""#,
                Some("192.168.126.12"),
            ),
            (
                r#"by [fe80::5054:ff:fe9a:4739%ens3]:40548 User-Agent:"Ignition/2.6.0""#,
                Some("fe80::5054:ff:fe9a:4739"),
            ),
            (r#"by [fe80::1%br-ex.1_a]:40548 User-Agent:"Ignition/2.6.0""#, Some("fe80::1")),
            (
                r#"address:"[2620:52:0:1351::83]:47018" User-Agent:"Ignition/2.14.0" Accept-Header: x"#,
                Some("2620:52:0:1351::83"),
            ),
            (r#"address:"10.0.0.10:1" User-Agent:"Ignition/2.14.0""#, Some("10.0.0.10")),
            (r#"address:10.0.0.10:1 User-Agent:"Ignition/2.14.0""#, Some("10.0.0.10")),
            (r#"by 10.0.0.1:1 User-Agent:"curl/8""#, None),
            (r#"by 10.0.0.1 User-Agent:"Ignition/2""#, None),
            (r#"by 999.0.0.1:1 User-Agent:"Ignition/2""#, None),
            (r#"by ]:1 User-Agent:"Ignition/2""#, None),
            (r#"User-Agent:"Ignition/2""#, None),
        ] {
            let found: Vec<IpAddr> = found.into_iter().map(|ip| ip.parse().unwrap()).collect();
            assert_eq!(clients(line).into_iter().collect::<Vec<_>>(), found, "{line}");
        }
    }
}
