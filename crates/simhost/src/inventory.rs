//! What a simulated machine has in it. Nothing is kept per host: an inventory is made when it is asked for.

use assisted_wire::inventory::{
    Boot, BootDeviceType, Cpu, Disk, DiskInstallationEligibility, DriveType, Interface, Inventory, Memory,
    Route, SystemVendor,
};

use crate::host::SimHost;
use crate::topology::Build;

const GIB: i64 = 1 << 30;
/// `AF_INET` and `AF_INET6`.
const IPV4: i32 = 2;
const IPV6: i32 = 10;

/// The interface that has the address.
pub const INTERFACE: &str = "eno1";
/// Its name; the service offers it for the installation.
const DISK: &str = "sda";

impl SimHost {
    /// What is in it; see [`inventory`].
    pub fn inventory(&self, revision: u32) -> Inventory {
        inventory(self, revision)
    }
}

/// The inventory of a host. `revision` changes a fact, so that the service can't take it for the last one.
pub fn inventory(host: &SimHost, revision: u32) -> Inventory {
    let (cores, memory) = match host.build {
        Build::ControlPlane => (16, 64 * GIB),
        Build::Worker => (32, 128 * GIB),
        Build::Arbiter => (2, 12 * GIB),
    };
    Inventory {
        hostname: host.name(),
        boot: Some(Boot {
            current_boot_mode: "uefi".to_owned(),
            device_type: Some(BootDeviceType::Ephemeral),
            command_line: "coreos.liveiso=sim ignition.firstboot ignition.platform.id=metal\n".to_owned(),
            ..Boot::default()
        }),
        cpu: Some(Cpu {
            architecture: "x86_64".to_owned(),
            count: cores,
            flags: Some(["fpu", "vmx", "aes", "avx2", "ssse3", "sse4_1"].map(str::to_owned).to_vec()),
            frequency: 3900.0,
            model_name: "Simulated CPU @ 2.10GHz".to_owned(),
        }),
        memory: Some(Memory {
            physical_bytes: memory,
            usable_bytes: memory - GIB + i64::from(revision) * 4096,
            ..Memory::default()
        }),
        disks: Some(vec![
            disk(host, DISK, 480 * GIB, DriveType::Ssd),
            disk(host, "nvme0n1", 1920 * GIB, DriveType::Ssd),
        ]),
        interfaces: Some(vec![
            Interface {
                ipv4_addresses: Some(vec![format!("{}/{}", host.place.address, host.place.prefix)]),
                ipv6_addresses: Some(
                    host.place.v6().map(|(address, bits)| format!("{address}/{bits}")).into_iter().collect(),
                ),
                ..interface(INTERFACE, host.mac())
            },
            interface("eno2", host.second_mac()),
        ]),
        routes: Some(routes(host)),
        system_vendor: Some(SystemVendor {
            manufacturer: host.platform.manufacturer().to_owned(),
            product_name: SystemVendor::SIMULATED_PRODUCT.to_owned(),
            serial_number: format!("SIM{:08}", host.index),
            ..SystemVendor::default()
        }),
        ..Inventory::default()
    }
}

fn disk(host: &SimHost, name: &str, size_bytes: i64, drive_type: DriveType) -> Disk {
    let wwn = format!("0x5000c500{:08x}", host.index);
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
        serial: format!("{name}-{:08}", host.index),
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

fn interface(name: &str, mac_address: String) -> Interface {
    Interface {
        name: name.to_owned(),
        mac_address,
        mtu: 1500,
        speed_mbps: 10_000,
        has_carrier: true,
        r#type: "physical".to_owned(),
        flags: Some(["up", "broadcast", "multicast", "running"].map(str::to_owned).to_vec()),
        ipv4_addresses: Some(Vec::new()),
        ipv6_addresses: Some(Vec::new()),
        ..Interface::default()
    }
}

/// The default route of each family.
fn routes(host: &SimHost) -> Vec<Route> {
    let route = |gateway: String, destination: &str, family| Route {
        interface: INTERFACE.to_owned(),
        gateway,
        destination: destination.to_owned(),
        family,
        metric: 100,
    };
    let v6 = host.place.gateway_v6().map(|gateway| route(gateway.to_string(), "::", IPV6));
    std::iter::once(route(host.place.gateway().to_string(), "0.0.0.0", IPV4)).chain(v6).collect()
}
