//! The agent discovers the machine that the test runs on.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assisted_testkit::built;

use crate::service::Service;

/// A host is given this long to be judged; it takes about a second.
const LIMIT: Duration = Duration::from_secs(60);

struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn this_machine_is_discovered() {
    let service = Service::start();
    let (_, infra_env) = service.cluster("demo");
    let log = std::fs::File::create(service.dir.path().join("agent.log")).unwrap();
    let _agent = Agent(
        Command::new(built("assisted-host").unwrap())
            .args(["agent", "--url", &service.url, "--infra-env-id", &infra_env, "--agent-version", "test"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap(),
    );
    let started = Instant::now();
    let host = loop {
        let hosts = service.json(&["host", "list", "--infra-env", &infra_env]);
        if let Some(host) = hosts
            .as_array()
            .unwrap()
            .iter()
            .find(|host| host["validations_info"].is_string() && host["inventory"].is_string())
        {
            break host.clone();
        }
        assert!(
            started.elapsed() < LIMIT,
            "no host was judged: {hosts}\n{}\n{}",
            service.log(),
            std::fs::read_to_string(service.dir.path().join("agent.log")).unwrap_or_default()
        );
        std::thread::sleep(Duration::from_millis(100));
    };
    let inventory: serde_json::Value = serde_json::from_str(host["inventory"].as_str().unwrap()).unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert!(inventory["cpu"]["count"].as_u64().unwrap() as usize >= cpus, "{inventory}");
    let validations = host["validations_info"].as_str().unwrap();
    assert!(validations.contains("has-min-memory"), "{validations}");
    let shown = service.cli(&["host", "show", host["id"].as_str().unwrap()]);
    let shown = crate::service::text(&shown.stdout);
    for expected in [
        "VALIDATION",
        "machine-cidr-defined\n  measured",
        "\n  required    a machine network\n",
        "\n  what to do  Set ",
    ] {
        assert!(shown.contains(expected), "{expected:?} is missing:\n{shown}");
    }
}
