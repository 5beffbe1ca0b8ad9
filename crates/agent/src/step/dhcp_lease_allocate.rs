//! Step `dhcp-lease-allocate`: addresses by DHCP for the cluster's virtual IPs (agent-protocol §2.4.4).

use std::sync::Arc;
use std::time::Duration;

use assisted_hostinfo::Root;
use assisted_hostinfo::nic::{Mac, Nic};
use assisted_hostinfo::probe::{self, DhcpAsk, Lease};
use assisted_wire::probe_requests::DhcpAllocationRequest;
use assisted_wire::probe_responses::DhcpAllocationResponse;

use super::{Guard, only_arg, output};
use crate::reply::Outcome;
use crate::task::blocking;

const LIMIT: Duration = Duration::from_secs(28);
/// Longest name that the kernel gives an interface.
const LONGEST_NAME: usize = 15;

pub(super) async fn run(args: &[String], root: &Arc<Root>, guard: &Guard) -> Outcome {
    let request: DhcpAllocationRequest = match only_arg("dhcp leases", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    let (api, ingress) = match macs(&request) {
        Ok(macs) => macs,
        Err(error) => return Outcome::failed(error),
    };
    if request.interface.len() > LONGEST_NAME {
        // The kernel's own words, which readers know (agent-protocol §7).
        return Outcome::failed("numerical result out of range");
    }
    let Ok(_held) = guard.try_lock() else {
        return Outcome::failed("dhcp leases: the previous request still runs");
    };
    let root = Arc::clone(root);
    let nics = blocking(move || Nic::list(&root)).await;
    let Some(parent) = nics.iter().find(|nic| nic.name == request.interface) else {
        return Outcome::failed("Link not found");
    };
    let leases = tokio::try_join!(
        lease(parent, "api", api, &request.api_vip_lease),
        lease(parent, "ingress", ingress, &request.ingress_vip_lease)
    );
    match leases {
        Ok((api, ingress)) => output(&DhcpAllocationResponse {
            api_vip_address: api.address,
            ingress_vip_address: ingress.address,
            api_vip_lease: api.to_string(),
            ingress_vip_lease: ingress.to_string(),
        }),
        Err(error) => Outcome::failed(error.to_string()),
    }
}

/// Both hardware addresses, or what is wrong with them, in words that readers know (agent-protocol §7).
fn macs(request: &DhcpAllocationRequest) -> Result<(Mac, Mac), String> {
    let read = |name: &str, text: &str| {
        text.parse().map_err(|_| {
            let text: String = text.chars().take(64).collect();
            format!("{name} in body must be of type mac: {text:?}")
        })
    };
    match (read("api_vip_mac", &request.api_vip_mac), read("ingress_vip_mac", &request.ingress_vip_mac)) {
        (Ok(api), Ok(ingress)) => Ok((api, ingress)),
        (api, ingress) => {
            let faults: Vec<_> = [api, ingress].into_iter().filter_map(Result::err).collect();
            Err(format!("validation failure list:\n{}", faults.join("\n")))
        }
    }
}

async fn lease(parent: &Nic, name: &str, mac: Mac, known: &str) -> Result<Lease, probe::DhcpError> {
    let host_name = format!("{}-{name}", mac.to_string().replace(':', "-"));
    let known = Lease::address_in(known);
    probe::dhcp(DhcpAsk { parent, name, mac, host_name: &host_name, known, limit: LIMIT }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_address_is_told_in_known_words() {
        let request = DhcpAllocationRequest {
            api_vip_mac: "invalid_mac".into(),
            ingress_vip_mac: "00:1a:4a:00:00:01".into(),
            ..DhcpAllocationRequest::default()
        };
        let error = macs(&request).unwrap_err();
        assert_eq!(
            error,
            "validation failure list:\napi_vip_mac in body must be of type mac: \"invalid_mac\""
        );
    }
}
