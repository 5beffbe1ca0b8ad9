//! A host got leases for the cluster's VIPs from the DHCP server (state-machines §3.12).

use std::sync::LazyLock;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::network::{ApiVip, IngressVip, Ip};
use assisted_wire::probe_responses::DhcpAllocationResponse;
use regex::Regex;

use super::WorkingCopy;
use crate::model::cluster::ClusterRecord;
use crate::model::event::catalogue;
use crate::model::refusal::Refusal;
use crate::model::topology;
use crate::network::{address, family};

// The patterns are constants; a test holds that they compile.
static LEASE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:|\s*lease\s*[{](?:\s+[a-z-]+ [^;}]*;)*\s+[}]\s*)$").ok());
static DEADLINE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(renew|rebind|expire) [^;]*;").ok());

/// Takes the addresses for VIPs while the cluster is described; later they must be the ones that it was given.
pub(super) fn leased(draft: &mut WorkingCopy<'_>, response: &DhcpAllocationResponse) -> Result<(), Refusal> {
    let failure = |reason: String| Refusal::internal(reason);
    let before = draft.facts.cluster.as_ref();
    let before = before.ok_or_else(|| failure(format!("host {} is not bound to a cluster", draft.name())))?;
    let cluster = &before.cluster;
    if !topology::is_vip_dhcp(cluster) {
        return Err(failure(format!("DHCP is not enabled in cluster {}", cluster.id)));
    }
    let network = family::machine_networks(cluster).next().and_then(address::parse_network);
    let network =
        network.ok_or_else(|| failure(format!("machine network of cluster {} is not known", cluster.id)))?;
    let (api, ingress) = (response.api_vip_address, response.ingress_vip_address);
    if let Some(stray) = [api, ingress].iter().find(|vip| !network.contains(&std::net::IpAddr::V4(**vip))) {
        return Err(failure(format!("VIP {stray} does not belong to machine network {network}")));
    }
    let mut after = before.clone();
    after.api_vip_lease = endless(&response.api_vip_lease).map_err(failure)?;
    after.ingress_vip_lease = endless(&response.ingress_vip_lease).map_err(failure)?;
    let same = is_only(&api_vips(before), api) && is_only(&ingress_vips(before), ingress);
    if same && after == *before {
        return Ok(());
    }
    match cluster.status {
        ClusterStatus::PendingForInput | ClusterStatus::Insufficient | ClusterStatus::Ready => {}
        ClusterStatus::Installing | ClusterStatus::PreparingForInstallation | ClusterStatus::Finalizing
            if !same =>
        {
            return Err(failure(format!(
                "VIPs of cluster {} can't be changed to {api} and {ingress} in state {}",
                cluster.id, cluster.status
            )));
        }
        _ => return Ok(()),
    }
    if !same {
        let (id, api_ip, ingress_ip) = (Some(cluster.id), Ip(api.to_string()), Ip(ingress.to_string()));
        after.cluster.api_vips = Some(vec![ApiVip { cluster_id: id, ip: api_ip, verification: None }]);
        after.cluster.ingress_vips =
            Some(vec![IngressVip { cluster_id: id, ip: ingress_ip, verification: None }]);
        let event = catalogue::API_INGRESS_VIP_UPDATED
            .of_cluster(cluster.id, &[("api_vip", &api), ("ingress_vip", &ingress)]);
        draft.events.push(event);
    }
    after.cluster.updated_at = draft.facts.now.into();
    draft.cluster = Some(after);
    Ok(())
}

fn api_vips(record: &ClusterRecord) -> Vec<&str> {
    record.cluster.api_vips.iter().flatten().map(|vip| vip.ip.0.as_str()).collect()
}

fn ingress_vips(record: &ClusterRecord) -> Vec<&str> {
    record.cluster.ingress_vips.iter().flatten().map(|vip| vip.ip.0.as_str()).collect()
}

fn is_only(vips: &[&str], address: std::net::Ipv4Addr) -> bool {
    vips == [address.to_string()]
}

/// A lease that is never over: the cluster keeps its VIPs whatever the server says later.
fn endless(lease: &str) -> Result<String, String> {
    let (Some(pattern), Some(deadline)) = (LEASE.as_ref(), DEADLINE.as_ref()) else {
        return Err("leases can't be read".to_owned());
    };
    if !pattern.is_match(lease) {
        return Err("the lease can't be read".to_owned());
    }
    Ok(deadline.replace_all(lease, "$1 never;").into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_never_end() {
        let lease = "lease {\n  interface \"api\";\n  fixed-address 10.0.0.9;\n  renew 3 2026/01/01 00:00:00;\n  expire 3 2026/01/01 01:00:00;\n}\n";
        let kept =
            "lease {\n  interface \"api\";\n  fixed-address 10.0.0.9;\n  renew never;\n  expire never;\n}\n";
        assert_eq!(endless(lease).as_deref(), Ok(kept));
        assert_eq!(endless(kept).as_deref(), Ok(kept));
        assert_eq!(endless("").as_deref(), Ok(""));
        for bad in ["lease", "lease {", "lease { x; } lease { }", "lease {\n a } b;\n}"] {
            assert!(endless(bad).is_err(), "{bad}");
        }
    }
}
