//! The way of each role.

use std::time::Duration;

use assisted_installer::{Config, DryRun};
use assisted_wire::host::HostRole;

use crate::machine::{Machine, config};
use crate::service::{Service, Site};

const LONGEST: Duration = Duration::from_secs(60);

pub(crate) fn site(role: HostRole) -> Site {
    Site { role, bootstrap: false, masters: 3, day_two: false }
}

#[tokio::test]
async fn a_master_writes_its_disk_and_restarts() {
    let service = Service::start(site(HostRole::Master)).await;
    let machine = Machine::new();
    machine.installer(config(&service.url, HostRole::Master, 3), LONGEST).run().await.unwrap();
    // How many percentages are told depends on how fast the service takes them.
    let reports: Vec<_> = service.reports().into_iter().filter(|report| !report.ends_with("12%")).collect();
    assert_eq!(
        reports,
        [
            "Starting installation / master",
            "Installing / master",
            "Writing image to disk / ",
            "Writing image to disk / 100%",
            "Rebooting / "
        ]
    );
    let asked = machine.calls();
    let position = |begin: &str| {
        asked.iter().position(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}: {asked:#?}"))
    };
    let ignition = "/opt/install-dir/master-33333333-3c08-4d97-8ec7-ea0ad7d4cad0.ign";
    let write = format!("coreos-installer install --insecure -i {ignition} --append-karg ip=dhcp /dev/sda");
    let order = [
        "vgs ",
        "mdadm ",
        "wipefs --all --force /dev/sda",
        &write,
        "mount /dev/sda2 /mnt",
        "umount /mnt",
        r"efibootmgr -v -d /dev/sda -p 2 -c -L Red Hat Enterprise Linux -l \EFI\redhat\shimx64.efi",
        "efibootmgr -v --delete-bootnum --bootnum 0007",
        "systemd-run --on-active=8s --timer-property=AccuracySec=100ms -- shutdown -r now 'Installation completed, server is going to reboot.'",
    ];
    let places: Vec<_> = order.iter().map(|begin| position(begin)).collect();
    assert!(places.is_sorted(), "{places:?} {asked:#?}");
    assert_eq!(std::fs::read_to_string(machine.path("dev/sda")).unwrap(), "image\n");
    assert_eq!(std::fs::read(machine.path("dev/sdb")).unwrap(), [0; 512]);
    assert!(service.was_asked("POST clusters"), "logs");
    // An installation that is done isn't begun again: the machine may restart at any moment.
    std::fs::write(machine.path("asked"), "").unwrap();
    machine.installer(config(&service.url, HostRole::Master, 3), LONGEST).run().await.unwrap();
    let again = machine.calls();
    assert!(again.len() == 2 && again[1].starts_with("systemd-run --on-active=8s"), "{again:?}");
}

#[tokio::test]
async fn a_worker_waits_for_a_control_plane_only_where_there_is_none() {
    let service = Service::start(site(HostRole::Worker)).await;
    let machine = Machine::new();
    machine.installer(config(&service.url, HostRole::Worker, 0), LONGEST).run().await.unwrap();
    let stages = [
        "Starting installation",
        "Installing",
        "Writing image to disk",
        "Waiting for control plane",
        "Rebooting",
    ];
    assert_eq!(service.stages(), stages);
    // A master and an arbiter are enough.
    assert!(service.was_asked("hosts?role=master") && service.was_asked("hosts?role=arbiter"));

    let later = Service::start(Site { day_two: true, ..site(HostRole::Worker) }).await;
    let machine = Machine::new();
    machine.installer(config(&later.url, HostRole::Worker, 0), LONGEST).run().await.unwrap();
    assert_eq!(later.stages(), stages);
    assert!(!later.was_asked("hosts?role="), "it waits for nobody");
}

#[tokio::test]
async fn an_arbiter_goes_the_way_of_a_master_but_takes_no_registry() {
    let service = Service::start(site(HostRole::Arbiter)).await;
    let machine = Machine::new();
    std::fs::create_dir_all(machine.path("run/media/iso/registry")).unwrap();
    machine.installer(config(&service.url, HostRole::Arbiter, 2), LONGEST).run().await.unwrap();
    assert_eq!(
        service.stages(),
        ["Starting installation", "Installing", "Writing image to disk", "Rebooting"]
    );
    assert_eq!(service.reports()[..2], ["Starting installation / arbiter", "Installing / arbiter"]);
    let own = "-i /opt/install-dir/arbiter-33333333-3c08-4d97-8ec7-ea0ad7d4cad0.ign ";
    let asked = machine.calls();
    assert!(
        asked.iter().any(|line| line.starts_with("coreos-installer") && line.contains(own)),
        "{asked:#?}"
    );
    assert!(!asked.iter().any(|line| line.starts_with("rsync")), "{asked:#?}");
    assert!(!service.was_asked("hosts?role="), "it waits for nobody");
}

#[tokio::test]
async fn a_control_plane_host_that_joins_a_single_node_bootstraps_nothing() {
    let service = Service::start(Site { day_two: true, masters: 1, ..site(HostRole::Master) }).await;
    let machine = Machine::new();
    // What hosts that join later are not told; the cluster's record still says that it has one such host.
    let (mco_image, openshift_version) = (String::new(), "4.4".to_owned());
    let config = Config { mco_image, openshift_version, ..config(&service.url, HostRole::Master, 1) };
    machine.installer(config, LONGEST).run().await.unwrap();
    assert_eq!(
        service.stages(),
        ["Starting installation", "Installing", "Writing image to disk", "Rebooting"]
    );
    let asked = machine.calls();
    assert!(
        !asked.iter().any(|line| line.starts_with("podman") || line.starts_with("systemctl start")),
        "{asked:#?}"
    );
    assert!(asked.last().unwrap().starts_with("systemd-run --on-active=8s"), "{asked:#?}");
}

#[tokio::test]
async fn a_single_node_bootstraps_itself() {
    let site = Site { role: HostRole::Master, bootstrap: true, masters: 1, day_two: false };
    let service = Service::start(site).await;
    let machine = Machine::new();
    machine.installer(config(&service.url, HostRole::Bootstrap, 1), LONGEST).run().await.unwrap();
    assert_eq!(
        service.stages(),
        ["Starting installation", "Installing", "Waiting for bootkube", "Writing image to disk", "Rebooting"]
    );
    assert_eq!(service.reports()[..2], ["Starting installation / bootstrap", "Installing / bootstrap"]);
    let asked = machine.calls();
    let has = |begin: &str| asked.iter().any(|line| line.starts_with(begin));
    assert!(!has("ssh-keygen") && !has("systemctl restart NetworkManager"), "{asked:#?}");
    assert!(has("coreos-installer install --insecure -i /opt/install-dir/single-node.ign"), "{asked:#?}");
    assert!(has("systemd-run --on-active=8s"), "{asked:#?}");
    let podman = asked.iter().find(|line| line.starts_with("podman run --net host")).unwrap();
    assert_eq!(
        podman,
        "podman run --net host --pid=host --volume /:/rootfs:rw --volume /usr/bin/rpm-ostree:/usr/bin/rpm-ostree --privileged \
         --entrypoint /usr/bin/machine-config-daemon quay.io/mco:1 start --node-name localhost --root-mount /rootfs \
         --once-from /opt/install-dir/bootstrap.ign --skip-reboot"
    );
    let secret = std::fs::read_to_string(machine.path("root/.docker/config.json")).unwrap();
    assert_eq!(secret, r#"{"auths":{}}"#);
    let job = std::fs::read_to_string(
        machine.path("opt/openshift/manifests/assisted-installer-controller-pod.yaml"),
    );
    let job = job.unwrap();
    for told in ["node.kubernetes.io/not-ready", "/tmp/bootstrap-secrets", "image: quay.io/controller:1"] {
        assert!(job.contains(told), "{told}: {job}");
    }
    let secret = machine.path("opt/openshift/manifests/assisted-installer-controller-secret.yaml");
    assert!(std::fs::read_to_string(secret).unwrap().contains("pull-secret-token: token"));
}

#[tokio::test]
async fn a_system_is_laid_beside_the_one_that_runs() {
    let service = Service::start(site(HostRole::Master)).await;
    let machine = Machine::new();
    let mut config = config(&service.url, HostRole::Master, 3);
    config.coreos_image = "quay.io/os:1".to_owned();
    config.skip_mco_reboot = true;
    config.installer_args = r#"["--append-karg","a=1","--delete-karg","b","-n"]"#.to_owned();
    // The first attempt fails in the middle; the second one can do all of it again.
    machine.fault("fail", "rsync");
    let error = machine.installer(config.clone(), LONGEST).run().await.unwrap_err().to_string();
    assert!(error.contains("rsync"), "{error}");
    std::fs::remove_file(machine.path("fault")).unwrap();
    std::fs::create_dir_all(machine.path("ostree/deploy/install")).unwrap();
    std::fs::write(machine.path("asked"), "").unwrap();
    machine.installer(config, LONGEST).run().await.unwrap();
    let asked = machine.calls();
    let has = |begin: &str| asked.iter().any(|line| line.starts_with(begin));
    assert!(!has("wipefs") && !has("efibootmgr") && !has("coreos-installer"), "{asked:#?}");
    assert!(!has("ostree admin stateroot-init"), "it is there: {asked:#?}");
    assert!(has("rpm-ostree kargs --os install --append a=1 --delete-if-present b"), "{asked:#?}");
    assert_eq!(std::fs::read(machine.path("dev/sdb")).unwrap(), b"other");
}

#[tokio::test]
async fn arguments_that_cannot_be_read_are_reported() {
    let service = Service::start(site(HostRole::Master)).await;
    let machine = Machine::new();
    let mut config = config(&service.url, HostRole::Master, 3);
    config.installer_args = "{".to_owned();
    machine.installer(config, LONGEST).run().await.unwrap_err();
    let reports = service.reports();
    assert!(reports[0].starts_with("Failed / --installer-args is no JSON array"), "{reports:?}");
    assert!(machine.calls().is_empty());
}

#[tokio::test]
async fn metal_managers_restart_machines_themselves() {
    let service = Service::start(site(HostRole::Master)).await;
    let machine = Machine::new();
    std::fs::remove_file(machine.path("tools/systemctl")).unwrap();
    let text = "echo \"systemctl $*\" >> DIR/asked; case \"$1\" in list-units) echo 'ironic-agent.service loaded' ;; esac";
    let text = text.replace("DIR", &machine.root.path().display().to_string());
    crate::script::script(&machine.path("tools/systemctl"), &text);
    machine.installer(config(&service.url, HostRole::Master, 3), LONGEST).run().await.unwrap();
    assert_eq!(service.reports().last().unwrap(), "Rebooting / Ironic will reboot the node shortly");
    let asked = machine.calls();
    assert!(asked.contains(&"systemctl stop agent.service".to_owned()), "{asked:#?}");
    assert!(!asked.iter().any(|line| line.starts_with("systemd-run")), "{asked:#?}");
}

#[tokio::test]
async fn a_pretended_bootstrap_sees_pretended_nodes() {
    let site = Site { role: HostRole::Master, bootstrap: true, masters: 3, day_two: false };
    let service = Service::start(site).await;
    let machine = Machine::new();
    let hosts = ["node-1", "other"].map(|name| {
        let marker = machine.path(&format!("{name}-rebooted"));
        std::fs::write(&marker, "").unwrap();
        let ip = if name == "other" { "10.0.0.12" } else { "192.0.2.1" };
        serde_json::json!({"hostname": name, "ip": ip, "rebootMarkerPath": marker})
    });
    std::fs::write(machine.path("hosts.json"), serde_json::Value::from(hosts.to_vec()).to_string()).unwrap();
    let mut config = config(&service.url, HostRole::Bootstrap, 3);
    let (reboot_marker, cluster_hosts) = ("/own-rebooted".into(), machine.path("hosts.json"));
    config.dry_run = Some(DryRun { reboot_marker, cluster_hosts });
    machine.installer(config, LONGEST).run().await.unwrap();
    assert_eq!(service.stages().last().map(String::as_str), Some("Rebooting"));
    let peers = service.told.lock().unwrap().peers.clone();
    assert!(peers.contains(&"1 Joined".to_owned()) && peers.contains(&"2 Joined".to_owned()), "{peers:?}");
    assert!(machine.path("own-rebooted").exists());
    let touched = ["wipefs", "coreos-installer", "efibootmgr", "systemd-run", "podman", "systemctl start"];
    let asked = machine.calls();
    assert!(!asked.iter().any(|line| touched.iter().any(|begin| line.starts_with(begin))), "{asked:#?}");
    assert_eq!(std::fs::read(machine.path("dev/sdb")).unwrap(), b"other");
}
