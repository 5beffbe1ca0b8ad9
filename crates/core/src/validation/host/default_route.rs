//! `has-default-route`: the host knows the way to everywhere.

use super::View;
use crate::model::outcome::Outcome;
use crate::network::route;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(inventory) = view.inventory else {
        return Outcome::awaits_inventory("Missing default routing information.");
    };
    if route::default_routes(inventory).next().is_some() {
        Outcome::success("Host has been configured with at least one default route.")
    } else {
        Outcome::failure("Host has not yet been configured with a default route.")
            .measured("no default route with a gateway")
            .required("one")
            .remedy("Configure a default gateway, by DHCP or by the host's static network configuration.")
    }
}
