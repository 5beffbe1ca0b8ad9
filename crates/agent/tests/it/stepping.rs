//! Steps and their replies: limits, cache, media.

use std::time::Duration;

use assisted_agent::{Agent, HostSteps, Media};
use assisted_hostinfo::Root;
use serde_json::{Value, json};

use crate::service::{
    HOST, Kind, Pretender, Service, json_answer, quiet, refusal, registered, steps, watched,
};

fn step(kind: &str, id: &str, args: &[&str]) -> Value {
    json!({"step_type": kind, "step_id": id, "args": args})
}

#[tokio::test]
async fn replies_carry_kind_id_code_and_texts() {
    let mut service = Service::start().await;
    let list = json!([step("inventory", "inventory-1", &["out"]), step("a-new-kind", "n-2", &["fail", "7"])]);
    service.register(registered()).poll(steps(&list, 0, "continue")).poll(quiet());
    watched(service.agent(Pretender).unwrap(), async {
        let mut replies = [service.next_of(Kind::Reply).await, service.next_of(Kind::Reply).await];
        replies.sort_by_key(|reply| reply.body["step_id"].to_string());
        assert_eq!(
            replies[0].body,
            json!({"step_type": "inventory", "step_id": "inventory-1", "output": "out"})
        );
        assert_eq!(
            replies[1].body,
            json!({"step_type": "a-new-kind", "step_id": "n-2", "exit_code": 7, "output": "o", "error": "e"})
        );
        assert_eq!(replies[0].headers["discovery_agent_version"], "image:v2");
    })
    .await;
}

#[tokio::test]
async fn an_output_that_the_service_has_is_not_sent_again() {
    let mut service = Service::start().await;
    let list = |id: &str, text: &str| steps(&json!([step("inventory", id, &[text])]), 0, "continue");
    service.register(registered()).reply(refusal(400)).reply(json_answer(204, ""));
    service.poll(list("not taken", "same")).poll(quiet());
    watched(service.agent(Pretender).unwrap(), async {
        assert_eq!(service.next_of(Kind::Reply).await.body["step_id"], "not taken");
        service.wait_until_handled().await;
        service.poll(list("taken", "same")).poll(quiet());
        assert_eq!(service.next_of(Kind::Reply).await.body["step_id"], "taken");
        service.wait_until_handled().await;
        service.poll(list("known", "same")).poll(list("changed", "other")).poll(quiet());
        assert_eq!(service.next_of(Kind::Reply).await.body["step_id"], "changed");
    })
    .await;
}

#[tokio::test]
async fn a_failed_poll_forgets_what_the_service_had() {
    let mut service = Service::start().await;
    let same = |id: &str| steps(&json!([step("inventory", id, &["same"])]), 0, "continue");
    service.register(registered()).poll(same("first")).poll(quiet());
    watched(service.agent(Pretender).unwrap(), async {
        assert_eq!(service.next_of(Kind::Reply).await.body["step_id"], "first");
        service.wait_until_handled().await;
        service.poll(refusal(500)).poll(same("second")).poll(quiet());
        assert_eq!(service.next_of(Kind::Reply).await.body["step_id"], "second");
    })
    .await;
}

#[tokio::test]
async fn a_hanging_step_is_given_up_and_polls_go_on() {
    let mut service = Service::start().await;
    service
        .register(registered())
        .poll(steps(&json!([step("inventory", "h", &["hang"])]), 0, ""))
        .poll(quiet());
    let mut config = service.config();
    config.limits.step = Duration::from_millis(300);
    watched(Agent::new(config, Pretender).unwrap(), async {
        let mut polls = 0;
        let reply = loop {
            let asked = service.next().await;
            match asked.kind {
                Kind::Poll => polls += 1,
                Kind::Reply => break asked,
                Kind::Register => {}
            }
        };
        assert!(polls > 1);
        assert_eq!(reply.body["exit_code"], -1);
        assert!(reply.body["error"].as_str().unwrap().contains("timed out"));
    })
    .await;
}

#[tokio::test]
async fn too_much_at_once_and_too_long_outputs_are_refused() {
    let mut service = Service::start().await;
    let list = json!([
        step("inventory", "1", &["hang"]),
        step("inventory", "2", &["hang"]),
        step("inventory", "3", &["out"])
    ]);
    service.register(registered()).poll(steps(&list, 0, "continue")).poll(quiet());
    let mut config = service.config();
    config.limits.running = 2;
    watched(Agent::new(config, Pretender).unwrap(), async {
        let reply = service.next_of(Kind::Reply).await;
        assert_eq!((reply.body["step_id"].as_str(), &reply.body["exit_code"]), (Some("3"), &json!(-1)));
        assert_eq!(reply.body["error"], "too many steps are running");
    })
    .await;

    let mut service = Service::start().await;
    let list = json!([step("inventory", "1", &["long", "2000"])]);
    service.register(registered()).poll(steps(&list, 0, "continue")).poll(quiet());
    let mut config = service.config();
    config.limits.output = 1_000;
    watched(Agent::new(config, Pretender).unwrap(), async {
        let reply = service.next_of(Kind::Reply).await;
        assert_eq!(reply.body["error"], "the step wrote 2000 bytes, more than 1000");
        assert!(reply.body.get("output").is_none());
    })
    .await;
}

#[tokio::test]
async fn without_its_medium_a_host_does_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for path in ["run/media/iso", "proc/1"] {
        std::fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    let mounts = "80 22 11:0 / /run/media/iso ro - iso9660 /dev/sr0 ro\n";
    std::fs::write(dir.path().join("proc/1/mountinfo"), mounts).unwrap();
    let mut service = Service::start().await;
    let list = json!([step("inventory", "1", &["out"])]);
    service.register(registered()).poll(steps(&list, 0, "continue")).poll(quiet());
    let agent = service.agent(Pretender).unwrap().watch_media(Media::below(dir.path()));
    watched(agent, async {
        let reply = service.next_of(Kind::Reply).await;
        assert_eq!(reply.body["exit_code"], 256);
        assert!(reply.body["error"].as_str().unwrap().contains("media was likely disconnected"));
        assert!(reply.body.get("output").is_none());
    })
    .await;
}

#[tokio::test]
async fn arguments_reach_no_shell() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    let touch = format!("touch {}", mark.display());
    let mut list = Vec::new();
    for text in [format!("$({touch})"), format!("`{touch}`"), format!("x; {touch}"), format!("x\n{touch}")] {
        let ntp = json!({ "ntp_source": text }).to_string();
        list.extend([
            step("inventory", &text, &[&text]),
            step("inventory", &text, &[HOST, &text]),
            step("ntp-synchronizer", &text, &[&ntp]),
            step(&text, "", &[&text]),
        ]);
    }
    let count = list.len();
    let mut service = Service::start().await;
    service.register(registered()).poll(steps(&Value::Array(list), 0, "continue")).poll(quiet());
    watched(service.agent(HostSteps::new(Root::live(), None)).unwrap(), async {
        for _ in 0..count {
            assert_eq!(service.next_of(Kind::Reply).await.body["exit_code"], -1);
        }
    })
    .await;
    assert!(!mark.exists());
}

#[tokio::test]
async fn this_machine_tells_its_inventory() {
    let mut service = Service::start().await;
    service
        .register(registered())
        .poll(steps(&json!([step("inventory", "1", &[HOST])]), 0, ""))
        .poll(quiet());
    watched(service.agent(HostSteps::new(Root::live(), None)).unwrap(), async {
        let register = service.next().await;
        assert_ne!(register.body["host_id"], HOST);
        let reply = service.next_of(Kind::Reply).await;
        let inventory: Value = serde_json::from_str(reply.body["output"].as_str().unwrap()).unwrap();
        assert!(inventory["cpu"]["count"].as_u64().unwrap() > 0);
    })
    .await;
}
