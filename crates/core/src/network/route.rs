//! Default routes of a host.

use std::net::IpAddr;

use assisted_wire::inventory::{Inventory, Route};

use super::address::stack_of;
use crate::model::cluster::IpStack;

/// A route to everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DefaultRoute<'a> {
    pub interface: &'a str,
    pub gateway: IpAddr,
    pub metric: i32,
}

/// The host's default routes that have a gateway, in the order of its inventory.
pub fn default_routes(inventory: &Inventory) -> impl Iterator<Item = DefaultRoute<'_>> {
    inventory.routes.iter().flatten().filter_map(as_default)
}

/// The default route of a family that the host prefers: the first with the lowest metric.
pub fn best_default_route(inventory: &Inventory, stack: IpStack) -> Option<DefaultRoute<'_>> {
    default_routes(inventory)
        .filter(|route| stack_of(route.gateway) == stack)
        .min_by_key(|route| route.metric)
}

fn as_default(route: &Route) -> Option<DefaultRoute<'_>> {
    // Some agents write the destination as a bare address, some as a network.
    let destination = route.destination.split('/').next()?.parse::<IpAddr>().ok()?;
    let gateway = route.gateway.parse::<IpAddr>().ok()?;
    (destination.is_unspecified() && !gateway.is_unspecified()).then_some(DefaultRoute {
        interface: &route.interface,
        gateway,
        metric: route.metric,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(destination: &str, gateway: &str, metric: i32) -> Route {
        let (destination, gateway) = (destination.to_owned(), gateway.to_owned());
        Route { interface: format!("eth{metric}"), destination, gateway, metric, ..Route::default() }
    }

    #[test]
    fn lowest_metric_of_the_family() {
        let inventory = Inventory {
            routes: Some(vec![
                route("10.0.0.0", "10.0.0.1", 1),
                route("0.0.0.0", "", 2),
                route("0.0.0.0", "0.0.0.0", 3),
                route("0.0.0.0", "10.0.0.1", 200),
                route("0.0.0.0", "10.0.0.2", 100),
                route("::", "fe80::1", 1024),
            ]),
            ..Inventory::default()
        };
        let best = |stack| best_default_route(&inventory, stack).map(|route| route.gateway.to_string());
        assert_eq!(best(IpStack::V4).as_deref(), Some("10.0.0.2"));
        assert_eq!(best(IpStack::V6).as_deref(), Some("fe80::1"));
        assert_eq!(default_routes(&inventory).count(), 3);
    }
}
