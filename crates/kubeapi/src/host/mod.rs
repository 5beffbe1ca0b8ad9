//! A host, as its BareMetalHost describes it.

mod disk;

use std::collections::BTreeMap;

use assisted_crd::labels::{annotation, label};
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_wire::host::{Host, HostRole};
use assisted_wire::host_params::{
    DiskConfigParams, DiskRole, HostRoleUpdateParams, HostUpdateParams, NodeLabelParams,
};
use assisted_wire::inventory::Inventory;

pub use disk::choose as choose_disk;

use crate::difference::set;
use crate::sync_error::SyncError;
use crate::text::same_json;

/// A BareMetalHost, read.
#[derive(Clone, Debug)]
pub struct HostSpec<'a> {
    object: &'a BareMetalHost,
    role: Option<HostRoleUpdateParams>,
    installer_args: Option<Vec<String>>,
}

/// What differs between a host and its object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Holds nothing but what differs.
    pub params: HostUpdateParams,
    /// Arguments of coreos-installer, if they differ.
    pub installer_args: Option<Vec<String>>,
    /// Ignition config that is merged over the host's, if it differs.
    pub ignition: Option<String>,
    /// The fields that differ, as the REST API calls them.
    pub changed: Vec<&'static str>,
}

impl<'a> HostSpec<'a> {
    /// Reads what the object says of its host.
    ///
    /// # Errors
    /// `Input` when it can't be told which machine is meant, or an annotation makes no sense.
    pub fn new(object: &'a BareMetalHost) -> Result<Self, SyncError> {
        if object.spec.boot_mac_address.is_empty() {
            return Err(SyncError::input(
                "spec.bootMACAddress is empty; by it the host is found among those that register",
            ));
        }
        let value = |name: &str| annotated(object, name);
        let role = value("role").map(|role| {
            role.parse().map_err(|error| {
                SyncError::input(format!("annotation {}role: {error}", annotation::BMAC_PREFIX))
            })
        });
        let installer_args = value("installer-args").map(|text| {
            serde_json::from_str(text).map_err(|error| {
                SyncError::input(format!(
                    "annotation {}installer-args is no JSON list of texts: {error}",
                    annotation::BMAC_PREFIX
                ))
            })
        });
        Ok(Self { object, role: role.transpose()?, installer_args: installer_args.transpose()? })
    }

    /// Name of the InfraEnv in the same namespace whose image the host boots.
    pub fn infra_env(&self) -> Option<&'a str> {
        self.object.metadata.labels.as_ref()?.get(label::INFRA_ENV).map(String::as_str)
    }

    /// Hardware address of the interface that the host boots from.
    pub fn mac(&self) -> &'a str {
        &self.object.spec.boot_mac_address
    }

    /// Whether this is the host with that inventory.
    pub fn is(&self, inventory: &Inventory) -> bool {
        let mut interfaces = inventory.interfaces.iter().flatten();
        interfaces.any(|interface| interface.mac_address.eq_ignore_ascii_case(self.mac()))
    }

    /// The annotations that are set and ask a hub alone.
    pub fn without_effect(&self) -> Vec<String> {
        let names =
            ["cluster-reference", "fencing-credentials-secret-name", "create-fencing-credentials-secret"];
        let set = names.into_iter().filter(|name| annotated(self.object, name).is_some());
        set.map(|name| format!("{}{name}", annotation::BMAC_PREFIX)).collect()
    }

    /// The request that makes the host what its object describes (kube-api §6.6.7). What the object does not set stays as it is.
    pub fn update(&self, host: &Host, inventory: &Inventory) -> Update {
        let Update { mut params, mut installer_args, mut ignition, mut changed } = Update::default();
        let value = |name: &str| annotated(self.object, name).map(str::to_owned);
        set(&mut changed, "role", &mut params.host_role, self.role, |role| same_role(*role, host.role));
        set(&mut changed, "hostname", &mut params.host_name, value("hostname"), |name| {
            *name == host.requested_hostname
        });
        let pool = value("machine-config-pool");
        set(&mut changed, "machine_config_pool_name", &mut params.machine_config_pool_name, pool, |pool| {
            *pool == host.machine_config_pool_name
        });
        let wanted = self.node_labels();
        let same = wanted.is_empty() || wanted == json_map(&host.node_labels);
        let label = |(key, value)| NodeLabelParams { key, value };
        let labels: Vec<_> = wanted.into_iter().map(label).collect();
        set(&mut changed, "node_labels", &mut params.node_labels, Some(labels), |_| same);
        let disk = self.object.spec.root_device_hints.as_ref().map(|hints| {
            let disks = inventory.disks.as_deref().unwrap_or_default();
            let id = disk::choose(hints, disks, &host.installation_disk_id);
            vec![DiskConfigParams { id, role: Some(DiskRole::Install) }]
        });
        set(&mut changed, "installation_disk_id", &mut params.disks_selected_config, disk, |disks| {
            disks.iter().all(|disk| disk.id == host.installation_disk_id)
        });
        let wanted = self.installer_args.clone();
        set(&mut changed, "installer_args", &mut installer_args, wanted, |wanted| {
            *wanted == serde_json::from_str::<Vec<String>>(&host.installer_args).unwrap_or_default()
        });
        let wanted = value("ignition-config-overrides");
        set(&mut changed, "ignition_config_overrides", &mut ignition, wanted, |wanted| {
            same_json(wanted, &host.ignition_config_overrides)
        });
        Update { params, installer_args, ignition, changed }
    }

    fn node_labels(&self) -> BTreeMap<String, String> {
        let annotations = self.object.metadata.annotations.iter().flatten();
        let label = |(key, value): (&String, &String)| {
            Some((key.strip_prefix(annotation::BMAC_NODE_LABEL_PREFIX)?.to_owned(), value.clone()))
        };
        annotations.filter_map(label).collect()
    }
}

/// The value of an annotation about the host.
fn annotated<'a>(object: &'a BareMetalHost, name: &str) -> Option<&'a str> {
    let annotations = object.metadata.annotations.as_ref()?;
    annotations.get(&format!("{}{name}", annotation::BMAC_PREFIX)).map(String::as_str)
}

fn same_role(wanted: HostRoleUpdateParams, current: Option<HostRole>) -> bool {
    current.is_some_and(|current| current.as_str() == wanted.as_str())
}

fn json_map(text: &str) -> BTreeMap<String, String> {
    serde_json::from_str(text).unwrap_or_default()
}
