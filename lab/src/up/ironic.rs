//! Ironic at a lab's hub, as far as it has machines installed: its agent on each of them tells what the machine is, and gets a step to run. The
//! agent asks for that by itself, where Ironic's own is called back.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::network::{GATEWAY, Member, Network, NetworkError};

/// Where Ironic is, and where an inspection is told of: the agent knows both ports by itself.
pub(super) const URL: &str = "http://192.168.126.1";
const PORTS: [u16; 2] = [6385, 5050];
/// How long a client may take, and how much it may say, in bytes.
const LIMIT: Duration = Duration::from_secs(5);
const LONGEST: usize = 1 << 18;

const UNKNOWN: (&str, Value) = ("404 Not Found", Value::Null);

/// What Ironic knows of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) mac: String,
    /// What the agent has found since the machine was booted.
    pub(super) inventory: Option<Value>,
    /// What the agent is to do.
    pub(super) step: Option<String>,
    /// Whether it has come to a good end.
    pub(super) outcome: Option<bool>,
}

/// Machines by their names.
type Nodes = BTreeMap<String, Node>;

/// Ironic, for as long as this process lives.
pub(super) struct Ironic(Arc<Mutex<Nodes>>);

impl Ironic {
    /// Listens on the network.
    pub(super) fn start(network: &Network, machines: &[Member]) -> Result<Self, NetworkError> {
        let node =
            |machine: &Member| (machine.name.clone(), Node { mac: machine.mac.clone(), ..Node::default() });
        let ironic = Self(Arc::new(Mutex::new(machines.iter().map(node).collect())));
        for port in PORTS {
            let address = SocketAddr::from((GATEWAY, port));
            let failed = |error: io::Error| NetworkError::Failed {
                command: format!("listening on {address}"),
                said: error.to_string(),
            };
            let listener = network.within(|| TcpListener::bind(address))?.map_err(failed)?;
            let nodes = Arc::clone(&ironic.0);
            let serve = move || {
                for client in listener.incoming().flatten() {
                    // Whoever broke off tries again.
                    let _ = take(client, &nodes);
                }
            };
            thread::Builder::new().name("ironic".to_owned()).spawn(serve).map_err(failed)?;
        }
        Ok(ironic)
    }

    /// What is known of a machine.
    pub(super) fn node(&self, name: &str) -> Node {
        locked(&self.0).get(name).cloned().unwrap_or_default()
    }

    /// Has the agent of a machine run a step.
    pub(super) fn order(&self, name: &str, step: &str) {
        if let Some(node) = locked(&self.0).get_mut(name) {
            (node.step, node.outcome) = (Some(step.to_owned()), None);
        }
    }

    /// The machine boots: its agent has told nothing yet. A step that it was to run is run again.
    pub(super) fn forget(&self, name: &str) {
        if let Some(node) = locked(&self.0).get_mut(name) {
            (node.inventory, node.outcome) = (None, None);
        }
    }
}

fn locked(nodes: &Mutex<Nodes>) -> MutexGuard<'_, Nodes> {
    nodes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request.
fn take(mut client: TcpStream, nodes: &Mutex<Nodes>) -> io::Result<()> {
    client.set_read_timeout(Some(LIMIT))?;
    client.set_write_timeout(Some(LIMIT))?;
    let mut reader = BufReader::new(client.try_clone()?.take(LONGEST as u64));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(given) = header.strip_prefix("content-length:") {
            length = given.trim().parse().unwrap_or_default();
        }
    }
    let mut body = vec![0; LONGEST.min(length)];
    reader.read_exact(&mut body)?;
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (status, answer) = answer(&mut locked(nodes), &path, &told);
    let text = answer.to_string();
    let length = text.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

/// What is answered to whoever tells something at a path.
fn answer(nodes: &mut Nodes, path: &str, told: &Value) -> (&'static str, Value) {
    if path == "/v1/continue" {
        let cards = told["inventory"]["interfaces"].as_array().into_iter().flatten();
        let macs: Vec<_> = cards.filter_map(|card| card["mac_address"].as_str()).collect();
        let mut all = nodes.iter_mut();
        let found = all.find(|(_, node)| macs.iter().any(|mac| mac.eq_ignore_ascii_case(&node.mac)));
        let Some((name, node)) = found else { return UNKNOWN };
        node.inventory = Some(told["inventory"].clone());
        return ("200 OK", json!({"uuid": name}));
    }
    let node = path.strip_prefix("/v1/heartbeat/").and_then(|name| nodes.get_mut(name));
    let Some(node) = node.filter(|node| node.inventory.is_some()) else { return UNKNOWN };
    if let Some(status @ ("SUCCEEDED" | "FAILED")) = told["status"].as_str()
        && node.step.take().is_some()
    {
        node.outcome = Some(status == "SUCCEEDED");
    }
    ("202 Accepted", json!({"step": node.step}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_tells_what_the_machine_is_and_runs_the_step_that_is_wanted() {
        let node = Node { mac: "52:54:00:7e:00:01".to_owned(), ..Node::default() };
        let ironic = Ironic(Arc::new(Mutex::new(Nodes::from([("master-0".to_owned(), node)]))));
        let tell = |path: &str, told: Value| answer(&mut locked(&ironic.0), path, &told);
        let card = |mac: &str| json!({"inventory": {"interfaces": [{"name": "eth0", "mac_address": mac}]}});
        let beat = "/v1/heartbeat/master-0";
        assert_eq!(tell(beat, json!({})), UNKNOWN, "it has told nothing");
        assert_eq!(tell("/v1/continue", card("52:54:00:7e:00:02")), UNKNOWN);
        let known = ("200 OK", json!({"uuid": "master-0"}));
        assert_eq!(tell("/v1/continue", card("52:54:00:7E:00:01")), known);
        assert!(ironic.node("master-0").inventory.is_some());

        let step = |step: Value| ("202 Accepted", json!({"step": step}));
        // Nobody wanted anything.
        assert_eq!(tell(beat, json!({"status": "FAILED"})), step(Value::Null));
        ironic.order("master-0", "start");
        assert_eq!(tell(beat, json!({"status": null})), step("start".into()));
        ironic.forget("master-0");
        assert_eq!(tell(beat, json!({})), UNKNOWN);
        tell("/v1/continue", card("52:54:00:7e:00:01"));
        assert_eq!(tell(beat, json!({})), step("start".into()));
        assert_eq!(ironic.node("master-0").outcome, None);
        assert_eq!(tell(beat, json!({"status": "SUCCEEDED"})), step(Value::Null));
        assert_eq!(ironic.node("master-0").outcome, Some(true));
        assert_eq!(tell("/", Value::Null), UNKNOWN);
    }
}
