//! The files of hosts as the API gives them out, with the names that the user gave (image-service §3.3).

use assisted_wire::infra_env::HostStaticNetworkConfig;

use crate::{Error, File, keyfile, policy};

/// Name of the file that maps the MAC addresses of one host to the names in its settings.
pub const MAP: &str = "mac_interface.ini";

/// Which files a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Keyfiles of NetworkManager.
    Keyfiles,
    /// A policy for the nmstate of the host.
    Policy,
}

/// The files of all hosts.
///
/// # Errors
///
/// The first host for which there are none.
pub fn files(hosts: &[HostStaticNetworkConfig], format: Format) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    for (index, host) in hosts.iter().enumerate() {
        let map = host.mac_interface_map.as_ref().map_or(&[][..], |map| &map.0);
        match format {
            Format::Keyfiles => {
                for keyfile in keyfile::preferred(&host.network_yaml)? {
                    files.push(File::of_host(index, &keyfile.name, keyfile.content));
                }
            }
            Format::Policy => {
                let policy = policy::generate(&host.network_yaml, map)?;
                files.push(File::of_host(index, &format!("ymlFile{index}.yml"), policy));
            }
        }
        let mut lines: Vec<String> =
            map.iter().map(|item| format!("{}={}", item.mac_address, item.logical_nic_name)).collect();
        lines.sort_unstable();
        files.push(File::of_host(index, MAP, lines.join("\n")));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use assisted_wire::infra_env::{MacInterfaceMap, MacInterfaceMapItem};

    use super::*;

    #[test]
    fn both_forms() {
        let item = |mac: &str, name: &str| MacInterfaceMapItem {
            mac_address: mac.to_owned(),
            logical_nic_name: name.to_owned(),
        };
        let host = HostStaticNetworkConfig {
            network_yaml: "interfaces:\n- {name: eth0, type: ethernet, state: up}\n".to_owned(),
            mac_interface_map: Some(MacInterfaceMap(vec![
                item("52:54:00:00:00:02", "eth1"),
                item("52:54:00:00:00:01", "eth0"),
            ])),
        };
        for (format, name) in [(Format::Keyfiles, "eth0.nmconnection"), (Format::Policy, "ymlFile1.yml")] {
            let files = files(&[host.clone(), host.clone()], format).unwrap();
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(
                paths[2..],
                [
                    format!("/etc/assisted/network/host1/{name}"),
                    "/etc/assisted/network/host1/mac_interface.ini".to_owned()
                ]
            );
            assert_eq!(files[3].content, "52:54:00:00:00:01=eth0\n52:54:00:00:00:02=eth1");
            assert_eq!(files[3].mode, 0o600);
        }
    }
}
