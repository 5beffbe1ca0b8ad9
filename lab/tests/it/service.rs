//! A service whose images are made from the lab's, reached by machines at `10.0.2.2`.

use std::io::copy;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use assisted_auth::Signer;
use assisted_lab_machines::machine::{Machine, Spec};
use assisted_lab_tools::wait::Wait;
use assisted_service::TokenResource;
use assisted_testkit::{Authority, Server, built, built_for_hosts, signing_keys};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use url::Url;

use crate::support::{image, run, text};

/// How long a machine may take until it is discovered; without KVM, on a busy computer.
const DISCOVERY: Duration = Duration::from_secs(900);

const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"bGFiOmxhYg==","email":"lab@example.com"}}}"#;

/// A running service, with a folder for what belongs to it and its machines.
pub struct Service {
    pub dir: tempfile::TempDir,
    server: Server,
    program: PathBuf,
    forward: Forward,
    /// The token of an infra-env, without which nobody is answered; the service has TLS then.
    token: Option<String>,
}

impl Service {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("pull-secret"), PULL_SECRET).unwrap();
        std::fs::create_dir(dir.path().join("programs")).unwrap();
        // As it ships, but in CI, which does not optimise it.
        std::fs::copy(built_for_hosts().unwrap(), dir.path().join("programs/assisted-host-x86_64")).unwrap();
        let (program, forward) = (built("assisted").unwrap(), Forward::new());
        let server = Self::serve(&program, dir.path(), &forward, "http", &[]);
        Self { dir, server, program, forward, token: None }
    }

    /// Starts it again over what it has: with TLS, and only for hosts of an infra-env, which have its token.
    pub fn secured(mut self, infra_env: &Value) -> Self {
        self.server.stop().unwrap();
        let dir = self.dir.path();
        let authority = Authority::new("the lab's").unwrap();
        let (certificate, key) =
            authority.certificate(dir, &["10.0.2.2", "127.0.0.1"], (2025, 2045)).unwrap();
        self.file("ca.pem", &authority.pem);
        let (private, public) = signing_keys().unwrap();
        let signer = Signer::new(&private.as_str().into()).unwrap();
        let resource = TokenResource::InfraEnv(infra_env["id"].as_str().unwrap().parse().unwrap());
        let token = signer.token(resource, Timestamp::now() + SignedDuration::from_hours(24)).unwrap();
        self.token = Some(token.expose().to_owned());
        let ca = dir.join("ca.pem");
        let more = [
            ("SERVE_HTTPS", "true"),
            ("HTTPS_CERT_FILE", text(&certificate)),
            ("HTTPS_KEY_FILE", text(&key)),
            ("SERVICE_CA_CERT_PATH", text(&ca)),
            ("AUTH_TYPE", "local"),
            ("EC_PRIVATE_KEY_PEM", &private),
            ("EC_PUBLIC_KEY_PEM", &public),
        ];
        self.server = Self::serve(&self.program, dir, &self.forward, "https", &more);
        self
    }

    fn serve(program: &Path, dir: &Path, forward: &Forward, scheme: &str, more: &[(&str, &str)]) -> Server {
        let os_images = json!([{
            "openshift_version": "4.18",
            "cpu_architecture": "x86_64",
            "url": Url::from_file_path(image().iso()).unwrap().as_str(),
            "version": assisted_lab_machines::image::VERSION,
        }]);
        let server = Server::start(program, dir, |command| {
            command
                .env("OS_IMAGES", os_images.to_string())
                .env("SERVICE_BASE_URL", format!("{scheme}://10.0.2.2:{}", forward.port))
                .env("HOST_PROGRAMS_DIR", dir.join("programs"))
                .envs(more.iter().copied());
        })
        .unwrap();
        forward.to(server.address());
        server
    }

    /// The command line of this service.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--url", &self.server.url()]).args(arguments).current_dir(self.dir.path());
        command
    }

    /// What a command answers.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = run(self.command(arguments).args(["-o", "json"]));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Makes an infra-env.
    pub fn infra_env(&self, name: &str, more: &[&str]) -> Value {
        let create = ["infra-env", "create", name, "--pull-secret-file", "pull-secret"];
        self.json(&[&create, more].concat())
    }

    /// A file beside the service's, for a command.
    pub fn file(&self, name: &str, content: &str) {
        std::fs::write(self.dir.path().join(name), content).unwrap();
    }

    /// Downloads the image of an infra-env from where machines would.
    pub fn download(&self, infra_env: &Value) -> PathBuf {
        if let Some(token) = &self.token {
            return self.download_with(token);
        }
        let url: Url = infra_env["download_url"].as_str().unwrap().parse().unwrap();
        assert_eq!(url.host_str(), Some("10.0.2.2"), "{url}");
        // The name that machines have for this computer leads to the image service all the same.
        let proxy = format!("http://127.0.0.1:{}", url.port().unwrap());
        let name = infra_env["name"].as_str().unwrap();
        let iso = self.dir.path().join(format!("{name}.iso"));
        let mut download = self.command(&["iso", "download", name, "--to", text(&iso)]);
        run(download.env("http_proxy", proxy).env("no_proxy", "127.0.0.1"));
        iso
    }

    /// Downloads the full image that a token is for. No command does so: who has none but an infra-env's token may ask for
    /// nothing else.
    fn download_with(&self, token: &str) -> PathBuf {
        let log = self.server.log();
        let (_, told) = log.rsplit_once("serving images address=").unwrap();
        let address = told.split_whitespace().next().unwrap();
        let iso = self.dir.path().join("secured.iso");
        let url = format!("https://{address}/byapikey/{token}/4.18/x86_64/full.iso");
        run(Command::new("curl")
            .args(["-sSf", "--noproxy", "*", "--cacert"])
            .arg(self.dir.path().join("ca.pem"))
            .args(["--output", text(&iso), &url]));
        iso
    }

    /// The hosts of an infra-env.
    fn hosts(&self, infra_env: &Value) -> Value {
        let id = infra_env["id"].as_str().unwrap();
        let Some(token) = &self.token else { return self.json(&["host", "list", "--infra-env", id]) };
        let url = format!("{}/api/assisted-install/v2/infra-envs/{id}/hosts", self.server.url());
        let answer = run(Command::new("curl")
            .args(["-sSf", "--noproxy", "*", "--cacert"])
            .arg(self.dir.path().join("ca.pem"))
            .args(["--header", &format!("X-Secret-Key: {token}"), &url]));
        serde_json::from_slice(&answer.stdout).unwrap()
    }

    /// A file that the service makes for an infra-env.
    pub fn infra_env_file(&self, infra_env: &Value, query: &str) -> Vec<u8> {
        let id = infra_env["id"].as_str().unwrap();
        let url = self.server.url();
        let url = format!("{url}/api/assisted-install/v2/infra-envs/{id}/downloads/files?{query}");
        run(Command::new("curl").args(["-sSf", "--noproxy", "*", &url])).stdout
    }

    /// Starts a machine in a folder of its own.
    pub fn machine(&self, spec: &Spec) -> Machine {
        Machine::start(spec, &self.dir.path().join(&spec.name)).unwrap()
    }

    /// Waits until a machine has registered and told its hardware: the host, and its inventory.
    pub fn discovered(&self, infra_env: &Value, machine: &mut Machine) -> (Value, Value) {
        let mut wait = Wait::new("the host", self.dir.path().display(), DISCOVERY);
        while wait.pause(Duration::from_millis(500)).is_ok() {
            machine.must_live("(a host at the service)").unwrap();
            for host in self.hosts(infra_env).as_array().unwrap() {
                if let Some(inventory) = host["inventory"].as_str().filter(|text| !text.is_empty()) {
                    return (host.clone(), serde_json::from_str(inventory).unwrap());
                }
            }
        }
        panic!("no host; its console:\n{}\n{}", machine.console().tail(), self.server.log());
    }
}

/// An address that is known before the service's own is.
struct Forward {
    port: u16,
    target: Arc<Mutex<Option<SocketAddr>>>,
}

impl Forward {
    fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Arc::new(Mutex::new(None::<SocketAddr>));
        let known = Arc::clone(&target);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // Who comes before the service finds nobody.
                let Some(far) = known.lock().unwrap().and_then(|address| TcpStream::connect(address).ok())
                else {
                    continue;
                };
                let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { continue };
                thread::spawn(move || pass(near, far));
                thread::spawn(move || pass(far_too, near_too));
            }
        });
        Self { port, target }
    }

    fn to(&self, address: SocketAddr) {
        *self.target.lock().unwrap() = Some(address);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    // A machine that is gone in the middle is no failure of the test.
    let _ = copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
