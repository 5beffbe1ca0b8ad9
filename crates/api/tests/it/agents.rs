//! What agents send, over the wire: what is odd and harms nobody is taken.

use assisted_config::Settings;
use reqwest::Method;
use serde_json::{Value, json};

use crate::files::{FORM, fetch, form, upload};
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

/// Makes the host one that is in the middle of an installation.
async fn is_being_installed(server: &Server, infra_env: &str) {
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
}

#[tokio::test]
async fn odd_reports_of_installers_are_taken() {
    let server = Server::start(Settings::default()).await;
    let (cluster, infra_env) = register(&server).await;
    let (cluster, infra_env) = (cluster["id"].as_str().unwrap(), infra_env["id"].as_str().unwrap());
    let hosts = format!("/v2/infra-envs/{infra_env}/hosts");
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    is_being_installed(&server, infra_env).await;
    let host = format!("{hosts}/{HOST}");

    let progress = format!("{host}/progress");
    let stage = "Writing image to disk";
    for (report, expected) in [
        (json!({"current_stage": stage}), 200),
        (json!({"current_stage": stage}), 200),
        (json!({"current_stage": stage, "progress_info": ""}), 200),
        (json!({"current_stage": stage, "progress_info": null}), 200),
        (json!({"current_stage": stage, "progress_info": "half, or so"}), 200),
        (json!({"current_stage": stage, "progress_info": "7%"}), 200),
        (json!({"current_stage": stage, "progress_info": "3%"}), 200),
        // The form is the contract's here, too (service-api §6.8).
        (json!({}), 400),
        (json!({"current_stage": null}), 400),
        (json!({"current_stage": "Dancing"}), 400),
        (json!({"current_stage": stage, "progress_info": 7}), 400),
        (json!({"current_stage": stage, "more": 1}), 400),
    ] {
        let (status, refused) = server.call(Method::PUT, &progress, Some(report.clone())).await;
        assert_eq!(status, expected, "{report} {refused}");
    }

    // Twice, out of order, and about a collection of which nothing was told (service-api §7.6).
    let progress = format!("{host}/logs-progress");
    for (report, expected) in [
        (json!({"logs_state": "completed"}), 204),
        (json!({"logs_state": "requested"}), 204),
        (json!({"logs_state": "requested"}), 204),
        (json!({"logs_state": "timeout"}), 204),
        (json!({"logs_state": "completed"}), 204),
        (json!({}), 400),
        (json!({"logs_state": null}), 400),
        (json!({"logs_state": "lost"}), 400),
        (json!({"logs_state": "requested", "more": 1}), 400),
    ] {
        let (status, refused) = server.call(Method::PUT, &progress, Some(report.clone())).await;
        assert_eq!(status, expected, "{report} {refused}");
    }
    let kept = server.call(Method::GET, &host, None).await.1;
    let kept = [&kept["progress"]["current_stage"], &kept["progress"]["progress_info"], &kept["logs_info"]];
    assert_eq!(kept, [stage, "3%", "completed"]);

    // An archive with nothing in it, beside parameters that are empty or that nobody knows; another one overwrites it.
    let logs = format!("/v2/clusters/{cluster}/logs?logs_type=host&host_id={HOST}");
    for (more, content, expected) in [
        ("&infra_env_id=&more=1".to_owned(), "", 204),
        (String::new(), "first", 204),
        (format!("&infra_env_id={infra_env}"), "second", 204),
        (format!("&infra_env_id={HOST}"), "third", 404),
    ] {
        let body = form("upfile", content.as_bytes());
        let (status, refused) = upload(&server, &format!("{logs}{more}"), FORM, body).await;
        assert_eq!(status, expected, "{more} {refused}");
    }
    let (status, _, _, archive) = fetch(&server, &logs).await;
    assert_eq!((status, archive.as_slice()), (200, b"second".as_slice()));
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
    is_being_installed(&server, infra_env).await;
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

/// Attacks: a machine that has the token of its infra-env, and knows all that can be read of another one, speaks as that one.
#[tokio::test]
async fn a_machine_of_the_same_infra_env_is_not_the_host() {
    let server = Server::start(Settings::default()).await;
    let (_, infra_env) = register(&server).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    let host = format!("{hosts}/{HOST}");
    let instructions = format!("{host}/instructions");
    let machine = json!({"serial": "S1", "macs": ["52:54:00:00:00:0a"]}).to_string();
    let ask = async |method: Method, path: &str, key: Option<&str>, body: Option<Value>| {
        let mut request = server.client.request(method, format!("{}{path}", server.url));
        request = request.header("discovery_machine", &machine);
        if let Some(key) = key {
            request = request.header("x-host-key", key);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        if answer.status() == 503 {
            // It was heard a moment ago, and counts as there for 90 seconds, or 150 where its state has changed since.
            let seconds: u64 = answer.headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((60..=151).contains(&seconds), "{seconds}");
        }
        answer.status().as_u16()
    };
    let registers = async |key| ask(Method::POST, &hosts, key, Some(json!({"host_id": HOST}))).await;
    let polls = async |key| ask(Method::GET, &instructions, key, None).await;
    let failed = json!({"step_type": "ntp-synchronizer", "exit_code": 2});
    let replies = async |key| ask(Method::POST, &instructions, key, Some(failed.clone())).await;
    let (own, other) = (Some("own-key"), Some("another-key"));
    assert_eq!(registers(own).await, 201);
    let kept = server.call(Method::GET, &host, None).await.1;
    // Once, and once more: what changed nothing before is answered without a look at the database.
    for _ in 0..2 {
        for (key, poll, reply) in [(own, 200, 204), (other, 409, 409), (None, 409, 409)] {
            assert_eq!((polls(key).await, replies(key).await), (poll, reply), "{key:?}");
        }
    }
    // What tells its machine from others is no secret: it lets nobody in beside the host's own agent.
    for stranger in [other, None] {
        assert_eq!(registers(stranger).await, 503, "{stranger:?}");
    }
    assert_eq!(server.call(Method::GET, &host, None).await.1["registered_at"], kept["registered_at"]);
    let (_, events) = server.call(Method::GET, &format!("/v2/events?host_id={HOST}"), None).await;
    // One tells of all attempts.
    let told = |event: &&Value| event["name"] == "host_registration_delayed";
    let told: Vec<_> = events.as_array().unwrap().iter().filter(told).collect();
    assert!(told.len() == 1 && told[0]["severity"] == "warning", "{events}");
    // The key itself is kept nowhere.
    assert!(!kept.to_string().contains("own-key") && !events.to_string().contains("own-key"));
    assert_eq!(registers(own).await, 201);
    // The way back of one whose board was changed.
    assert_eq!(server.call(Method::POST, &format!("{host}/actions/release-machine"), None).await.0, 200);
    assert_eq!(registers(other).await, 201);
    assert_eq!((polls(own).await, polls(other).await), (409, 200));
    server.stop().await;
}

#[tokio::test]
async fn agents_without_a_key_are_taken_unless_keys_are_required() {
    for (required, registered, polled) in [(false, 201, 200), (true, 409, 409)] {
        let mut settings = Settings::default();
        settings.auth.agent_keys_required = required;
        let server = Server::start(settings).await;
        let (_, infra_env) = register(&server).await;
        let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
        let registration = Some(json!({"host_id": HOST}));
        assert_eq!(server.call(Method::POST, &hosts, registration).await.0, registered);
        let instructions = format!("{hosts}/{HOST}/instructions");
        assert_eq!(server.call(Method::GET, &instructions, None).await.0, polled);
        server.stop().await;
    }
}
