//! Networks and VIPs in requests: their syntax, their families, and how they go together (service-api §4.3).

pub mod cidr;
pub mod dual_stack;
pub mod lists;
pub mod primary_stack;
pub mod vips;

use std::net::IpAddr;

use ipnet::IpNet;

use crate::cluster::record::IpStack;

/// The family of an address or a network; `None` when the text is neither.
pub fn family(text: &str) -> Option<IpStack> {
    let is_v4 = match text.parse::<IpAddr>() {
        Ok(address) => address.is_ipv4(),
        Err(_) => text.parse::<IpNet>().ok()?.addr().is_ipv4(),
    };
    Some(if is_v4 { IpStack::V4 } else { IpStack::V6 })
}

/// Number of a family in texts.
pub(crate) const fn number(stack: IpStack) -> u8 {
    match stack {
        IpStack::V4 => 4,
        IpStack::V6 => 6,
    }
}

/// Several problems in one text, as existing clients read it.
pub(crate) fn collected(problems: &[String]) -> Option<String> {
    let count = problems.len();
    let noun = if count == 1 { "error" } else { "errors" };
    let list: Vec<String> = problems.iter().map(|problem| format!("\t* {problem}")).collect();
    (count > 0).then(|| format!("{count} {noun} occurred:\n{}\n\n", list.join("\n")))
}
