//! BareMetalHost: what of it is read and written.

use k8s_openapi::api::core::v1::{ObjectReference, SecretReference};
use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// A machine with a BMC. Only the fields that are read and written here.
    BareMetalHost, "metal3.io", "v1alpha1", "baremetalhosts", Namespaced {
        spec: BareMetalHostSpec,
        status: BareMetalHostStatus,
    }
}

/// What is wanted of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BareMetalHostSpec {
    /// `metadata` or `disabled`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub automated_cleaning_mode: String,
    /// Its BMC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc: Option<Bmc>,
    /// Hardware address of the interface that it boots from.
    #[serde(rename = "bootMACAddress", skip_serializing_if = "String::is_empty")]
    pub boot_mac_address: String,
    /// `UEFI`, `UEFISecureBoot` or `legacy`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub boot_mode: String,
    /// Who uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ObjectReference>,
    /// How it is installed where no image is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// Whether somebody else installs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub externally_provisioned: Option<bool>,
    /// What is written to its disk, or booted (`live-iso`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Whether it is to be powered on.
    pub online: bool,
    /// Secret with its network while it is inspected.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preprovisioning_network_data_name: String,
    /// Which disk the system is installed on; all that are set have to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// Secret with what it is configured with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretReference>,
}

/// A BMC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Bmc {
    /// URL of the BMC, with the kind of the protocol in its scheme.
    pub address: String,
    /// Secret with `username` and `password`.
    pub credentials_name: String,
    /// Whether any certificate of the BMC is good enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_certificate_verification: Option<bool>,
}

/// A way to install a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CustomDeploy {
    /// Name of the method: `start_assisted_install`.
    pub method: String,
}

/// An image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Image {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub format: String,
    pub url: String,
}

/// Which disk the system is installed on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RootDeviceHints {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device_name: String,
    /// SCSI address: host, channel, target, LUN.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hctl: String,
    /// Smallest size in GB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_size_gigabytes: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial_number: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    /// World wide name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn_vendor_extension: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wwn_with_extension: String,
}

/// What is known about the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BareMetalHostStatus {
    /// How often it failed in a row.
    pub error_count: i64,
    /// The error for people.
    pub error_message: String,
    /// Which kind of error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error_type: String,
    /// What was found in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareDetails>,
    pub hardware_profile: String,
    /// `OK`, `discovered`, `error`, `delayed`, `detached`.
    pub operational_status: String,
    /// Whether it is powered on.
    pub powered_on: bool,
    /// How far its installation is.
    pub provisioning: Provisioning,
}

/// What was found in a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HardwareDetails {
    /// Host name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
}

/// How far the installation of a machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Provisioning {
    #[serde(rename = "ID")]
    pub id: String,
    /// State: `registering`, `inspecting`, `available`, `provisioned` and others.
    pub state: String,
}
