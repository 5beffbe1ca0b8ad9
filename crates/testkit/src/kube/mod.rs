//! A real Kubernetes API: etcd, kube-apiserver and, if wanted, controllers of kube-controller-manager, on free ports of
//! the loopback address, with certificates of their own.

mod authority;
mod cluster_api;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use assisted_lab_tools::kubernetes;
use rustix::process::Signal;

use self::authority::{Authority, Identity};
pub use self::cluster_api::ClusterApi;
use crate::Error;
use crate::supervised::{Keep, Supervised};

/// How long the servers may take until they are ready.
const START: Duration = Duration::from_secs(120);

/// Starts before it is given up: between the choice of a free port and its use another process may take it.
const ATTEMPTS: u32 = 3;

/// What a server says when its port is taken.
const TAKEN: &str = "address already in use";

/// What it says when it can't go on.
const ENDED: &str = "command failed";

/// A program of Kubernetes.
fn find(name: &'static str) -> Result<PathBuf, Error> {
    kubernetes::find(name).ok_or(Error::NotInstalled { program: name })
}

/// What is noted of requests: who makes which, and how each ends.
const AUDIT: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";
const AUDIT_POLICY: &str = "audit-policy.yaml";
const AUDIT_LOG: &str = "audit.log";

/// The controller that signs the requests for certificates that somebody approved.
pub const SIGNER: &str = "certificatesigningrequest-signing-controller";

/// A running Kubernetes API without nodes.
#[derive(Debug)]
pub struct Kube {
    // Stopped in this order.
    _controllers: Option<Supervised>,
    api_server: Option<Supervised>,
    _etcd: Supervised,
    dir: PathBuf,
    address: SocketAddr,
    etcd_address: SocketAddr,
    authority: Authority,
    kubectl: PathBuf,
    is_audited: bool,
}

impl Kube {
    /// The API that all tests of this process share, with [`SIGNER`]; started on first use.
    ///
    /// # Errors
    /// A program is missing, or does not get ready.
    pub fn start() -> Result<&'static Self, Error> {
        static SHARED: OnceLock<Result<Kube, String>> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::launch(&[SIGNER]).map_err(|error| error.to_string()))
            .as_ref()
            .map_err(|error| Error::Shared(error.clone()))
    }

    /// An API of one's own, stopped when it is dropped, with the controllers of kube-controller-manager that are named.
    ///
    /// # Errors
    /// A program is missing, or does not get ready.
    pub fn launch(controllers: &[&str]) -> Result<Self, Error> {
        Self::launch_with(controllers, false)
    }

    /// One without controllers that notes each request ([`Kube::requests`]) and, as OpenShift's does, has who sets an owner of an object
    /// have the right to that.
    ///
    /// # Errors
    /// A program is missing, or does not get ready.
    pub fn launch_audited() -> Result<Self, Error> {
        Self::launch_with(&[], true)
    }

    fn launch_with(controllers: &[&str], is_audited: bool) -> Result<Self, Error> {
        let mut attempt = 1;
        loop {
            match Self::try_launch(controllers, is_audited) {
                Err(Error::Silent { log }) if log.contains(TAKEN) && attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    fn try_launch(controllers: &[&str], is_audited: bool) -> Result<Self, Error> {
        let etcd = kubernetes::etcd().ok_or(Error::NotInstalled { program: "etcd" })?;
        let dir = tempfile::Builder::new().prefix("assisted-kube-").tempdir()?;
        let [client, peer, api] = free_addresses()?;
        let authority = Authority::new().map_err(Error::Certificate)?;
        authority.write(dir.path(), api)?;
        std::fs::write(dir.path().join(AUDIT_POLICY), AUDIT)?;

        let data = dir.path().join("etcd");
        let log = dir.path().join("etcd.log");
        let keep = Keep { signal: Signal::KILL, log: &log, remove: Some(dir.path()) };
        let args = [
            format!("--data-dir={}", data.display()),
            format!("--listen-client-urls=http://{client}"),
            format!("--advertise-client-urls=http://{client}"),
            format!("--listen-peer-urls=http://{peer}"),
            format!("--initial-advertise-peer-urls=http://{peer}"),
            format!("--initial-cluster=default=http://{peer}"),
            // What a test writes needs to survive no crash of the machine.
            "--unsafe-no-fsync".to_owned(),
        ];
        let etcd = supervised(&keep, &etcd, &args)?;
        // From here on the shell over etcd removes the directory.
        let mut kube = Self {
            _controllers: None,
            api_server: None,
            _etcd: etcd,
            dir: dir.keep(),
            address: api,
            etcd_address: client,
            authority,
            kubectl: find("kubectl")?,
            is_audited,
        };
        kube.start_api()?;
        if !controllers.is_empty() {
            kube._controllers = Some(kube.controllers(controllers)?);
        }
        Ok(kube)
    }

    /// Starts kube-apiserver again after [`Kube::stop_api`], at the same address, and waits until it is ready.
    ///
    /// # Errors
    /// It does not get ready.
    pub fn start_api(&mut self) -> Result<(), Error> {
        let log = self.dir.join("kube-apiserver.log");
        let keep = Keep { signal: Signal::KILL, log: &log, remove: None };
        let file = |flag: &str, name: &str| format!("--{flag}={}", self.dir.join(name).display());
        let mut args = vec![
            format!("--etcd-servers=http://{}", self.etcd_address),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.address.port()),
            // An address for documents: services of the cluster lead nowhere here, and the loopback address is refused.
            "--advertise-address=192.0.2.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            file("tls-cert-file", authority::API_CERTIFICATE),
            file("tls-private-key-file", authority::API_KEY),
            file("client-ca-file", authority::CA_CERTIFICATE),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            file("service-account-key-file", authority::ACCOUNTS_PUBLIC_KEY),
            file("service-account-signing-key-file", authority::ACCOUNTS_KEY),
            "--service-cluster-ip-range=172.30.0.0/16".to_owned(),
            "--authorization-mode=Node,RBAC".to_owned(),
            // Nobody makes accounts for pods.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            // As clusters have it.
            "--allow-privileged=true".to_owned(),
            // For a stand-in of a kubelet on this machine.
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
        ];
        if self.is_audited {
            args.extend([
                "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement".to_owned(),
                file("audit-policy-file", AUDIT_POLICY),
                file("audit-log-path", AUDIT_LOG),
            ]);
        } else {
            args.push("--enable-admission-plugins=NodeRestriction".to_owned());
        }
        self.api_server = Some(supervised(&keep, &find("kube-apiserver")?, &args)?);
        let deadline = Instant::now() + START;
        while !self.authority.is_ready(self.address) {
            let log = self.log();
            if Instant::now() > deadline || log.contains(TAKEN) || log.contains(ENDED) {
                return Err(Error::Silent { log });
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Stops kube-apiserver, as a crash would; what it stored stays.
    pub fn stop_api(&mut self) {
        self.api_server = None;
    }

    /// Has etcd forget all that is past, as it does by itself after a while: whoever watched from an earlier version has to list anew.
    /// kube-apiserver remembers some of it; it forgets that, too, when it is stopped.
    ///
    /// # Errors
    /// etcd refuses.
    pub fn forget_past(&self) -> Result<(), Error> {
        // Of any key: the answer tells the present version.
        let present = self.etcd("range", r#"{"key": "AA=="}"#)?;
        let present = present.split_once(r#""revision":""#).and_then(|(_, rest)| rest.split_once('"'));
        let (revision, _) = present.ok_or_else(|| Error::Silent { log: self.log() })?;
        self.etcd("compaction", &format!(r#"{{"revision": "{revision}", "physical": true}}"#)).map(drop)
    }

    /// The answer of etcd to a request.
    fn etcd(&self, operation: &str, body: &str) -> Result<String, Error> {
        let length = body.len();
        let mut socket = TcpStream::connect(self.etcd_address)?;
        socket.set_read_timeout(Some(START))?;
        write!(
            socket,
            "POST /v3/kv/{operation} HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        if answer.starts_with("HTTP/1.1 200") { Ok(answer) } else { Err(Error::Silent { log: answer }) }
    }

    fn controllers(&self, names: &[&str]) -> Result<Supervised, Error> {
        let log = self.dir.join("kube-controller-manager.log");
        let keep = Keep { signal: Signal::KILL, log: &log, remove: None };
        let file = |flag: &str, name: &str| format!("--{flag}={}", self.dir.join(name).display());
        let args = [
            file("kubeconfig", authority::KUBECONFIG),
            file("cluster-signing-cert-file", authority::CA_CERTIFICATE),
            file("cluster-signing-key-file", authority::CA_KEY),
            file("root-ca-file", authority::CA_CERTIFICATE),
            file("service-account-private-key-file", authority::ACCOUNTS_KEY),
            format!("--controllers={}", names.join(",")),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        supervised(&keep, &find("kube-controller-manager")?, &args)
    }

    /// Where the API listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate, in PEM form, of the authority behind all the others.
    pub fn ca(&self) -> String {
        self.authority.certificate()
    }

    /// The file with the credentials of an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join(authority::KUBECONFIG)
    }

    /// Credentials of somebody else, by impersonation: the text of a kubeconfig.
    pub fn kubeconfig_of(&self, user: &str, groups: &[&str]) -> String {
        self.authority.kubeconfig(self.address, Some(&Identity { user, groups }))
    }

    /// `kubectl` as an administrator.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(&self.kubectl);
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command
    }

    /// The requests so far, an event of `audit.k8s.io/v1` as JSON in each line; none but those of [`Kube::launch_audited`] are noted.
    pub fn requests(&self) -> String {
        std::fs::read_to_string(self.dir.join(AUDIT_LOG)).unwrap_or_default()
    }

    /// What etcd and kube-apiserver have logged.
    pub fn log(&self) -> String {
        ["etcd.log", "kube-apiserver.log", "kube-controller-manager.log"]
            .iter()
            .filter_map(|name| std::fs::read_to_string(self.dir.join(name)).ok())
            .collect()
    }
}

fn supervised(keep: &Keep<'_>, program: &Path, args: &[String]) -> Result<Supervised, Error> {
    let runner = |shell: &Path| {
        let mut command = Command::new(shell);
        command.envs(kubernetes::FEWER_COLLECTIONS);
        command
    };
    Supervised::start(runner, keep, program, args).map_err(|source| Error::Run { program: "sh", source })
}

/// Addresses that nobody listens on at this moment, all of them different.
fn free_addresses<const N: usize>() -> Result<[SocketAddr; N], Error> {
    let mut listeners = Vec::new();
    let mut addresses = [SocketAddr::from(([127, 0, 0, 1], 0)); N];
    for address in &mut addresses {
        let listener = TcpListener::bind(*address)?;
        *address = listener.local_addr()?;
        listeners.push(listener);
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &mut Command) -> (bool, String) {
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text + &String::from_utf8_lossy(&output.stderr))
    }

    #[test]
    fn comes_and_goes() {
        let mut kube = Kube::launch(&[]).unwrap();
        let (ok, told) = run(kube.kubectl().args(["create", "namespace", "kept"]));
        assert!(ok, "{told}");

        kube.stop_api();
        let (ok, _) = run(kube.kubectl().args(["get", "--raw", "/readyz", "--request-timeout=2s"]));
        assert!(!ok, "nobody is to answer");
        kube.start_api().unwrap();
        let (ok, told) = run(kube.kubectl().args(["get", "namespace", "kept", "--output=name"]));
        assert!(ok && told.trim() == "namespace/kept", "{told}");

        let other = kube.dir.join("other");
        std::fs::write(&other, kube.kubeconfig_of("somebody", &["people"])).unwrap();
        let mut whoami = Command::new(find("kubectl").unwrap());
        whoami.arg("--kubeconfig").arg(other).args(["auth", "whoami", "--output=json"]);
        let (ok, told) = run(&mut whoami);
        assert!(ok && told.contains("\"somebody\"") && told.contains("\"people\""), "{told}");

        let (dir, address) = (kube.dir.clone(), kube.address());
        drop(kube);
        assert!(!dir.exists());
        assert!(TcpStream::connect(address).is_err());
    }
}
