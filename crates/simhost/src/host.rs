//! A simulated host: an id, and an inventory that differs from that of every other.

use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::inventory::{
    Boot, BootDeviceType, Cpu, Disk, DiskInstallationEligibility, DriveType, Interface, Inventory, Memory,
    Route, SystemVendor,
};
use assisted_wire::operation::BASE_PATH;
use assisted_wire::step::{StepReply, StepType};
use uuid::Uuid;

const GIB: i64 = 1 << 30;

/// A host of an infra-env; `index` makes it unlike the others (ids, addresses, serial numbers).
#[derive(Clone, Debug)]
pub struct SimHost {
    pub infra_env_id: InfraEnvId,
    pub id: HostId,
    pub index: u32,
}

impl SimHost {
    /// The host number `index` of an infra-env; the same arguments give the same host.
    pub fn new(infra_env_id: InfraEnvId, index: u32) -> Self {
        let id = Uuid::from_u64_pair(
            infra_env_id.0.as_u64_pair().0 ^ 0x5150,
            u64::from(index) | 0x8000_0000_0000_0000,
        );
        Self { infra_env_id, id: HostId(id), index }
    }

    /// Path of its registration.
    pub fn hosts_path(&self) -> String {
        format!("{BASE_PATH}/v2/infra-envs/{}/hosts", self.infra_env_id)
    }

    /// Path of its polls and replies.
    pub fn instructions_path(&self) -> String {
        format!("{}/{}/instructions", self.hosts_path(), self.id)
    }

    /// Body of its registration.
    pub fn registration(&self) -> HostCreateParams {
        HostCreateParams { host_id: self.id, discovery_agent_version: "sim".to_owned() }
    }

    /// Reply to an `inventory` step. `revision` changes a fact, so that the service can't take it for the last one.
    pub fn inventory_reply(&self, revision: u32) -> Result<StepReply, serde_json::Error> {
        Ok(StepReply {
            step_type: Some(StepType::Inventory),
            step_id: format!("inventory-{revision:08x}"),
            exit_code: 0,
            output: serde_json::to_string(&self.inventory(revision))?,
            error: String::new(),
        })
    }

    /// A server that meets the requirements of a control-plane node.
    pub fn inventory(&self, revision: u32) -> Inventory {
        let [_, b, c, d] = self.index.to_be_bytes();
        Inventory {
            hostname: format!("sim-{}", self.index),
            boot: Some(Boot {
                current_boot_mode: "uefi".to_owned(),
                device_type: Some(BootDeviceType::Ephemeral),
                command_line: "coreos.liveiso=sim ignition.firstboot ignition.platform.id=metal\n".to_owned(),
                ..Boot::default()
            }),
            cpu: Some(Cpu {
                architecture: "x86_64".to_owned(),
                count: 16,
                flags: Some(["fpu", "vmx", "aes", "avx2", "ssse3", "sse4_1"].map(str::to_owned).to_vec()),
                frequency: 3900.0,
                model_name: "Simulated CPU @ 2.10GHz".to_owned(),
            }),
            memory: Some(Memory {
                physical_bytes: 64 * GIB,
                usable_bytes: 63 * GIB + i64::from(revision) * 4096,
                ..Memory::default()
            }),
            disks: Some(vec![
                self.disk("sda", 480 * GIB, DriveType::Ssd),
                self.disk("nvme0n1", 1920 * GIB, DriveType::Ssd),
            ]),
            interfaces: Some(vec![
                self.interface(
                    "eno1",
                    format!("f8:75:a4:{b:02x}:{c:02x}:{d:02x}"),
                    Some(format!("10.{b}.{c}.{d}/8")),
                ),
                self.interface("eno2", format!("f8:75:a5:{b:02x}:{c:02x}:{d:02x}"), None),
            ]),
            routes: Some(vec![Route {
                interface: "eno1".to_owned(),
                gateway: "10.255.255.254".to_owned(),
                destination: "0.0.0.0".to_owned(),
                family: 2,
                metric: 100,
            }]),
            system_vendor: Some(SystemVendor {
                manufacturer: "Simulated".to_owned(),
                product_name: "Server".to_owned(),
                serial_number: format!("SIM{:08}", self.index),
                ..SystemVendor::default()
            }),
            ..Inventory::default()
        }
    }

    fn disk(&self, name: &str, size_bytes: i64, drive_type: DriveType) -> Disk {
        let wwn = format!("0x5000c500{:08x}", self.index);
        Disk {
            id: format!("/dev/disk/by-id/wwn-{wwn}-{name}"),
            by_id: format!("/dev/disk/by-id/wwn-{wwn}-{name}"),
            by_path: format!("/dev/disk/by-path/pci-0000:18:00.0-{name}"),
            drive_type: Some(drive_type),
            has_uuid: true,
            name: name.to_owned(),
            path: format!("/dev/{name}"),
            model: "Simulated".to_owned(),
            vendor: "SIM".to_owned(),
            serial: format!("{name}-{:08}", self.index),
            wwn,
            size_bytes,
            bootable: true,
            installation_eligibility: DiskInstallationEligibility {
                eligible: true,
                not_eligible_reasons: Some(Vec::new()),
            },
            ..Disk::default()
        }
    }

    fn interface(&self, name: &str, mac_address: String, address: Option<String>) -> Interface {
        Interface {
            name: name.to_owned(),
            mac_address,
            mtu: 1500,
            speed_mbps: 10_000,
            has_carrier: true,
            r#type: "physical".to_owned(),
            flags: Some(["up", "broadcast", "multicast", "running"].map(str::to_owned).to_vec()),
            ipv4_addresses: Some(address.into_iter().collect()),
            ipv6_addresses: Some(Vec::new()),
            ..Interface::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_differ_and_stay_themselves() {
        let infra_env = InfraEnvId::random();
        assert_eq!(SimHost::new(infra_env, 7).id, SimHost::new(infra_env, 7).id);
        assert_ne!(SimHost::new(infra_env, 7).id, SimHost::new(infra_env, 8).id);
        let host = SimHost::new(infra_env, 7);
        assert_ne!(host.inventory_reply(1).unwrap().output, host.inventory_reply(2).unwrap().output);
    }
}
