//! What is done on the disk after the image is written.

use std::io::Write;
use std::time::Duration;

use assisted_wire::host::HostRole;
use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::flows::site;
use crate::machine::{Machine, config};
use crate::service::{Service, Site};

const LONGEST: Duration = Duration::from_secs(60);

/// A single node's config, which holds what the server of machine configs would have given.
fn made() -> String {
    let machine_config =
        json!({"spec": {"osImageURL": "quay.io/os@sha256:1", "kernelArguments": ["a=b"]}}).to_string();
    let url = |bytes: &[u8]| format!("data:;base64,{}", BASE64_STANDARD.encode(bytes));
    let given = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [
        {"path": "/etc/ignition-machine-config-encapsulated.json", "contents": {"source": url(machine_config.as_bytes())}},
    ]}});
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(given.to_string().as_bytes()).unwrap();
    let source = url(&packed.finish().unwrap());
    json!({"ignition": {"version": "3.1.0", "config": {"merge": [{"source": source}]}}}).to_string()
}

/// What a single node asks that gets the release's system; `fault` fails.
async fn overwritten(fault: Option<&str>) -> Vec<String> {
    let single = Site { role: HostRole::Master, bootstrap: true, masters: 1, day_two: false };
    let service = Service::start(single).await;
    let machine = Machine::new();
    std::fs::write(machine.path("made.ign"), made()).unwrap();
    if let Some(fault) = fault {
        machine.fault("fail", fault);
    }
    let mut config = config(&service.url, HostRole::Bootstrap, 1);
    config.skip_mco_reboot = true;
    machine.installer(config, LONGEST).run().await.unwrap();
    assert_eq!(service.reports().last().unwrap(), "Rebooting / ");
    let asked = machine.calls();
    let from = asked.iter().position(|line| line.starts_with("coreos-installer")).unwrap() + 1;
    asked[from..].to_vec()
}

#[tokio::test]
async fn the_releases_own_system_takes_the_place_of_the_image() {
    let expected = [
        "lsblk --bytes --json /dev/sda",
        "uname -m",
        "mount /dev/sda4 /mnt",
        "mount /dev/sda3 /mnt/boot",
        "growpart --free-percent=92 /dev/sda 4",
        "xfs_growfs /mnt",
        "setenforce 0",
        "ostree container image deploy --sysroot /mnt --authfile /root/.docker/config.json --imgref \
         ostree-unverified-registry:quay.io/os@sha256:1 --karg ignition.platform.id=qemu --karg $ignition_firstboot \
         --stateroot rhcos --karg ip=dhcp --karg a=b",
        "fsfreeze --freeze /mnt/boot",
        "umount /mnt/boot",
        "fsfreeze --freeze /mnt",
        "umount /mnt",
    ];
    assert_eq!(overwritten(None).await[..expected.len()], expected);
    // A failure costs a restart and nothing else; what was mounted isn't any more.
    let asked = overwritten(Some("ostree container")).await;
    let tries = asked.iter().filter(|line| line.starts_with("ostree")).count();
    let last = asked.iter().rposition(|line| line.starts_with("ostree")).unwrap();
    assert_eq!(
        (tries, &asked[last + 1..last + 3]),
        (3, &["umount /mnt/boot".to_owned(), "umount /mnt".to_owned()][..])
    );
}

#[tokio::test]
async fn an_appliances_registry_goes_onto_the_disk() {
    let service = Service::start(site(HostRole::Master)).await;
    let machine = Machine::new();
    std::fs::create_dir_all(machine.path("run/media/iso/registry")).unwrap();
    let script = machine.path("usr/lib/dracut/modules.d/40ignition-ostree/ignition-ostree-transposefs.sh");
    std::fs::create_dir_all(script.parent().unwrap()).unwrap();
    std::fs::write(&script, "#!/bin/bash\nautosave_threshold=300\n").unwrap();
    machine.installer(config(&service.url, HostRole::Master, 3), LONGEST).run().await.unwrap();
    let stages = [
        "Starting installation",
        "Installing",
        "Writing image to disk",
        "Copying registry data to disk",
        "Rebooting",
    ];
    assert_eq!(service.stages(), stages);
    assert!(
        service.reports().contains(&"Copying registry data to disk / 100%".to_owned()),
        "{:?}",
        service.reports()
    );
    let asked = machine.calls();
    let begin = asked.iter().position(|line| line.starts_with("du ")).unwrap();
    let target = "/mnt/root/ostree/deploy/rhcos/var/lib/iri-registry";
    let expected = [
        "du -sb /mnt/agentdata".to_owned(),
        "lsblk --bytes --json /dev/sda".to_owned(),
        "mkdir -p /mnt/root".to_owned(),
        "mount /dev/sda4 /mnt/root".to_owned(),
        "fsfreeze --unfreeze /mnt/root".to_owned(),
        "umount /mnt/root".to_owned(),
        "growpart --free-percent=42 /dev/sda 4".to_owned(),
        "transposefs.sh autosave-xfs".to_owned(),
        "transposefs.sh restore".to_owned(),
        "transposefs.sh cleanup".to_owned(),
        "mount /dev/sda4 /mnt/root".to_owned(),
        "xfs_growfs /mnt/root".to_owned(),
        format!("mkdir -p {target}"),
        format!("rsync -ah --info=progress2 /mnt/agentdata/ {target}/"),
        "fsfreeze --freeze /mnt/root".to_owned(),
        "umount /mnt/root".to_owned(),
    ];
    assert_eq!(asked[begin..begin + expected.len()], expected);
    let script = std::fs::read_to_string(machine.path("opt/install-dir/transposefs.sh")).unwrap();
    assert_eq!(script, "#!/bin/bash\nautosave_threshold=0\n");

    // Without it the host can't become what it should: the installation ends.
    let service = Service::start(site(HostRole::Master)).await;
    std::fs::remove_dir_all(machine.path("opt")).unwrap();
    machine.fault("garbage", "du ");
    let error =
        machine.installer(config(&service.url, HostRole::Master, 3), LONGEST).run().await.unwrap_err();
    assert!(error.to_string().starts_with("can't tell how much registry data there is"), "{error}");
    assert_eq!(service.reports().last().unwrap(), &format!("Failed / {error}"));
}
