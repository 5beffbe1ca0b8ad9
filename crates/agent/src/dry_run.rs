//! Pretended hosts: many agents on one machine, each with its own identity (agent-protocol §1.13).

use assisted_wire::id::HostId;
use assisted_wire::inventory::{Interface, Inventory};

/// What a pretended host shows instead of what its machine is.
#[derive(Clone, Debug, Default)]
pub struct DryRun {
    pub host_id: HostId,
    pub hostname: String,
    /// MAC address of its only interface.
    pub mac: String,
    /// IPv4 address of its only interface, in CIDR form.
    pub ipv4: String,
}

impl DryRun {
    /// Lays the pretence over a real inventory. Of the interfaces one with an IPv4 address stays; a real one rather than
    /// the loopback.
    pub fn disguise(&self, mut inventory: Inventory) -> Inventory {
        if !self.hostname.is_empty() {
            self.hostname.clone_into(&mut inventory.hostname);
        }
        inventory.bmc_address = "0.0.0.0".to_owned();
        inventory.bmc_v6address = "::/0".to_owned();
        let mut interfaces = inventory.interfaces.take().unwrap_or_default();
        let addressed = |interface: &Interface| interface.ipv4_addresses.iter().flatten().next().is_some();
        let real = |interface: &Interface| matches!(interface.r#type.as_str(), "physical" | "bond" | "vlan");
        let chosen = interfaces
            .iter()
            .position(|interface| addressed(interface) && real(interface))
            .or_else(|| interfaces.iter().position(addressed));
        if let Some(chosen) = chosen {
            let mut interface = interfaces.swap_remove(chosen);
            if !self.mac.is_empty() {
                self.mac.clone_into(&mut interface.mac_address);
            }
            if let Some(first) = interface.ipv4_addresses.iter_mut().flatten().next()
                && !self.ipv4.is_empty()
            {
                self.ipv4.clone_into(first);
            }
            interfaces = vec![interface];
        }
        inventory.interfaces = Some(interfaces);
        inventory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_real_interface_stays() {
        let interface = |name: &str, kind: &str, address: &str| Interface {
            name: name.into(),
            r#type: kind.into(),
            ipv4_addresses: Some(vec![address.into()]),
            ..Interface::default()
        };
        let inventory = Inventory {
            interfaces: Some(vec![
                interface("lo", "device", "127.0.0.1/8"),
                Interface { name: "eth0".into(), r#type: "physical".into(), ..Interface::default() },
                interface("eth1", "physical", "10.0.0.1/24"),
            ]),
            ..Inventory::default()
        };
        let dry = DryRun { mac: "02:00:00:00:00:01".into(), ipv4: "10.0.0.7/24".into(), ..DryRun::default() };
        let shown = dry.disguise(inventory).interfaces.unwrap();
        assert_eq!(shown.len(), 1);
        assert_eq!((shown[0].name.as_str(), shown[0].mac_address.as_str()), ("eth1", "02:00:00:00:00:01"));
        assert_eq!(shown[0].ipv4_addresses.as_deref(), Some(&["10.0.0.7/24".to_owned()][..]));
    }
}
