//! The first start of nodes onto whose disks their pool's image was not laid, whether somebody asked for it or a disk did not take it: the
//! release's own first boot switches those that have `rpm-ostree`, a unit of ours all others (ocl-day1 §B6.1).

use assisted_ignition::install::manifest::Manifest;
use assisted_ocl::paths::REGISTRY_UNIT;
use serde_json::json;

use super::registry::{file, machine_config};

const UNIT: &str = "ocl-switch.service";
const PROGRAM: &str = "/usr/local/bin/ocl-switch";
const SCRIPT: &str = include_str!("scripts/ocl-switch");
/// How long it may take, in minutes: longer than the script tries.
const LIMIT: u32 = 95;
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
         ExecStart={PROGRAM}\nTimeoutStartSec={LIMIT}min\n\n[Install]\nWantedBy=multi-user.target\n"
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{Command, Output};

    use super::*;

    /// Programs that note what they are asked, in place of those that would change and restart this computer.
    /// What is slept, and what an attempt takes that fails, passes at once.
    const PROGRAMS: &str = "note() { echo \"$*\" >>\"$NOTES\"; }\n\
        pass() { read -r since _ </proc/uptime; echo \"$((${since%.*} + $1)).00 0.00\" >/proc/uptime; }\n\
        ostree() { note ostree \"$@\"; [ -z \"${REFUSAL:-}\" ] || { pass 600; echo \"$REFUSAL\" >&2; return 1; }; }\n\
        timeout() { shift 2; \"$@\"; }\nsystemctl() { note systemctl \"$@\"; }\n\
        sleep() { note sleep \"$@\"; [ \"$1\" = infinity ] || pass \"$1\"; }\n";
    const DEPLOYMENT: &str = "/sysroot/ostree/deploy/rhcos/deploy/0.0";

    /// A node that is to be in the image 11, and has started in one without a name.
    struct Node(tempfile::TempDir);

    impl Node {
        fn new() -> Self {
            let node = Self(tempfile::tempdir().unwrap());
            for folder in ["/etc", "/proc", "/var/lib/kubelet", DEPLOYMENT] {
                std::fs::create_dir_all(node.at(folder)).unwrap();
            }
            node.write("/proc/cmdline", "a=b ostree=/ostree/deploy/rhcos/deploy/0.0 quiet\n");
            node.write("/proc/uptime", "81.52 160.10\n");
            node.write(TOLD, r#"{"spec":{"osImageURL":"r/os@sha256:11","kernelArguments":[]}}"#);
            node.origin("[origin]\n");
            node
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path.trim_start_matches('/'))
        }

        fn write(&self, path: &str, text: &str) {
            std::fs::write(self.at(path), text).unwrap();
        }

        fn origin(&self, text: &str) {
            self.write(&format!("{DEPLOYMENT}.origin"), text);
        }

        /// Starts the unit's program; `refusal`: why no attempt succeeds.
        fn start(&self, refusal: &str) -> Output {
            let mut script = format!("{PROGRAMS}{SCRIPT}");
            for path in [TOLD, "/var/lib/", "/proc/", "/sysroot"] {
                script = script.replace(path, &self.at(path).display().to_string());
            }
            Command::new("bash")
                .args(["-c", &script])
                .env("NOTES", self.at("notes"))
                .env("REFUSAL", refusal)
                .output()
                .unwrap()
        }

        /// What was asked of the programs.
        fn noted(&self) -> String {
            std::fs::read_to_string(self.at("notes")).unwrap()
        }
    }

    #[test]
    fn a_node_switches_until_it_is_in_its_image_and_not_for_ever() {
        let node = Node::new();
        let (start, noted) = (|| node.start(""), || node.noted());
        let (at, origin) = (|path: &str| node.at(path), |text: &str| node.origin(text));

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
            node.write(TOLD, r#"{"spec":{"osImageURL":"r/os@sha256:11"}}"#);
            origin(&format!("[origin]\ncontainer-image-reference=ostree-unverified-{form}r/os@sha256:11\n"));
            let done = start();
            assert!(done.status.success(), "{done:?}");
            assert!(!at(TOLD).exists(), "{form}");
        }
        assert_eq!(noted().matches("systemctl reboot").count(), 3);
    }

    #[test]
    fn attempts_that_fail_are_told_and_end() {
        let node = Node::new();
        let failed = node.start("no route to the registry");
        assert_eq!(failed.status.code(), Some(1), "{failed:?}");
        let told = String::from_utf8(failed.stderr).unwrap();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "no route to the registry",
                "attempt 1 to switch to r/os@sha256:11 has failed, see above; the next follows in 10 seconds, 50 minutes are left",
                "no route to the registry",
                "attempt 2 to switch to r/os@sha256:11 has failed, see above; the next follows in 10 seconds, 39 minutes are left",
            ]
        );
        let last = lines.last().unwrap();
        for part in [
            "can't switch to r/os@sha256:11: 6 attempts have failed in 60 minutes",
            "`journalctl -u ocl-switch`",
            "`systemctl restart ocl-switch`",
        ] {
            assert!(last.contains(part), "{last}");
        }
        assert_eq!(told.matches("no route").count(), 6, "{told}");
        assert_eq!(node.noted().matches("sleep 10\n").count(), 5);
        assert!(!node.noted().contains("reboot") && node.at(TOLD).is_file());
        // It has not been in another image than it should have been, so it may try as often as somebody asks.
        for _ in 0..3 {
            assert_eq!(node.start("no route to the registry").status.code(), Some(1));
        }
        assert!(node.start("").status.success());
        assert!(node.noted().ends_with("systemctl reboot\nsleep infinity\n"), "{}", node.noted());
    }

    #[test]
    fn the_unit_may_take_longer_than_its_program_tries() {
        let of = |name: &str| -> u32 {
            let line = SCRIPT.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.unwrap().parse().unwrap()
        };
        assert!(of("minutes") + of("longest") < LIMIT);
        assert!(unit().contains(&format!("TimeoutStartSec={LIMIT}min\n")));
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
