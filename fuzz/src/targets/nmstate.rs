//! Network settings of hosts as NMState YAML.

use assisted_netconf::{archive, check, keyfile, policy};
use assisted_wire::infra_env::HostStaticNetworkConfig;

use crate::input;

pub fn run(bytes: &[u8]) {
    let Some(text) = input::text(bytes) else { return };
    if let Ok(files) = keyfile::generate(text) {
        for file in files {
            assert!(
                !file.name.contains('/') && !file.name.starts_with('.'),
                "a keyfile's name is one of its folder"
            );
        }
    }
    let _ = policy::generate(text, &[]);
    let host = HostStaticNetworkConfig { network_yaml: text.to_owned(), mac_interface_map: None };
    let hosts = [host];
    let _ = check(&hosts);
    let _ = archive::files(&hosts, archive::Format::Keyfiles);
}
