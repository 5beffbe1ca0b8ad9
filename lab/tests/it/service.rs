//! A service whose images are made from the lab's, reached by machines at `10.0.2.2`.

use std::io::copy;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use assisted_lab::machine::{Machine, Spec};
use assisted_lab::wait::Wait;
use assisted_testkit::{Server, built};
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
}

impl Service {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("pull-secret"), PULL_SECRET).unwrap();
        let os_images = json!([{
            "openshift_version": "4.18",
            "cpu_architecture": "x86_64",
            "url": Url::from_file_path(image().iso()).unwrap().as_str(),
            "version": assisted_lab::image::VERSION,
        }]);
        let (forward, port) = Forward::new();
        let program = built("assisted").unwrap();
        let programs = programs(dir.path());
        let server = Server::start(&program, dir.path(), |command| {
            command
                .env("OS_IMAGES", os_images.to_string())
                .env("SERVICE_BASE_URL", format!("http://10.0.2.2:{port}"))
                .env("HOST_PROGRAMS_DIR", programs);
        })
        .unwrap();
        forward.to(server.address());
        Self { dir, server, program }
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
        let list = ["host", "list", "--infra-env", infra_env["id"].as_str().unwrap()];
        let mut wait = Wait::new("the host", self.dir.path().display(), DISCOVERY);
        while wait.pause(Duration::from_millis(500)).is_ok() {
            machine.must_live("(a host at the service)").unwrap();
            for host in self.json(&list).as_array().unwrap() {
                if let Some(inventory) = host["inventory"].as_str().filter(|text| !text.is_empty()) {
                    return (host.clone(), serde_json::from_str(inventory).unwrap());
                }
            }
        }
        panic!("no host; its console:\n{}\n{}", machine.console().tail(), self.server.log());
    }
}

/// A folder with the program for hosts. Machines keep it in memory: what is for debuggers only stays here.
fn programs(dir: &Path) -> PathBuf {
    let dir = dir.join("programs");
    std::fs::create_dir(&dir).unwrap();
    let to = dir.join("assisted-host-x86_64");
    run(Command::new("strip").args(["-o", text(&to), text(&built("assisted-host").unwrap())]));
    dir
}

/// An address that is known before the service's own is.
struct Forward(Arc<OnceLock<SocketAddr>>);

impl Forward {
    fn new() -> (Self, u16) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Arc::new(OnceLock::<SocketAddr>::new());
        let known = Arc::clone(&target);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // Who comes before the service finds nobody.
                let Some(far) = known.get().and_then(|address| TcpStream::connect(address).ok()) else {
                    continue;
                };
                let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { continue };
                thread::spawn(move || pass(near, far));
                thread::spawn(move || pass(far_too, near_too));
            }
        });
        (Self(target), port)
    }

    fn to(&self, address: SocketAddr) {
        self.0.set(address).unwrap();
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    // A machine that is gone in the middle is no failure of the test.
    let _ = copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
