//! The embedded registry: its settings, on the bootstrap host and on control plane nodes; its units there; who trusts it
//! (ocl-day1 §B4.2, §B5.2).

use assisted_ignition::install::manifest::Manifest;
use assisted_ignition_spec::resource::Resource;
use assisted_ocl::paths::{NODE_DATA, NODE_REGISTRY, REGISTRY_UNIT, SYNC_PROGRAM, SYNC_TIMER, SYNC_UNIT};
use serde_json::{Value, json};

use super::credentials::Credentials;

/// Where certificates of authorities are that a system trusts.
const ANCHOR: &str = "/etc/pki/ca-trust/source/anchors/ocl-registry-ca.crt";
/// Where the registry's images are found.
pub(super) const REGISTRIES: &str = "/etc/containers/registries.conf.d/50-ocl-registry.conf";
const START: &str = "/usr/local/bin/ocl-registry-start";

/// The registry of one cluster.
pub(super) struct Embedded<'a> {
    /// The name that all nodes know it by.
    pub name: &'a str,
    pub port: u16,
    /// Whether the cluster's machines have IPv6 addresses.
    pub ipv6: bool,
    /// The release's image of a registry.
    pub image: &'a str,
    pub credentials: &'a Credentials,
    /// Addresses of the control plane.
    pub masters: &'a [String],
}

impl Embedded<'_> {
    /// Its names with their port.
    pub(super) fn hosts(&self) -> [String; 2] {
        [format!("{}:{}", self.name, self.port), format!("localhost:{}", self.port)]
    }

    /// What all may read who have the password, and nobody may write.
    pub(super) fn reader(&self) -> String {
        let address =
            if self.ipv6 { format!("'[::]:{}'", self.port) } else { format!("0.0.0.0:{}", self.port) };
        format!(
            "version: 0.1\nlog:\n  level: info\nstorage:\n  filesystem:\n    rootdirectory: /var/lib/registry\n  maintenance:\n    \
             readonly:\n      enabled: true\nauth:\n  htpasswd:\n    realm: ocl\n    path: /etc/registry/htpasswd\nhttp:\n  addr: \
             {address}\n  tls:\n    certificate: /etc/registry/tls.crt\n    key: /etc/registry/tls.key\n"
        )
    }

    /// What the host itself pushes to.
    pub(super) fn writer(&self) -> String {
        format!(
            "version: 0.1\nlog:\n  level: info\nstorage:\n  filesystem:\n    rootdirectory: /var/lib/registry\nhttp:\n  addr: \
             127.0.0.1:{}\n",
            self.port + 1
        )
    }

    /// Where images are looked for: on hosts that have the registry themselves there first, since the name is not known early on.
    pub(super) fn registries(&self, local: bool) -> String {
        let [name, localhost] = self.hosts();
        let mirror =
            format!("[[registry.mirror]]\nlocation = \"{localhost}\"\npull-from-mirror = \"digest-only\"\n");
        format!("[[registry]]\nlocation = \"{name}\"\n{}", if local { mirror.as_str() } else { "" })
    }

    /// The files by which a host trusts the registry and finds it.
    pub(super) fn trust(&self, local: bool) -> Vec<(String, String)> {
        let certificates = self.hosts().map(|host| {
            (format!("/etc/containers/certs.d/{host}/ca.crt"), self.credentials.authority.clone())
        });
        let mut files = vec![(ANCHOR.to_owned(), self.credentials.authority.clone())];
        files.extend(certificates);
        files.push((REGISTRIES.to_owned(), self.registries(local)));
        files
    }

    /// The MachineConfigs of the registry.
    pub(super) fn manifests(&self, has_arbiters: bool) -> Vec<Manifest> {
        let mut all = vec![self.node_registry(), self.node_trust("master"), self.node_trust("worker")];
        all.extend(has_arbiters.then(|| self.node_trust("arbiter")));
        all
    }

    fn node_trust(&self, role: &str) -> Manifest {
        let files = self.trust(role == "master").into_iter().map(|(path, text)| file(&path, 0o644, &text));
        machine_config(&format!("98-ocl-trust-{role}"), role, &files.collect::<Vec<_>>(), &[])
    }

    fn node_registry(&self) -> Manifest {
        let credentials = self.credentials;
        let peers: String = std::iter::once(self.name)
            .chain(self.masters.iter().map(String::as_str))
            .map(|peer| format!("{peer}\n"))
            .collect();
        let settings = format!("IMAGE={}\nPORT={}\nNAME={}\n", self.image, self.port, self.name);
        let files = [
            file(&format!("{NODE_REGISTRY}/tls.crt"), 0o644, &credentials.certificate),
            file(&format!("{NODE_REGISTRY}/tls.key"), 0o600, credentials.key.expose()),
            file(&format!("{NODE_REGISTRY}/htpasswd"), 0o600, &credentials.htpasswd),
            file(&format!("{NODE_REGISTRY}/config.yaml"), 0o644, &self.reader()),
            file(&format!("{NODE_REGISTRY}/config-rw.yaml"), 0o644, &self.writer()),
            file(&format!("{NODE_REGISTRY}/settings"), 0o644, &settings),
            file(&format!("{NODE_REGISTRY}/peers"), 0o644, &peers),
            file(START, 0o755, include_str!("scripts/ocl-registry-start")),
            file(SYNC_PROGRAM, 0o755, include_str!("scripts/ocl-registry-sync")),
        ];
        let units = [
            json!({"name": REGISTRY_UNIT, "enabled": true, "contents": registry_unit()}),
            json!({"name": SYNC_UNIT, "enabled": true, "contents": sync_unit()}),
            json!({"name": SYNC_TIMER, "enabled": true, "contents": sync_timer()}),
        ];
        machine_config("98-ocl-registry-master", "master", &files, &units)
    }
}

fn registry_unit() -> String {
    format!(
        "[Unit]\nDescription=Registry of this cluster's node images\nWants=network-online.target\nAfter=network-online.target\n\
         Before=machine-config-daemon-firstboot.service\nConditionPathIsDirectory={NODE_DATA}\n\n[Service]\n\
         EnvironmentFile={NODE_REGISTRY}/settings\nExecStartPre={START} image\nExecStart={START} run\n\
         ExecStop=/usr/bin/podman stop --ignore --time 10 ocl-registry\nTimeoutStartSec=15min\nRestart=on-failure\nRestartSec=10\n\n\
         [Install]\nWantedBy=multi-user.target\n"
    )
}

fn sync_unit() -> String {
    format!(
        "[Unit]\nDescription=Fills the registry of this cluster's node images\nWants=network-online.target\n\
         After=network-online.target\nBefore={REGISTRY_UNIT}\nConditionPathExists=|{NODE_REGISTRY}/wanted.json\n\
         ConditionPathExists=|{NODE_DATA}/wanted.json\n\n[Service]\n\
         Type=oneshot\nEnvironmentFile={NODE_REGISTRY}/settings\nExecStart={SYNC_PROGRAM}\nTimeoutStartSec=30min\n\n[Install]\n\
         WantedBy=multi-user.target\n"
    )
}

fn sync_timer() -> String {
    format!(
        "[Unit]\nDescription=Tries again to fill the registry of this cluster's node images\n\n[Timer]\nOnBootSec=2min\n\
         OnUnitInactiveSec=2min\nUnit={SYNC_UNIT}\n\n[Install]\nWantedBy=timers.target\n"
    )
}

/// A file of a MachineConfig.
pub(super) fn file(path: &str, mode: u32, text: &str) -> Value {
    json!({"path": path, "mode": mode, "overwrite": true, "contents": {"source": Resource::bytes(text).source}})
}

/// A MachineConfig of a role.
pub(super) fn machine_config(name: &str, role: &str, files: &[Value], units: &[Value]) -> Manifest {
    let mut config = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": files}});
    if !units.is_empty() {
        config["systemd"] = json!({"units": units});
    }
    let object = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"labels": {"machineconfiguration.openshift.io/role": role}, "name": name},
        "spec": {"config": config},
    });
    Manifest::new(format!("{name}.yaml"), &object)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    const SYNC: &str = include_str!("scripts/ocl-registry-sync");
    /// Programs that note what they are asked. One of the peers has the image, and tells it whoever it may be that asks.
    const PROGRAMS: &str = r#"note() { echo "$*" >>"$NOTES"; }
podman() { note podman "$@"; }
systemctl() { note systemctl "$@"; }
timeout() { shift; "$@"; }
skopeo() {
    local file="" source=""
    while [ $# -gt 0 ]; do
        case "$1" in
            --src-authfile) file=$2 ;;
            docker://*) source=${source:-${1#docker://}} ;;
        esac
        shift
    done
    local host=${source%%/*} repository=${source#*/}
    note skopeo "$source" "$(jq -c . "$file")"
    [ "$host" = "$ANSWERS" ] || return 1
    mkdir -p "$DATA/docker/registry/v2/repositories/${repository%@*}/_manifests/revisions/sha256/${source##*:}"
    : >"$DATA/docker/registry/v2/repositories/${repository%@*}/_manifests/revisions/sha256/${source##*:}/link"
}
"#;

    /// A control plane node whose registry lacks an image.
    struct Node(tempfile::TempDir);

    impl Node {
        fn new() -> Self {
            let node = Self(tempfile::tempdir().unwrap());
            for (path, text) in [
                ("etc/ocl-registry/wanted.json", r#"{"repositories":{"ocl/os-image-worker":"sha256:11"}}"#),
                ("etc/ocl-registry/peers", "api-int.c.d\n192.168.10.11\nfd00::12\n"),
                (
                    "var/lib/kubelet/config.json",
                    r#"{"auths":{"api-int.c.d:22626":{"auth":"b2NsOng="},"quay.io":{"auth":"other"}}}"#,
                ),
            ] {
                let path = node.0.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            std::fs::create_dir(node.0.path().join("tmp")).unwrap();
            node
        }

        /// Starts the unit's program; `answers`: who has the image. What it asked for besides.
        fn start(&self, answers: &str) -> (Output, Vec<String>) {
            let (root, notes) = (self.0.path(), self.0.path().join("notes"));
            let mut script = SYNC.replace("/usr/local/bin/ocl-registry-start", "note start");
            for path in ["/var/lib/", "/etc/"] {
                script = script.replace(path, &format!("{}{path}", root.display()));
            }
            std::fs::write(&notes, "").unwrap();
            let done = Command::new("bash")
                .args(["-c", &format!("{PROGRAMS}{script}")])
                .envs([("IMAGE", "r/registry@sha256:00"), ("PORT", "22626"), ("NAME", "api-int.c.d")])
                .env("NOTES", &notes)
                .env("TMPDIR", root.join("tmp"))
                .env("DATA", root.join("var/lib/ocl-registry"))
                .env("ANSWERS", answers)
                .output()
                .unwrap();
            let noted = std::fs::read_to_string(notes).unwrap();
            (done, noted.lines().map(str::to_owned).collect())
        }
    }

    #[test]
    fn a_registry_is_filled_from_whichever_peer_has_the_image() {
        let node = Node::new();
        let asked = |noted: &[String]| -> Vec<String> {
            noted.iter().filter_map(|line| line.strip_prefix("skopeo ")).map(str::to_owned).collect()
        };
        // The name may be that of this very node, so that the others are asked by their addresses.
        // Each gets what opens the registry, and nothing else.
        let peers = ["api-int.c.d:22626", "192.168.10.11:22626", "[fd00::12]:22626"].map(|peer| {
            format!(r#"{peer}/ocl/os-image-worker@sha256:11 {{"auths":{{"{peer}":{{"auth":"b2NsOng="}}}}}}"#)
        });
        // The timer tries again.
        let (done, noted) = node.start("nobody");
        assert!(done.status.success(), "{done:?}");
        assert_eq!(asked(&noted), peers);
        assert!(!noted.iter().any(|line| line.starts_with("systemctl")), "{noted:?}");
        assert_eq!(noted.last().unwrap(), "podman rm --force --ignore --time 10 ocl-registry-rw");

        let (done, noted) = node.start("192.168.10.11:22626");
        assert!(done.status.success(), "{done:?}");
        assert_eq!(asked(&noted), peers[..2]);
        assert!(
            noted.contains(&"systemctl try-restart --no-block ocl-registry.service".to_owned()),
            "{noted:?}"
        );
        let left: Vec<_> = std::fs::read_dir(node.0.path().join("tmp")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");

        let (done, noted) = node.start("nobody");
        assert!(done.status.success(), "{done:?}");
        assert_eq!(noted, ["systemctl disable --now ocl-registry-sync.timer"]);
    }
}
