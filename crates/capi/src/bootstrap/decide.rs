//! What is decided about a config, without anybody to talk to.

use std::collections::BTreeSet;

use assisted_crd::cluster_api::labels::{annotation, label};
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use kube::ResourceExt;

use crate::installer::Host;

/// How a machine boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BootMethod {
    /// From its disk, with the discovery's Ignition config as user data.
    DiskImage,
    /// From the discovery's ISO.
    LiveIso,
}

impl BootMethod {
    /// What a config asks for; the disk image by default.
    pub(super) fn of(config: &OpenshiftAssistedConfig) -> Result<Self, String> {
        match config.annotations().get(annotation::BOOT_METHOD).map(String::as_str) {
            None | Some("" | "disk-image") => Ok(Self::DiskImage),
            Some("live-iso") => Ok(Self::LiveIso),
            Some(other) => Err(format!(
                "annotation {} is {other:?}: it can be disk-image or live-iso",
                annotation::BOOT_METHOD
            )),
        }
    }
}

/// Whether a Machine is one of the control plane.
pub(super) fn is_control_plane(machine: &Machine) -> bool {
    machine.labels().contains_key(label::CONTROL_PLANE)
}

/// The role of a Machine's host.
pub(super) fn role(machine: &Machine) -> &'static str {
    if is_control_plane(machine) {
        "master"
    } else if machine.labels().contains_key(label::ARBITER) {
        "arbiter"
    } else {
        "worker"
    }
}

/// Whether a machine waits for an installation to end: a worker that is not part of the first installation joins after it.
pub(super) fn is_held(machine: &Machine, state: &str) -> bool {
    let takes_machines = ["adding-hosts", "pending-for-input", "insufficient", ""].contains(&state);
    !is_control_plane(machine) && !takes_machines
}

/// The host of a machine that has an infra-env of its own: the one that is approved, else the one that registered first.
pub(super) fn only_host(hosts: &[Host]) -> Option<&Host> {
    let first = |host: &&Host| (!host.approved, host.registered, host.name.clone());
    hosts.iter().min_by_key(first)
}

/// The host of a machine among those of an infra-env that several share, by the hardware addresses of the machine; of several that
/// it had, the newest.
pub(super) fn host_by_address<'a>(hosts: &'a [Host], addresses: &BTreeSet<String>) -> Option<&'a Host> {
    let is_it = |host: &&Host| !host.addresses.is_disjoint(addresses);
    hosts.iter().filter(is_it).max_by_key(|host| (host.registered, host.name.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(is_control_plane: bool) -> Machine {
        let labels = if is_control_plane { json!({label::CONTROL_PLANE: ""}) } else { json!({}) };
        serde_json::from_value(json!({"metadata": {"name": "m", "labels": labels}})).unwrap()
    }

    #[test]
    fn workers_wait_while_an_installation_is_under_way() {
        for (state, held) in [
            ("", false),
            ("insufficient", false),
            ("pending-for-input", false),
            ("adding-hosts", false),
            ("ready", true),
            ("preparing-for-installation", true),
            ("installing", true),
            ("finalizing", true),
            ("installed", true),
            ("error", true),
        ] {
            assert_eq!(is_held(&machine(false), state), held, "{state}");
            assert!(!is_held(&machine(true), state), "{state}");
        }
        assert_eq!((role(&machine(true)), role(&machine(false))), ("master", "worker"));
        let mut arbiter = machine(false);
        arbiter.labels_mut().insert(label::ARBITER.to_owned(), String::new());
        assert_eq!(role(&arbiter), "arbiter");
    }

    #[test]
    fn a_machine_has_one_host() {
        let host = |name: &str, approved: bool, registered: i64, address: &str| Host {
            name: name.to_owned(),
            approved,
            registered: Some(registered),
            addresses: [address.to_owned()].into(),
        };
        let (first, second) = (host("a", false, 1, "02:00"), host("b", false, 2, "02:01"));
        let approved = host("c", true, 3, "02:00");
        let name = |host: Option<&Host>| host.map(|host| host.name.clone());
        assert_eq!(name(only_host(&[])), None);
        assert_eq!(name(only_host(&[second.clone(), first.clone()])).as_deref(), Some("a"));
        assert_eq!(name(only_host(&[first.clone(), second.clone(), approved.clone()])).as_deref(), Some("c"));
        let all = [first, second, approved];
        let at = |address: &str| name(host_by_address(&all, &[address.to_owned()].into()));
        assert_eq!(
            (at("02:00").as_deref(), at("02:01").as_deref(), at("02:02")),
            (Some("c"), Some("b"), None)
        );
        assert_eq!(name(host_by_address(&all, &BTreeSet::new())), None);
    }

    #[test]
    fn how_a_machine_boots_is_told_by_an_annotation() {
        let of = |value: Option<&str>| {
            let annotations = value.map(|value| json!({annotation::BOOT_METHOD: value}));
            let config = json!({"metadata": {"name": "c", "annotations": annotations}});
            BootMethod::of(&serde_json::from_value(config).unwrap())
        };
        assert_eq!(of(None), Ok(BootMethod::DiskImage));
        assert_eq!(of(Some("disk-image")), Ok(BootMethod::DiskImage));
        assert_eq!(of(Some("live-iso")), Ok(BootMethod::LiveIso));
        assert!(of(Some("pxe")).unwrap_err().contains("disk-image or live-iso"));
    }
}
