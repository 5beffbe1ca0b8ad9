//! Addresses and names: dnsmasq, which gives every member its address and knows the names of one cluster.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;

use super::running::Server;
use super::{BRIDGE, GATEWAY, Member, NetworkError};

/// Names of a cluster, and where they lead.
#[derive(Clone, Debug)]
pub struct Names {
    /// Name and domain of the cluster: `lab.example.com`.
    pub cluster: String,
    pub api: Ipv4Addr,
    pub apps: Ipv4Addr,
}

impl Names {
    /// Who is nobody's member gets an address as well: a machine too many can be looked at.
    fn settings(&self, members: &[Member], dir: &Path) -> String {
        let Self { cluster, api, apps } = self;
        let mut text = format!(
            "keep-in-foreground\nuser=root\nno-resolv\nno-hosts\nno-ping\nbind-interfaces\ninterface={BRIDGE}\n\
             except-interface=lo\nlog-dhcp\nlog-facility=-\npid-file=\ndhcp-authoritative\n\
             dhcp-leasefile={dir}/leases\ndomain={cluster}\nlocal=/{cluster}/\n\
             dhcp-range=192.168.126.100,192.168.126.150,255.255.255.0,12h\n\
             dhcp-option=option:router,{GATEWAY}\ndhcp-option=option:dns-server,{GATEWAY}\n\
             dhcp-option=option:ntp-server,{GATEWAY}\naddress=/apps.{cluster}/{apps}\n",
            dir = dir.display(),
        );
        for Member { name, mac, address } in members {
            let _ =
                writeln!(text, "dhcp-host={mac},{address},{name}\nhost-record={name}.{cluster},{address}");
        }
        // Last: the first name of an address is the one that its machine learns, and that of a single node is not `api`.
        let _ = writeln!(text, "host-record=api.{cluster},{api}\nhost-record=api-int.{cluster},{api}");
        text
    }

    pub(super) fn server(&self, members: &[Member], dir: &Path) -> Result<Server, NetworkError> {
        let settings = dir.join("dnsmasq.conf");
        std::fs::write(&settings, self.settings(members, dir)).map_err(NetworkError::io(&settings))?;
        Ok(Server {
            program: "dnsmasq",
            arguments: vec![format!("--conf-file={}", settings.display())],
            log: dir.join("dnsmasq.log"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_fixed_addresses_and_the_cluster_has_its_names() {
        let names = Names { cluster: "lab.example.com".into(), api: super::super::API_VIP, apps: GATEWAY };
        let member = Member {
            name: "master-0".into(),
            mac: "52:54:00:00:00:0a".into(),
            address: [192, 168, 126, 10].into(),
        };
        let text = names.settings(&[member], Path::new("/x"));
        for line in [
            "dhcp-host=52:54:00:00:00:0a,192.168.126.10,master-0\n",
            "host-record=api-int.lab.example.com,192.168.126.5\n",
            "address=/apps.lab.example.com/192.168.126.1\n",
            "host-record=master-0.lab.example.com,192.168.126.10\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
