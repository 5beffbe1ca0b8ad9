//! Step `connectivity-check`: how this host reaches the others of its cluster (agent-protocol §2.4.2).

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use assisted_hostinfo::Root;
use assisted_hostinfo::nic::{Mac, Nic};
use assisted_hostinfo::probe::{self, Answers, ArpAsk, Echo, ProbeRounds};
use assisted_wire::probe_requests::{ConnectivityCheckHost, ConnectivityCheckParams};
use assisted_wire::probe_responses::{
    ConnectivityRemoteHost, ConnectivityReport, L2Connectivity, L3Connectivity, MtuReport,
};
use tracing::warn;

use super::{only_arg, output};
use crate::reply::Outcome;
use crate::task::blocking;

/// Between two packets to one address. The tool that set the thresholds of loss and latency sends one each second, and lets
/// anybody have them this close: an installation would stand still for ten seconds otherwise.
const SPACING: Duration = Duration::from_millis(200);
/// As many packets as that tool sends.
const PINGS: ProbeRounds = ProbeRounds { count: 10, spacing: SPACING, wait: Duration::from_secs(3) };
const PING_SIZE: usize = 56;
const MTU_PINGS: ProbeRounds = ProbeRounds { count: 3, spacing: SPACING, wait: Duration::from_secs(3) };
const NEIGHBOURS: ProbeRounds = ProbeRounds { count: 3, spacing: SPACING, wait: Duration::from_secs(2) };
/// The MTU that every network carries.
const USUAL_MTU: u32 = 1500;
/// IP and ICMP headers.
const IPV4_HEADERS: u32 = 28;
const IPV6_HEADERS: u32 = 48;
/// More than any cluster has.
const MOST_HOSTS: usize = 2_000;
const MOST_ADDRESSES: usize = 10_000;

/// Another host, its arguments checked.
struct Remote {
    host: ConnectivityCheckHost,
    macs: BTreeSet<Mac>,
    ips: Vec<IpAddr>,
}

pub(super) async fn run(args: &[String], root: &Arc<Root>, dry_run: bool) -> Outcome {
    let ConnectivityCheckParams(hosts) = match only_arg("connectivity check", args) {
        Ok(hosts) => hosts,
        Err(outcome) => return outcome,
    };
    let remotes = match remotes(hosts) {
        Ok(remotes) => remotes,
        Err(error) => return Outcome::failed(format!("connectivity check: {error}")),
    };
    let root = Arc::clone(root);
    let nics: Vec<_> = blocking(move || Nic::list(&root)).await;
    let nics: Vec<_> = nics.into_iter().filter(Nic::is_outgoing).collect();
    let mut report = if dry_run { pretend(&remotes, &nics) } else { check(&remotes, &nics).await };
    sort(&mut report);
    output(&ConnectivityReport { remote_hosts: Some(report) })
}

fn remotes(hosts: Vec<ConnectivityCheckHost>) -> Result<Vec<Remote>, String> {
    if hosts.len() > MOST_HOSTS {
        return Err(format!("more than {MOST_HOSTS} hosts"));
    }
    let short = |text: &str| text.chars().take(64).collect::<String>();
    let mut count = 0;
    let mut remotes = Vec::with_capacity(hosts.len());
    for host in hosts {
        let (mut macs, mut ips) = (BTreeSet::new(), Vec::new());
        for nic in host.nics.iter().flatten() {
            let mac = nic.mac.parse().map_err(|_| format!("{:?} is no MAC address", short(&nic.mac)))?;
            macs.insert(mac);
            for text in nic.ip_addresses.iter().flatten() {
                let ip = text.parse().map_err(|_| format!("{:?} is no address", short(text)))?;
                if !ips.contains(&ip) {
                    ips.push(ip);
                }
            }
        }
        count += ips.len();
        if count > MOST_ADDRESSES {
            return Err(format!("more than {MOST_ADDRESSES} addresses"));
        }
        remotes.push(Remote { host, macs, ips });
    }
    Ok(remotes)
}

/// All checks at once: each takes its time whatever the number of hosts.
async fn check(remotes: &[Remote], nics: &[Nic]) -> Vec<ConnectivityRemoteHost> {
    let ips: BTreeSet<_> = remotes.iter().flat_map(|remote| remote.ips.iter().copied()).collect();
    let ips: Vec<_> = ips.into_iter().collect();
    let neighbours = futures::future::join_all(nics.iter().map(|nic| neighbours(nic, &ips)));
    let large = nics.iter().filter(|nic| nic.mtu != USUAL_MTU).map(|nic| mtu(nic, &ips));
    let large = futures::future::join_all(large);
    let pings = probe::ping(&ips, Echo { rounds: PINGS, size: PING_SIZE, device: None, whole: false });
    let (neighbours, large, pings) = tokio::join!(neighbours, large, pings);
    let pings: HashMap<_, _> = match pings {
        Ok(answers) => ips.iter().copied().zip(answers).collect(),
        Err(error) => {
            warn!(%error, "no address can be pinged");
            HashMap::new()
        }
    };
    let report = remotes.iter().map(|remote| {
        let of = |ip: &IpAddr| remote.ips.contains(ip);
        let found = neighbours.iter().flatten().filter(|found| of(&found.ip));
        let l2 = found.map(|found| L2Connectivity {
            outgoing_nic: found.nic.clone(),
            outgoing_ip_address: found.sender.map(|ip| ip.to_string()).unwrap_or_default(),
            remote_ip_address: found.ip.to_string(),
            remote_mac: found.mac.to_string(),
            successful: remote.macs.contains(&found.mac),
        });
        let l3 = remote.ips.iter().map(|ip| l3(*ip, pings.get(ip)));
        let mtu = large.iter().flatten().filter(|report| of(&report.0)).map(|report| report.1.clone());
        remote_host(remote, l2.collect(), l3.collect(), mtu.collect())
    });
    report.collect()
}

fn remote_host(
    remote: &Remote,
    l2: Vec<L2Connectivity>,
    l3: Vec<L3Connectivity>,
    mtu: Vec<MtuReport>,
) -> ConnectivityRemoteHost {
    // An empty list is written as `null` (agent-protocol §0.1).
    ConnectivityRemoteHost {
        host_id: remote.host.host_id,
        l2_connectivity: Some(l2).filter(|list| !list.is_empty()),
        l3_connectivity: Some(l3).filter(|list| !list.is_empty()),
        mtu_report: Some(mtu).filter(|list| !list.is_empty()),
    }
}

fn l3(ip: IpAddr, answers: Option<&Answers>) -> L3Connectivity {
    let mut entry = L3Connectivity { remote_ip_address: ip.to_string(), ..L3Connectivity::default() };
    if let Some(answers) = answers
        && let Some(average) = answers.average()
    {
        entry.successful = true;
        entry.average_rtt_ms = (average.as_secs_f64() * 1e6).round() / 1e3;
        entry.packet_loss_percentage = (answers.loss() * 1e4).round() / 1e4;
    }
    entry
}

/// Whoever answered for an address on the link of an interface.
struct Neighbour {
    nic: String,
    /// Our address in that network; reported for IPv4 alone.
    sender: Option<IpAddr>,
    ip: IpAddr,
    mac: Mac,
}

async fn neighbours(nic: &Nic, ips: &[IpAddr]) -> Vec<Neighbour> {
    let asks: Vec<_> = ips
        .iter()
        .filter_map(|ip| match (*ip, nic.on_link(*ip)) {
            (IpAddr::V4(target), Some(IpAddr::V4(sender))) => Some(ArpAsk { sender, target }),
            _ => None,
        })
        .collect();
    // No subnet test for IPv6: an address beyond our prefixes may well be on the link.
    let v6: Vec<Ipv6Addr> = ips
        .iter()
        .filter_map(|ip| match ip {
            IpAddr::V6(ip) => Some(*ip),
            IpAddr::V4(_) => None,
        })
        .filter(|_| has_v6(nic))
        .collect();
    let (arp, ndp) =
        tokio::join!(probe::arp(nic, &asks, NEIGHBOURS, false), probe::ndp(nic, &v6, NEIGHBOURS));
    let silent = |error: std::io::Error| warn!(nic = nic.name, %error, "neighbours can't be asked");
    let mut found = Vec::new();
    let arp = arp.map_err(silent).unwrap_or_default();
    for ask in asks {
        for mac in arp.get(&ask.target).into_iter().flatten() {
            let (sender, ip) = (Some(ask.sender.into()), ask.target.into());
            found.push(Neighbour { nic: nic.name.clone(), sender, ip, mac: *mac });
        }
    }
    for (ip, mac) in ndp.map_err(silent).unwrap_or_default() {
        found.push(Neighbour { nic: nic.name.clone(), sender: None, ip: ip.into(), mac });
    }
    found
}

fn has_v6(nic: &Nic) -> bool {
    let global = |ip: IpAddr| ip.is_ipv6() && !assisted_hostinfo::nic::is_link_local(ip);
    nic.addresses.iter().any(|address| global(address.addr()))
}

/// Whether packets as long as the interface allows come through whole. An address that doesn't answer by that
/// interface at all has no entry.
async fn mtu(nic: &Nic, ips: &[IpAddr]) -> Vec<(IpAddr, MtuReport)> {
    let entry = |ip: IpAddr, mtu_successful| {
        let (outgoing_nic, remote_ip_address) = (nic.name.clone(), ip.to_string());
        (ip, MtuReport { outgoing_nic, remote_ip_address, mtu_successful })
    };
    let own = |ip: &IpAddr| nic.addresses.iter().any(|address| address.addr().is_ipv4() == ip.is_ipv4());
    let (asked, foreign): (Vec<_>, Vec<_>) = ips.iter().copied().partition(own);
    let mut report: Vec<_> = foreign.into_iter().map(|ip| entry(ip, true)).collect();
    let (v4, v6): (Vec<_>, Vec<_>) = asked.into_iter().partition(IpAddr::is_ipv4);
    let (v4, v6) = tokio::join!(whole(nic, &v4, IPV4_HEADERS), whole(nic, &v6, IPV6_HEADERS));
    report.extend(v4.into_iter().chain(v6).map(|(ip, passed)| entry(ip, passed)));
    report
}

async fn whole(nic: &Nic, ips: &[IpAddr], headers: u32) -> Vec<(IpAddr, bool)> {
    let usual = Echo { rounds: MTU_PINGS, size: PING_SIZE, device: Some(&nic.name), whole: false };
    let large = Echo { size: nic.mtu.saturating_sub(headers) as usize, whole: true, ..usual };
    let answering = async {
        let answers = probe::ping(ips, usual).await?;
        let ips: Vec<_> =
            ips.iter().zip(answers).filter(|(_, found)| found.received > 0).map(|(ip, _)| *ip).collect();
        let answers = probe::ping(&ips, large).await?;
        Ok::<_, std::io::Error>(
            ips.into_iter().zip(answers).map(|(ip, found)| (ip, found.received > 0)).collect(),
        )
    };
    answering.await.unwrap_or_else(|error| {
        warn!(nic = nic.name, %error, "the MTU can't be checked");
        Vec::new()
    })
}

/// What a pretended host reports: that all is well.
fn pretend(remotes: &[Remote], nics: &[Nic]) -> Vec<ConnectivityRemoteHost> {
    let report = remotes.iter().map(|remote| {
        let mac = remote.macs.first().map(ToString::to_string).unwrap_or_default();
        let l2 = remote.ips.iter().flat_map(|ip| nics.iter().map(move |nic| (ip, nic)));
        let l2 = l2.map(|(ip, nic)| L2Connectivity {
            outgoing_nic: nic.name.clone(),
            remote_ip_address: ip.to_string(),
            remote_mac: mac.clone(),
            successful: true,
            ..L2Connectivity::default()
        });
        let l3 = remote.ips.iter().map(|ip| L3Connectivity {
            remote_ip_address: ip.to_string(),
            successful: true,
            ..L3Connectivity::default()
        });
        remote_host(remote, l2.collect(), l3.collect(), Vec::new())
    });
    report.collect()
}

/// A fixed order, so that an unchanged network is an unchanged report.
fn sort(report: &mut [ConnectivityRemoteHost]) {
    report.sort_by_key(|remote| remote.host_id.map(|id| id.to_string()));
    for remote in report {
        let l2 = |entry: &L2Connectivity| {
            entry.remote_ip_address.clone() + &entry.remote_mac + &entry.outgoing_nic
        };
        remote.l2_connectivity.iter_mut().for_each(|list| list.sort_by_key(l2));
        remote
            .l3_connectivity
            .iter_mut()
            .for_each(|list| list.sort_by_key(|entry| entry.remote_ip_address.clone()));
        let mtu = |entry: &MtuReport| entry.remote_ip_address.clone() + &entry.outgoing_nic;
        remote.mtu_report.iter_mut().for_each(|list| list.sort_by_key(mtu));
    }
}
