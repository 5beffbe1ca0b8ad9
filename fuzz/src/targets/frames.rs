//! What comes off the network at a host: ARP, neighbour discovery, echoes, DHCP, and leases as text.

use assisted_hostinfo::fuzz;
use assisted_hostinfo::probe::Lease;

use crate::input;

pub fn run(bytes: &[u8]) {
    fuzz::frame(bytes);
    if let Some((lease, address)) = fuzz::dhcp(bytes) {
        assert_eq!(Lease::address_in(&lease), Some(address), "the lease that is kept has the address");
    }
    if let Some(text) = input::text(bytes) {
        let _ = Lease::address_in(text);
    }
}
