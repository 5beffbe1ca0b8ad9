//! A single node that is its own DNS server: for networks without entries for the cluster.

use std::net::IpAddr;

use assisted_wire::host::HostRole;
use serde_json::json;

use super::{Manifest, file, machine_config};

/// The names that the node answers for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    pub cluster: &'a str,
    pub domain: &'a str,
    /// The address of the node.
    pub ip: IpAddr,
    /// Names below `apps` that are answered for besides.
    pub further: &'a [&'a str],
}

/// The name server of a single node.
pub fn dnsmasq(names: &Names<'_>) -> Manifest {
    let Names { cluster, domain, ip, further } = names;
    // Names and an address: nothing in them means anything to a shell.
    let settings = format!(
        "CLUSTER_NAME='{cluster}'\nBASE_DOMAIN='{domain}'\nHOST_IP='{ip}'\nFURTHER_APPS='{}'\n",
        further.join(" ")
    );
    let config = json!({
        "ignition": {"version": "3.1.0"},
        "storage": {"files": [
            file("/etc/default/sno_dnsmasq_configuration", 0o644, &settings),
            file("/usr/local/bin/dnsmasq_config.sh", 0o555, include_str!("files/dnsmasq_config.sh")),
            file("/etc/NetworkManager/dispatcher.d/forcedns", 0o555, include_str!("files/forcedns.sh")),
            file("/etc/NetworkManager/conf.d/single-node.conf", 0o644, "\n[main]\nrc-manager=unmanaged\n"),
        ]},
        "systemd": {"units": [
            {"name": "dnsmasq.service", "enabled": true, "contents": include_str!("files/dnsmasq.service")},
        ]},
    });
    let object = machine_config("50-master-dnsmasq-configuration", HostRole::Master, &config);
    Manifest::new("dnsmasq-bootstrap-in-place.yaml", &object)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::super::testing;
    use super::*;

    const FURTHER: &[&str] = &["rhods-dashboard-redhat-ods-applications"];

    fn object() -> serde_json::Value {
        let ip = "192.168.126.10".parse().unwrap();
        let manifest = dnsmasq(&Names { cluster: "sno", domain: "example.com", ip, further: FURTHER });
        assert_eq!(manifest.name, "dnsmasq-bootstrap-in-place.yaml");
        testing::read(&manifest)
    }

    /// Runs a script of the manifest in a root of its own, in which the paths of the node lie.
    fn run(root: &std::path::Path, script: &str, args: &[&str]) -> String {
        let object = object();
        let place = root.to_str().unwrap();
        let (_, settings) = testing::file(&object, "/etc/default/sno_dnsmasq_configuration");
        std::fs::create_dir_all(root.join("etc/default")).unwrap();
        std::fs::create_dir_all(root.join("etc/dnsmasq.d")).unwrap();
        std::fs::write(root.join("etc/default/sno_dnsmasq_configuration"), settings).unwrap();
        let (_, text) = testing::file(&object, script);
        let path = root.join("script");
        std::fs::write(&path, text.replace("/etc/", &format!("{place}/etc/"))).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ended = Command::new("bash").arg(&path).args(args).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).unwrap()
    }

    #[test]
    fn the_names_that_are_answered() {
        let root = tempfile::tempdir().unwrap();
        let made = || {
            run(root.path(), "/usr/local/bin/dnsmasq_config.sh", &[]);
            std::fs::read_to_string(root.path().join("etc/dnsmasq.d/single-node.conf")).unwrap()
        };
        let of = |name: &str, ip: &str| {
            ["apps", "api-int", "api", "rhods-dashboard-redhat-ods-applications.apps"]
                .map(|part| format!("address=/{part}.{name}/{ip}\n"))
                .concat()
        };
        assert_eq!(made(), of("sno.example.com", "192.168.126.10"));
        let overrides = "SNO_CLUSTER_NAME_OVERRIDE=other\nSNO_DNSMASQ_IP_OVERRIDE=10.0.0.1\n";
        std::fs::write(root.path().join("etc/default/sno_dnsmasq_configuration_overrides"), overrides)
            .unwrap();
        assert_eq!(made(), of("other.example.com", "10.0.0.1"));
    }

    #[test]
    fn the_node_asks_itself() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("etc")).unwrap();
        let resolv = root.path().join("etc/resolv.conf");
        std::fs::write(&resolv, "search lab\nnameserver 9.9.9.9\n").unwrap();
        let dispatch = |action| {
            run(root.path(), "/etc/NetworkManager/dispatcher.d/forcedns", &["eth0", action]);
            std::fs::read_to_string(&resolv).unwrap()
        };
        assert_eq!(dispatch("down"), "search lab\nnameserver 9.9.9.9\n");
        let first = "search sno.example.com lab\nnameserver 192.168.126.10\nnameserver 9.9.9.9\n";
        assert_eq!(dispatch("up"), first);
        // Again changes nothing.
        assert_eq!(dispatch("dhcp4-change"), first);
    }
}
