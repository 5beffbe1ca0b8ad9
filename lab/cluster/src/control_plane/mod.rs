//! The servers of a control plane on one machine: etcd, kube-apiserver and kube-controller-manager, by the files that
//! its bootstrap or its machine config laid.

mod etcd;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::Client;
use tokio::time::sleep;
use tracing::info;

pub use etcd::{DATA, Etcd, Member, initial, peer_url};

use crate::cluster::{API_PORT, Cluster};
use crate::files;
use crate::pki::{Authority, Pair, Subject};
use crate::program::{Program, ProgramRuntime, Running};

/// What is laid for a control plane, by name below its folder.
pub mod names {
    /// Signs what servers show.
    pub const ROOT: &str = "tls/root-ca.crt";
    pub const API: &str = "tls/kube-apiserver";
    pub const CONFIG_SERVER: &str = "tls/machine-config-server";
    /// Signs what clients and nodes show.
    pub const CLIENTS: &str = "tls/kube-ca";
    /// As whom the API speaks to nodes.
    pub const KUBELETS: &str = "tls/kubelet-client";
    pub const TOKENS: &str = "tls/service-account";
    pub const ETCD: &str = "tls/etcd-signer";
    /// Of the administrator; through the cluster's own name of the API.
    pub const KUBECONFIG: &str = "auth/kubeconfig";
    /// The kubeconfig that reaches the API through this machine's loopback address.
    pub const LOOPBACK: &str = "auth/kubeconfig-loopback";
}

/// Certificates that this machine makes for itself.
const OWN: &str = "tls/etcd";
const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub struct ControlPlane<'a> {
    pub cluster: &'a Cluster,
    pub programs: ProgramRuntime,
    /// The folder with the certificates, keys and credentials.
    pub folder: &'static str,
    /// Name of this machine among the members of etcd.
    pub name: String,
    pub address: IpAddr,
}

/// A pair of files, a certificate and its key.
pub fn pair(folder: &str, name: &str) -> Result<Pair> {
    let path = |end: &str| Path::new(folder).join(format!("{name}.{end}"));
    Ok(Pair { certificate: files::text(path("crt"))?, key: files::text(path("key"))? })
}

impl ControlPlane<'_> {
    fn path(&self, name: &str) -> PathBuf {
        Path::new(self.folder).join(name)
    }

    fn flag(&self, flag: &str, name: &str) -> String {
        format!("--{flag}={}", self.path(name).display())
    }

    fn crt(&self, flag: &str, name: &str) -> String {
        self.flag(flag, &format!("{name}.crt"))
    }

    fn key(&self, flag: &str, name: &str) -> String {
        self.flag(flag, &format!("{name}.key"))
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.path(names::KUBECONFIG)
    }

    pub fn loopback(&self) -> PathBuf {
        self.path(names::LOOPBACK)
    }

    fn image(&self, name: &str) -> String {
        self.cluster.images.get(name).cloned().unwrap_or_default()
    }

    fn mounts(&self, more: &[&str]) -> Vec<(PathBuf, PathBuf)> {
        [self.folder].iter().chain(more).map(|path| (PathBuf::from(path), PathBuf::from(path))).collect()
    }

    /// Makes the certificate by which this machine is a member of etcd, and a client of it.
    pub fn make_own(&self) -> Result<()> {
        let authority = Authority::of("etcd-signer", &pair(self.folder, names::ETCD)?)?;
        let own = authority.peer(
            &self.name,
            &["localhost".to_owned(), self.name.clone()],
            &[self.address, [127, 0, 0, 1].into()],
        )?;
        files::write(self.path(&format!("{OWN}.crt")), 0o600, own.certificate)?;
        files::write(self.path(&format!("{OWN}.key")), 0o600, own.key)
    }

    /// A client of etcd's members.
    pub fn etcd(&self) -> Result<Etcd> {
        let own = pair(self.folder, OWN)?;
        Etcd::new(&pair(self.folder, names::ETCD)?.certificate, &own)
    }

    /// Starts etcd as a member of `initial`, a list of names and addresses of which this machine is one.
    pub fn start_etcd(&self, initial: &str, existing: bool) -> Result<Running> {
        std::fs::create_dir_all(DATA)?;
        let (clients, peers) = (format!("https://{}:2379", self.host()), peer_url(self.address));
        let mut args = vec![
            format!("--name={}", self.name),
            format!("--data-dir={DATA}"),
            "--listen-client-urls=https://0.0.0.0:2379".to_owned(),
            format!("--advertise-client-urls={clients}"),
            "--listen-peer-urls=https://0.0.0.0:2380".to_owned(),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster={initial}"),
            format!("--initial-cluster-state={}", if existing { "existing" } else { "new" }),
            self.crt("cert-file", OWN),
            self.key("key-file", OWN),
            self.crt("trusted-ca-file", names::ETCD),
            "--client-cert-auth".to_owned(),
            self.crt("peer-cert-file", OWN),
            self.key("peer-key-file", OWN),
            self.crt("peer-trusted-ca-file", names::ETCD),
            "--peer-client-cert-auth".to_owned(),
            "--logger=zap".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        let more: &[&str] = match self.programs {
            // Emulated machines are slow: what others take for a dead leader is a busy one here.
            ProgramRuntime::Podman => &["--heartbeat-interval=1000", "--election-timeout=10000"],
            // Who is alone waits for an election, too, for up to that time. And no machine of namespaces takes its kernel along.
            ProgramRuntime::Direct => {
                &["--heartbeat-interval=300", "--election-timeout=3000", "--unsafe-no-fsync"]
            }
        };
        args.extend(more.iter().map(|flag| (*flag).to_owned()));
        Ok(self.programs.keep(Program {
            name: "etcd".to_owned(),
            image: self.image("etcd"),
            command: vec!["/usr/bin/etcd".to_owned()],
            args,
            mounts: self.mounts(&[DATA]),
            ..Program::default()
        }))
    }

    fn host(&self) -> String {
        etcd::host(self.address)
    }

    /// Starts kube-apiserver on this machine's own etcd.
    pub fn start_api(&self) -> Running {
        let args = vec![
            "--etcd-servers=https://127.0.0.1:2379".to_owned(),
            self.crt("etcd-cafile", names::ETCD),
            self.crt("etcd-certfile", OWN),
            self.key("etcd-keyfile", OWN),
            format!("--advertise-address={}", self.address),
            format!("--secure-port={API_PORT}"),
            self.crt("tls-cert-file", names::API),
            self.key("tls-private-key-file", names::API),
            self.crt("client-ca-file", names::CLIENTS),
            self.crt("kubelet-client-certificate", names::KUBELETS),
            self.key("kubelet-client-key", names::KUBELETS),
            self.crt("kubelet-certificate-authority", names::CLIENTS),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            self.crt("service-account-key-file", names::TOKENS),
            self.key("service-account-signing-key-file", names::TOKENS),
            format!("--service-cluster-ip-range={}", self.cluster.services()),
            "--authorization-mode=Node,RBAC".to_owned(),
            // As on OpenShift, where admission decides: what builds an image in the cluster is privileged.
            "--allow-privileged=true".to_owned(),
            "--profiling=false".to_owned(),
            "--shutdown-delay-duration=0s".to_owned(),
        ];
        self.programs.keep(self.kubernetes("kube-apiserver", args))
    }

    /// Starts the controllers that an installation needs; of several machines one leads.
    pub fn start_controllers(&self) -> Running {
        const CONTROLLERS: &str = "certificatesigningrequest-signing-controller,serviceaccount-controller,\
            serviceaccount-token-controller,root-ca-certificate-publisher-controller,job-controller,\
            node-lifecycle-controller,namespace-controller,garbage-collector-controller";
        let args = vec![
            self.flag("kubeconfig", names::LOOPBACK),
            self.crt("cluster-signing-cert-file", names::CLIENTS),
            self.key("cluster-signing-key-file", names::CLIENTS),
            self.flag("root-ca-file", names::ROOT),
            self.key("service-account-private-key-file", names::TOKENS),
            format!("--controllers={CONTROLLERS}"),
            "--secure-port=0".to_owned(),
            "--profiling=false".to_owned(),
            "--leader-elect-lease-duration=60s".to_owned(),
            "--leader-elect-renew-deadline=45s".to_owned(),
            "--leader-elect-retry-period=5s".to_owned(),
            "--node-monitor-grace-period=3m".to_owned(),
        ];
        self.programs.keep(self.kubernetes("kube-controller-manager", args))
    }

    fn kubernetes(&self, name: &str, args: Vec<String>) -> Program {
        Program {
            name: name.to_owned(),
            image: self.image("hyperkube"),
            command: vec![format!("/usr/bin/{name}")],
            args,
            mounts: self.mounts(&[]),
            ..Program::default()
        }
    }

    /// Waits until this machine's API says that it is ready; anybody may ask that.
    pub async fn await_api(&self) -> Result<()> {
        let roots = assisted_base::http::authorities(files::text(self.path(names::ROOT))?.as_bytes())?;
        let builder = Client::builder().tls_built_in_root_certs(false);
        let client = roots
            .into_iter()
            .fold(builder, reqwest::ClientBuilder::add_root_certificate)
            .timeout(Duration::from_secs(30))
            .no_proxy()
            .build()?;
        let url = format!("https://localhost:{API_PORT}/readyz");
        while !client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success()) {
            sleep(POLL_INTERVAL).await;
        }
        info!("the API is ready");
        Ok(())
    }
}

/// All that a control plane is laid with, by name below its folder, with its mode.
pub fn make(cluster: &Cluster) -> Result<Vec<(String, u32, String)>> {
    let (root, clients) = (Authority::new("root-ca")?, Authority::new("kube-ca")?);
    let etcd = Authority::new("etcd-signer")?;
    let mut names = vec![cluster.api(), cluster.api_int(), "localhost".to_owned()];
    names.extend(["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned));
    let mut addresses = cluster.api_vips.clone();
    addresses.extend([[127, 0, 0, 1].into(), first(cluster)?]);
    let api = root.server("kube-apiserver", &names, &addresses)?;
    let configs = root.server("machine-config-server", &[cluster.api_int()], &cluster.api_vips)?;
    let admin = clients.client(Subject { name: "system:admin", groups: &["system:masters"] })?;
    let kubelets =
        clients.client(Subject { name: crate::foundation::API_CLIENT, groups: &["kube-master"] })?;
    let nodes =
        Subject { name: crate::foundation::BOOTSTRAPPER, groups: crate::foundation::BOOTSTRAPPER_GROUPS };
    let nodes = clients.client(nodes)?;
    let kubeconfig = |server: &str, user, own| crate::pki::kubeconfig(server, root.certificate(), user, own);
    let local = format!("https://localhost:{API_PORT}");
    let mut all = vec![
        (names::ROOT.to_owned(), 0o644, root.certificate().to_owned()),
        (names::KUBECONFIG.to_owned(), 0o600, kubeconfig(&cluster.server(), "admin", &admin)),
        (names::LOOPBACK.to_owned(), 0o600, kubeconfig(&local, "admin", &admin)),
        (KUBELET.to_owned(), 0o600, kubeconfig(&cluster.server(), "kubelet", &nodes)),
        (
            PUBLIC.to_owned(),
            0o600,
            kubeconfig(&format!("https://{}:{API_PORT}", cluster.api()), "admin", &admin),
        ),
    ];
    for (name, pair) in [
        (names::API, api),
        (names::CONFIG_SERVER, configs),
        (names::CLIENTS, clients.pair()),
        (names::KUBELETS, kubelets),
        (names::TOKENS, crate::pki::token_keys()?),
        (names::ETCD, etcd.pair()),
    ] {
        all.push((format!("{name}.crt"), 0o644, pair.certificate));
        all.push((format!("{name}.key"), 0o600, pair.key));
    }
    Ok(all)
}

/// Credentials with which nodes ask for their own.
pub const KUBELET: &str = "auth/kubeconfig-kubelet";
/// The administrator's from outside of the cluster.
pub const PUBLIC: &str = "auth/kubeconfig-public";

/// What machines of a role have of the bootstrap host's certificates, keys and credentials, by name below its folder. Masters have all that
/// any role has.
pub fn parts(role: &str) -> Vec<String> {
    let mut all = vec![names::ROOT.to_owned(), KUBELET.to_owned(), format!("{}.crt", names::CLIENTS)];
    if role != "worker" {
        all.extend([names::KUBECONFIG, names::LOOPBACK].map(str::to_owned));
        // Operators would hand them over through the cluster, where there were some.
        for name in
            [names::API, names::CONFIG_SERVER, names::CLIENTS, names::KUBELETS, names::TOKENS, names::ETCD]
        {
            all.extend(["crt", "key"].map(|end| format!("{name}.{end}")));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// The address of the API as a service.
fn first(cluster: &Cluster) -> Result<IpAddr> {
    let network: ipnet::IpNet = cluster.services().parse()?;
    network.hosts().next().context("the network of services has no addresses")
}
