//! Step `verify-vips`: whether the addresses meant for the cluster are nobody's yet (agent-protocol §2.4.12).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use assisted_hostinfo::Root;
use assisted_hostinfo::nic::Nic;
use assisted_hostinfo::probe::{self, ArpAsk, Echo, ProbeRounds};
use assisted_wire::network::VipVerification;
use assisted_wire::probe_requests::VerifyVipsRequest;
use assisted_wire::probe_responses::{VerifiedVip, VerifyVipsResponse};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{only_arg, output};
use crate::reply::Outcome;
use crate::task::blocking;

const ROUNDS: ProbeRounds =
    ProbeRounds { count: 3, spacing: Duration::from_millis(500), wait: Duration::from_secs(1) };
/// Ports that a machine beyond a router is tried on, for those that don't answer to an echo.
const PORTS: [u16; 3] = [443, 80, 6443];
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// More than a cluster has.
const MOST_VIPS: usize = 64;

pub(super) async fn run(args: &[String], root: &Arc<Root>, dry_run: bool) -> Outcome {
    let VerifyVipsRequest(vips) = match only_arg("vip verifier", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    if vips.len() > MOST_VIPS {
        return Outcome::failed(format!("vip verifier: more than {MOST_VIPS} addresses"));
    }
    let mut ips = Vec::new();
    for vip in &vips {
        match vip.vip.0.parse::<IpAddr>() {
            Ok(ip) => ips.push(ip),
            Err(_) => {
                let text: String = vip.vip.0.chars().take(64).collect();
                return Outcome::failed(format!("vip verifier: {text:?} is no address"));
            }
        }
    }
    let root = Arc::clone(root);
    let nics = blocking(move || Nic::list(&root)).await;
    let used = futures::future::join_all(
        ips.iter().map(|ip| async { if dry_run { Ok(false) } else { is_used(*ip, &nics).await } }),
    );
    let mut verified = Vec::new();
    for (vip, used) in vips.into_iter().zip(used.await) {
        let verification = match used {
            Ok(true) => VipVerification::Failed,
            Ok(false) => VipVerification::Succeeded,
            Err(error) => return Outcome::failed(format!("failed to verify vip {}: {error}", vip.vip.0)),
        };
        verified.push(VerifiedVip { vip: vip.vip, vip_type: vip.vip_type, verification: Some(verification) });
    }
    output(&VerifyVipsResponse(verified))
}

/// Whether somebody, this host included, has the address.
async fn is_used(ip: IpAddr, nics: &[Nic]) -> std::io::Result<bool> {
    let own = |nic: &Nic| nic.addresses.iter().any(|address| address.addr() == ip);
    if nics.iter().any(own) {
        return Ok(true);
    }
    for nic in nics.iter().filter(|nic| nic.mac.is_some()) {
        let answered = match (ip, nic.on_link(ip)) {
            (IpAddr::V4(target), Some(IpAddr::V4(sender))) => {
                let asks = [ArpAsk { sender, target }];
                probe::arp(nic, &asks, ROUNDS, true).await?.contains_key(&target)
            }
            (IpAddr::V6(target), Some(_)) => probe::ndp(nic, &[target], ROUNDS).await?.contains_key(&target),
            _ => continue,
        };
        return Ok(answered);
    }
    let echo = Echo { rounds: ROUNDS, size: 56, device: None, whole: false };
    let alone = [ip];
    let (pinged, connected) = tokio::join!(probe::ping(&alone, echo), accepts(ip));
    Ok(connected || pinged?.iter().any(|answers| answers.received > 0))
}

/// Whether anything at all answers to an attempt to connect; a refusal is an answer.
async fn accepts(ip: IpAddr) -> bool {
    let tries = PORTS.map(|port| async move {
        match timeout(CONNECT_LIMIT, TcpStream::connect(SocketAddr::new(ip, port))).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
            Err(_) => false,
        }
    });
    futures::future::join_all(tries).await.contains(&true)
}
