//! `metal3.io`: machines with a BMC.

pub mod bare_metal_host;
pub mod conditions;
pub mod preprovisioning_image;
pub mod provisioning;
