//! Image mode: evaluated only where it is enabled; the rules themselves have tests of their own.

use assisted_wire::host::HostRole;
use assisted_wire::inventory::DriveType;
use serde_json::{Value, json};

use super::*;
use crate::layering::tests::{config, enabled, external, layered, objects, secret};
use crate::validation::testing::disk;

fn with(extra: Value) -> Facts {
    let mut all = objects();
    all.push(extra);
    layered(&enabled(), &all)
}

pub(super) fn every_validation() {
    let fits = layered(&enabled(), &objects());
    success(&fits, OclConfigurationValid, "Every MachineOSConfig can be built");
    success(&fits, OclMachineOsConfigsPresent, "Each pool with hosts has its MachineOSConfig");
    success(&fits, OclSecretsPresent, "The secrets of all MachineOSConfigs are there");
    success(&fits, OclVersionSupported, "Release, architecture and hosts know image mode");
    success(&fits, OclArchitectureUniform, "All hosts are of one architecture");
    success(&fits, OclMachineConfigsCompatible, "No manifest replaces what the image brings");
    success(&fits, OclRegistryReachableByNodes, "Nodes reach the registry with their image");

    let mut wrong = config("master");
    wrong["spec"]["imageBuilder"]["imageBuilderType"] = json!("Pod");
    failure(
        &layered(&enabled(), &[wrong, config("worker"), secret()]),
        OclConfigurationValid,
        "MachineOSConfig master must have imageBuilderType Job (V05)",
    );
    let id = OclMachineOsConfigsPresent;
    failure(
        &layered(&enabled(), &[config("master")]),
        id,
        "There is no MachineOSConfig for pool worker (V09)",
    );
    failure(
        &layered(&enabled(), &[]),
        id,
        "There is no MachineOSConfig for pool master (V09); There is no MachineOSConfig for pool worker (V09)",
    );
    failure(&with(config("master")), id, "There are two MachineOSConfigs for pool master (V04)");
    failure(
        &layered(&enabled(), &[config("master")]).with_roles(&[HostRole::Master; 4]),
        OclSecretsPresent,
        "Secret os-image-push of the MachineOSConfig for pool master is not among the manifests (V10)",
    );
    let id = OclVersionSupported;
    failure(
        &layered(&enabled(), &objects())
            .with_cluster(|cluster| cluster.openshift_version = "4.20.1".to_owned()),
        id,
        "OpenShift 4.20.1 can't take over images that were built at its installation: 4.21.0-0 is the oldest that does (V12)",
    );
    let mapped = inventory().disks(vec![disk("dm-0", DriveType::Multipath, 200)]);
    let mapped =
        layered(&enabled(), &objects()).with_host(|host| host.inventory = Some(Arc::new(mapped.build())));
    failure(
        &mapped,
        id,
        "The image of host host-1 can't be deployed before its first start: its installation disk is one of device mapper (V20)",
    );
    let arm =
        inventory().with(|inventory| inventory.cpu.as_mut().unwrap().architecture = "aarch64".to_owned());
    failure(
        &layered(&enabled(), &objects()).with_host(|host| host.inventory = Some(Arc::new(arm.build()))),
        OclArchitectureUniform,
        "Host host-2 is of x86_64, and others are of arm64: one image can't be for both (V13)",
    );
    let id = OclMachineConfigsCompatible;
    let machine_config = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "spec": {"kernelType": "realtime"},
        "metadata": {"name": "99-mine", "labels": {"machineconfiguration.openshift.io/role": "master"}},
    });
    failure(&with(machine_config), id, "MachineConfig 99-mine for master sets kernelType (V14)");
    let pool = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": "master"},
        "spec": {"osImageStream": {"name": "rhel-10"}},
    });
    failure(
        &with(pool),
        id,
        "MachineConfigPool master names a stream of OS images, which excludes an image of its own (V15)",
    );
    let id = OclRegistryReachableByNodes;
    failure(
        &user_managed(layered(&enabled(), &objects())),
        id,
        "Nodes reach the registry with their image by api-int, port 22626, which your load balancer must forward (V18)",
    );
    success(&user_managed(layered(&external(), &objects())), id, "Nodes reach the registry with their image");
}

#[test]
fn they_are_of_clusters_in_image_mode() {
    every_validation();
    let without = layered(&json!({"mode": "Disabled"}), &[]);
    let results = evaluate(&without);
    assert!(results.get(OclConfigurationValid).is_none() && results.is_left_out(OclConfigurationValid));
    assert!(!results.to_info().contains("ocl-"));
    let results = evaluate(&layered(&enabled(), &[]));
    assert!(results.to_info().contains("ocl-machine-os-configs-present"));
    assert!(
        !results.is_left_out(OclMachineOsConfigsPresent) && !results.condition(OclMachineOsConfigsPresent)
    );
}
