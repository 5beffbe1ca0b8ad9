//! What a host answers to each step: the output that the step's command has on such a machine.

use std::net::IpAddr;
use std::time::Duration;

use assisted_wire::network::VipVerification;
use assisted_wire::probe_requests::{
    ApiVipConnectivityRequest, ConnectivityCheckParams, ContainerImageAvailabilityRequest,
    DhcpAllocationRequest, DiskSpeedCheckRequest, DomainResolutionRequest, FreeAddressesRequest,
    NtpSynchronizationRequest, TangConnectivityRequest, UpgradeAgentRequest, VerifyVipsRequest,
};
use assisted_wire::probe_responses::{
    ApiVipConnectivityResponse, ConnectivityRemoteHost, ConnectivityReport, ContainerImageAvailability,
    ContainerImageAvailabilityResponse, ContainerImageAvailabilityResult, DhcpAllocationResponse,
    DiskSpeedCheckResponse, DomainResolution, DomainResolutionResponse, FreeNetworkAddresses,
    FreeNetworksAddresses, L2Connectivity, L3Connectivity, NtpSource, NtpSynchronizationResponse,
    SourceState, TangConnectivityResponse, TangServerResponse, TangServerSignature, UpgradeAgentResponse,
    UpgradeAgentResult, VerifiedVip, VerifyVipsResponse,
};
use assisted_wire::step::{Step, StepReply, StepType};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::FaultKind;
use crate::host::SimHost;
use crate::inventory::INTERFACE;
use crate::random::Random;
use crate::world::Site;

/// Time server of hosts that are told none.
const TIME_SERVER: &str = "time.example.com";
/// Milliseconds that a good disk takes to make a write durable, and that a slow one takes.
const SYNC_MS: (i64, i64) = (2, 45);
/// The exit code of commands that did not run.
const NOT_RUN: i64 = -1;

/// What a step's command printed, and how it ended.
struct Printed {
    exit_code: i64,
    output: String,
    error: String,
}

impl Printed {
    fn json<T: Serialize>(output: &T) -> Self {
        Self::json_with(0, output)
    }

    fn json_with<T: Serialize>(exit_code: i64, output: &T) -> Self {
        match serde_json::to_string(output) {
            Ok(output) => Self { exit_code, output, error: String::new() },
            Err(error) => Self::failed(NOT_RUN, &error.to_string()),
        }
    }

    fn failed(exit_code: i64, error: &str) -> Self {
        Self { exit_code, output: String::new(), error: error.to_owned() }
    }
}

/// The reply of a host to a step. `install` and `logs-gather` are answered when what they start has been started.
pub fn reply(host: &SimHost, site: Site, fault_kind: Option<FaultKind>, step: &Step) -> StepReply {
    let kind = step.step_type.unwrap_or(StepType::Execute);
    let args = step.args.as_deref().unwrap_or_default();
    let printed = printed(host, site, fault_kind, kind, args)
        .unwrap_or_else(|error| Printed::failed(NOT_RUN, &format!("{kind}: {error}")));
    StepReply {
        step_type: step.step_type,
        step_id: step.step_id.clone(),
        exit_code: printed.exit_code,
        output: printed.output,
        error: printed.error,
    }
}

/// How long the step's command runs. Only what takes long while others wait for it is told.
pub fn duration(kind: StepType, random: &mut Random) -> Duration {
    random.about(Duration::from_secs(match kind {
        StepType::InstallationDiskSpeedCheck => 8,
        StepType::ContainerImageAvailability => 45,
        StepType::UpgradeAgent => 20,
        _ => 0,
    }))
}

fn printed(
    host: &SimHost,
    site: Site,
    fault_kind: Option<FaultKind>,
    kind: StepType,
    args: &[String],
) -> Result<Printed, serde_json::Error> {
    Ok(match kind {
        StepType::Inventory => Printed::json(&host.inventory(0)),
        StepType::ConnectivityCheck => Printed::json(&connectivity(host, &read(args)?)),
        StepType::FreeNetworkAddresses => Printed::json(&free_addresses(site, read(args)?)),
        StepType::DhcpLeaseAllocate => Printed::json(&leases(site, &read(args)?)),
        StepType::ApiVipConnectivityCheck => Printed::json(&ignition(read(args)?)),
        StepType::TangConnectivityCheck => tang(&read(args)?)?,
        StepType::NtpSynchronizer => Printed::json(&ntp(&read(args)?)),
        StepType::InstallationDiskSpeedCheck => disk_speed(fault_kind, read(args)?),
        StepType::ContainerImageAvailability => images(fault_kind, read(args)?),
        StepType::DomainResolution => Printed::json(&names(site, &read(args)?)),
        StepType::VerifyVips => Printed::json(&vips(site, read(args)?)),
        StepType::UpgradeAgent => {
            let UpgradeAgentRequest { agent_image } = read(args)?;
            Printed::json(&UpgradeAgentResponse { agent_image, result: Some(UpgradeAgentResult::Success) })
        }
        StepType::StopInstallation
        | StepType::Install
        | StepType::LogsGather
        | StepType::RebootForReclaim => Printed { exit_code: 0, output: String::new(), error: String::new() },
        StepType::DownloadBootArtifacts => Printed {
            exit_code: 0,
            output: "Successfully downloaded boot artifacts".to_owned(),
            error: String::new(),
        },
        StepType::Execute | StepType::NextStepRunner => {
            Printed::failed(NOT_RUN, &format!("failed to find action for step type {kind}"))
        }
    })
}

/// The request in a step's first argument.
fn read<T: DeserializeOwned>(args: &[String]) -> Result<T, serde_json::Error> {
    serde_json::from_str(args.first().map_or("", String::as_str))
}

/// Everyone on the own link answers at both layers, everyone else through the router.
fn connectivity(host: &SimHost, peers: &ConnectivityCheckParams) -> ConnectivityReport {
    let mut remote_hosts: Vec<_> = peers
        .0
        .iter()
        .map(|peer| {
            let nics = peer.nics.as_deref().unwrap_or_default();
            let mut l2 = Vec::new();
            let mut l3 = Vec::new();
            for nic in nics {
                for address in nic.ip_addresses.iter().flatten() {
                    if let Some(own) = own_on_link(host, address) {
                        l2.push(L2Connectivity {
                            outgoing_nic: INTERFACE.to_owned(),
                            outgoing_ip_address: own.to_string(),
                            remote_ip_address: address.clone(),
                            remote_mac: nic.mac.to_lowercase(),
                            successful: true,
                        });
                    }
                    l3.push(L3Connectivity {
                        remote_ip_address: address.clone(),
                        successful: true,
                        average_rtt_ms: 0.4,
                        ..L3Connectivity::default()
                    });
                }
            }
            l2.sort_by(|one, other| one.remote_ip_address.cmp(&other.remote_ip_address));
            l3.sort_by(|one, other| one.remote_ip_address.cmp(&other.remote_ip_address));
            ConnectivityRemoteHost {
                host_id: peer.host_id,
                l2_connectivity: Some(l2),
                l3_connectivity: Some(l3),
                mtu_report: Some(Vec::new()),
            }
        })
        .collect();
    remote_hosts.sort_by_key(|remote| remote.host_id);
    ConnectivityReport { remote_hosts: Some(remote_hosts) }
}

/// The own address from which another on the same link is asked for.
fn own_on_link(host: &SimHost, other: &str) -> Option<IpAddr> {
    let other = other.parse().ok().filter(|other| host.place.reaches(*other))?;
    match other {
        IpAddr::V4(_) => Some(host.place.address.into()),
        IpAddr::V6(_) => host.place.v6().map(|(address, _)| address.into()),
    }
}

fn free_addresses(site: Site, FreeAddressesRequest(networks): FreeAddressesRequest) -> FreeNetworksAddresses {
    let scanned = networks.into_iter().map(|network| {
        let free = if network == site.cidr() { site.free().collect() } else { Vec::new() };
        FreeNetworkAddresses { network, free_addresses: Some(free) }
    });
    FreeNetworksAddresses(scanned.collect())
}

fn leases(site: Site, request: &DhcpAllocationRequest) -> DhcpAllocationResponse {
    let lease = |name: &str, address| {
        format!(
            "lease {{\n  interface \"{name}\";\n  fixed-address {address};\n  option subnet-mask 255.255.255.0;\n  \
             renew never;\n  rebind never;\n  expire never;\n}}\n"
        )
    };
    // The server gives whoever comes with the same hardware address the same lease.
    let kept = |old: &str, name, address| if old.is_empty() { lease(name, address) } else { old.to_owned() };
    DhcpAllocationResponse {
        api_vip_address: site.api(),
        ingress_vip_address: site.ingress(),
        api_vip_lease: kept(&request.api_vip_lease, "api", site.api()),
        ingress_vip_lease: kept(&request.ingress_vip_lease, "ingress", site.ingress()),
    }
}

fn ignition(request: ApiVipConnectivityRequest) -> ApiVipConnectivityResponse {
    ApiVipConnectivityResponse {
        is_success: true,
        url: request.url,
        ignition: r#"{"ignition":{"version":"3.2.0"}}"#.to_owned(),
        ..ApiVipConnectivityResponse::default()
    }
}

fn tang(request: &TangConnectivityRequest) -> Result<Printed, serde_json::Error> {
    let servers: Vec<Value> = serde_json::from_str(&request.tang_servers)?;
    let answers = servers.iter().map(|server| TangServerResponse {
        tang_url: format!(
            "{}/adv/{}",
            server["url"].as_str().unwrap_or_default(),
            server["thumbprint"].as_str().unwrap_or_default()
        ),
        payload: "eyJrZXlzIjpbXX0".to_owned(),
        signatures: Some(vec![TangServerSignature {
            protected: "eyJhbGciOiJFUzUxMiJ9".to_owned(),
            signature: "c2ltdWxhdGVk".to_owned(),
        }]),
    });
    Ok(Printed::json(&TangConnectivityResponse {
        is_success: true,
        tang_server_response: Some(answers.collect()),
    }))
}

fn ntp(request: &NtpSynchronizationRequest) -> NtpSynchronizationResponse {
    let given = request.ntp_source.split(',').map(str::trim).filter(|source| !source.is_empty());
    let mut names: Vec<_> = given.map(str::to_owned).collect();
    if names.is_empty() {
        names.push(TIME_SERVER.to_owned());
    }
    let sources = names.into_iter().enumerate().map(|(place, source_name)| NtpSource {
        source_name,
        source_state: Some(if place == 0 { SourceState::Synced } else { SourceState::Combined }),
    });
    NtpSynchronizationResponse { ntp_sources: Some(sources.collect()) }
}

fn disk_speed(
    fault_kind: Option<FaultKind>,
    DiskSpeedCheckRequest { path }: DiskSpeedCheckRequest,
) -> Printed {
    let (good, slow) = SYNC_MS;
    match fault_kind {
        Some(FaultKind::BrokenDisk) => {
            let measured = DiskSpeedCheckResponse { io_sync_duration: 0, path: path.clone() };
            let error = format!(
                "Could not get I/O performance for path {path} (fio exit code: 1, stderr: Input/output error)"
            );
            Printed { error, ..Printed::json_with(NOT_RUN, &measured) }
        }
        Some(FaultKind::SlowDisk) => Printed::json(&DiskSpeedCheckResponse { io_sync_duration: slow, path }),
        _ => Printed::json(&DiskSpeedCheckResponse { io_sync_duration: good, path }),
    }
}

fn images(fault_kind: Option<FaultKind>, request: ContainerImageAvailabilityRequest) -> Printed {
    let fails = fault_kind == Some(FaultKind::ImagePull);
    let images = request.images.into_iter().map(|name| {
        if fails {
            let result = Some(ContainerImageAvailabilityResult::Failure);
            return ContainerImageAvailability { name, result, ..ContainerImageAvailability::default() };
        }
        ContainerImageAvailability {
            name,
            size_bytes: 400e6,
            time: 10.0,
            download_rate: 40.0,
            result: Some(ContainerImageAvailabilityResult::Success),
        }
    });
    let response = ContainerImageAvailabilityResponse { images: images.collect() };
    Printed::json_with(if fails { 2 } else { 0 }, &response)
}

fn names(site: Site, request: &DomainResolutionRequest) -> DomainResolutionResponse {
    let resolutions = request.domains.iter().filter_map(|domain| {
        let domain_name = domain["domain_name"].as_str()?.to_owned();
        let found = site.resolve(&domain_name);
        Some(DomainResolution {
            ipv4_addresses: Some(found.into_iter().collect()),
            ipv6_addresses: Some(Vec::new()),
            // What the resolver ended at, even without an alias.
            cnames: found.map(|_| vec![format!("{}.", domain_name.trim_end_matches('.'))]),
            domain_name,
        })
    });
    DomainResolutionResponse { resolutions: resolutions.collect() }
}

fn vips(site: Site, VerifyVipsRequest(vips): VerifyVipsRequest) -> VerifyVipsResponse {
    let verified = vips.into_iter().map(|vip| {
        let taken = vip.vip.0.parse().is_ok_and(|address| site.is_taken(address));
        VerifiedVip {
            vip: vip.vip,
            vip_type: vip.vip_type,
            verification: Some(if taken { VipVerification::Failed } else { VipVerification::Succeeded }),
        }
    });
    VerifyVipsResponse(verified.collect())
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::InfraEnvId;
    use serde_json::json;

    use super::*;
    use crate::topology::Build;
    use crate::world::Needs;

    fn answer(fault_kind: Option<FaultKind>, kind: StepType, args: &Value) -> (i64, Value) {
        let site = Site::new(0, Needs { hosts: 3, vips: true, dual: false }).unwrap();
        let host = SimHost::at(InfraEnvId::default(), 1, site.host(1), Build::ControlPlane);
        let step = Step {
            step_type: Some(kind),
            step_id: format!("{kind}-00000001"),
            args: Some(vec![args.to_string()]),
        };
        let reply = reply(&host, site, fault_kind, &step);
        assert_eq!((reply.step_type, &reply.step_id), (Some(kind), &step.step_id));
        (reply.exit_code, serde_json::from_str(&reply.output).unwrap_or(Value::Null))
    }

    #[test]
    fn peers_on_the_link_answer_at_both_layers() {
        let peers = json!([
            {"host_id": "00000000-0000-0000-0000-000000000002",
             "nics": [{"name": "eno1", "mac": "F8:75:A4:00:00:02", "ip_addresses": ["10.0.0.12"]}]},
            {"host_id": "00000000-0000-0000-0000-000000000001",
             "nics": [{"name": "eno1", "mac": "f8:75:a4:00:00:01", "ip_addresses": ["10.9.0.1", "fd00::1"]}]},
        ]);
        let (code, report) = answer(None, StepType::ConnectivityCheck, &peers);
        assert_eq!(code, 0);
        let [far, near] = [&report["remote_hosts"][0], &report["remote_hosts"][1]];
        assert_eq!(
            (&far["l2_connectivity"], far["l3_connectivity"].as_array().unwrap().len()),
            (&json!([]), 2)
        );
        assert_eq!(near["l2_connectivity"][0]["remote_mac"], "f8:75:a4:00:00:02");
        assert_eq!(near["l2_connectivity"][0]["successful"], true);
    }

    #[test]
    fn names_resolve_unless_they_must_not() {
        let domains = json!({"domains": [
            {"domain_name": "api.c.example.com"}, {"domain_name": "validateNoWildcardDNS.c.example.com."}
        ]});
        let (_, output) = answer(None, StepType::DomainResolution, &domains);
        assert_eq!(output["resolutions"][0]["ipv4_addresses"], json!(["10.0.0.2"]));
        assert_eq!(output["resolutions"][0]["cnames"], json!(["api.c.example.com."]));
        assert_eq!(output["resolutions"][1]["domain_name"], "validateNoWildcardDNS.c.example.com.");
        assert_eq!(output["resolutions"][1]["ipv4_addresses"], json!([]));
        assert_eq!(output["resolutions"][1]["cnames"], Value::Null);
    }

    #[test]
    fn disks_and_images_fail_when_they_are_to() {
        let disk = json!({"path": "/dev/sda"});
        assert_eq!(answer(None, StepType::InstallationDiskSpeedCheck, &disk).1["io_sync_duration"], 2);
        let slow = answer(Some(FaultKind::SlowDisk), StepType::InstallationDiskSpeedCheck, &disk);
        assert_eq!((slow.0, &slow.1["io_sync_duration"]), (0, &json!(45)));
        assert_eq!(
            answer(Some(FaultKind::BrokenDisk), StepType::InstallationDiskSpeedCheck, &disk).0,
            NOT_RUN
        );
        let images = json!({"images": ["quay.io/a:1"], "timeout": 960});
        let good = answer(None, StepType::ContainerImageAvailability, &images);
        assert_eq!((good.0, &good.1["images"][0]["result"]), (0, &json!("success")));
        let bad = answer(Some(FaultKind::ImagePull), StepType::ContainerImageAvailability, &images);
        assert_eq!((bad.0, &bad.1["images"][0]["result"]), (2, &json!("failure")));
    }

    #[test]
    fn the_network_is_scanned() {
        let (_, output) = answer(None, StepType::FreeNetworkAddresses, &json!(["10.0.0.0/26"]));
        assert_eq!(output[0]["network"], "10.0.0.0/26");
        let free: Vec<String> = serde_json::from_value(output[0]["free_addresses"].clone()).unwrap();
        assert!(free.contains(&"10.0.0.2".to_owned()) && !free.contains(&"10.0.0.11".to_owned()));
        let vips =
            json!([{"vip": "10.0.0.2", "vip_type": "api"}, {"vip": "10.0.0.10", "vip_type": "ingress"}]);
        let (_, output) = answer(None, StepType::VerifyVips, &vips);
        assert_eq!([&output[0]["verification"], &output[1]["verification"]], ["succeeded", "failed"]);
    }

    #[test]
    fn every_kind_of_step_is_answered_and_nonsense_is_refused() {
        for kind in StepType::ALL.iter().copied() {
            let (code, _) = answer(None, kind, &json!(17));
            let plain = [
                StepType::Inventory,
                StepType::Install,
                StepType::StopInstallation,
                StepType::LogsGather,
                StepType::DownloadBootArtifacts,
                StepType::RebootForReclaim,
            ];
            assert_eq!(code, if plain.contains(&kind) { 0 } else { NOT_RUN }, "{kind}");
        }
    }
}
