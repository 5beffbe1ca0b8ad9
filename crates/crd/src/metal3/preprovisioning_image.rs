//! PreprovisioningImage: the image that a BareMetalHost is inspected and deployed by.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// The image that the BareMetalHost of the same name is inspected and deployed by.
    PreprovisioningImage, "metal3.io", "v1alpha1", "preprovisioningimages", Namespaced {
        spec: PreprovisioningImageSpec,
        status: PreprovisioningImageStatus,
    }
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreprovisioningImageSpec {
    /// Formats that can be booted: `iso`, `initrd`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accept_formats: Vec<String>,
    /// Architecture of the machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    /// Secret with the network of the machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network_data_name: String,
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreprovisioningImageStatus {
    /// Architecture of the machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Further kernel arguments.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub extra_kernel_params: String,
    /// `iso` or `initrd`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// Where the image is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image_url: String,
    /// Where the kernel is; for `initrd`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kernel_url: String,
    /// Secret that the image was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretVersion>,
}

/// A secret as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretVersion {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}
