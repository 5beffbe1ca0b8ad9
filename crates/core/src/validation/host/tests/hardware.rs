//! Validations of hardware, names and disks.

use assisted_wire::inventory::{
    DriveType, InventoryTruncation, InventoryTruncationType, MemoryMethod, TpmVersion,
};
use serde_json::json;

use super::*;
use crate::model::report::ReportKind;
use crate::validation::testing::disk;

#[test]
pub(super) fn inventories() {
    failure(&facts(1), HasInventory, "Inventory has not been received for the host");
    success(&with(&inventory()), HasInventory, "Valid inventory exists for the host");
    let truncated = |r#type, reasons: &[&str]| {
        let reasons = Some(reasons.iter().map(|reason| (*reason).to_owned()).collect());
        with(
            &inventory()
                .with(|inventory| inventory.truncation = Some(InventoryTruncation { r#type, reasons })),
        )
    };
    use InventoryTruncationType::{Full, Partial};
    let (partial, full) = (InventoryNotPartiallyTruncated, InventoryNotFullyTruncated);
    for id in [partial, full] {
        pending(&facts(1), id, "Missing inventory");
        success(&with(&inventory()), id, "Inventory is not truncated");
    }
    failure(&truncated(Partial, &[]), partial, "Inventory is truncated (partial)");
    failure(&truncated(Partial, &["a", "b"]), partial, "Inventory is truncated (partial): a; b");
    success(
        &truncated(Full, &[]),
        partial,
        "Inventory is not partially truncated (inventory fully truncated)",
    );
    success(&truncated(Partial, &[]), full, "Inventory is partially truncated");
    failure(&truncated(Full, &[]), full, "Inventory is truncated (full)");
    failure(&truncated(Full, &["too big"]), full, "Inventory is truncated (full): too big");
}

#[test]
pub(super) fn cpu_cores() {
    pending(&facts(1), HasMinCpuCores, "Missing inventory");
    success(&with(&inventory().cores(2)), HasMinCpuCores, "Sufficient CPU cores");
    failure(
        &with(&inventory().cores(1)),
        HasMinCpuCores,
        "The host is not eligible to participate in Openshift Cluster because the minimum required CPU cores for any \
         role is 2, found only 1",
    );
    pending(&facts(1), HasCpuCoresForRole, "Missing inventory or role");
    let of = |cores, of_role| role(with(&inventory().cores(cores)), of_role);
    success(&of(4, HostRole::Master), HasCpuCoresForRole, "Sufficient CPU cores for role master");
    failure(
        &of(3, HostRole::Master),
        HasCpuCoresForRole,
        "Require at least 4 CPU cores for master role, found only 3",
    );
    failure(
        &single_node(of(7, HostRole::Master)),
        HasCpuCoresForRole,
        "Require at least 8 CPU cores for master role, found only 7",
    );
    let newer = single_node(of(4, HostRole::Master))
        .with_cluster(|cluster| cluster.openshift_version = "4.22.0".to_owned());
    success(&newer, HasCpuCoresForRole, "Sufficient CPU cores for role master");
    success(&of(2, HostRole::Worker), HasCpuCoresForRole, "Sufficient CPU cores for role worker");
    success(&of(2, HostRole::AutoAssign), HasCpuCoresForRole, "Sufficient CPU cores for role auto-assign");
}

#[test]
pub(super) fn memory() {
    let of = |mib| with(&inventory().memory_mib(mib));
    pending(&facts(1), HasMinMemory, "Missing inventory");
    success(&of(8192 - 100), HasMinMemory, "Sufficient minimum RAM");
    failure(
        &of(8192 - 101),
        HasMinMemory,
        "The host is not eligible to participate in Openshift Cluster because the minimum required RAM for any role is \
         8.00 GiB, found only 7.90 GiB",
    );
    let by_kernel = |mib| {
        let method = Some(MemoryMethod::Meminfo);
        let inventory = inventory().memory_mib(mib);
        with(&inventory.with(|inventory| inventory.memory.as_mut().unwrap().physical_bytes_method = method))
    };
    success(&by_kernel(8192 - 100 - 163), HasMinMemory, "Sufficient minimum RAM");
    assert_eq!(shown(&by_kernel(8192 - 100 - 164), HasMinMemory).unwrap().0, Status::Failure);

    pending(&facts(1), HasMemoryForRole, "Missing inventory or role");
    success(&role(of(16384 - 100), HostRole::Master), HasMemoryForRole, "Sufficient RAM for role master");
    failure(
        &role(of(16384 - 101), HostRole::Master),
        HasMemoryForRole,
        "Require at least 16.00 GiB RAM for role master, found only 15.90 GiB",
    );
}

#[test]
pub(super) fn disks() {
    pending(&facts(1), HasMinValidDisks, "Missing inventory");
    error(&facts(1).with_report(ReportKind::Inventory, "{"), HasMinValidDisks, "Failed to load inventory");
    error(&with(&inventory().disks(vec![])), HasMinValidDisks, "Failed to detected disks");
    success(&with(&inventory()), HasMinValidDisks, "Sufficient disk capacity");
    let mut refused = disk("sda", DriveType::Hdd, 1);
    refused.installation_eligibility.eligible = false;
    failure(
        &with(&inventory().disks(vec![refused])),
        HasMinValidDisks,
        "No eligible disks were found, please check specific disks to see why they are not eligible",
    );

    let speed = |text: &str| {
        let facts = facts(1).with_host(|host| host.record.host.installation_disk_id = "sda".to_owned());
        facts.with_report(ReportKind::DisksInfo, text)
    };
    let id = SufficientInstallationDiskSpeed;
    error(&facts(1), id, "Validation error");
    success(&speed(""), id, "Speed of installation disk has not yet been measured");
    let measured = |code| json!({"sda": {"disk_speed": {"tested": true, "exit_code": code}}}).to_string();
    success(&speed(&measured(0)), id, "Speed of installation disk is sufficient");
    failure(
        &speed(&measured(1)),
        id,
        "While preparing the previous installation the installation disk speed measurement failed or was found to be \
         insufficient",
    );
}

#[test]
pub(super) fn skipped_disks() {
    let skipping = |list: &str| {
        with(&inventory()).with_host(|host| {
            host.record.host.installation_disk_id = "/dev/disk/by-id/sda".to_owned();
            host.record.host.skip_formatting_disks = list.to_owned();
        })
    };
    success(&skipping(""), NoSkipInstallationDisk, "No request to skip formatting of the installation disk");
    failure(
        &skipping("x,/dev/disk/by-id/sda"),
        NoSkipInstallationDisk,
        "Requesting to skip the formatting of the installation disk is not allowed. The installation disk must be \
         formatted. Please either change this host's installation disk or do not skip the formatting of the \
         installation disk",
    );
    pending(&facts(1), NoSkipMissingDisk, "Host inventory not available yet");
    let broken = |facts: Facts| facts.with_report(ReportKind::Inventory, "{");
    let present = "All disks that have skipped formatting are present in the host inventory";
    error(
        &broken(skipping("/dev/disk/by-id/sda")),
        NoSkipMissingDisk,
        "Failed to unmarshal this host's inventory",
    );
    success(&broken(skipping("")), NoSkipMissingDisk, present);
    success(&skipping(""), NoSkipMissingDisk, present);
    success(&skipping("/dev/disk/by-id/sda"), NoSkipMissingDisk, present);
    failure(
        &skipping("/dev/disk/by-id/sda,gone"),
        NoSkipMissingDisk,
        "One or more of the disks that you have requested to skip the formatting of are no longer present on this host. \
         To ensure they haven't just changed their identity, please remove your request to skip their formatting and \
         then if needed add them back using the new ID",
    );
}

#[test]
pub(super) fn host_names() {
    suppressed(&unbound(), HostnameUnique);
    pending(&facts(1), HostnameUnique, "Missing inventory");
    success(&with(&inventory()), HostnameUnique, "Hostname host-1 is unique in cluster");
    let mut two = facts(2).with_inventory(&inventory());
    two.hosts[0].record.host.requested_hostname.clear();
    two.hosts[1].record.host.requested_hostname = "machine".to_owned();
    failure(&two, HostnameUnique, "Hostname machine is not unique in cluster");
    two.hosts[1].inventory = None;
    success(&two, HostnameUnique, "Hostname machine is unique in cluster");

    failure(&facts(1), HostnameValid, "Missing inventory");
    let named = |name: &str| {
        let facts = with(&inventory().with(|inventory| name.clone_into(&mut inventory.hostname)));
        facts.with_host(|host| host.record.host.requested_hostname.clear())
    };
    success(&named("node-1.example.com"), HostnameValid, "Hostname node-1.example.com is allowed");
    for forbidden in crate::network::hostname::FORBIDDEN {
        failure(&named(forbidden), HostnameValid, &format!("The host name {forbidden} is forbidden"));
    }
    for bad in [&"a".repeat(64), "Node", "", "a b", "../../etc"] {
        failure(
            &named(bad),
            HostnameValid,
            &format!(
                "Hostname {bad} is forbidden, hostname should match pattern \
                 ^[a-z0-9][a-z0-9-]{{0,62}}(?:[.][a-z0-9-]{{1,63}})*$"
            ),
        );
    }
}

#[test]
pub(super) fn platforms() {
    use assisted_wire::platform::{Platform, PlatformExternal, PlatformType};
    let id = CompatibleWithClusterPlatform;
    suppressed(&unbound(), id);
    pending(&facts(1), id, "Missing inventory or platform isn't set");
    let on = |r#type, external, manufacturer: &str| {
        let inventory = inventory().with(|inventory| {
            manufacturer.clone_into(&mut inventory.system_vendor.as_mut().unwrap().manufacturer);
        });
        with(&inventory).with_cluster(|cluster| cluster.platform = Some(Platform { r#type, external }))
    };
    let oci =
        || Some(PlatformExternal { platform_name: Some("oci".to_owned()), ..PlatformExternal::default() });
    for (kind, external, manufacturer) in [
        (PlatformType::Baremetal, None, "ACME"),
        (PlatformType::None, None, "ACME"),
        (PlatformType::External, None, "ACME"),
        (PlatformType::External, oci(), "OracleCloud.com"),
        (PlatformType::Vsphere, None, "VMware, Inc."),
        (PlatformType::Nutanix, None, "Nutanix"),
    ] {
        let text = format!("Host is compatible with cluster platform {kind}");
        success(&on(kind, external, manufacturer), id, &text);
    }
    for (kind, external) in
        [(PlatformType::Vsphere, None), (PlatformType::Nutanix, None), (PlatformType::External, oci())]
    {
        let text = format!(
            "Host is not compatible with cluster platform {kind}; either disable this host or discover a new \
             compatible host."
        );
        failure(&on(kind, external, "ACME"), id, &text);
    }

    let id = ValidPlatformNetworkSettings;
    pending(&facts(1), id, "Missing inventory");
    error(&with(&inventory().with(|inventory| inventory.system_vendor = None)), id, "Validation error");
    success(&with(&inventory()), id, "Platform A1 is allowed");
    let openstack = inventory().with(|inventory| {
        inventory.system_vendor.as_mut().unwrap().product_name = "OpenStack Compute".to_owned();
    });
    suppressed(&unbound().with_inventory(&openstack), id);
    success(&user_managed(with(&openstack)), id, "Platform OpenStack Compute is allowed");
    failure(
        &with(&openstack),
        id,
        "Platform OpenStack Compute is allowed only for Single Node OpenShift or user-managed networking",
    );
}

#[test]
pub(super) fn vsphere_disks() {
    let id = VsphereDiskUuidEnabled;
    let vmware = |change: &dyn Fn(&mut assisted_wire::inventory::Inventory)| {
        inventory().with(|inventory| {
            inventory.system_vendor.as_mut().unwrap().manufacturer = "VMware, Inc.".to_owned();
            change(inventory);
        })
    };
    suppressed(&with(&inventory()), id);
    suppressed(&unbound().with_inventory(&vmware(&|_| {})), id);
    pending(&with(&vmware(&|inventory| inventory.disks = None)), id, "no disks");
    failure(
        &with(&vmware(&|_| {})),
        id,
        "VSphere disk.EnableUUID isn't enabled for this virtual machine, it's necessary for disks to be mounted \
         properly",
    );
    let enabled = "VSphere disk.EnableUUID is enabled for this virtual machine";
    success(&with(&vmware(&|inventory| inventory.disks.as_mut().unwrap()[0].has_uuid = true)), id, enabled);
    let raid = |inventory: &mut assisted_wire::inventory::Inventory| {
        inventory.disks.as_mut().unwrap()[0].drive_type = Some(DriveType::Raid);
    };
    success(&with(&vmware(&raid)), id, enabled);
}

#[test]
pub(super) fn agents() {
    let id = CompatibleAgent;
    let of = |enabled, image: &str, version: &str| {
        let facts = settings(facts(1), |policy| {
            policy.images.enable_upgrade_agent = enabled;
            image.clone_into(&mut policy.images.agent);
        });
        facts.with_host(|host| version.clone_into(&mut host.record.host.discovery_agent_version))
    };
    success(&of(false, "a:1", "a:2"), id, "Host agent compatibility checking is disabled");
    success(&of(true, "a:1", "a:1"), id, "Host agent is compatible with the service");
    let old = of(true, "a:1", "a:2");
    failure(
        &old,
        id,
        "This host's agent is in the process of being upgraded to a compatible version. This might take a few minutes",
    );
    // Not shown in any stage, yet it counts.
    let staged = stage(old, HostStage::StartingInstallation);
    let results = evaluate(&staged, &staged.hosts[0]).unwrap();
    assert!(!results.get(id).unwrap().shown && !results.condition(id));
}

#[test]
pub(super) fn disk_encryption() {
    use assisted_wire::cluster::{DiskEncryption, DiskEncryptionMode as Mode};
    use assisted_wire::cluster_params::RoleSet;
    let id = DiskEncryptionRequirementsSatisfied;
    let encrypt = |facts: Facts, roles, mode| {
        let encryption =
            DiskEncryption { enable_on: Some(roles), mode: Some(mode), ..DiskEncryption::default() };
        facts.with_cluster(|cluster| cluster.disk_encryption = Some(encryption))
    };
    let tpm = |version| inventory().with(|inventory| inventory.tpm_version = version);
    let master = |facts| role(encrypt(facts, RoleSet::Masters, Mode::Tpmv2), HostRole::Master);
    suppressed(&unbound(), id);
    suppressed(&with(&inventory()), id);
    suppressed(&encrypt(with(&inventory()), RoleSet::None, Mode::Tpmv2), id);
    pending(&master(facts(1)), id, "Missing host inventory");
    pending(&encrypt(with(&inventory()), RoleSet::All, Mode::Tpmv2), id, "Missing role assignment");
    suppressed(&role(encrypt(with(&inventory()), RoleSet::Workers, Mode::Tpmv2), HostRole::Master), id);
    success(
        &master(with(&tpm(Some(TpmVersion::V2_0)))),
        id,
        "Installation disk can be encrypted using tpmv2",
    );
    failure(
        &master(with(&tpm(Some(TpmVersion::None)))),
        id,
        "TPM version could not be found, make sure TPM is enabled in host's BIOS",
    );
    failure(
        &master(with(&tpm(Some(TpmVersion::V1_2)))),
        id,
        "The host's TPM version is not supported, expected-version: 2.0, actual-version: 1.2",
    );
    let tang = |text: &str| {
        let facts = encrypt(with(&inventory()), RoleSet::MastersAndWorkers, Mode::Tang);
        role(facts, HostRole::Worker).with_report(ReportKind::TangConnectivity, text)
    };
    pending(&tang(""), id, "Disk encryption check was not performed yet");
    suppressed(&tang("failed to find action for step x"), id);
    success(&tang(r#"{"is_success":true}"#), id, "Installation disk can be encrypted using tang");
    failure(&tang("down"), id, "Could not validate that all Tang servers are reachable and working: down");

    let told = |ignition: serde_json::Value, version| {
        let answer = json!({"is_success": true, "ignition": ignition.to_string()}).to_string();
        day2(with(&tpm(version))).with_report(ReportKind::ApiVipConnectivity, &answer)
    };
    suppressed(&day2(with(&inventory())), id);
    let encrypted = encrypt(day2(with(&inventory())), RoleSet::All, Mode::Tpmv2);
    pending(&encrypted, id, "Missing ignition information");
    suppressed(&told(json!({}), None), id);
    let luks = |clevis: serde_json::Value| json!({"storage": {"luks": [{"clevis": clevis}]}});
    success(
        &told(luks(json!({"tpm2": true})), Some(TpmVersion::V2_0)),
        id,
        "Installation disk can be encrypted using tpmv2",
    );
    pending(&told(luks(json!({"tang": [{}]})), None), id, "Disk encryption check was not performed yet");
    failure(
        &told(luks(json!({})), None),
        id,
        "Invalid LUKS object in ignition - both TPM2 and Tang are not available",
    );
}

#[test]
fn edge_workers_need_smaller_disks() {
    let soc = inventory().with(|inventory| {
        inventory.cpu.as_mut().unwrap().architecture = "aarch64".to_owned();
        inventory.system_vendor.as_mut().unwrap().product_name = "Blue field SoC".to_owned();
    });
    let size = |facts: &Facts| {
        let table = crate::policy::Requirements::built_in();
        let input = crate::catalogue::hardware::SelectionInput::of(facts, &facts.hosts[0]);
        crate::catalogue::hardware::total(&table, &input).unwrap().disk_size_gb
    };
    assert_eq!(size(&role(with(&soc), HostRole::Worker)), 15);
    assert_eq!(size(&role(with(&soc), HostRole::Master)), 100);
    assert_eq!(size(&with(&inventory())), 100);
    assert_eq!(size(&unbound()), 50);
}
