//! Networks and VIPs in requests: their syntax, their families, and how they go together (service-api §4.3).

pub mod cidr;
pub mod dual_stack;
pub mod lists;
pub mod primary_stack;
pub mod vips;

use crate::model::cluster::IpStack;
use crate::network::address::{parse_net, stack_of};

/// The family of an address or a network; `None` when the text is neither.
pub fn family(text: &str) -> Option<IpStack> {
    let address = text.parse().ok().or_else(|| parse_net(text).map(|net| net.addr()))?;
    Some(stack_of(address))
}

/// Number of a family in texts.
pub(crate) const fn number(stack: IpStack) -> u8 {
    match stack {
        IpStack::V4 => 4,
        IpStack::V6 => 6,
    }
}
