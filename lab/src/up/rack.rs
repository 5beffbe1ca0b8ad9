//! Real machines in place of virtual ones, as their owner lists them.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::LabError;
use super::controlled::Controller;
use super::topology::{Kind, Planned, Role, addresses};

/// Real machines, and how this computer is connected to them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rack {
    /// The card of this computer on the machines' network: nothing else may use it.
    pub interface: String,
    /// Address and port of this computer at which management controllers fetch the discovery image.
    pub media: SocketAddr,
    machines: Vec<Real>,
    /// The folder that the list was read from: passwords' files are found from there.
    #[serde(skip)]
    pub(super) dir: PathBuf,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Real {
    name: String,
    role: Role,
    /// Of its card on the lab's network.
    mac: String,
    bmc: Controller,
}

impl Rack {
    /// Reads a list of machines, YAML or JSON.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path).map_err(LabError::io(path))?;
        let wrong = |reason: String| LabError::Rack { path: path.to_owned(), reason };
        let mut rack: Self = serde_yaml_ng::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        rack.dir = path.parent().map(Path::to_owned).unwrap_or_default();
        rack.check().map_err(wrong)?;
        Ok(rack)
    }

    fn check(&self) -> Result<(), String> {
        let count = |role| self.machines.iter().filter(|machine| machine.role == role).count();
        let (masters, arbiters, workers) = (count(Role::Master), count(Role::Arbiter), count(Role::Worker));
        match (masters, arbiters) {
            (1, 0) if workers == 0 => {}
            (2, 1) | (3..=5, 0) if workers <= 40 => {}
            _ => {
                return Err(format!(
                    "{masters} masters, {arbiters} arbiters and {workers} workers are no cluster: 1 master alone, 2 with an arbiter, \
                     or 3 to 5, and at most 40 workers beside more than one"
                ));
            }
        }
        let (mut names, mut macs) = (BTreeSet::new(), BTreeSet::new());
        for Real { name, mac, .. } in &self.machines {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if name.is_empty() || name.len() > 63 || name.starts_with('-') || !name.chars().all(plain) {
                return Err(format!(
                    "{name:?} is no name of a machine: lower-case letters, digits and hyphens"
                ));
            }
            let pairs: Vec<_> = mac.split(':').collect();
            let pair = |pair: &&str| pair.len() == 2 && u8::from_str_radix(pair, 16).is_ok();
            if pairs.len() != 6 || !pairs.iter().all(pair) {
                return Err(format!("{name}: {mac:?} is no MAC address such as 52:54:00:12:34:56"));
            }
            if !names.insert(name) || !macs.insert(mac.to_ascii_lowercase()) {
                return Err(format!("{name}: another machine has its name or its MAC address"));
            }
        }
        let plain = |c: char| c.is_ascii_graphic() && c != '/';
        if self.interface.is_empty() || self.interface.len() > 15 || !self.interface.chars().all(plain) {
            return Err(format!("{:?} is no network card", self.interface));
        }
        Ok(())
    }

    /// The machines of a lab, control plane first.
    pub(super) fn machines(&self) -> Vec<Planned> {
        let of = |role: Role| {
            let own = self.machines.iter().filter(move |machine| machine.role == role);
            own.zip(addresses(role)).map(move |(machine, address): (&Real, Ipv4Addr)| Planned {
                name: machine.name.clone(),
                role,
                address,
                mac: machine.mac.to_ascii_lowercase(),
                is_late: false,
                kind: Kind::Real(machine.bmc.clone()),
            })
        };
        [Role::Master, Role::Arbiter, Role::Worker].into_iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(machines: &str) -> Result<Rack, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("machines.yaml");
        std::fs::write(&path, format!("interface: eno2\nmedia: 192.0.2.9:8889\nmachines:\n{machines}"))
            .unwrap();
        Rack::read(&path).map_err(|error| error.to_string())
    }

    fn machine(name: &str, role: &str, mac: &str) -> String {
        format!(
            "- {{name: {name}, role: {role}, mac: '{mac}', bmc: {{system: 'https://192.0.2.1/redfish/v1/Systems/1', user: root, \
             password_file: password}}}}\n"
        )
    }

    #[test]
    fn machines_are_read_in_the_order_of_their_roles() {
        let list = [
            machine("w", "worker", "52:54:00:00:00:04"),
            machine("a", "master", "52:54:00:00:00:0A"),
            machine("b", "master", "52:54:00:00:00:02"),
            machine("c", "master", "52:54:00:00:00:03"),
        ];
        let machines = read(&list.concat()).unwrap().machines();
        let told: Vec<_> =
            machines.iter().map(|machine| (machine.name.as_str(), machine.address.octets()[3])).collect();
        assert_eq!(told, [("a", 10), ("b", 11), ("c", 12), ("w", 20)]);
        assert_eq!(machines[0].mac, "52:54:00:00:00:0a");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let master = machine("m", "master", "52:54:00:00:00:01");
        for (list, why) in [
            (master.repeat(2), "no cluster"),
            (master.repeat(3), "another machine"),
            (machine("M 1", "master", "52:54:00:00:00:01"), "no name of a machine"),
            (machine("m", "master", "52:54:00:00:01"), "no MAC address"),
            (machine("m", "chef", "52:54:00:00:00:01"), "unknown variant"),
            (master.replace("user", "name"), "unknown field"),
        ] {
            let error = read(&list).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
