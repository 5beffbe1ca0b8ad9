//! Arguments of `coreos-installer`: the user's, and what disk and network of the host call for
//! (installer-and-controller §A1.3).

use std::net::IpAddr;

use assisted_wire::inventory::{Disk, DriveType, Inventory};
use ipnet::IpNet;

use crate::catalogue::platform::host_support::ORACLE;
use crate::disk::paths;
use crate::model::cluster::{ClusterRecord, IpStack};
use crate::model::embedded;
use crate::model::facts::{Facts, HostFacts, takes_part};
use crate::model::{disk, topology};
use crate::network::{address, family};

const COPY_NETWORK: &str = "--copy-network";
const APPEND: &str = "--append-karg";

/// Mainframes name their vendor so.
const MAINFRAME: &str = "IBM/S390";
/// Kernel arguments that a mainframe was booted with and can't do without.
const MAINFRAME_KARGS: [&str; 5] = ["rd.neednet", "zfcp.allow_lun_scan", "rd.znet", "rd.dasd", "rd.zfcp"];
const MAINFRAME_NETWORK_KARGS: [&str; 2] = ["ip", "nameserver"];
/// Tells that the network of a mainframe is set by its kernel arguments.
const OVERRIDE: &str = "ai.ip_cfg_override=1";

/// The arguments as a JSON list; empty when there are none. `None` when the network can't be determined.
pub(super) fn of(facts: &Facts, record: &ClusterRecord, host: &HostFacts) -> Option<String> {
    let inventory = host.inventory.as_deref()?;
    let given = embedded::installer_args(&host.record.host);
    let network = primary_network(facts, record);
    let on_oci = is_on_oci(record, inventory);
    let unknown_network = topology::is_day2(&record.cluster) && !on_oci && network.is_none();
    let mut fixed = unknown_network || given.iter().any(|argument| argument.starts_with("ip="));
    let mut arguments = Arguments(given);
    fixed |= arguments.of_mainframe(inventory);
    let boot_disk = disk::find(inventory, disk::chosen(&host.record.host));
    let by_iscsi = match boot_disk {
        Some(disk) => arguments.of_disk(disk, inventory, fixed)?,
        None => false,
    };
    fixed |= by_iscsi && on_oci;
    if has_static_network(facts, host) {
        arguments.once(COPY_NETWORK);
    } else if !fixed {
        match network {
            Some(network) => arguments.of_network(record, inventory, network),
            None if host.is_day2() => {}
            None => return None,
        }
    }
    let Arguments(arguments) = arguments;
    if arguments.is_empty() { Some(String::new()) } else { serde_json::to_string(&arguments).ok() }
}

struct Arguments(Vec<String>);

impl Arguments {
    fn once(&mut self, argument: &str) {
        if !self.0.iter().any(|known| known == argument) {
            self.0.push(argument.to_owned());
        }
    }

    fn karg(&mut self, karg: &str) {
        self.0.extend([APPEND.to_owned(), karg.to_owned()]);
    }

    fn karg_once(&mut self, karg: &str) {
        if !self.0.iter().any(|known| known == karg) {
            self.karg(karg);
        }
    }

    /// Carries the kernel arguments of a mainframe over; whether they set its network.
    fn of_mainframe(&mut self, inventory: &Inventory) -> bool {
        let Some(vendor) = &inventory.system_vendor else { return false };
        let Some(boot) = &inventory.boot else { return false };
        if !vendor.manufacturer.eq_ignore_ascii_case(MAINFRAME) || vendor.product_name.ends_with("KVM/Linux")
        {
            return false;
        }
        let fixed = boot.command_line.contains(OVERRIDE);
        let network = if fixed { MAINFRAME_NETWORK_KARGS.as_slice() } else { &[] };
        for karg in boot.command_line.split(' ') {
            let lower = karg.to_ascii_lowercase();
            if MAINFRAME_KARGS.iter().chain(network).any(|start| lower.starts_with(start)) {
                self.karg(karg);
            }
        }
        fixed
    }

    /// What it takes to find the disk at boot; whether that goes over iSCSI. `None` when its NIC is not known.
    fn of_disk(&mut self, disk: &Disk, inventory: &Inventory, fixed: bool) -> Option<bool> {
        match disk.drive_type {
            Some(DriveType::Multipath) => {
                self.karg("rw");
                self.karg("rd.multipath=default");
                let paths = paths(disk, inventory);
                let paths: Vec<_> = paths.filter(|path| path.drive_type == Some(DriveType::ISCSI)).collect();
                for path in &paths {
                    self.of_iscsi(path, inventory, fixed)?;
                }
                Some(!paths.is_empty())
            }
            Some(DriveType::ISCSI) => {
                self.of_iscsi(disk, inventory, fixed)?;
                Some(true)
            }
            Some(DriveType::Raid) => {
                self.karg_once("rd.md=1");
                self.karg_once("rd.auto=1");
                Some(false)
            }
            _ => Some(false),
        }
    }

    fn of_iscsi(&mut self, disk: &Disk, inventory: &Inventory, fixed: bool) -> Option<()> {
        self.karg_once("rd.iscsi.firmware=1");
        if fixed {
            return Some(());
        }
        let own: IpAddr = disk.iscsi.as_ref()?.host_ip_address.parse().ok()?;
        let mut nics = inventory.interfaces.iter().flatten();
        let nic = nics.find(|nic| address::of_interface(nic).any(|address| address.net.addr() == own))?;
        let dhcp = if own.is_ipv4() { "dhcp" } else { "dhcp6" };
        self.karg_once(&format!("ip={}:{dhcp}", dashed(&nic.mac_address)));
        Some(())
    }

    /// DHCP on each NIC in the machine network, so that the node has an address there as early as at its first boot.
    fn of_network(&mut self, record: &ClusterRecord, inventory: &Inventory, network: IpNet) {
        let dhcp = if family::is_dual_stack(&record.cluster) {
            "dhcp,dhcp6"
        } else if network.addr().is_ipv4() {
            "dhcp"
        } else {
            "dhcp6"
        };
        for nic in inventory.interfaces.iter().flatten() {
            if address::of_interface(nic).any(|address| network.contains(&address.net.addr())) {
                self.karg(&format!("ip={}:{dhcp}", dashed(&nic.mac_address)));
            }
        }
    }
}

fn dashed(mac: &str) -> String {
    mac.replace(':', "-")
}

/// The first machine network, else a network of the bootstrap host, preferably of the cluster's first family.
fn primary_network(facts: &Facts, record: &ClusterRecord) -> Option<IpNet> {
    if let Some(network) = family::machine_networks(&record.cluster).find(|text| !text.is_empty()) {
        return address::parse_network(network);
    }
    let bootstrap = facts.hosts.iter().find(|host| takes_part(host) && host.record.host.bootstrap)?;
    let stack = record.primary_ip_stack.unwrap_or(IpStack::V4);
    let networks: Vec<_> =
        address::of_inventory(bootstrap.inventory.as_deref()?).map(|address| address.network()).collect();
    let preferred = networks.iter().find(|network| address::stack_of_net(network) == stack);
    preferred.or(networks.first()).copied()
}

/// Whether the cluster, or the machine that joins it, is in the vendor's cloud.
fn is_on_oci(record: &ClusterRecord, inventory: &Inventory) -> bool {
    let machine = || {
        let vendor = inventory.system_vendor.as_ref().map(|vendor| vendor.manufacturer.as_str());
        topology::is_day2(&record.cluster) && vendor == Some(ORACLE)
    };
    record.cluster.platform.as_ref().is_some_and(topology::is_oci) || machine()
}

fn has_static_network(facts: &Facts, host: &HostFacts) -> bool {
    let infra_env = facts.infra_envs.get(&host.key().infra_env_id);
    infra_env.is_some_and(|record| !record.infra_env.static_network_config.is_empty())
}
