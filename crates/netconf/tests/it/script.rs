//! The script, run for real on machines made of folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use assisted_netconf::image_files;
use assisted_wire::infra_env::{HostStaticNetworkConfig, MacInterfaceMap, MacInterfaceMapItem};
use tempfile::TempDir;

const NICS: [&str; 3] = ["52:54:00:00:00:0a", "52:54:00:00:00:0b", "52:54:00:00:00:0c"];

fn host(yaml: &str, map: &[(&str, &str)]) -> HostStaticNetworkConfig {
    let item = |(mac, name): &(&str, &str)| MacInterfaceMapItem {
        mac_address: (*mac).to_owned(),
        logical_nic_name: (*name).to_owned(),
    };
    HostStaticNetworkConfig {
        network_yaml: yaml.to_owned(),
        mac_interface_map: Some(MacInterfaceMap(map.iter().map(item).collect())),
    }
}

fn with_address(name: &str, address: &str) -> String {
    format!(
        "interfaces:\n- name: {name}\n  type: ethernet\n  state: up\n  ipv4: {{enabled: true, address: [{{ip: {address}, \
         prefix-length: 24}}]}}\n"
    )
}

/// A machine: its interfaces by address, and the image that it has booted.
struct Machine(TempDir);

impl Machine {
    fn new(nics: &[(&str, &str)], hosts: &[HostStaticNetworkConfig]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for (mac, name) in nics {
            machine.write(&format!("/sys/class/net/{name}/address"), &format!("{mac}\n"));
        }
        machine.write("/sys/class/net/lo/address", "00:00:00:00:00:00\n");
        fs::create_dir_all(machine.path("/run")).unwrap();
        for file in image_files::files(hosts).unwrap() {
            machine.write(&file.path, &file.content);
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Runs the script; gives what it tells.
    fn run(&self) -> String {
        let output = Command::new("/bin/sh")
            .arg(self.path(image_files::SCRIPT_PATH))
            .env("ROOT", self.0.path())
            .env("QUIET_SECONDS", "0")
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{told}");
        assert_eq!(fs::read_dir(self.path("/run")).unwrap().count(), 0, "nothing is left behind");
        told
    }

    /// The keyfiles in a folder: names and contents, sorted.
    fn keyfiles(&self, folder: &str) -> Vec<(String, String)> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else { return Vec::new() };
        let mut files: Vec<_> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(&path).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

const CONNECTIONS: &str = "/etc/NetworkManager/system-connections";

fn names(files: &[(String, String)]) -> Vec<&str> {
    files.iter().map(|(name, _)| name.as_str()).collect()
}

fn has(files: &[(String, String)], name: &str, line: &str) -> bool {
    let (_, content) = files.iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("no {name}"));
    content.lines().any(|other| other == line)
}

#[test]
fn a_machine_finds_its_own_settings() {
    let hosts = [
        host(&with_address("eth0", "192.0.2.1"), &[(NICS[0], "eth0")]),
        // Users write addresses as their tools show them.
        host(&with_address("eth0", "192.0.2.2"), &[("52:54:00:00:00:0B", "eth0")]),
    ];
    for (mac, address) in [(NICS[0], "192.0.2.1"), (NICS[1], "192.0.2.2")] {
        let machine = Machine::new(&[(mac, "enp1s0")], &hosts);
        machine.write(&format!("{CONNECTIONS}/old.nmconnection"), "[connection]\n");
        machine.run();
        let files = machine.keyfiles(CONNECTIONS);
        assert_eq!(names(&files), ["enp1s0.nmconnection"]);
        assert!(has(&files, "enp1s0.nmconnection", "interface-name=enp1s0"));
        assert!(has(&files, "enp1s0.nmconnection", &format!("address0={address}/24")), "{files:?}");
    }
}

#[test]
fn names_may_be_swapped() {
    let yaml = with_address("eth0", "192.0.2.1")
        + with_address("eth1", "192.0.2.2").trim_start_matches("interfaces:\n");
    let machine = Machine::new(
        &[(NICS[0], "eth1"), (NICS[1], "eth0")],
        &[host(&yaml, &[(NICS[0], "eth0"), (NICS[1], "eth1")])],
    );
    machine.run();
    let files = machine.keyfiles(CONNECTIONS);
    assert_eq!(names(&files), ["eth0.nmconnection", "eth1.nmconnection"]);
    for (name, address) in [("eth1", "192.0.2.1"), ("eth0", "192.0.2.2")] {
        let file = format!("{name}.nmconnection");
        assert!(has(&files, &file, &format!("interface-name={name}")));
        assert!(has(&files, &file, &format!("address0={address}/24")), "{files:?}");
    }
}

#[test]
fn bonds_and_vlans() {
    let yaml = include_str!("../data/bond-vlan.yaml");
    let map = [(NICS[0], "eth0"), (NICS[1], "eth1")];
    let machine = Machine::new(&[(NICS[0], "ens1"), (NICS[1], "enp94s0f0np0")], &[host(yaml, &map)]);
    machine.run();
    let files = machine.keyfiles(CONNECTIONS);
    assert_eq!(
        names(&files),
        [
            "bond0.101.nmconnection",
            "bond0.nmconnection",
            "enp94s0f0np0.7.nmconnection",
            "enp94s0f0np0.nmconnection",
            "ens1.nmconnection"
        ]
    );
    assert!(has(&files, "bond0.nmconnection", "primary=ens1"), "{files:?}");
    assert!(has(&files, "enp94s0f0np0.7.nmconnection", "parent=enp94s0f0np0"), "{files:?}");
    assert!(has(&files, "bond0.101.nmconnection", "interface-name=bond0.101"));
}

#[test]
fn the_name_of_a_vlan_is_cut_to_what_the_kernel_takes() {
    let yaml = "interfaces:\n- {name: eth0, type: ethernet, state: up}\n- {name: eth0.2507, type: vlan, state: up, vlan: {base-iface: \
                eth0, id: 2507}}\n";
    let machine = Machine::new(&[(NICS[0], "enp94s0f0np0")], &[host(yaml, &[(NICS[0], "eth0")])]);
    machine.run();
    let files = machine.keyfiles(CONNECTIONS);
    assert_eq!(names(&files), ["enp94s0f0n.2507.nmconnection", "enp94s0f0np0.nmconnection"]);
    assert!(has(&files, "enp94s0f0n.2507.nmconnection", "interface-name=enp94s0f0n.2507"));
    assert!(has(&files, "enp94s0f0n.2507.nmconnection", "parent=enp94s0f0np0"));
}

#[test]
fn an_interface_that_is_not_there_has_no_profile() {
    let yaml = include_str!("../data/bond-vlan.yaml");
    let machine = Machine::new(
        &[(NICS[1], "ens2"), (NICS[2], "eth0")],
        &[host(yaml, &[(NICS[0], "eth0"), (NICS[1], "eth1")])],
    );
    let told = machine.run();
    assert!(told.contains("is for an interface that is not here"), "{told}");
    let files = machine.keyfiles(CONNECTIONS);
    assert_eq!(
        names(&files),
        ["bond0.101.nmconnection", "bond0.nmconnection", "ens2.7.nmconnection", "ens2.nmconnection"]
    );
    let text: String = files.iter().map(|(_, content)| content.as_str()).collect();
    assert!(!text.contains('@') && !text.contains("primary="), "{text}");
}

#[test]
fn a_machine_without_settings_stays_as_it_is() {
    let machine =
        Machine::new(&[(NICS[2], "eth0")], &[host(&with_address("eth0", "192.0.2.1"), &[(NICS[0], "eth0")])]);
    let told = machine.run();
    assert!(told.contains("none for this machine"), "{told}");
    assert!(!machine.path(CONNECTIONS).exists());
    // The same without any settings at all.
    fs::remove_dir_all(machine.path("/etc/assisted")).unwrap();
    assert_eq!(machine.run(), "");
}

#[test]
fn in_the_initramfs_they_lie_where_the_first_boot_looks() {
    let machine =
        Machine::new(&[(NICS[0], "eth0")], &[host(&with_address("nic", "192.0.2.1"), &[(NICS[0], "nic")])]);
    machine.write("/etc/initrd-release", "");
    machine.run();
    assert_eq!(names(&machine.keyfiles("/etc/coreos-firstboot-network")), ["eth0.nmconnection"]);
    assert!(!machine.path(CONNECTIONS).exists());
}

#[test]
fn what_lies_on_top_of_an_interface_is_not_taken_for_it() {
    let machine = Machine::new(
        &[
            ("52:54:00:00:00:0f", "ens1"),
            (NICS[0], "bond0"),
            (NICS[0], "br0"),
            (NICS[0], "vlan7"),
            (NICS[0], "odd;name"),
        ],
        &[host(&with_address("nic", "192.0.2.1"), &[(NICS[0], "nic")])],
    );
    machine.write("/sys/class/net/ens1/bonding_slave/perm_hwaddr", &format!("{}\n", NICS[0]));
    for dir in ["bond0/bonding", "br0/bridge", "vlan7/lower_ens1"] {
        fs::create_dir_all(machine.path(&format!("/sys/class/net/{dir}"))).unwrap();
    }
    machine.run();
    assert_eq!(names(&machine.keyfiles(CONNECTIONS)), ["ens1.nmconnection"]);
}

#[test]
fn several_folders_may_belong_to_one_machine() {
    let machine = Machine::new(
        &[(NICS[0], "ens1"), (NICS[1], "ens2")],
        &[
            host(&with_address("a", "192.0.2.1"), &[(NICS[0], "a")]),
            host(&with_address("b", "192.0.2.2"), &[(NICS[1], "b")]),
            host("interfaces:\n- {name: ens1, type: dummy, state: up}\n", &[(NICS[1], "c")]),
        ],
    );
    let told = machine.run();
    assert!(told.contains("ens1.nmconnection of host2 is left out"), "{told}");
    let files = machine.keyfiles(CONNECTIONS);
    assert_eq!(names(&files), ["ens1.nmconnection", "ens2.nmconnection"]);
    assert!(has(&files, "ens1.nmconnection", "address0=192.0.2.1/24"));
}

/// Busybox is what many initramfs have.
#[test]
fn other_shells_understand_it() {
    let script = tempfile::NamedTempFile::new().unwrap();
    fs::write(script.path(), image_files::SCRIPT).unwrap();
    for shell in ["/bin/sh", "/bin/bash"] {
        if Path::new(shell).exists() {
            assert!(Command::new(shell).arg("-n").arg(script.path()).status().unwrap().success(), "{shell}");
        }
    }
}
