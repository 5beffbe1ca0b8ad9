//! The namespaces of machines on a network, which are made beside that of the network.

/// The namespace of a machine's network, by the name of the network that it is on.
pub(crate) fn of_machine(network: &str, number: usize) -> String {
    format!("{network}-{number}")
}

/// Removes what machines on a network may have left.
pub(crate) fn remove_machines(network: &str) {
    let prefix = of_machine(network, 0);
    let prefix = prefix.strip_suffix('0').unwrap_or(&prefix);
    for entry in std::fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        if let Some(name) = entry.file_name().to_str().filter(|name| name.starts_with(prefix)) {
            super::remove(name);
        }
    }
}
