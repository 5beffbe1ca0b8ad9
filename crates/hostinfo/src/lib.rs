//! What a machine is made of: its inventory, the id that follows from its hardware, and small probes.
//!
//! Everything is read from a [`Root`]: the running machine, or a tree captured from one, which makes any machine a
//! test fixture. Nothing is forked: the kernel's files and netlink answers hold what the usual tools print. Every
//! probe stands alone; one that can't read its sources contributes empty values, never a failure.
//!
//! What is left out: asking a management controller by IPMI, which takes a tool that the caller runs (see [`bmc`]), and
//! port names of add-on cards in the style of `biosdevname`.

pub mod bmc;
mod boot;
pub mod capture;
mod cpu;
mod disk;
pub mod dns;
#[doc(hidden)]
pub mod fuzz;
mod gpu;
mod host_id;
mod interface;
mod mac;
mod machine;
mod memory;
mod mounts;
mod netlink;
pub mod nic;
pub mod ntp;
pub mod probe;
mod root;
mod route;
mod smbios;
mod tpm;
mod vendor;

use assisted_wire::inventory::Inventory;

pub use host_id::host_id;
pub use machine::machine;
pub use mounts::mounted_from;
pub use root::Root;

/// The whole inventory. It blocks on file reads and one netlink socket: milliseconds on a healthy machine, but disks
/// that are dead or asleep are given seconds, so an async caller runs it on a thread for blocking work. Use one [`Root`]
/// for all inventories of a process: it remembers the disks that still owe an answer.
pub fn inventory(root: &Root) -> Inventory {
    let smbios = smbios::Smbios::read(root);
    let mounts = mounts::Mounts::read(root);
    let netlink = root.netlink();
    let boot = boot::boot(root, &mounts);
    let disks = disk::list(root, &mounts, boot.device_type);
    let interfaces = interface::list(root, &netlink);
    let (bmc_address, bmc_v6address) = bmc::addresses(&smbios);
    Inventory {
        hostname: interface::hostname(root, &interfaces),
        bmc_address,
        bmc_v6address,
        boot: Some(boot),
        disks: Some(disks),
        interfaces: Some(interfaces),
        routes: Some(route::list(&netlink)),
        cpu: Some(cpu::cpu(root)),
        memory: Some(memory::memory(root, &smbios)),
        gpus: Some(gpu::list(root)),
        system_vendor: Some(vendor::system_vendor(root)),
        tpm_version: tpm::version(root),
        truncation: None,
    }
}
