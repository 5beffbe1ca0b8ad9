//! A pod at work.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use assisted_base::http::{Proxies, Trust, builder};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Child;
use tokio::time::timeout;

use super::network::PodNetwork;
use super::variables::expanded;
use super::volume::ACCOUNT;
use super::{Endpoint, Kubelet};

/// Who the image's program runs as.
const USER: i64 = 1001;

/// How long a program may take to end.
const GRACE: Duration = Duration::from_secs(30);

/// How long it rests when it has ended by itself.
const BACKOFF: Duration = Duration::from_secs(1);

/// How long a probe may take.
const PROBE: Duration = Duration::from_secs(1);

/// Whoever asks probes; kubelets look at no certificate.
static PROBER: LazyLock<reqwest::Client> = LazyLock::new(|| {
    let client = builder("kube-probe/1.34", Trust::Any, &Proxies::None).unwrap().timeout(PROBE);
    client.pool_max_idle_per_host(0).build().unwrap()
});

/// What an image brings, beside the program, which is in `/usr/local/bin`.
const FOLDERS: [&str; 7] = ["dev", "etc/ssl/certs", "proc", "tmp", "usr", "data", "data_temp"];
const LINKS: [&str; 4] = ["bin", "lib", "lib64", "sbin"];
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// A pod, its network, and its program.
pub(super) struct Run {
    pod: Pod,
    network: PodNetwork,
    /// Its volumes, its file system and its log.
    dir: TempDir,
    child: Option<Child>,
    ended: Option<Instant>,
    restarts: u32,
    is_ready: bool,
    /// What was told last: whether it is ready, how often it was started again, what it waits for.
    told: Option<(bool, u32, Option<String>)>,
}

impl Run {
    pub(super) fn new(pod: Pod, number: u8) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["volumes", "programs"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let network = PodNetwork::new(number);
        Self { pod, network, dir, child: None, ended: None, restarts: 0, is_ready: false, told: None }
    }

    /// Starts the program unless it runs, asks whether it is ready, and tells what is new.
    pub(super) async fn look(&mut self, kubelet: &Kubelet, services: &[Service]) {
        if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().unwrap()) {
            self.note(&format!("it ended with {status}"));
            (self.child, self.ended) = (None, Some(Instant::now()));
            self.restarts += 1;
        }
        let mut waits_for = None;
        if self.child.is_none() && self.ended.is_none_or(|ended| ended.elapsed() > BACKOFF) {
            match self.start(kubelet, services).await {
                Ok(child) => self.child = Some(child),
                Err(missing) => waits_for = Some(missing),
            }
        }
        self.is_ready = self.child.is_some() && self.answers().await;
        let news = (self.is_ready, self.restarts, waits_for);
        if self.told.as_ref() != Some(&news) {
            self.tell(kubelet, news.2.as_deref()).await;
            self.told = Some(news);
        }
    }

    /// Has the program end, and the pod with it.
    pub(super) async fn stop(mut self) {
        let Some(child) = &mut self.child else { return };
        signal(child, "TERM").await;
        if timeout(GRACE, child.wait()).await.is_err() {
            self.note("it did not end");
            self.crash().await;
        }
    }

    pub(super) async fn crash(&mut self) {
        let child = self.child.as_mut().unwrap();
        signal(child, "KILL").await;
        child.wait().await.unwrap();
    }

    pub(super) fn is_of(&self, app: &str) -> bool {
        self.pod.labels().get("app").is_some_and(|own| own == app)
    }

    pub(super) fn restarts(&self) -> u32 {
        self.restarts
    }

    fn note(&self, text: &str) {
        writeln!(self.log_file(), "{text}").unwrap();
    }

    fn log_file(&self) -> fs::File {
        fs::File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap()
    }

    pub(super) fn log(&self) -> String {
        let log = fs::read(self.dir.path().join("log")).unwrap_or_default();
        format!("--- {}\n{}\n", self.pod.name_any(), String::from_utf8_lossy(&log))
    }

    /// Where services find it, as long as it is ready.
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        let endpoint = || Endpoint { address: self.network.address, labels: self.pod.labels().clone() };
        self.is_ready.then(endpoint)
    }

    fn spec(&self) -> &PodSpec {
        self.pod.spec.as_ref().unwrap()
    }

    /// Its container; pods with several need images of others.
    fn container(&self) -> &Container {
        let [container] = self.spec().containers.as_slice() else {
            panic!("{} has several containers", self.pod.name_any())
        };
        container
    }

    /// Starts the program; `Err`: what has to be there first.
    async fn start(&self, kubelet: &Kubelet, services: &[Service]) -> Result<Child, String> {
        let (spec, container, dir) = (self.spec(), self.container(), self.dir.path());
        let set = kubelet.variables(&self.pod, container, services, self.network.address).await?;
        let volumes = dir.join("volumes");
        let mut mounts = Vec::new();
        for mount in container.volume_mounts.iter().flatten() {
            let volume = spec.volumes.iter().flatten().find(|volume| volume.name == mount.name).unwrap();
            let from = kubelet.volume(spec, volume, &volumes).await?;
            let from = mount.sub_path.as_ref().map_or_else(|| from.clone(), |file| from.join(file));
            let is_read_only = mount.read_only == Some(true) || volume.empty_dir.is_none();
            let is_read_only = is_read_only && volume.persistent_volume_claim.is_none();
            mounts.push((from, mount.mount_path.clone(), is_read_only));
        }
        if let Some(from) = kubelet.account(&self.pod, &volumes).await? {
            mounts.push((from, ACCOUNT.to_owned(), true));
        }
        let root = self.file_system(services, &mounts);
        let mut script = self.script(&root, &kubelet.program, &mounts);
        script.push_str(&self.confined(&root));

        let words = [&container.command, &container.args].into_iter().flatten().flatten();
        let log = self.log_file();
        let mut command = self.network.command();
        command.args(["unshare", "--mount", "sh", "-c", &script, "sh"]);
        command.args(words.map(|word| expanded(word, &set))).env_clear().envs(&set);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Ok(command.spawn().unwrap())
    }

    /// Makes what is in the container when it starts.
    fn file_system(&self, services: &[Service], mounts: &[(PathBuf, String, bool)]) -> PathBuf {
        let root = self.dir.path().join("root");
        // Mounts of a program before are gone with it.
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        for folder in FOLDERS {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for link in LINKS {
            symlink(format!("usr/{link}"), root.join(link)).unwrap();
        }
        for path in [root.clone(), root.join("etc")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::copy(Path::new("/").join(CERTIFICATES), root.join(CERTIFICATES)).unwrap();
        let mut hosts = format!("127.0.0.1 localhost\n{} {}\n", self.network.address, self.pod.name_any());
        for service in services {
            let (name, namespace) = (service.name_any(), service.namespace().unwrap());
            let address = service.spec.as_ref().and_then(|spec| spec.cluster_ip.clone()).unwrap();
            hosts.push_str(&format!("{address} {name} {name}.{namespace} {name}.{namespace}.svc\n"));
        }
        for (name, text) in [
            ("etc/hosts", hosts.as_str()),
            ("etc/nsswitch.conf", "hosts: files\n"),
            ("etc/passwd", "assisted:x:1001:0:assisted:/data:/sbin/nologin\n"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        for (from, to, _) in mounts {
            let to = root.join(to.trim_start_matches('/'));
            if from.is_dir() {
                fs::create_dir_all(to).unwrap();
            } else {
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::write(to, "").unwrap();
            }
        }
        root
    }

    /// What mounts all that is in the container beside its own files.
    fn script(&self, root: &Path, program: &Path, mounts: &[(PathBuf, String, bool)]) -> String {
        let programs = self.dir.path().join("programs");
        let own = programs.join("assisted");
        fs::write(&own, "").unwrap();
        let mut script = "set -e\n".to_owned();
        let mut mount = |from: &Path, to: &Path, is_read_only: bool| {
            let (from, to) = (from.display(), to.display());
            script.push_str(&format!("mount --rbind '{from}' '{to}'\n"));
            if is_read_only {
                script.push_str(&format!("mount -o remount,bind,ro '{to}'\n"));
            }
        };
        mount(program, &own, true);
        mount(Path::new("/usr"), &root.join("usr"), true);
        mount(&programs, &root.join("usr/local/bin"), false);
        for own in ["dev", "proc"] {
            mount(&Path::new("/").join(own), &root.join(own), false);
        }
        for (from, to, is_read_only) in mounts {
            mount(from, &root.join(to.trim_start_matches('/')), *is_read_only);
        }
        script
    }

    /// What starts the program as whom and with what rights the pod says.
    fn confined(&self, root: &Path) -> String {
        let (of_pod, of_container) = (&self.spec().security_context, &self.container().security_context);
        let user = of_container.as_ref().and_then(|context| context.run_as_user);
        let user = user.or(of_pod.as_ref().and_then(|context| context.run_as_user)).unwrap_or(USER);
        let may_be_root = of_pod.as_ref().and_then(|context| context.run_as_non_root) != Some(true);
        assert!(may_be_root || user != 0, "{} would run as root", self.pod.name_any());
        let dropped = of_container.as_ref().and_then(|context| context.capabilities.as_ref()?.drop.clone());
        let rights = match dropped.as_deref() {
            Some([all]) if all == "ALL" => "--bounding-set -all --inh-caps -all",
            _ => "",
        };
        let more = of_container.as_ref().and_then(|context| context.allow_privilege_escalation);
        let alone = if more == Some(false) { "--no-new-privs" } else { "" };
        let root = root.display();
        format!(
            "exec chroot '{root}' setpriv --reuid {user} --regid 0 --clear-groups {rights} {alone} -- \"$@\"\n"
        )
    }

    /// Whether its probe says that it is ready; it is when it has none.
    async fn answers(&self) -> bool {
        let Some(probe) = &self.container().readiness_probe else { return true };
        let ask = probe.http_get.as_ref().expect("a probe over HTTP");
        let IntOrString::Int(port) = ask.port else { panic!("the port of the probe is one of a name") };
        let scheme = ask.scheme.as_deref().unwrap_or("HTTP").to_lowercase();
        let path = ask.path.as_deref().unwrap_or("/");
        let url = format!("{scheme}://{}:{port}{path}", self.network.address);
        let answer = PROBER.get(url).send().await;
        answer.is_ok_and(|answer| (200..400).contains(&answer.status().as_u16()))
    }

    async fn tell(&self, kubelet: &Kubelet, waits_for: Option<&str>) {
        let (address, container) = (self.network.address, self.container());
        let ready = if self.is_ready { "True" } else { "False" };
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let state = match waits_for {
            Some(missing) => json!({"waiting": {"reason": "CreateContainerConfigError", "message": missing}}),
            None => json!({"running": {"startedAt": now}}),
        };
        let condition =
            |r#type: &str, status: &str| json!({"type": r#type, "status": status, "lastTransitionTime": now});
        let status = json!({"status": {
            "phase": if waits_for.is_some() { "Pending" } else { "Running" },
            "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [
                condition("PodScheduled", "True"), condition("Initialized", "True"),
                condition("ContainersReady", ready), condition("Ready", ready),
            ],
            "containerStatuses": [{
                "name": container.name, "image": container.image, "imageID": "", "state": state,
                "ready": self.is_ready, "restartCount": self.restarts, "started": waits_for.is_none(),
            }],
        }});
        let api: Api<Pod> = Api::namespaced(kubelet.client.clone(), &kubelet.namespace);
        let told =
            api.patch_status(&self.pod.name_any(), &PatchParams::default(), &Patch::Merge(status)).await;
        // A pod may go at any time.
        if let Err(error) = told {
            assert!(matches!(&error, kube::Error::Api(status) if status.code == 404), "{error}");
        }
    }
}

async fn signal(child: &Child, name: &str) {
    let Some(id) = child.id() else { return };
    let mut kill = tokio::process::Command::new("kill");
    drop(kill.arg(format!("-{name}")).arg(id.to_string()).status().await);
}
