//! The first start of nodes onto whose disks their pool's image was not laid, whether somebody asked for it or a disk did not take it: the
//! release's own first boot switches those that have `rpm-ostree`, a unit of ours all others (ocl-day1 §B6.1).

use assisted_ignition::install::manifest::Manifest;
use assisted_ocl::paths::REGISTRY_UNIT;
use serde_json::json;

use super::registry::{file, machine_config};

const UNIT: &str = "ocl-switch.service";
const PROGRAM: &str = "/usr/local/bin/ocl-switch";
const SCRIPT: &str = include_str!("scripts/ocl-switch");
/// What a node is told of its configuration before it is one.
const TOLD: &str = "/etc/ignition-machine-config-encapsulated.json";

/// The MachineConfig that brings it to the nodes of a pool.
pub(super) fn manifest(role: &str) -> Manifest {
    let units = [json!({"name": UNIT, "enabled": true, "contents": unit()})];
    machine_config(&format!("98-ocl-switch-{role}"), role, &[file(PROGRAM, 0o755, SCRIPT)], &units)
}

fn unit() -> String {
    format!(
        "[Unit]\nDescription=Has this node start in the image of its pool\nWants=network-online.target\n\
         After=network-online.target ignition-firstboot-complete.service {REGISTRY_UNIT}\n\
         Before=kubelet-dependencies.target crio.service kubelet.service\nConditionPathExists=/run/ostree-booted\n\
         ConditionPathExists={TOLD}\nConditionPathExists=!/usr/bin/rpm-ostree\n\n[Service]\nType=oneshot\n\
         ExecStart={PROGRAM}\nTimeoutStartSec=infinity\n\n[Install]\nWantedBy=multi-user.target\n"
    )
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    use super::*;

    /// Programs that note what they are asked, in place of those that would change and restart this computer.
    const PROGRAMS: &str = "note() { echo \"$*\" >>\"$NOTES\"; }\nostree() { note ostree \"$@\"; }\n\
                            systemctl() { note systemctl \"$@\"; }\nsleep() { note sleep \"$@\"; }\n";
    const DEPLOYMENT: &str = "/sysroot/ostree/deploy/rhcos/deploy/0.0";

    #[test]
    fn a_node_switches_until_it_is_in_its_image_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path.trim_start_matches('/'));
        for folder in ["/etc", "/proc", "/var/lib/kubelet", DEPLOYMENT] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let origin = |text: &str| std::fs::write(at(&format!("{DEPLOYMENT}.origin")), text).unwrap();
        std::fs::write(at("/proc/cmdline"), "a=b ostree=/ostree/deploy/rhcos/deploy/0.0 quiet\n").unwrap();
        std::fs::write(at(TOLD), r#"{"spec":{"osImageURL":"r/os@sha256:11","kernelArguments":[]}}"#).unwrap();
        origin("[origin]\n");
        let mut script = format!("{PROGRAMS}{SCRIPT}");
        for path in [TOLD, "/var/lib/", "/proc/cmdline", "/sysroot"] {
            script = script.replace(path, &at(path).display().to_string());
        }
        let notes = dir.path().join("notes");
        let start = || -> Output {
            Command::new("bash").args(["-c", &script]).env("NOTES", &notes).output().unwrap()
        };
        let noted = || std::fs::read_to_string(&notes).unwrap();

        assert!(start().status.success());
        let auth = at("/var/lib/kubelet/config.json");
        assert_eq!(
            noted(),
            format!(
                "ostree container image deploy --sysroot / --stateroot rhcos --authfile {} --imgref \
                 ostree-unverified-registry:r/os@sha256:11\nsystemctl reboot\nsleep infinity\n",
                auth.display()
            )
        );
        // It is in another one all the same, as often as it starts.
        origin("[origin]\ncontainer-image-reference=ostree-unverified-registry:r/os@sha256:22\n");
        assert!(start().status.success() && start().status.success());
        let last = start();
        assert!(!last.status.success());
        assert!(String::from_utf8_lossy(&last.stderr).contains("were in r/os@sha256:22"), "{last:?}");
        assert_eq!(noted().matches("systemctl reboot").count(), 3);
        assert!(at(TOLD).is_file());
        // It is in its image.
        for form in ["registry:", "image:docker://"] {
            std::fs::write(at(TOLD), r#"{"spec":{"osImageURL":"r/os@sha256:11"}}"#).unwrap();
            origin(&format!("[origin]\ncontainer-image-reference=ostree-unverified-{form}r/os@sha256:11\n"));
            let done = start();
            assert!(done.status.success(), "{done:?}");
            assert!(!at(TOLD).exists(), "{form}");
        }
        assert_eq!(noted().matches("systemctl reboot").count(), 3);
    }

    #[test]
    fn the_release_has_a_first_boot_of_its_own() {
        let unit = unit();
        for line in [
            "ConditionPathExists=!/usr/bin/rpm-ostree",
            "After=network-online.target ignition-firstboot-complete.service ocl-registry.service",
        ] {
            assert!(unit.lines().any(|own| own == line), "{unit}");
        }
        let object: serde_json::Value = serde_yaml_ng::from_str(&manifest("master").text).unwrap();
        let config = serde_json::from_value(object["spec"]["config"].clone()).unwrap();
        assisted_ignition_spec::validate::validate(&config).unwrap();
    }
}
