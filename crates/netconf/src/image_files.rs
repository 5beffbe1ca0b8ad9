//! The files that a discovery image carries, and the script by which a machine finds its own among them.
//!
//! The keyfiles have placeholders for the names of mapped interfaces. The script puts in the names that the interfaces have on
//! the machine, all at once: so they may swap names, and nothing on the host has to tell a name from the beginning of another.

use assisted_wire::infra_env::{HostStaticNetworkConfig, MacInterfaceMapItem};

use crate::archive::MAP;
use crate::{Error, File, keyfile};

/// Where the script is.
pub const SCRIPT_PATH: &str = "/usr/local/bin/pre-network-manager-config.sh";

/// The script; it runs in the initramfs, where there is not much more than a shell and sed.
pub const SCRIPT: &str = include_str!("image_files/pre-network-manager-config.sh");

/// The unit that runs the script.
pub const UNIT: &str = "pre-network-manager-config.service";

/// The unit in the running system of a full image.
pub const ROOT_UNIT: &str = include_str!("image_files/root.service");

/// The longest name of an interface that the kernel takes.
const LONGEST: usize = 15;

/// The unit in the initramfs of a minimal image; it waits `delay` seconds before it looks at the interfaces.
pub fn initrd_unit(delay: u64) -> String {
    include_str!("image_files/initrd.service")
        .replace("@DELAY@", &delay.to_string())
        .replace("@TIMEOUT@", &delay.saturating_add(60).to_string())
}

/// The files of all hosts, and the script.
///
/// # Errors
///
/// The first host for which there are none.
pub fn files(hosts: &[HostStaticNetworkConfig]) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    for (index, host) in hosts.iter().enumerate() {
        let map = host.mac_interface_map.as_ref().map_or(&[][..], |map| &map.0);
        for keyfile in keyfile::preferred(&host.network_yaml)? {
            let stem = keyfile.name.strip_suffix(keyfile::ENDING).unwrap_or(&keyfile.name);
            let name = format!("{}{}", with_placeholder(stem, map), keyfile::ENDING);
            files.push(File::of_host(index, &name, with_placeholders(&keyfile.content, map)));
        }
        let mut lines: Vec<String> = map
            .iter()
            .map(|item| format!("{}={}", item.mac_address.to_ascii_lowercase(), item.logical_nic_name))
            .collect();
        lines.sort_unstable();
        files.push(File::of_host(index, MAP, lines.join("\n") + "\n"));
    }
    files.push(File { path: SCRIPT_PATH.to_owned(), mode: 0o755, content: SCRIPT.to_owned() });
    Ok(files)
}

/// A keyfile with a placeholder for each value that is the name of a mapped interface, or of a VLAN on one.
fn with_placeholders(content: &str, map: &[MacInterfaceMapItem]) -> String {
    let mut text = String::with_capacity(content.len() + 128);
    for line in content.lines() {
        match line.split_once('=') {
            Some((option, value)) => {
                text.push_str(option);
                text.push('=');
                text.push_str(&with_placeholder(value, map));
            }
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// A name with a placeholder for the interface that it begins with: `@MAC+LENGTH@`, where the interface's name on the machine is
/// cut to `LENGTH` so that what follows still fits.
fn with_placeholder(name: &str, map: &[MacInterfaceMapItem]) -> String {
    let rest_after = |item: &MacInterfaceMapItem| {
        let rest = name.strip_prefix(item.logical_nic_name.as_str())?;
        (rest.is_empty() || rest.starts_with('.')).then_some(rest)
    };
    // The longest name that fits: `eth0.1` may be an interface of its own.
    let found = map
        .iter()
        .filter_map(|item| Some((item, rest_after(item)?)))
        .max_by_key(|(item, _)| item.logical_nic_name.len());
    match found {
        Some((item, rest)) => {
            let length = LONGEST.saturating_sub(rest.len()).max(1);
            format!("@{}+{length}@{rest}", item.mac_address.to_ascii_lowercase())
        }
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks() {
        let item = |mac: &str, name: &str| MacInterfaceMapItem {
            mac_address: mac.to_owned(),
            logical_nic_name: name.to_owned(),
        };
        let map = [item("52:54:00:00:00:0A", "eth0"), item("52:54:00:00:00:0b", "eth0.7")];
        for (name, expected) in [
            ("eth0", "@52:54:00:00:00:0a+15@"),
            ("eth0.101", "@52:54:00:00:00:0a+11@.101"),
            ("eth0.7", "@52:54:00:00:00:0b+15@"),
            ("eth0.7.8", "@52:54:00:00:00:0b+13@.8"),
            ("eth01", "eth01"),
            ("my-eth0", "my-eth0"),
            ("", ""),
        ] {
            assert_eq!(with_placeholder(name, &map), expected, "{name}");
        }
        assert_eq!(
            with_placeholders("[connection]\nid=eth0\nx=a=eth0\n", &map),
            "[connection]\nid=@52:54:00:00:00:0a+15@\nx=a=eth0\n"
        );
    }

    #[test]
    fn the_unit_waits_as_long_as_it_is_told() {
        let unit = initrd_unit(7);
        assert!(unit.contains("DISCOVERY_DELAY_SECONDS=7\n") && unit.contains("TimeoutSec=67\n"), "{unit}");
        assert!(!unit.contains('@'));
    }
}
