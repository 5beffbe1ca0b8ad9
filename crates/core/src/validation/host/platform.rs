//! `compatible-with-cluster-platform`, `valid-platform-network-settings`: the machine can be part of the platform.

use assisted_wire::inventory::Inventory;

use super::View;
use crate::catalogue::platform::host_support;
use crate::model::outcome::Outcome;
use crate::model::topology;

const OPENSTACK_PRODUCT: &str = "OpenStack Compute";

pub(super) fn check_compatible(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    let (Some(inventory), Some(platform)) = (view.inventory, &cluster.platform) else {
        return Outcome::awaits_inventory("Missing inventory or platform isn't set");
    };
    let kind = platform.r#type;
    let external = platform.external.as_ref().and_then(|external| external.platform_name.as_deref());
    let required = host_support::manufacturer(kind, external.unwrap_or_default());
    let Some(required) = required.filter(|required| manufacturer(inventory) != *required) else {
        return Outcome::success(format!("Host is compatible with cluster platform {kind}"));
    };
    Outcome::failure(format!(
        "Host is not compatible with cluster platform {kind}; either disable this host or discover a new compatible \
         host."
    ))
    .measured(format!("a machine made by {:?}", manufacturer(inventory)))
    .required(format!("one made by {required:?}"))
    .remedy("Remove this host, or choose another platform for the cluster.")
}

pub(super) fn check_network_settings(view: &View<'_>) -> Outcome {
    let Some(inventory) = view.inventory else { return Outcome::awaits_inventory("Missing inventory") };
    let Some(vendor) = &inventory.system_vendor else { return Outcome::error("Validation error") };
    let product = &vendor.product_name;
    if product == OPENSTACK_PRODUCT {
        match view.cluster {
            None => return Outcome::suppressed(),
            Some(cluster) if !topology::is_user_managed_networking(cluster) => {
                return Outcome::failure(format!(
                    "Platform {product} is allowed only for Single Node OpenShift or user-managed networking"
                ))
                .measured("networking by the cluster")
                .required("user-managed networking")
                .remedy("Switch the cluster to user-managed networking, or use another machine.");
            }
            Some(_) => {}
        }
    }
    Outcome::success(format!("Platform {product} is allowed"))
}

pub(super) fn manufacturer(inventory: &Inventory) -> &str {
    inventory.system_vendor.as_ref().map_or("", |vendor| vendor.manufacturer.as_str())
}
