//! Workers that are added to the cluster once it is installed.

use std::process::Child;
use std::time::Duration;

use serde_json::Value;

use super::topology::Planned;
use super::{Lab, LabError, NAME, heading, say};

/// How long a worker may take to be ready, and then to be a node.
const ADDED: Duration = Duration::from_secs(30 * 60);
/// Who signs the certificate that a node's own server has: its last request.
const SERVING: &str = "kubernetes.io/kubelet-serving";

/// A command that people see, until this is dropped.
struct Shown(Child);

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Lab {
    /// Adds the workers that come later, if there are any, as a person would: the service does not see their nodes, so their
    /// requests for certificates are approved with the cluster's own kubeconfig.
    pub(super) fn add_workers(&mut self) -> Result<(), LabError> {
        let numbers = self.numbers(true);
        if numbers.is_empty() {
            return Ok(());
        }
        heading("Workers for the installed cluster");
        self.begins("workers are added");
        self.cli.show(&["cluster", "add-hosts", NAME])?;
        for number in &numbers {
            self.power_on(*number)?;
        }
        self.await_hosts(true)?;
        let planned: Vec<_> = self.machines.iter().map(|(planned, _)| planned.clone()).collect();
        let planned: Vec<_> = planned.into_iter().filter(|planned| planned.is_late).collect();
        let shown = Shown(self.cli.start(&["cluster", "watch", NAME])?);
        self.await_status(&planned, "known")?;
        for planned in &planned {
            self.cli.show(&["host", "install", &planned.name])?;
        }
        self.await_status(&planned, "added-to-existing-cluster")?;
        drop(shown);
        heading("Their nodes, and the requests for certificates that a person approves");
        self.let_in(&planned)?;
        self.cli.show(&["host", "list"])?;
        self.show_kubectl(&["get", "nodes", "-o", "wide"])
    }

    fn await_status(&mut self, planned: &[Planned], status: &str) -> Result<(), LabError> {
        let mut wait = self.wait_for(&format!("the status {status} of workers that are added"), ADDED);
        loop {
            let hosts = self.cli.json(&["host", "list"])?;
            let hosts: Vec<_> = hosts.as_array().into_iter().flatten().collect();
            let (mut there, mut absent) = (Vec::new(), Vec::new());
            for planned in planned {
                let found = hosts.iter().find(|host| planned.is(host));
                let text =
                    |name: &str| found.and_then(|host| host[name].as_str()).unwrap_or_default().to_owned();
                match text("status").as_str() {
                    found if found == status => {
                        there.push(format!("{} is {found}: {}", planned.name, text("status_info")));
                    }
                    "error" => {
                        let (host, status) = (planned.name.clone(), text("status"));
                        return Err(LabError::NotAdded { host, status, why: text("status_info") });
                    }
                    found => absent.push(format!("{} is {found}", planned.name)),
                }
            }
            if absent.is_empty() {
                say(&format!("\n{}", there.join("\n")));
                return Ok(());
            }
            wait.is_for(format_args!("the status {status}: {}", absent.join(", ")));
            for _ in 0..4 {
                self.pause()?;
            }
            wait.go_on()?;
        }
    }

    /// Approves what the nodes ask for, until they are ready and have all their certificates. The installation's controller may
    /// still run for a minute, and be quicker.
    fn let_in(&mut self, planned: &[Planned]) -> Result<(), LabError> {
        let mut wait = self.wait_for("nodes of workers that are added", ADDED);
        loop {
            let requests = items(self.kubectl_json(&["get", "csr"])?);
            for request in requests.iter().filter(|request| is_pending(request)) {
                let spec = |key: &str| request["spec"][key].as_str().unwrap_or_default();
                say(&format!("\n{} asks for a certificate of {}", spec("username"), spec("signerName")));
                let name = request["metadata"]["name"].as_str().unwrap_or_default();
                self.show_kubectl(&["certificate", "approve", name])?;
            }
            let nodes = items(self.kubectl_json(&["get", "nodes"])?);
            let is_in = |planned: &&Planned| {
                has_node(&nodes, &planned.name) && has_certificate(&requests, &planned.name)
            };
            let absent: Vec<_> = planned.iter().filter(|planned| !is_in(planned)).collect();
            if absent.is_empty() {
                return Ok(());
            }
            let names: Vec<_> = absent.iter().map(|planned| planned.name.as_str()).collect();
            wait.is_for(format_args!(
                "the nodes {}, which are to be ready and have certificates,",
                names.join(", ")
            ));
            self.pause()?;
            wait.go_on()?;
        }
    }
}

fn items(mut list: Value) -> Vec<Value> {
    let Value::Array(items) = list["items"].take() else { return Vec::new() };
    items
}

/// Whether nobody has decided about a request.
fn is_pending(request: &Value) -> bool {
    request["status"]["conditions"].as_array().is_none_or(Vec::is_empty)
}

/// Whether a node's server has been given its certificate.
fn has_certificate(requests: &[Value], node: &str) -> bool {
    let user = format!("system:node:{node}");
    requests.iter().any(|request| {
        let spec = &request["spec"];
        spec["signerName"] == SERVING
            && spec["username"] == user
            && request["status"]["certificate"].is_string()
    })
}

/// Whether the cluster has a node of this name that is ready.
fn has_node(nodes: &[Value], name: &str) -> bool {
    nodes.iter().filter(|node| node["metadata"]["name"] == name).any(|node| {
        let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_waits_until_somebody_has_decided() {
        assert!(is_pending(&json!({"status": {}})));
        assert!(!is_pending(&json!({"status": {"conditions": [{"type": "Denied", "status": "True"}]}})));
    }

    #[test]
    fn a_node_is_in_when_it_is_ready_and_has_its_last_certificate() {
        let node = |status: &str| json!({"metadata": {"name": "w"}, "status": {"conditions": [{"type": "Ready", "status": status}]}});
        assert!(has_node(&[node("True")], "w"));
        assert!(!has_node(&[node("True")], "v"));
        assert!(!has_node(&[node("Unknown")], "w"));
        let request = |signer: &str, user: &str, status: Value| json!({"spec": {"signerName": signer, "username": user}, "status": status});
        let signed = json!({"certificate": "LS0t"});
        assert!(has_certificate(&[request(SERVING, "system:node:w", signed.clone())], "w"));
        for other in [
            request(SERVING, "system:node:w", json!({})),
            request(SERVING, "system:node:v", signed.clone()),
            request("kubernetes.io/kube-apiserver-client-kubelet", "system:node:w", signed),
        ] {
            assert!(!has_certificate(&[other], "w"));
        }
    }
}
