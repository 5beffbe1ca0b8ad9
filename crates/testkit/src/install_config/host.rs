//! What is read of a host.

use serde_json::Value;

/// The name of a host: the one that was asked for, or its own.
pub fn name(host: &Value) -> &str {
    let asked = host["requested_hostname"].as_str().filter(|name| !name.is_empty());
    asked.or_else(|| host["inventory"]["hostname"].as_str()).unwrap_or_default()
}

/// The addresses of one interface.
pub fn of_interface(interface: &Value) -> Vec<String> {
    let lists =
        ["ipv4_addresses", "ipv6_addresses"].into_iter().filter_map(|list| interface[list].as_array());
    lists.flatten().filter_map(|address| address.as_str().map(str::to_owned)).collect()
}
