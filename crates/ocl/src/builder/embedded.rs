//! The bootstrap host's own registry: what all nodes pull from, with TLS and a password; and the one that only this host reaches, to
//! push to (ocl-day1 §B5.2). On a control plane node the first is the node's own unit, and the second is added to what it serves (§B7.1).

use std::time::Duration;

use assisted_base::http::{Proxies, Trust, certificates};
use assisted_release::PullSecret;
use assisted_release::reference::Repository;
use assisted_wire::on_cluster_layering::{LayeringErrorCode, Pool};
use reqwest::StatusCode;

use super::machine::require_success;
use super::{Failed, Machine};
use crate::config::{Config, Registry};
use crate::paths;

const READER: &str = "ocl-registry";
const WRITER: &str = "ocl-registry-rw";
/// The second one beside a node's own registry. Not the name under which the node fills its registry from others.
const NODE_WRITER: &str = "ocl-build-rw";
/// By what a program knows that it runs in a unit.
const UNIT: &str = "INVOCATION_ID";
const START: Duration = Duration::from_secs(10 * 60);
const STOP: Duration = Duration::from_secs(60);
/// How long it may take until it answers, and between two looks.
const READY: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_secs(1);

/// The embedded registry of an installation.
#[derive(Debug)]
pub(crate) struct Embedded<'a> {
    machine: &'a Machine,
    program: &'a str,
    port: u16,
    namespace: &'a str,
    cluster: String,
}

fn failed(reason: impl Into<String>) -> Failed {
    Failed::new(LayeringErrorCode::Registry, reason)
}

/// Whether this is a control plane node, which has the registry by its own configuration.
fn is_node(machine: &Machine) -> bool {
    machine.exists(&format!("{}/config-rw.yaml", paths::NODE_REGISTRY))
}

/// What is pushed to on this machine.
fn writer_name(machine: &Machine) -> &'static str {
    if is_node(machine) { NODE_WRITER } else { WRITER }
}

impl<'a> Embedded<'a> {
    /// `None` with an external registry.
    pub(crate) fn of(machine: &'a Machine, config: &'a Config) -> Option<Self> {
        match &config.registry {
            Registry::Embedded { port, namespace, .. } => Some(Self {
                machine,
                program: &config.images.docker_registry,
                port: *port,
                namespace,
                cluster: config.cluster_id.to_string(),
            }),
            Registry::External {} => None,
        }
    }

    /// The name under which this host reads it.
    pub(crate) fn local(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// A pool's repository, as this host reads it.
    pub(crate) fn local_repository(&self, pool: Pool) -> String {
        format!("{}/{}/os-image-{pool}", self.local(), self.namespace)
    }

    /// Where a pool's image is pushed.
    pub(crate) fn writer(&self, pool: Pool) -> String {
        format!("127.0.0.1:{}/{}/os-image-{pool}:{}", self.port + 1, self.namespace, self.cluster)
    }

    /// Its certificate's authority.
    pub(crate) fn authority(&self) -> Result<String, Failed> {
        let path = format!("/etc/containers/certs.d/{}/ca.crt", self.local());
        let bytes = self.machine.read(&path).map_err(|error| failed(format!("{path}: {error}")))?;
        String::from_utf8(bytes).map_err(|_| failed(format!("{path} is no certificate")))
    }

    /// Starts both, unless the first answers and the second runs.
    pub(crate) async fn start(&self, auth: &str, secret: &PullSecret) -> Result<(), Failed> {
        if self.writer_runs().await && self.answers(secret).await.is_ok() {
            return Ok(());
        }
        if !is_node(self.machine) {
            self.run(READER, "config-ro.yaml", auth).await?;
        }
        self.run(writer_name(self.machine), "config-rw.yaml", auth).await?;
        let limit = self.machine.pace(READY);
        let ready = async {
            while let Err(error) = self.answers(secret).await {
                tracing::info!(%error, "the registry doesn't answer yet");
                self.machine.sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(limit.max(Duration::from_secs(10)), ready).await.is_ok() {
            return Ok(());
        }
        let why = self.answers(secret).await.err().unwrap_or_default();
        Err(failed(format!("the registry on port {} doesn't answer: {why}", self.port)))
    }

    async fn run(&self, name: &str, settings: &str, auth: &str) -> Result<(), Failed> {
        // One of an earlier attempt; that there is none is no fault.
        let _ = self.machine.run(STOP, "podman", &["rm", "--force", "--ignore", name]).await;
        let (data, own) = match is_node(self.machine) {
            true => (paths::NODE_DATA.to_owned(), paths::NODE_REGISTRY),
            false => (format!("{}/registry", paths::SCRATCH), paths::REGISTRY),
        };
        let data = format!("--volume={}:/var/lib/registry", self.machine.name(&data));
        let own = format!("--volume={}:/etc/registry:ro", self.machine.name(own));
        let settings = format!("/etc/registry/{settings}");
        let run = [
            "run",
            "--detach",
            "--name",
            name,
            "--net=host",
            "--security-opt=label=disable",
            "--authfile",
            auth,
        ];
        let what = [&data, &own, "--entrypoint", "/usr/bin/distribution", self.program, "serve", &settings];
        let args: Vec<&str> = run.into_iter().chain(what).collect();
        // It outlives the unit that this runs in: without the unit's id podman gives the container's monitor a scope of its own.
        let start = self.machine.cmd(START, "podman").args(&args).env(UNIT, "");
        let started = require_success("podman", start.run().await);
        started.map(drop).map_err(|error| failed(format!("{name} can't be started: {error}")))
    }

    async fn writer_runs(&self) -> bool {
        let ask = ["container", "inspect", "--format", "{{.State.Running}}", writer_name(self.machine)];
        self.machine.run(STOP, "podman", &ask).await.is_ok_and(|answer| answer == "true")
    }

    /// Whether the public one answers who has the credentials.
    pub(crate) async fn answers(&self, secret: &PullSecret) -> Result<(), String> {
        let authority = self.authority().map_err(|error| error.reason)?;
        let authorities = certificates(authority.as_bytes()).map_err(|error| error.to_string())?;
        let client =
            assisted_base::http::builder(super::USER_AGENT, Trust::Also(authorities), &Proxies::None);
        let client = client.and_then(|client| client.timeout(Duration::from_secs(10)).build());
        let client = client.map_err(|error| error.to_string())?;
        let repository = Repository { registry: self.local(), name: self.namespace.to_owned() };
        let mut request = client.get(format!("https://{}/v2/", self.local()));
        if let Some((_, user)) = secret.find(&repository) {
            request = request.basic_auth(&user.user, Some(user.password.expose()));
        }
        match request.send().await {
            Ok(answer) if answer.status() == StatusCode::OK => Ok(()),
            Ok(answer) => Err(format!("it answers with status {}", answer.status().as_u16())),
            Err(error) => Err(assisted_base::error::chain(&error)),
        }
    }
}

/// Ends both, but for a node's own; that they don't run is no fault.
pub(crate) async fn stop(machine: &Machine) {
    let names: &[&str] = if is_node(machine) { &[NODE_WRITER] } else { &[READER, WRITER] };
    for name in names {
        if let Err(error) =
            machine.run(STOP, "podman", &["rm", "--force", "--ignore", "--time=5", *name]).await
        {
            tracing::warn!(name, error, "a registry may still run");
        }
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::ClusterId;

    use super::super::tests::scripted;
    use super::*;

    /// The builder's unit ends long before the registry may.
    #[tokio::test]
    async fn a_registry_is_in_no_unit() {
        let dir = tempfile::tempdir().unwrap();
        let machine = scripted(dir.path(), "echo \"unit ${INVOCATION_ID-unset}\" >> DIR/asked");
        let registry = Embedded {
            machine: &machine,
            program: "quay.io/registry@sha256:1",
            port: 22626,
            namespace: "ocl",
            cluster: ClusterId::random().to_string(),
        };
        registry.run(READER, "config-ro.yaml", "/run/auth.json").await.unwrap();
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        let after = asked.lines().skip_while(|line| !line.starts_with("podman run --detach")).nth(1);
        assert_eq!(after, Some("unit "), "{asked}");
    }
}
