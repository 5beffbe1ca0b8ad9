//! The steps of an installation and their arguments (agent-protocol §2.4, installer-and-controller §A1).

use assisted_wire::cluster::ClusterStatus as C;
use assisted_wire::host::{HostKind, HostRole, HostStatus as S};
use assisted_wire::inventory::{Boot, BootDeviceType, Iscsi, SystemVendor};
use assisted_wire::step::{Step, StepType as T};
use serde_json::{Value, json};

use super::*;
use crate::catalogue::operators::selection;
use crate::decide::host::steps::{steps, view};
use crate::model::infra_env::InfraEnvRecord;
use crate::model::report::ReportKind;

fn steps_of(facts: &Facts) -> Vec<Step> {
    steps(&view(facts, facts.hosts[0].key()).unwrap(), 7).instructions.unwrap()
}

fn kinds(facts: &Facts) -> String {
    steps_of(facts).iter().map(|step| step.step_type.unwrap().as_str()).collect::<Vec<_>>().join(" ")
}

fn arguments(facts: &Facts, step: T) -> Option<Vec<String>> {
    steps_of(facts).into_iter().find(|each| each.step_type == Some(step)).and_then(|step| step.args)
}

fn argument(facts: &Facts, step: T) -> Value {
    serde_json::from_str(&arguments(facts, step).unwrap()[0]).unwrap()
}

fn with_payload(mut facts: Facts) -> Facts {
    let record = facts.cluster.as_mut().unwrap();
    record.cluster.ocp_release_image = "quay.io/release:4.20.1".to_owned();
    record.payload.mco = "quay.io/mco@sha256:1".to_owned();
    record.payload.must_gather = "quay.io/must-gather@sha256:2".to_owned();
    record.payload.coreos = "quay.io/coreos@sha256:3".to_owned();
    facts
}

fn day2(facts: Facts) -> Facts {
    facts
        .with_cluster(|own| own.kind = assisted_wire::cluster::ClusterKind::AddHostsCluster)
        .with_host(|host| host.record.host.kind = HostKind::AddToExistingClusterHost)
}

#[test]
fn before_an_installation() {
    let facts = with_payload(host_in(S::PreparingForInstallation, C::PreparingForInstallation));
    assert_eq!(kinds(&facts), "installation-disk-speed-check container-image-availability");
    assert_eq!(
        arguments(&facts, T::InstallationDiskSpeedCheck).unwrap(),
        [r#"{"path":"/dev/disk/by-id/sda"}"#, "480.00"]
    );
    let payload = ["quay.io/release:4.20.1", "quay.io/mco@sha256:1", "quay.io/must-gather@sha256:2"];
    let images = |images: &[&str]| json!({"timeout": 960, "images": images});
    assert_eq!(argument(&facts, T::ContainerImageAvailability), images(&payload));

    let by_image = facts.with_settings(|policy| policy.images.agent_as_image = true);
    let installer = by_image.policy.images.installer.clone();
    let all = [&payload[..], &[&installer]].concat();
    assert_eq!(argument(&by_image, T::ContainerImageAvailability), images(&all));

    let tried = json!({"quay.io/release:4.20.1": {}, "quay.io/mco@sha256:1": {"result": "failure"}});
    let left = argument(
        &by_image.with_report(ReportKind::ImagesStatus, &tried.to_string()),
        T::ContainerImageAvailability,
    );
    assert_eq!(left["images"], json!([payload[2], installer]));
}

#[test]
fn nothing_left_to_check() {
    let checked = |change: &dyn Fn(Facts) -> Facts| {
        let facts = with_payload(host_in(S::PreparingForInstallation, C::PreparingForInstallation));
        kinds(&change(facts))
    };
    let images = "container-image-availability";
    let measured =
        format!(r#"{{"{DISK}":{{"path":"{DISK}","disk_speed":{{"tested":true,"exit_code":1}}}}}}"#);
    assert_eq!(checked(&|facts| facts.with_report(ReportKind::DisksInfo, &measured)), images);
    assert_eq!(
        checked(&|facts| facts.with_host(|host| {
            r#"["--save-partindex=4"]"#.clone_into(&mut host.record.host.installer_args);
        })),
        images
    );
    assert_eq!(checked(&persistent), images);
    assert_eq!(checked(&|facts| facts.with_host(|host| host.inventory = None)), images);
}

fn persistent(facts: Facts) -> Facts {
    facts.with_machine(|machine| {
        machine.boot = Some(Boot { device_type: Some(BootDeviceType::Persistent), ..Boot::default() });
    })
}

fn installing() -> Facts {
    with_payload(host_in(S::Installing, C::Installing)).with_machine(|machine| {
        let nic = &mut machine.interfaces.as_mut().unwrap()[0];
        nic.mac_address = "52:54:00:aa:bb:cc".to_owned();
    })
}

#[test]
fn the_installer() {
    let facts = installing().with_host(|host| {
        let fields = &mut host.record.host;
        "/dev/disk/by-id/sda,/dev/disk/by-id/sdb".clone_into(&mut fields.disks_to_be_formatted);
        "/dev/disk/by-id/sdb".clone_into(&mut fields.skip_formatting_disks);
    });
    let ids = facts.first();
    assert_eq!(kinds(&facts), "install");
    assert_eq!(
        argument(&facts, T::Install),
        json!({
            "cluster_id": ids.cluster_id, "infra_env_id": ids.infra_env_id, "host_id": ids.id, "role": "worker",
            "boot_device": DISK, "controller_image": facts.policy.images.controller,
            "installer_image": facts.policy.images.installer, "control_plane_count": 3,
            "disks_to_format": ["/dev/disk/by-id/sda"], "must_gather_image": "quay.io/must-gather@sha256:2",
            "mco_image": "quay.io/mco@sha256:1", "openshift_version": "4.20.1", "service_ips": null,
            "installer_args": r#"["--append-karg","ip=52-54-00-aa-bb-cc:dhcp"]"#,
            "enable_skip_mco_reboot": true, "notify_num_reboots": true, "check_cvo": false,
        })
    );
    let watched = installing().with_cluster(|cluster| {
        cluster.monitored_operators = Some(selection::builtin(cluster.id, true));
    });
    assert_eq!(argument(&watched, T::Install)["check_cvo"], true);
    let simulating = || installing().with_settings(|policy| policy.service.simulated = true);
    assert_eq!(kinds(&simulating()), "", "a real host keeps its disk");
    let simulated = simulating().with_machine(|inventory| {
        let product_name = SystemVendor::SIMULATED_PRODUCT.to_owned();
        inventory.system_vendor = Some(SystemVendor { product_name, ..SystemVendor::default() });
    });
    assert_eq!(kinds(&simulated), "install");
    let bootstrap = installing().with_host(|host| host.record.host.bootstrap = true);
    assert_eq!(argument(&bootstrap, T::Install)["role"], "bootstrap");
    let suggested = installing().with_host(|host| {
        host.record.host.role = Some(HostRole::AutoAssign);
        host.record.host.suggested_role = Some(HostRole::Master);
    });
    assert_eq!(argument(&suggested, T::Install)["role"], "master");
    let without_disk = installing().with_host(|host| host.record.host.installation_disk_id.clear());
    assert_eq!(argument(&without_disk, T::Install)["boot_device"], "/dev/sda");
    let lost = installing()
        .with_host(|host| DISK.replace("sda", "gone").clone_into(&mut host.record.host.installation_disk_id));
    assert_eq!(kinds(&lost), "");
}

#[test]
fn the_installer_of_hosts_that_join_a_cluster() {
    let joined = argument(&day2(installing()), T::Install);
    for left_out in ["must_gather_image", "mco_image", "openshift_version", "coreos_image"] {
        assert!(joined.get(left_out).is_none(), "{left_out}");
    }
    assert_eq!(argument(&persistent(installing()), T::Install)["coreos_image"], "quay.io/coreos@sha256:3");
    let mut unknown = persistent(installing());
    unknown.cluster.as_mut().unwrap().payload.coreos.clear();
    assert_eq!(kinds(&unknown), "");
}

#[test]
fn first_reboots_are_left_out_where_they_can_be() {
    let skips = |facts: Facts| argument(&facts, T::Install).get("enable_skip_mco_reboot").is_some();
    let version =
        |version: &str| installing().with_cluster(|own| version.clone_into(&mut own.openshift_version));
    assert!(skips(version("4.15.0")));
    assert!(!skips(version("4.14.9")));
    assert!(!skips(version("")));
    assert!(!skips(installing().with_settings(|policy| policy.clusters.enable_skip_mco_reboot = false)));
    assert!(!skips(installing().with_cluster(|own| {
        own.cpu_architecture = Some(assisted_wire::cluster_params::CpuArchitecture::S390x);
    })));
    let mapped =
        installing().with_machine(|machine| machine.disks.as_mut().unwrap()[0].name = "dm-0".to_owned());
    assert!(!skips(mapped));
}

#[test]
fn must_gather_images() {
    let known = |text: &str| {
        installing().with_settings(|policy| policy.versions.must_gather = serde_json::from_str(text).unwrap())
    };
    let image = |facts: &Facts| argument(facts, T::Install)["must_gather_image"].as_str().map(str::to_owned);
    assert_eq!(image(&known(r#"{"4.20": {"ocp": "a"}}"#)).as_deref(), Some("a"));
    let several = image(&known(r#"{"4.20.1-x86_64": {"cnv": "b"}, "4.20": {"ocp": "a"}}"#)).unwrap();
    assert_eq!(several, r#"{"cnv":"b","ocp":"quay.io/must-gather@sha256:2"}"#);
    // The narrowest key wins alone.
    for (text, expected) in [
        (
            r#"{"4.20.1-x86_64": {"ocp": "a"}, "4.20-x86_64": {"ocp": "b", "cnv": "c"}, "4.20": {"ocp": "d"}}"#,
            "a",
        ),
        (r#"{"4.20-x86_64": {"ocp": "b"}, "4.20": {"ocp": "d", "cnv": "c"}}"#, "b"),
        (r#"{"4.20.1": {"ocp": "a"}, "4.20-arm64": {"ocp": "b"}, "4.20": {"ocp": "d"}}"#, "d"),
        (r#"{"4.20.1": {"ocp": "a"}, "4.20.2-x86_64": {"ocp": "b"}}"#, "quay.io/must-gather@sha256:2"),
        (
            r#"{"4.20-x86_64": {"cnv": "c", "ocs": "e"}}"#,
            r#"{"cnv":"c","ocp":"quay.io/must-gather@sha256:2","ocs":"e"}"#,
        ),
    ] {
        assert_eq!(image(&known(text)).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn proxies() {
    let proxy = |http: &str, https: &str, no_proxy: &str| {
        let facts = installing().with_cluster(|own| {
            (own.http_proxy, own.https_proxy, own.no_proxy) =
                (http.to_owned(), https.to_owned(), no_proxy.to_owned());
        });
        argument(&facts, T::Install).get("proxy").cloned()
    };
    assert_eq!(proxy("", "", "a"), None);
    let inside = "127.0.0.1,localhost,.svc,.cluster.local,api-int.test.example.com";
    assert_eq!(proxy("http://p", "", ""), Some(json!({"http_proxy": "http://p", "no_proxy": inside})));
    assert_eq!(proxy("", "http://q", " * "), Some(json!({"https_proxy": "http://q", "no_proxy": "*"})));
    let own = "a, localhost";
    let all = "a,localhost,127.0.0.1,.svc,.cluster.local,api-int.test.example.com";
    assert_eq!(proxy("http://p", "http://q", own).unwrap()["no_proxy"], all);
}

fn installer_args(facts: &Facts) -> Vec<String> {
    let text = argument(facts, T::Install)["installer_args"].as_str().unwrap_or("[]").to_owned();
    serde_json::from_str(&text).unwrap()
}

fn kargs(facts: &Facts) -> String {
    let arguments = installer_args(facts);
    arguments.iter().filter(|argument| *argument != "--append-karg").cloned().collect::<Vec<_>>().join(" ")
}

#[test]
fn installer_arguments_of_disks() {
    let on = |drive_type: DriveType| {
        installing().with_machine(|machine| machine.disks.as_mut().unwrap()[0].drive_type = Some(drive_type))
    };
    let network = "ip=52-54-00-aa-bb-cc:dhcp";
    assert_eq!(kargs(&on(DriveType::Raid)), format!("rd.md=1 rd.auto=1 {network}"));
    assert_eq!(kargs(&on(DriveType::Multipath)), format!("rw rd.multipath=default {network}"));
    let iscsi = |facts: Facts, address: &str| {
        facts.with_machine(|machine| {
            machine.disks.as_mut().unwrap()[0].iscsi = Some(Iscsi { host_ip_address: address.to_owned() });
        })
    };
    assert_eq!(
        kargs(&iscsi(on(DriveType::ISCSI), "10.0.0.5")),
        format!("rd.iscsi.firmware=1 {network} {network}")
    );
    assert_eq!(kinds(&iscsi(on(DriveType::ISCSI), "10.0.9.9")), "", "no NIC has that address");
    let paths = on(DriveType::Multipath).with_machine(|machine| {
        let disks = machine.disks.as_mut().unwrap();
        disks[1].drive_type = Some(DriveType::ISCSI);
        disks[1].holders = "dm-0,sda".to_owned();
        disks[1].iscsi = Some(Iscsi { host_ip_address: "10.0.0.5".to_owned() });
    });
    assert_eq!(kargs(&paths), format!("rw rd.multipath=default rd.iscsi.firmware=1 {network} {network}"));
    let oci = iscsi(on(DriveType::ISCSI), "10.0.0.5").with_cluster(|own| {
        own.platform =
            serde_json::from_value(json!({"type": "external", "external": {"platform_name": "oci"}}))
                .unwrap();
    });
    assert_eq!(kargs(&oci), format!("rd.iscsi.firmware=1 {network}"));
}

#[test]
fn installer_arguments_of_networks() {
    let given = |arguments: &str| {
        installing().with_host(|host| arguments.clone_into(&mut host.record.host.installer_args))
    };
    assert_eq!(
        installer_args(&given(r#"["--append-karg", "ip=10.0.0.9::10.0.0.1"]"#)),
        ["--append-karg", "ip=10.0.0.9::10.0.0.1"],
        "the user's address wins"
    );
    assert_eq!(kargs(&given(r#"["--append-karg", "a"]"#)), "a ip=52-54-00-aa-bb-cc:dhcp");
    let six = installing()
        .with_machine_networks(&["fd00::/64"])
        .with_networks(&["fd02::/112"], &[("fd01::/48", 64)])
        .with_machine(|machine| {
            machine.interfaces.as_mut().unwrap()[0].ipv6_addresses = Some(vec!["fd00::5/64".to_owned()]);
        });
    assert_eq!(kargs(&six), "ip=52-54-00-aa-bb-cc:dhcp6");
    let dual = installing()
        .with_machine_networks(&["10.0.0.0/24", "fd00::/64"])
        .with_networks(&["172.30.0.0/16", "fd02::/112"], &[("10.128.0.0/14", 23), ("fd01::/48", 64)]);
    assert_eq!(kargs(&dual), "ip=52-54-00-aa-bb-cc:dhcp,dhcp6");

    let unknown = installing().with_machine_networks(&[]);
    assert_eq!(kinds(&unknown), "", "day-1 hosts need a network");
    let of_bootstrap =
        installing().with_machine_networks(&[]).with_host(|host| host.record.host.bootstrap = true);
    assert_eq!(kargs(&of_bootstrap), "ip=52-54-00-aa-bb-cc:dhcp");
    assert_eq!(kargs(&day2(installing().with_machine_networks(&[]))), "");

    let fixed = in_infra_env(installing(), &json!({"static_network_config": "[]"}));
    assert_eq!(installer_args(&fixed), ["--copy-network"]);
}

/// The host's infra-env with some members.
fn in_infra_env(mut facts: Facts, members: &Value) -> Facts {
    let id = facts.hosts[0].key().infra_env_id;
    let mut infra_env = json!({
        "kind": "InfraEnv", "id": id, "href": "", "name": "lab", "type": "full-iso",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    });
    for (name, value) in members.as_object().unwrap() {
        infra_env[name] = value.clone();
    }
    let record: InfraEnvRecord = serde_json::from_value(json!({"infra_env": infra_env})).unwrap();
    facts.infra_envs.insert(id, record);
    facts
}

#[test]
fn back_into_the_pool() {
    let reclaimed = |status| {
        let facts = host_in(status, C::Installed).with_host(|host| host.record.host.cluster_id = None);
        let members = json!({"openshift_version": "4.20", "cpu_architecture": "arm64"});
        in_infra_env(facts, &members)
            .with_settings(|policy| policy.service.image_service_base_url = "http://images/".to_owned())
    };
    let id = reclaimed(S::Reclaiming).hosts[0].key().infra_env_id;
    let query = "arch=arm64&version=4.20";
    assert_eq!(
        argument(&reclaimed(S::Reclaiming), T::DownloadBootArtifacts),
        json!({
            "kernel_url": format!("http://images/boot-artifacts/kernel?{query}"),
            "rootfs_url": format!("http://images/boot-artifacts/rootfs?{query}"),
            "initrd_url": format!("http://images/images/{id}/pxe-initrd?{query}"),
            "host_fs_mount_dir": "/host",
        })
    );
    let rebooting = reclaimed(S::ReclaimingRebooting);
    assert_eq!(argument(&rebooting, T::RebootForReclaim), json!({"host_fs_mount_dir": "/host"}));
    let signed = reclaimed(S::Reclaiming).with_settings(|policy| policy.service.authenticated = true);
    assert_eq!(kinds(&signed), "", "URLs that must be signed can't be made here");
}

#[test]
fn installer_arguments_of_mainframes() {
    let booted = |line: &str, product: &str| {
        installing().with_machine(|machine| {
            machine.boot = Some(Boot { command_line: line.to_owned(), ..Boot::default() });
            machine.system_vendor = Some(SystemVendor {
                manufacturer: "ibm/S390".to_owned(),
                product_name: product.to_owned(),
                ..SystemVendor::default()
            });
        })
    };
    let line =
        "rd.neednet=1 quiet rd.znet=qeth,0.0.1 ip=10.0.0.9::10.0.0.1 nameserver=10.0.0.1 rd.dasd=0.0.5235";
    let network = "ip=52-54-00-aa-bb-cc:dhcp";
    assert_eq!(
        kargs(&booted(line, "3931")),
        format!("rd.neednet=1 rd.znet=qeth,0.0.1 rd.dasd=0.0.5235 {network}")
    );
    assert_eq!(kargs(&booted(line, "KVM/Linux")), network);
    let fixed = format!("{line} ai.ip_cfg_override=1");
    assert_eq!(
        kargs(&booted(&fixed, "3931")),
        "rd.neednet=1 rd.znet=qeth,0.0.1 ip=10.0.0.9::10.0.0.1 nameserver=10.0.0.1 rd.dasd=0.0.5235"
    );
}

#[test]
fn leases() {
    let facts = host_in(S::InstallingInProgress, C::Installing);
    assert_eq!(kinds(&facts), "");
    let mut facts = facts.with_cluster(|own| own.vip_dhcp_allocation = Some(true));
    facts.cluster.as_mut().unwrap().api_vip_lease = "lease {}".to_owned();
    assert_eq!(kinds(&facts), "dhcp-lease-allocate");
    let request = argument(&facts, T::DhcpLeaseAllocate);
    assert_eq!(request["interface"], "eth0");
    assert_eq!(request["api_vip_lease"], "lease {}");
    assert!(request.get("ingress_vip_lease").is_none());
    assert_eq!(kinds(&facts.with_machine_networks(&["10.9.0.0/24"])), "", "not in the machine network");
}

#[test]
fn logs_of_what_failed() {
    for status in [S::Error, S::Cancelled] {
        let mut facts = host_in(status, C::Error).with_host(|host| host.record.host.bootstrap = true);
        let mut other = facts.hosts[0].clone();
        other.record.host.id = testing::host_id(2);
        other.record.host.role = Some(HostRole::Master);
        facts.hosts.push(other);
        assert_eq!(kinds(&facts), "logs-gather stop-installation");
        let ids = facts.first();
        assert_eq!(
            argument(&facts, T::LogsGather),
            json!({
                "cluster_id": ids.cluster_id, "infra_env_id": ids.infra_env_id, "host_id": ids.id, "bootstrap": true,
                "installer_gather": true, "master_ips": ["10.0.0.5"],
            })
        );
        assert_eq!(arguments(&facts, T::StopInstallation), Some(vec![]));
        facts = facts.with_host(|host| host.record.host.bootstrap = false);
        assert_eq!(argument(&facts, T::LogsGather)["master_ips"], Value::Null);
        facts = facts.with_host(|host| host.record.host.logs_collected_at = now().into());
        assert_eq!(kinds(&facts), "stop-installation");
    }
}

#[test]
fn tang_servers_of_the_cluster_that_a_host_joins() {
    let luks =
        json!({"storage": {"luks": [{"clevis": {"tang": [{"url": "http://t:7500", "thumbprint": "x"}]}}]}});
    let fetched = json!({"is_success": true, "ignition": luks.to_string()}).to_string();
    let facts = day2(host_in(S::Known, C::AddingHosts)).with_report(ReportKind::ApiVipConnectivity, &fetched);
    let servers = argument(&facts, T::TangConnectivityCheck);
    let servers: Value = serde_json::from_str(servers["tang_servers"].as_str().unwrap()).unwrap();
    assert_eq!(servers, json!([{"url": "http://t:7500", "thumbprint": "x"}]));
}

#[test]
fn hosts_of_large_clusters_take_turns() {
    let mut facts = host_in(S::Known, C::Ready);
    let template = facts.hosts[0].clone();
    for number in 2..=301 {
        let mut other = template.clone();
        other.record.host.id = testing::host_id(number);
        facts.hosts.push(other);
    }
    facts = facts.with_machine(|_| {});
    for host in &mut facts.hosts {
        let mut machine = (**host.inventory.as_ref().unwrap()).clone();
        machine.interfaces.as_mut().unwrap()[0].mac_address = "52:54:00:aa:bb:cc".to_owned();
        host.inventory = Some(machine.into());
    }
    let view = view(&facts, facts.hosts[0].key()).unwrap();
    let asked = |tag: u32| {
        let steps = steps(&view, tag).instructions.unwrap();
        steps.iter().any(|step| step.step_type == Some(T::ConnectivityCheck))
    };
    assert_eq!((0..301).filter(|tag| asked(*tag)).count(), 150);
}
