//! Captured machines and the inventories they must give.

use assisted_hostinfo::{host_id, inventory};
use assisted_testkit::golden;
use assisted_wire::inventory::{
    Disk, DriveType, Interface, Inventory, MemoryMethod, SecureBootState, TpmVersion,
};

use crate::{fixture, fixtures, machine};

fn disk<'a>(inventory: &'a Inventory, name: &str) -> &'a Disk {
    inventory.disks.as_ref().unwrap().iter().find(|disk| disk.name == name).unwrap()
}

fn names(inventory: &Inventory) -> Vec<&str> {
    inventory.disks.as_ref().unwrap().iter().map(|disk| disk.name.as_str()).collect()
}

fn reasons(disk: &Disk) -> Vec<&str> {
    let verdict = &disk.installation_eligibility;
    assert_eq!(verdict.eligible, verdict.not_eligible_reasons.is_none());
    verdict.not_eligible_reasons.iter().flatten().map(String::as_str).collect()
}

fn interface<'a>(inventory: &'a Inventory, name: &str) -> &'a Interface {
    inventory.interfaces.as_ref().unwrap().iter().find(|interface| interface.name == name).unwrap()
}

/// Every fixture's whole inventory; `cargo xtask bless -p assisted-hostinfo` writes what is found. What a person has read out of the
/// fixtures is in facts.rs, and comes first.
#[test]
fn inventories_are_as_recorded() {
    let mut machines = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = serde_json::to_string_pretty(&inventory(&fixture(&name).root)).unwrap() + "\n";
        golden(fixtures().join(&name).join("inventory.json"), &text);
        machines += 1;
    }
    assert!(machines >= 7, "{machines} machines");
}

#[test]
fn a_capture_of_a_fixture_gives_the_same_inventory() {
    for name in [
        "rack-server",
        "blade",
        "arm64-server",
        "s390x-dasd",
        "virtual-machine",
        "microvm",
        "bridged-microvm",
    ] {
        let original = fixture(name);
        let tree = assisted_hostinfo::capture::capture(&original.root).to_string();
        let mut expected = inventory(&original.root);
        let mut found = inventory(&machine(&tree).root);
        // The command line loses what could be a secret, and the list of names belongs to the system, not the machine.
        for inventory in [&mut expected, &mut found] {
            inventory.boot.as_mut().unwrap().command_line.clear();
            for gpu in inventory.gpus.iter_mut().flatten() {
                (gpu.vendor, gpu.name) = Default::default();
            }
        }
        assert_eq!(found, expected, "{name}\n{tree}");
        assert_eq!(host_id(&machine(&tree).root), host_id(&original.root));
    }
}

#[test]
fn a_rack_servers_disks() {
    let found = inventory(&fixture("rack-server").root);
    let expected = ["dm-0", "dm-1", "md127", "nvme0n1", "sda", "sdb", "sdc", "sdd", "sde", "sdf"];
    assert_eq!(names(&found), expected);
    let kinds: Vec<_> = expected.iter().map(|name| disk(&found, name).drive_type.unwrap()).collect();
    use DriveType::{Fc, Hdd, ISCSI, Lvm, Multipath, Raid, Ssd};
    assert_eq!(kinds, [Multipath, Lvm, Raid, Ssd, Ssd, Hdd, Fc, Fc, ISCSI, ISCSI]);

    let sda = disk(&found, "sda");
    assert_eq!(sda.size_bytes, 480_103_981_056);
    assert_eq!((sda.hctl.as_str(), sda.vendor.as_str()), ("0:2:0:0", "DELL"));
    assert_eq!(sda.id, "/dev/disk/by-id/wwn-0x6141877064533b0020adf3bc0325d664");
    assert_eq!(sda.serial, "6141877064533b0020adf3bc0325d664");
    assert!(sda.bootable && sda.has_uuid && !sda.removable);
    assert!(reasons(sda).is_empty());

    let sdb = disk(&found, "sdb");
    assert!(sdb.removable && !sdb.bootable && sdb.has_uuid);
    assert_eq!(reasons(sdb), ["Disk has partition 'sdb2' mounted on '/run/media/old data'"]);

    let dm0 = disk(&found, "dm-0");
    assert!(reasons(dm0).is_empty() && dm0.has_uuid);
    assert_eq!(dm0.by_id, "/dev/disk/by-id/wwn-0x624a937022ef22c9e7d64cf6000113f6");
    assert_eq!(disk(&found, "sdc").holders, "dm-0");
    assert_eq!(disk(&found, "sdc").serial, "22EF22C9E7D64CF6000113F6");
    assert_eq!(reasons(disk(&found, "dm-1")), ["Disk is an LVM logical volume"]);
    assert!(reasons(disk(&found, "md127")).is_empty());

    let nvme = disk(&found, "nvme0n1");
    assert_eq!(nvme.by_id, "/dev/disk/by-id/nvme-eui.0025388b91d0aa01");
    assert_eq!((nvme.wwn.as_str(), nvme.holders.as_str()), ("eui.0025388b91d0aa01", "dm-1"));

    let sde = disk(&found, "sde");
    assert!(reasons(sde).is_empty());
    assert_eq!(sde.serial, "beaf11");
    assert_eq!(sde.iscsi.as_ref().unwrap().host_ip_address, "192.168.50.17");
    assert_eq!(reasons(disk(&found, "sdf")), ["iSCSI disk is missing from iBFT"]);
}

#[test]
fn a_rack_servers_other_facts() {
    let machine = fixture("rack-server");
    let found = inventory(&machine.root);
    let memory = found.memory.as_ref().unwrap();
    assert_eq!(memory.physical_bytes, 96 << 30);
    assert_eq!(memory.physical_bytes_method, Some(MemoryMethod::Dmidecode));
    assert_eq!(memory.usable_bytes, 98_500_000 * 1024);
    assert_eq!(found.bmc_address, "10.16.218.144");
    assert_eq!(found.bmc_v6address, "::/0");
    assert_eq!(found.tpm_version, Some(TpmVersion::V2_0));
    let boot = found.boot.as_ref().unwrap();
    assert_eq!(boot.secure_boot_state, Some(SecureBootState::Enabled));
    assert_eq!(boot.pxe_interface, "01-f8-75-a4-a4-00-fe");
    assert!(boot.command_line.ends_with('\n'));
    let cpu = found.cpu.as_ref().unwrap();
    assert_eq!((cpu.count, cpu.frequency), (32, 3900.0));
    let gpus: Vec<_> =
        found.gpus.iter().flatten().map(|gpu| (gpu.address.as_str(), gpu.name.as_str())).collect();
    assert_eq!(
        gpus,
        [
            ("0000:03:00.0", "Integrated Matrox G200eW3 Graphics Controller"),
            ("0000:65:00.0", "GA100 [A100 PCIe 80GB]")
        ]
    );
    let eno1 = interface(&found, "eno1");
    assert_eq!(
        (eno1.biosdevname.as_str(), eno1.product.as_str(), eno1.vendor.as_str()),
        ("em1", "0x1572", "0x8086")
    );
    assert_eq!(eno1.ipv4_addresses.as_deref().unwrap(), ["192.168.126.10/24"]);
    assert!(eno1.ipv6_addresses.as_ref().unwrap().is_empty());
    assert_eq!(eno1.flags.as_deref().unwrap(), ["up", "broadcast", "multicast", "running"]);
    assert_eq!(interface(&found, "lo").r#type, "device");
    assert_eq!(found.routes.as_ref().unwrap().len(), 2);
}

#[test]
fn a_blades_network() {
    let found = inventory(&fixture("blade").root);
    assert_eq!(interface(&found, "eno2").mac_address, "48:df:37:00:00:02");
    assert_eq!(interface(&found, "eno2").speed_mbps, -1);
    assert_eq!(interface(&found, "bond0").r#type, "bond");
    assert_eq!(interface(&found, "bond0.100").r#type, "vlan");
    assert_eq!(interface(&found, "tap0").r#type, "tuntap");
    assert_eq!(interface(&found, "bond0.200").ipv6_addresses.as_deref().unwrap(), ["fd2e:6f44:5dd8::a/64"]);
    // The first by name that has an address: bond0 itself has none.
    assert_eq!(found.hostname, "48-df-37-00-00-01");
    let routes = found.routes.as_ref().unwrap();
    assert_eq!((routes[0].gateway.as_str(), routes[0].interface.as_str()), ("10.1.100.1", "bond0.100"));
    assert_eq!(routes.len(), 4);
    assert_eq!((routes[3].destination.as_str(), routes[3].family), ("::", 10));
}

#[test]
fn a_machine_that_runs_from_its_disk_may_be_installed_on_it() {
    let found = inventory(&fixture("blade").root);
    let sda = disk(&found, "sda");
    assert!(reasons(sda).is_empty());
    // Two disks at one place: the place identifies neither.
    assert_eq!((sda.by_path.as_str(), sda.id.as_str()), ("", "/dev/sda"));
    assert_eq!(found.boot.as_ref().unwrap().secure_boot_state, Some(SecureBootState::Unknown));
    assert_eq!(found.memory.as_ref().unwrap().physical_bytes_method, Some(MemoryMethod::Ghw));
    assert_eq!(found.memory.as_ref().unwrap().physical_bytes, 4 << 30);
    assert_eq!(found.tpm_version, Some(TpmVersion::V1_2));
}

#[test]
fn an_arm64_server() {
    let machine = fixture("arm64-server");
    let found = inventory(&machine.root);
    let cpu = found.cpu.as_ref().unwrap();
    assert_eq!(
        (cpu.architecture.as_str(), cpu.model_name.as_str(), cpu.count),
        ("aarch64", "Neoverse-N1", 80)
    );
    assert_eq!(found.bmc_address, "0.0.0.0");
    assert_eq!(host_id(&machine.root).to_string(), "8a4c1e00-7b1d-11ec-8000-3cecefc0ffee");
    let media = disk(&found, "sda");
    let reason = "Disk appears to be an ISO installation media (has partition with mountpoint suffix iso)";
    assert_eq!(reasons(media), [reason]);
    assert!(media.is_installation_media);
    assert_eq!(disk(&found, "mmcblk0").drive_type, Some(DriveType::Ssd));
}

#[test]
fn an_s390x_guest() {
    let found = inventory(&fixture("s390x-dasd").root);
    let kind = |name| disk(&found, name).drive_type.unwrap();
    assert_eq!(kind("dasda"), DriveType::Eckd);
    assert_eq!(kind("dasdb"), DriveType::EckdEse);
    assert_eq!(kind("dasdc"), DriveType::Fba);
    assert_eq!(kind("dasdd"), DriveType::Unknown);
    assert_eq!(kind("sda"), DriveType::Fc);
    assert!(reasons(disk(&found, "dasda")).is_empty());
    let vendor = found.system_vendor.as_ref().unwrap();
    assert_eq!((vendor.manufacturer.as_str(), vendor.product_name.as_str()), ("IBM/S390", "z/VM    7.2.0"));
    assert_eq!(vendor.serial_number, "unknown");
    assert!(vendor.r#virtual);
    let cpu = found.cpu.as_ref().unwrap();
    assert_eq!((cpu.model_name.as_str(), cpu.frequency, cpu.count), ("8561", 5200.0, 4));
    assert!(cpu.flags.as_ref().unwrap().contains(&"zarch".to_owned()));
}

#[test]
fn a_virtual_machine() {
    let found = inventory(&fixture("virtual-machine").root);
    assert_eq!(names(&found), ["nbd0", "sr0", "vda"]);
    assert_eq!(reasons(disk(&found, "nbd0")), ["Disk has unknown storage controller"]);
    let sr0 = disk(&found, "sr0");
    assert!(sr0.is_installation_media && sr0.bootable && reasons(sr0).is_empty());
    assert_eq!(sr0.drive_type, Some(DriveType::Odd));
    assert_eq!(disk(&found, "vda").vendor, "0x1af4");
    let vendor = found.system_vendor.as_ref().unwrap();
    assert_eq!(vendor.product_name, "oVirt");
    assert!(vendor.r#virtual);
    assert_eq!(found.hostname, "52-54-00-12-34-56");
    assert_eq!(found.tpm_version, Some(TpmVersion::None));
    let boot = found.boot.as_ref().unwrap();
    assert_eq!(boot.current_boot_mode, "bios");
    assert_eq!(boot.secure_boot_state, Some(SecureBootState::NotSupported));
}

#[test]
fn an_appliance_has_one_disk() {
    let machine = machine(
        "/sys/block/sda/size = 1000\n/sys/block/sda/device/vpd_pg83 : 0083\n\
         /sys/block/dm-3/dm/name = agentboot\n/sys/block/dm-3/dm/uuid = CRYPT-x\n",
    );
    let found = inventory(&machine.root);
    assert_eq!(names(&found), ["dm-3"]);
    let only = disk(&found, "dm-3");
    assert_eq!((only.size_bytes, only.has_uuid, only.id.as_str()), (107_374_182_400, true, ""));
    assert!(only.installation_eligibility.eligible);
}

#[test]
fn an_iscsi_disk_must_be_known_to_the_firmware() {
    let place = "/sys/devices/platform/host2/session1/target2:0:0/2:0:0:1";
    let base = format!(
        "/sys/block/sdb -> ../devices/platform/host2/session1/target2:0:0/2:0:0:1/block/sdb\n\
         {place}/block/sdb/device -> ../../../2:0:0:1\n{place}/block/sdb/dev = 8:16\n\
         /run/udev/data/b8:16 =\n    E:ID_PATH=ip-10.0.0.1:3260-iscsi-iqn.x:t-lun-1\n"
    );
    let steps = [
        (String::new(), "Failed to read state of iSCSI disk"),
        (format!("{place}/state = offline\n"), "iSCSI disk is not in running state"),
        (format!("{place}/state = running\n"), "Cannot find iSCSI target name"),
        (
            format!("{place}/state = running\n/sys/class/iscsi_session/session1/targetname = iqn.x:t\n"),
            "iBFT firmware is missing",
        ),
    ];
    for (more, reason) in steps {
        let found = inventory(&machine(&format!("{base}{more}")).root);
        assert_eq!(reasons(disk(&found, "sdb")), [reason]);
    }
    let elsewhere = base.replace("session1", "sessions").replace("host2", "hosts")
        + "/sys/devices/platform/hosts/sessions/target2:0:0/2:0:0:1/state = running\n";
    assert_eq!(reasons(disk(&inventory(&machine(&elsewhere).root), "sdb")), ["Cannot find iSCSI session"]);
}
