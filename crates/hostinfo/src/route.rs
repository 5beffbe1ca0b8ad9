//! Routes of the main table (agent-protocol §3.6).

use std::collections::HashMap;

use assisted_wire::inventory;

use crate::netlink::{CLONED, MAIN_TABLE, Netlink};

/// `AF_INET`; any other family that is asked for is IPv6.
const INET: u8 = 2;

/// Every route whose interface is known, in the kernel's order.
pub(crate) fn list(netlink: &Netlink) -> Vec<inventory::Route> {
    let names: HashMap<u32, &str> =
        netlink.links.iter().map(|link| (link.index, link.name.as_str())).collect();
    let main = netlink.routes.iter().filter(|route| route.table == MAIN_TABLE && route.flags & CLONED == 0);
    main.filter_map(|route| {
        let (out, gateway) = match route.next_hops.first() {
            Some(hop) => (Some(hop.out), hop.gateway),
            None => (route.out, route.gateway),
        };
        let any = if route.family == INET { "0.0.0.0" } else { "::" };
        Some(inventory::Route {
            interface: (*names.get(&out?)?).to_owned(),
            destination: route.destination.map_or_else(|| any.to_owned(), |ip| ip.to_string()),
            gateway: gateway.map(|ip| ip.to_string()).unwrap_or_default(),
            // The family's number, whatever the contract's text says.
            family: route.family.into(),
            metric: i32::try_from(route.metric).unwrap_or(i32::MAX),
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{Link, NextHop, Route};

    #[test]
    fn a_multipath_route_goes_by_its_first_hop() {
        let link = |index, name: &str| Link { index, name: name.into(), ..Link::default() };
        let default = Route { family: 2, table: MAIN_TABLE, metric: 100, ..Route::default() };
        let hop = |out, ip: &str| NextHop { out, gateway: Some(ip.parse().unwrap()) };
        let netlink = Netlink {
            links: vec![link(2, "eth0"), link(3, "eth1")],
            addresses: Vec::new(),
            routes: vec![
                Route { next_hops: vec![hop(3, "10.0.1.1"), hop(2, "10.0.0.1")], ..default.clone() },
                Route { table: 255, out: Some(2), ..default.clone() },
                Route { flags: CLONED, out: Some(2), ..default.clone() },
                Route { out: Some(9), ..default.clone() },
                Route { family: 10, out: Some(2), metric: u32::MAX, ..default },
            ],
        };
        let routes = list(&netlink);
        assert_eq!(routes.len(), 2);
        assert_eq!((routes[0].interface.as_str(), routes[0].gateway.as_str()), ("eth1", "10.0.1.1"));
        assert_eq!((routes[0].destination.as_str(), routes[0].family), ("0.0.0.0", 2));
        assert_eq!(
            (routes[1].destination.as_str(), routes[1].family, routes[1].metric),
            ("::", 10, i32::MAX)
        );
    }
}
