//! The configs of roles: what all hosts with a role get (install-generation §6.2 to §6.4).

use assisted_wire::host::HostRole;

use super::edit::{EditError, NewFile, Tree};

const AUTHORITY: &str = "/etc/assisted-service/service-ca-cert.crt";
const IPV6: &str = "/etc/NetworkManager/conf.d/01-ipv6.conf";
const IPV6_TEXT: &str = "\n[connection]\nipv6.dhcp-iaid=mac\nipv6.dhcp-duid=ll\n";
/// Where older systems keep what the network was in the initramfs.
const MERGED_TEXT: &str = "[keyfile]\npath=/etc/NetworkManager/system-connections-merged\n";

/// What the configs of roles are edited by.
#[derive(Clone, Debug, Default)]
pub struct Role {
    /// The authority that the service's certificate is signed by, in PEM form; empty: none needed.
    pub authority: String,
    /// Whether every host has an address of IPv6.
    pub ipv6: bool,
    /// Whether the system keeps connections of the initramfs apart.
    pub merges_connections: bool,
    /// VIPs that a DHCP server leases.
    pub vips: Option<LeasedVips>,
}

/// VIPs that a DHCP server leases.
#[derive(Clone, Debug, Default)]
pub struct LeasedVips {
    pub api: Vip,
    pub ingress: Vip,
}

/// A VIP that a DHCP server leases.
#[derive(Clone, Debug, Default)]
pub struct Vip {
    pub ip: String,
    pub mac: String,
    /// The lease as the client wrote it; empty: none.
    pub lease: String,
}

impl Role {
    /// Edits the config of a role.
    ///
    /// # Errors
    ///
    /// See [`EditError`].
    pub fn edit(&self, tree: &mut Tree, role: HostRole) -> Result<(), EditError> {
        if !self.authority.is_empty() {
            tree.put(NewFile::text(AUTHORITY, 0o644, false, &self.authority))?;
        }
        if self.ipv6 {
            let merged = if self.merges_connections { MERGED_TEXT } else { "" };
            tree.put(NewFile::text(IPV6, 0o644, false, &format!("{IPV6_TEXT}{merged}")))?;
        }
        match &self.vips {
            Some(vips) if role == HostRole::Master => vips.put(tree),
            _ => Ok(()),
        }
    }
}

impl LeasedVips {
    fn put(&self, tree: &mut Tree) -> Result<(), EditError> {
        let Self { api, ingress } = self;
        if api.ip.is_empty() || ingress.ip.is_empty() {
            return Err(EditError::NoVips { api: api.ip.clone(), ingress: ingress.ip.clone() });
        }
        let monitored = [("api", api), ("ingress", ingress)].map(|(name, vip)| {
            let Vip { ip, mac, .. } = vip;
            format!("{name}-vip:\n  name: {name}\n  mac-address: {mac}\n  ip-address: {ip}\n")
        });
        tree.put(NewFile::text(
            "/etc/keepalived/unsupported-monitor.conf",
            0o644,
            false,
            &monitored.concat(),
        ))?;
        for (path, vip) in [("/etc/keepalived/lease-api", api), ("/etc/keepalived/lease-ingress", ingress)] {
            if !vip.lease.is_empty() {
                tree.put(NewFile::text(path, 0o644, false, &endless(&vip.lease)))?;
            }
        }
        Ok(())
    }
}

/// A lease that never ends: each of its times is `never`.
fn endless(lease: &str) -> String {
    let line = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "renew" | "rebind" | "expire" => {
                format!("{}{word} never;", line.get(..indent).unwrap_or_default())
            }
            _ => line.to_owned(),
        }
    };
    lease.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: &str = "lease {\n  interface \"api\";\n  renew 0 2026/10/25 12:48:49;\n  rebind 0 2026/10/25 13:48:49;\n  expire 0 2026/10/25 14:48:49;\n}";

    #[test]
    fn files_by_role() {
        let vip = |ip: &str, lease: &str| Vip {
            ip: ip.into(),
            mac: "00:1a:4a:00:00:01".into(),
            lease: lease.into(),
        };
        let vips = LeasedVips { api: vip("10.0.0.5", LEASE), ingress: vip("10.0.0.6", "") };
        let role = Role { authority: "PEM".into(), ipv6: true, merges_connections: false, vips: Some(vips) };
        let mut master = Tree::empty("3.2.0");
        role.edit(&mut master, HostRole::Master).unwrap();
        assert_eq!(master.content(AUTHORITY).unwrap(), b"PEM");
        assert_eq!(master.content(IPV6).unwrap(), IPV6_TEXT.as_bytes());
        let lease = String::from_utf8(master.content("/etc/keepalived/lease-api").unwrap()).unwrap();
        assert_eq!(
            lease,
            "lease {\n  interface \"api\";\n  renew never;\n  rebind never;\n  expire never;\n}"
        );
        assert_eq!(master.content("/etc/keepalived/lease-ingress"), None);
        let monitored = master.content("/etc/keepalived/unsupported-monitor.conf").unwrap();
        assert!(
            String::from_utf8(monitored)
                .unwrap()
                .starts_with("api-vip:\n  name: api\n  mac-address: 00:1a:4a:00:00:01\n")
        );
        let mut worker = Tree::empty("3.2.0");
        role.edit(&mut worker, HostRole::Worker).unwrap();
        assert_eq!(worker.files().len(), 2);
        let old = Role { ipv6: true, merges_connections: true, ..Role::default() };
        old.edit(&mut worker, HostRole::Worker).unwrap();
        let text = String::from_utf8(worker.content(IPV6).unwrap()).unwrap();
        assert!(
            text.ends_with("dhcp-duid=ll\n[keyfile]\npath=/etc/NetworkManager/system-connections-merged\n")
        );
        let missing = Role { vips: Some(LeasedVips::default()), ..Role::default() };
        assert!(matches!(missing.edit(&mut master, HostRole::Master), Err(EditError::NoVips { .. })));
    }
}
