//! What agents send, over the wire: what is odd and harms nobody is taken.

use assisted_config::Settings;
use reqwest::Method;
use serde_json::{Value, json};

use crate::life::{HOST, register};
use crate::server::Server;

#[tokio::test]
async fn odd_answers_of_agents_are_taken() {
    let server = Server::start(Settings::default()).await;
    let (_, infra_env) = register(&server).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    for version in [Value::Null, json!(""), json!("quay.io/x/agent:v1")] {
        let registration = json!({"host_id": HOST, "discovery_agent_version": version});
        assert_eq!(server.call(Method::POST, &hosts, Some(registration)).await.0, 201, "{version}");
    }
    let host = format!("{hosts}/{HOST}");
    let instructions = format!("{host}/instructions");
    for query in ["", "?timestamp=", "?timestamp=0", "?timestamp=1700000000", "?more=1"] {
        assert_eq!(server.call(Method::GET, &format!("{instructions}{query}"), None).await.0, 200, "{query}");
    }
    let resolved = |v4: Value| {
        let output = json!({"resolutions": [{"domain_name": "api.life.example.com", "ipv4_addresses": v4, "took": 3}]});
        json!({"step_type": "domain-resolution", "step_id": "x", "exit_code": 0, "output": output.to_string()})
    };
    for (reply, expected) in [
        (json!({}), 204),
        (json!({"exit_code": 1, "error": "no such step"}), 204),
        (json!({"step_type": "", "step_id": "", "exit_code": -1, "output": "", "error": ""}), 204),
        (json!({"step_type": null, "step_id": null, "exit_code": null, "output": null, "error": null}), 204),
        (json!({"step_type": "ntp-synchronizer", "exit_code": 2, "output": "{"}), 204),
        (resolved(json!(["1.2.3.4/24", "", null, "nowhere"])), 204),
        // The form of the message is the contract's (agent-protocol §0.1, §2.1).
        (json!({"step_type": "dance", "exit_code": 1}), 400),
        (json!({"exit_code": 1, "more": 1}), 400),
        (json!({"exit_code": "1"}), 400),
        (resolved(json!("1.2.3.4")), 400),
        (resolved(json!([{"address": "1.2.3.4"}])), 400),
    ] {
        let (status, refused) = server.call(Method::POST, &instructions, Some(reply.clone())).await;
        assert_eq!(status, expected, "{reply} {refused}");
    }
    let kept = server.call(Method::GET, &host, None).await.1;
    let kept: Value = serde_json::from_str(kept["domain_name_resolutions"].as_str().unwrap()).unwrap();
    assert_eq!(kept["resolutions"][0]["ipv4_addresses"], json!(["1.2.3.4"]));
    server.stop().await;
}

/// Attacks: a stranger's registration under the id of a host, which the list of hosts tells to every agent.
#[tokio::test]
async fn a_stranger_is_not_the_host() {
    let server = Server::start(Settings::default()).await;
    let (_, infra_env) = register(&server).await;
    let infra_env = infra_env["id"].as_str().unwrap();
    let hosts = format!("/v2/infra-envs/{infra_env}/hosts");
    let own = json!({"serial": "S1", "macs": ["52:54:00:00:00:0a"]}).to_string();
    let other = json!({"serial": "S2", "macs": ["52:54:00:00:00:0f"]}).to_string();
    let registers = async |machine: Option<&str>| {
        let mut request =
            server.client.post(format!("{}{hosts}", server.url)).json(&json!({"host_id": HOST}));
        if let Some(machine) = machine {
            request = request.header("discovery_machine", machine);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let host = format!("{hosts}/{HOST}");
    assert_eq!(registers(Some(&own)).await.0, 201);
    // As it is in the middle of an installation.
    let key = assisted_core::model::host::HostKey {
        infra_env_id: infra_env.parse().unwrap(),
        host_id: HOST.parse().unwrap(),
    };
    let store = assisted_store::Store::open(&server.database).await.unwrap();
    loop {
        let mut row = store.host(key, assisted_store::Deleted::Hidden).await.unwrap().unwrap();
        row.record.host.status = assisted_wire::host::HostStatus::InstallingInProgress;
        let mut batch = assisted_store::Batch::new();
        batch.update_host(&row.record, row.version);
        if store.write(batch).await.is_ok() {
            break;
        }
    }
    let status = async || server.call(Method::GET, &host, None).await.1["status"].clone();
    for stranger in [Some(other.as_str()), None, Some("nonsense")] {
        let (code, refused) = registers(stranger).await;
        assert_eq!(code, 409, "{refused}");
        assert!(refused.contains("release-machine"), "{refused}");
        assert_eq!(status().await, "installing-in-progress");
    }
    let (_, events) = server.call(Method::GET, &format!("/v2/events?host_id={HOST}"), None).await;
    let told = |event: &Value| event["message"].as_str().is_some_and(|text| text.contains("another machine"));
    assert!(events.as_array().unwrap().iter().any(told), "{events}");
    // The machine itself starts over, as ever.
    assert_eq!(registers(Some(&own)).await.0, 201);
    assert_eq!(status().await, "error");
    // A board that was changed has a way back, once.
    assert_eq!(registers(Some(&other)).await.0, 409);
    assert_eq!(server.call(Method::POST, &format!("{host}/actions/release-machine"), None).await.0, 200);
    assert_eq!(registers(Some(&other)).await.0, 201);
    assert_eq!(registers(Some(&own)).await.0, 409);
    server.stop().await;
}
