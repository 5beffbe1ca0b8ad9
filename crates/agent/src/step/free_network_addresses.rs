//! Step `free-network-addresses`: which IPv4 addresses nobody answers for (agent-protocol §2.4.3).

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use assisted_hostinfo::Root;
use assisted_hostinfo::nic::Nic;
use assisted_hostinfo::probe::{self, ArpAsk, Echo, ProbeRounds};
use assisted_wire::probe_requests::FreeAddressesRequest;
use assisted_wire::probe_responses::{FreeNetworkAddresses, FreeNetworksAddresses};
use ipnet::Ipv4Net;
use tokio::time::Instant;

use super::{Guard, only_arg, output};
use crate::reply::Outcome;
use crate::task::blocking;

/// Larger networks are looked at piece by piece, until so many free addresses are known.
const PIECE: u8 = 22;
const ENOUGH: usize = 8_000;
const SWEEP: ProbeRounds =
    ProbeRounds { count: 2, spacing: Duration::from_millis(1_500), wait: Duration::from_millis(1_000) };
/// More networks than a host is in.
const MOST_NETWORKS: usize = 64;
/// Limit for all networks: where every address answers there is no end of pieces.
const LIMIT: Duration = Duration::from_secs(300);

pub(super) async fn run(args: &[String], root: &Arc<Root>, guard: &Guard) -> Outcome {
    let FreeAddressesRequest(networks) = match only_arg("free addresses", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    if networks.len() > MOST_NETWORKS {
        return Outcome::failed(format!("free addresses: more than {MOST_NETWORKS} networks"));
    }
    let mut parsed = Vec::new();
    for text in &networks {
        match text.parse::<Ipv4Net>() {
            Ok(network) if network.trunc() == network => parsed.push(network),
            _ => {
                let text: String = text.chars().take(64).collect();
                return Outcome::failed(format!("free addresses: {text:?} is no IPv4 network"));
            }
        }
    }
    // An empty answer means that one is under way already.
    let Ok(_held) = guard.try_lock() else { return Outcome::done(String::new()) };
    let root = Arc::clone(root);
    let nics = blocking(move || Nic::list(&root)).await;
    let end = Instant::now() + LIMIT;
    let mut found = Vec::new();
    for (network, text) in parsed.into_iter().zip(networks) {
        match free(network, &nics, end).await {
            Ok(free) => found.push(FreeNetworkAddresses {
                network: text,
                free_addresses: Some(free).filter(|free| !free.is_empty()),
            }),
            Err(error) => return Outcome::failed(format!("free addresses: {network}: {error}")),
        }
    }
    output(&FreeNetworksAddresses(found))
}

async fn free(network: Ipv4Net, nics: &[Nic], end: Instant) -> std::io::Result<Vec<Ipv4Addr>> {
    let mut free = Vec::new();
    let pieces = network.subnets(PIECE.max(network.prefix_len())).into_iter().flatten();
    for piece in pieces {
        if free.len() >= ENOUGH || Instant::now() >= end {
            break;
        }
        let occupied = occupied(piece, nics).await?;
        // Not `hosts`: the address of the network and the broadcast address are reported too (agent-protocol §2.4.3).
        let all = u32::from(piece.network())..=u32::from(piece.broadcast());
        free.extend(all.map(Ipv4Addr::from).filter(|ip| !occupied.contains(ip)));
    }
    Ok(free)
}

async fn occupied(piece: Ipv4Net, nics: &[Nic]) -> std::io::Result<HashSet<Ipv4Addr>> {
    let addresses = (u32::from(piece.network())..=u32::from(piece.broadcast())).map(Ipv4Addr::from);
    let own = nics.iter().flat_map(|nic| &nic.addresses).filter_map(|address| match address.addr() {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    });
    let mut occupied: HashSet<_> = own.filter(|ip| piece.contains(ip)).collect();
    let near = nics.iter().find_map(|nic| match nic.on_link(piece.network().into()) {
        Some(IpAddr::V4(sender)) if nic.mac.is_some() => Some((nic, sender)),
        _ => None,
    });
    match near {
        Some((nic, sender)) => {
            let asks: Vec<_> = addresses.map(|target| ArpAsk { sender, target }).collect();
            occupied.extend(probe::arp(nic, &asks, SWEEP, true).await?.into_keys());
        }
        // Behind a router only those that answer to an echo can be seen.
        None => {
            let targets: Vec<IpAddr> = addresses.map(IpAddr::V4).collect();
            let echo = Echo { rounds: SWEEP, size: 8, device: None, whole: false };
            let answers = probe::ping(&targets, echo).await?;
            let answering = targets.into_iter().zip(answers).filter(|(_, found)| found.received > 0);
            occupied.extend(answering.filter_map(|(ip, _)| match ip {
                IpAddr::V4(ip) => Some(ip),
                IpAddr::V6(_) => None,
            }));
        }
    }
    Ok(occupied)
}
