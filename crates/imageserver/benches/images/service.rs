//! The programs under test: the whole service, and the image service alone in front of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assisted_testkit::{Server, tied};
use serde_json::{Value, json};

use super::base::{Base, Certificate};

const BASE_PATH: &str = "/api/assisted-install/v2";

/// `assisted serve`, with images on a port of its own.
pub struct Service {
    server: Server,
    images: SocketAddr,
}

impl Service {
    pub fn start(program: &Path, dir: &Path, base: &Base) -> Result<Self> {
        let images = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let server = Server::start(program, dir, |command| {
            command.args(["--image-listen", &images.to_string(), "--image-fetch", "start"]);
            // Nothing boots here: hosts and what they fetch are nowhere.
            command.env("OS_IMAGES", base.list());
            command.env("SERVICE_BASE_URL", "http://127.0.0.1:1").env("AGENT_DELIVERY", "image");
        })?;
        let service = Self { server, images };
        wait(images)?;
        Ok(service)
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// A new infra-env with static networks of so many hosts: its id, and their number.
    pub fn infra_env(&self, hosts: usize) -> Result<(String, usize)> {
        let networks: Vec<Value> = (0..hosts).map(network).collect();
        let body = json!({
            "name": format!("bench-{hosts}-{:?}", Instant::now()).replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
            "openshift_version": "4.18",
            "cpu_architecture": "x86_64",
            "pull_secret": r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz","email":"user@example.com"}}}"#,
            "image_type": "full-iso",
            "static_network_config": networks,
        });
        let answer = self.post("/infra-envs", &body)?;
        let id = answer["id"].as_str().with_context(|| format!("no id in {answer}"))?.to_owned();
        Ok((id, networks.len()))
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let mut stream = TcpStream::connect(self.address())?;
        let body = body.to_string();
        write!(
            stream,
            "POST {BASE_PATH}{path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
        Ok(serde_json::from_str(body)?)
    }

    /// How long the first byte of a body takes.
    pub fn first_byte(&self, path: &str) -> Result<Duration> {
        let mut stream = TcpStream::connect(self.images)?;
        let started = Instant::now();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        ensure!(line.starts_with("HTTP/1.1 200"), "{path}: {line}");
        while line.trim() != "" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        reader.read_exact(&mut [0])?;
        Ok(started.elapsed())
    }
}

/// The static network of one host: a bond, a VLAN on it, addresses, routes and name servers.
pub fn network(number: usize) -> Value {
    let (high, low) = (number / 200, number % 200 + 10);
    let yaml = format!(
        "interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n- name: eth1\n  type: ethernet\n  state: up\n\
         - name: bond0\n  type: bond\n  state: up\n  link-aggregation:\n    mode: active-backup\n    port:\n    - eth0\n    - eth1\n\
         - name: bond0.100\n  type: vlan\n  state: up\n  vlan:\n    base-iface: bond0\n    id: 100\n  ipv4:\n    enabled: true\n\
         \x20   dhcp: false\n    address:\n    - ip: 192.168.{high}.{low}\n      prefix-length: 16\n\
         dns-resolver:\n  config:\n    server:\n    - 192.168.0.1\n\
         routes:\n  config:\n  - destination: 0.0.0.0/0\n    next-hop-address: 192.168.0.1\n    next-hop-interface: bond0.100\n\
         \x20   table-id: 254\n"
    );
    let mac = |port: usize| format!("02:00:00:{high:02x}:{low:02x}:{port:02x}");
    json!({
        "network_yaml": yaml,
        "mac_interface_map": [
            {"mac_address": mac(0), "logical_nic_name": "eth0"},
            {"mac_address": mac(1), "logical_nic_name": "eth1"},
        ],
    })
}

/// `assisted image-service`, in front of the service.
pub struct ImageService {
    child: Child,
    pub pid: u32,
    pub address: SocketAddr,
}

impl ImageService {
    pub fn start(
        program: &Path,
        dir: &Path,
        base: &Base,
        service: &Service,
        tls: Option<&Certificate>,
    ) -> Result<Self> {
        let mut command = tied(program);
        command
            .args(["image-service", "--listen-address", "127.0.0.1", "--listen-port", "0"])
            .args(["--max-concurrent-requests", "4000", "--log-level", "warn", "--data-dir"])
            .arg(dir.join("images"))
            .env("ASSISTED_SERVICE_HOST", service.address().to_string())
            .env("OS_IMAGES", base.list())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if let Some(tls) = tls {
            command.arg("--https-cert-file").arg(&tls.certificate).arg("--https-key-file").arg(&tls.key);
        }
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().rsplit_once('/').context("it does not listen")?.1.parse()?;
        let service = Self { pid: child.id(), child, address };
        wait(address)?;
        Ok(service)
    }

    pub fn pids(&self) -> Vec<u32> {
        vec![self.pid]
    }
}

impl Drop for ImageService {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Until its base image, which is on this machine, has been read.
fn wait(address: SocketAddr) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(address).is_err() {
        ensure!(Instant::now() < until, "the image service does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    Ok(())
}
