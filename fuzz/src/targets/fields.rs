//! Single fields that users set: names, addresses, keys, proxies, arguments.

use assisted_base::version;
use assisted_core::admission::field::{
    cluster_name, disk_encryption, dns, ignition_config, kernel_arguments, node_label, ntp, proxy, ssh_key,
    tags,
};
use assisted_core::admission::network::{cidr, family};
use assisted_core::network::{address, hostname};
use assisted_wire::secret::Secret;
use assisted_wire::time::DateTime;

use crate::input;

pub fn run(bytes: &[u8]) {
    let Some(text) = input::text(bytes) else { return };
    let (one, other) = text.split_once('\n').unwrap_or((text, ""));
    let _ = cluster_name::check(one, None);
    let _ = disk_encryption::tang_servers(text);
    let _ = dns::check(one, other);
    let _ = dns::split_api_name(one);
    let _ = ignition_config::check(text);
    let _ = node_label::check(one, other);
    let _ = ntp::check(text);
    if proxy::no_proxy(text, None).is_ok() {
        assert!(!text.chars().any(char::is_control), "a list without proxies begins no line of a unit");
    }
    for url in [proxy::http(text), proxy::https(text)] {
        assert!(url.is_err() || !text.contains('\n'), "a proxy is one line");
    }
    let _ = proxy::without_credentials(text);
    let _ = ssh_key::check(text);
    let _ = tags::check(text);
    if kernel_arguments::is_harmless(text) {
        assert!(!text.contains('\n'));
    }
    if hostname::check(one).is_ok() {
        assert!(hostname::is_well_formed(one) && !hostname::is_forbidden(one));
    }
    networks(one, other);
    if let Some(read) = version::Version::parse(one) {
        let _ = (read.prerelease().len(), read.is_beta(), version::at_least(one, 4, 8));
    }
    if let Ok(at) = one.parse::<DateTime>() {
        assert!(at.to_string().parse::<DateTime>().is_ok(), "a time that is written is one that is read");
    }
    assert!(!format!("{:?}", Secret::from(text)).contains(text) || "Secret(***)".contains(text));
}

fn networks(one: &str, other: &str) {
    let _ = family(one);
    let _ = cidr::check_size(one, cidr::MinHostBits::Machine);
    assert_eq!(address::overlapping(one, other), address::overlapping(other, one));
    if let Some(net) = address::parse_network(one) {
        assert_eq!(address::parse_network(&net.to_string()), Some(net), "a network reads as it is written");
    }
}
