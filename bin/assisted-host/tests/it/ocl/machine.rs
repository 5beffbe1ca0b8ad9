//! A bootstrap host that is no more than namespaces, on which everything that a build needs is real but for the release: podman, Ignition,
//! the registries. The release has three images, which the host's podman makes of what this machine has: an operating system of one
//! program, the registry, and a controller that renders what it finds.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use assisted_testkit::Authority;
use assisted_testkit::{Access, DockerRegistry, tied};
use serde_json::{Value, json};

use crate::PROGRAM;
use crate::container::libraries;

/// What the machine has of the one that the test runs on; all else is empty and its own.
const FOLDERS: &str = "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
    --tmpfs /etc --ro-bind /etc/passwd /etc/passwd --ro-bind /etc/group /etc/group --ro-bind-try /etc/alternatives /etc/alternatives \
    --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --dir /etc/pki --proc /proc --dev /dev --bind /sys /sys --tmpfs /run --tmpfs /tmp \
    --tmpfs /var --dir /var/log --dir /var/tmp --dir /var/lib --tmpfs /opt --tmpfs /root --unshare-pid --unshare-uts --hostname bootstrap \
    --cap-add ALL --die-with-parent";
/// What outlasts a power cut here. On a real host nothing does but the disk; more is harder for whoever goes on.
const KEPT: [(&str, &str); 6] = [
    ("openshift", "/opt/openshift"),
    ("mcc", "/etc/mcc"),
    ("containers", "/etc/containers"),
    ("storage", "/var/lib/containers"),
    ("docker", "/root/.docker"),
    ("shared", "/shared"),
];
const IGNITION: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";
/// `ocl` with the password `hunter2`.
const HTPASSWD: &str = "ocl:$2b$04$1AlDffRRSUF1uJo1esizWuTj3WksT4bsvpVJAFCqCTFPsdh4H6fxK\n";
const AUTH: &str = "b2NsOmh1bnRlcjI=";
const CONTROLLER: &str = r#"#!/bin/sh
# Takes over what has machineconfiguration.openshift.io/pre-built-image.
for arg; do
  case "$arg" in --manifest-dir=*) from=${arg#*=} ;; --dest-dir=*) to=${arg#*=} ;; esac
done
[ ! -e "$from/broken" ] || { echo "MachineConfig 50-mine: it is broken"; exit 1; }
image=$(cat "$from/base")
new=$(sed -n 's/.*"osImageURL": "\(.*\)".*/\1/p' "$from/09-ocl-osimageurl-master.yaml" 2>/dev/null)
name=rendered-master-$(echo "$image$new" | md5sum | cut -c 1-32)
mkdir -p "$to/machine-pools" "$to/machine-configs"
echo "{metadata: {name: master}, spec: {configuration: {name: $name}}}" > "$to/machine-pools/master.yaml"
cat > "$to/machine-configs/$name.yaml" << END
spec:
  osImageURL: ${new:-$image}
  config:
    ignition: {version: 3.2.0}
    storage:
      files:
      - {path: /etc/baked, mode: 420, contents: {source: "data:,yes"}}
      - {path: /var/lib/kubelet/config.json, mode: 384, contents: {source: "data:,hunter2"}}
END
"#;
const IMAGES: &str = "FROM scratch AS tools\nCOPY busybox /bin/busybox\nCOPY libraries /\nRUN [\"/bin/busybox\", \"--install\", \"/bin\"]\n\
    FROM tools AS base\nCOPY ignition /usr/lib/dracut/modules.d/30ignition/ignition\nCOPY ostree /usr/bin/ostree\nRUN [\"/bin/mkdir\", \"-p\", \"/usr/share\"]\nLABEL ostree.bootable=true\n\
    FROM tools AS registry\nCOPY registry /usr/bin/distribution\n\
    FROM tools AS mco\nCOPY controller /usr/bin/machine-config-controller\n";

pub(super) struct Host {
    dir: tempfile::TempDir,
    release: DockerRegistry,
    _ports: [assisted_testkit::Port; 2],
    port: u16,
}

fn executable(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Two ports, the second after the first.
fn ports() -> [assisted_testkit::Port; 2] {
    let mut others: Vec<assisted_testkit::Port> = Vec::new();
    loop {
        let port = assisted_testkit::Port::free().unwrap();
        match others.pop() {
            Some(last) if port.number == last.number + 1 => return [last, port],
            Some(last) => others.extend([last, port]),
            None => others.push(port),
        }
    }
}

impl Host {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let images = dir.path().join("images");
        for folder in [
            "images",
            "openshift",
            "mcc/bootstrap",
            "containers/certs.d",
            "storage",
            "docker",
            "shared",
            "release/libraries",
        ] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let release = DockerRegistry::start(&images, &Access::default()).unwrap();
        let ports = ports();
        let port = ports[0].number;
        let host = Self { dir, release, _ports: ports, port };
        host.write_containers();
        host.write_release();
        host.write_registry();
        host
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn write_containers(&self) {
        let registry = self.release.name();
        for (name, text) in [
            (
                "containers.conf",
                "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\npids_limit = 0\ncgroups = \"disabled\"\n",
            ),
            (
                "storage.conf",
                "[storage]\ndriver = \"vfs\"\ngraphroot = \"/var/lib/containers\"\nrunroot = \"/run/containers\"\n",
            ),
            ("registries.conf", &format!("[[registry]]\nlocation = \"{registry}\"\ninsecure = true\n")),
            ("policy.json", r#"{"default": [{"type": "insecureAcceptAnything"}]}"#),
        ] {
            self.write(&format!("containers/{name}"), text);
        }
    }

    /// What the release's images are made of.
    fn write_release(&self) {
        let registry = Path::new("/usr/bin/docker-registry");
        for (name, from) in
            [("busybox", "/bin/busybox"), ("ignition", IGNITION), ("registry", registry.to_str().unwrap())]
        {
            let copied = std::fs::copy(from, self.path(&format!("release/{name}")));
            copied.unwrap_or_else(|error| panic!("{from}: {error}: run `cargo xtask setup`"));
        }
        for library in libraries(&[registry, Path::new(IGNITION), Path::new("/bin/busybox")]) {
            let to = self.path(&format!(
                "release/libraries/{}",
                library.display().to_string().trim_start_matches('/')
            ));
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(&library, to).unwrap();
        }
        executable(&self.path("release/ostree"), "#!/bin/sh\nrm -rf /tmp/* /var/tmp/*\n");
        executable(&self.path("release/controller"), CONTROLLER);
        self.write("release/Containerfile", IMAGES);
    }

    /// The host's own registry: certificate, password, settings.
    fn write_registry(&self) {
        let authority = Authority::new("ocl-registry-ca").unwrap();
        let dir = self.path("openshift/ocl/registry");
        std::fs::create_dir_all(&dir).unwrap();
        authority.certificate(&dir, &["localhost", "api-int.c.d.example.com"], (2020, 2040)).unwrap();
        let port = self.port;
        self.write(&format!("containers/certs.d/localhost:{port}/ca.crt"), &authority.pem);
        self.write("openshift/ocl/registry/htpasswd", HTPASSWD);
        self.write_settings("config-ro.yaml", port, true);
        self.write_settings("config-rw.yaml", port + 1, false);
        let auths = json!({"auths": {format!("localhost:{port}"): {"auth": AUTH}}});
        self.write("docker/config.json", &auths.to_string());
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Settings of one of the two registries.
    pub(super) fn write_settings(&self, name: &str, port: u16, public: bool) {
        let mut text = format!("version: 0.1\nhttp:\n  addr: '127.0.0.1:{port}'\n");
        if public {
            text.push_str("  tls: {certificate: /etc/registry/tls.crt, key: /etc/registry/tls.key}\n");
            text.push_str("auth: {htpasswd: {realm: ocl, path: /etc/registry/htpasswd}}\n");
        }
        text.push_str(&format!(
            "storage:\n  filesystem: {{rootdirectory: /var/lib/registry}}\n  maintenance: {{readonly: {{enabled: {public}}}}}\n"
        ));
        self.write(&format!("openshift/ocl/registry/{name}"), &text);
    }

    fn config(&self, pools: &Value) -> Value {
        let name = self.release.name();
        json!({
            "version": 1, "cluster_id": crate::ID, "cluster": "c", "domain": "d.example.com", "release_version": "4.21.3",
            "arch": "x86_64", "control_plane_count": 3,
            "registry": {"type": "Embedded", "host": "api-int.c.d.example.com", "port": self.port, "namespace": "ocl"},
            "bootstrap_ip": "192.168.10.11", "master_ips": ["192.168.10.11"], "vips": [],
            "images": {"mco": format!("{name}/lab/mco:1"), "docker_registry": format!("{name}/lab/registry:1")},
            "pools": pools,
            "bake_configs": true, "scratch": "Memory", "build_timeout_seconds": 900, "attempts": 2,
            "proxy": {"http": "", "https": "", "no": ""},
            "service": {"url": "http://127.0.0.1:1", "infra_env_id": crate::ID, "host_id": crate::ID},
        })
    }

    fn machine_os_config(pool: &str, user: &str) -> Value {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineOSConfig", "metadata": {"name": pool},
            "spec": {"machineConfigPool": {"name": pool}, "imageBuilder": {"imageBuilderType": "Job"},
                "renderedImagePushSpec": "registry.example.com/a/os:latest",
                "containerFile": [{"containerfileArch": "NoArch", "content": user}]},
        })
    }

    /// What the generator hands to the builder.
    pub(super) fn write_input(&self, user: &str) {
        let pools = json!([{"name": "master", "mosc": "mosc-master.yaml", "location": "bootstrap"}]);
        self.write("openshift/ocl/config.json", &self.config(&pools).to_string());
        let object = Self::machine_os_config("master", user);
        self.write("openshift/ocl/mosc-master.yaml", &object.to_string());
    }

    /// The same, where images go to a registry of the user's, which speaks plain HTTP, as the host's settings say; and what is to open it.
    pub(super) fn write_external_input(&self, user: &str, registry: &str, auth: &str) {
        let pools = json!([{"name": "master", "mosc": "mosc-master.yaml", "location": "bootstrap"}]);
        let mut config = self.config(&pools);
        config["registry"] = json!({"type": "External"});
        self.write("openshift/ocl/config.json", &config.to_string());
        let mut object = Self::machine_os_config("master", user);
        object["spec"]["renderedImagePushSpec"] = json!(format!("{registry}/acme/os-master:latest"));
        object["spec"]["renderedImagePushSecret"] = json!({"name": "push"});
        self.write("openshift/ocl/mosc-master.yaml", &object.to_string());
        let auths = json!({"auths": {registry: {"auth": auth}}});
        self.write("openshift/ocl/secrets/push.json", &auths.to_string());
        let plain = [self.release.name().as_str(), registry]
            .map(|registry| format!("[[registry]]\nlocation = \"{registry}\"\ninsecure = true\n"));
        self.write("containers/registries.conf", &plain.concat());
    }

    /// What a Job's pod brings to a builder on a control plane node, in the folder `shared/ocl`.
    pub(super) fn write_node_input(&self, user: &str) {
        let pools = json!([
            {"name": "master", "mosc": "mosc-master.yaml", "location": "bootstrap"},
            {"name": "worker", "mosc": "mosc-worker.yaml", "location": "control-plane"},
        ]);
        let baked = json!({"path": "/etc/baked", "mode": 420, "contents": {"source": "data:,yes"}});
        let secret =
            |path: &str| json!({"path": path, "mode": 0o600, "contents": {"source": "data:,hunter2"}});
        // A cluster renders what a bootstrap host does not.
        let files = [
            baked,
            secret("/etc/mco/internal-registry-pull-secret.json"),
            secret("/var/lib/kubelet/config.json"),
            secret("/etc/mine/key"),
        ];
        let config = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": files}});
        let base = self.read("mcc/bootstrap/base");
        let spec = json!({"osImageURL": base.trim(), "config": config});
        let rendered = json!({"metadata": {"name": "rendered-worker-1"}, "spec": spec});
        let object = Self::machine_os_config("worker", user).to_string();
        let files =
            assisted_ocl::builder::pack(&self.config(&pools).to_string(), &object, &rendered, &[]).unwrap();
        let folder = self.path("shared/ocl/input");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in files {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }

    /// Forgets an earlier build, but for what the release has.
    pub(super) fn reset(&self) {
        for path in
            ["openshift/ocl/state", "openshift/ocl/pass1", "openshift/ocl/pass2", "openshift/manifests"]
        {
            let _ = std::fs::remove_dir_all(self.path(path));
        }
        for path in [
            "openshift/ocl/failed",
            "mcc/bootstrap/09-ocl-osimageurl-master.yaml",
            "mcc/bootstrap/ocl-machineosconfig-master.yaml",
        ] {
            let _ = std::fs::remove_file(self.path(path));
        }
    }

    pub(super) fn status(&self) -> Value {
        serde_json::from_str(&self.read("openshift/ocl/state/status.json")).unwrap()
    }

    /// Switches the machine on, with a script as its first process, and lets it run to its end; what it wrote, if it ended well. Whatever
    /// it has started and mounted is gone then.
    pub(super) fn run(&self, script: &str) -> String {
        let groups = "mount -t tmpfs none /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup\necho 127.0.0.1 localhost > /etc/hosts\n";
        let release = format!("REGISTRY={}\nset -e\n", self.release.name());
        // What fails as it should is not what ends a script.
        let words = "OCL='/assisted-host ocl --root / --faster 50'\nulimit -c 0\n\
                     fails() { if \"$@\"; then echo \"it should have failed: $*\" >&2; exit 1; fi; }\n";
        let mut command = tied(Path::new("bwrap"));
        command.args(FOLDERS.split_whitespace());
        for (from, to) in KEPT {
            command.arg("--bind").arg(self.path(from)).arg(to);
        }
        command.arg("--ro-bind").arg(self.path("release")).arg("/release");
        command.args(["--ro-bind", PROGRAM, "/assisted-host", "--as-pid-1", "--", "sh", "-c"]);
        command.arg(format!("{groups}{release}{words}{script}"));
        // Steps of builds run without a namespace of their own: this machine is one.
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/root")
            .env("BUILDAH_ISOLATION", "chroot");
        let output = command
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("bwrap: {error}: run `cargo xtask setup`"));
        let [out, err] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        // What the builder has said, for whoever reads why.
        let said = std::fs::read_to_string(self.path("shared/err")).unwrap_or_default();
        assert!(output.status.success(), "{}\n{out}\n{err}\n{said}", output.status);
        out
    }

    /// Makes the release, and names its image for nodes by digest.
    pub(super) fn make_release(&self) {
        self.run(
            "for image in base registry mco; do\n  podman build --quiet --network host --target $image --tag $REGISTRY/lab/$image:1 /release\n  \
             podman push --quiet --digestfile /shared/digest $REGISTRY/lab/$image:1\n  \
             [ $image != base ] || echo \"$REGISTRY/lab/base@$(cat /shared/digest)\" > /etc/mcc/bootstrap/base\ndone\n",
        );
    }
}
