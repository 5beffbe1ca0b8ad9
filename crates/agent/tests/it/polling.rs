//! The polling loop: pace, failures, ends.

use std::time::Duration;

use assisted_agent::{Agent, End};
use serde_json::{Value, json};

use crate::service::{
    Kind, Pretender, Service, endless, ends, foreign, infra_refusal, json_answer, quiet, refusal, registered,
    steps, watched,
};

#[tokio::test]
async fn exit_makes_the_host_register_anew() {
    let mut service = Service::start().await;
    service.register(registered()).poll(quiet()).poll(steps(&Value::Null, 0, "exit"));
    watched(service.agent(Pretender).unwrap(), async {
        let mut seen = Vec::new();
        for _ in 0..5 {
            seen.push(service.next().await.kind);
        }
        use Kind::{Poll, Register};
        assert_eq!(seen, [Register, Poll, Poll, Register, Poll]);
    })
    .await;
}

#[tokio::test]
async fn an_unknown_host_freezes() {
    let mut service = Service::start().await;
    service.register(registered()).poll(quiet()).poll(refusal(404));
    let End::Frozen(error) = ends(service.agent(Pretender).unwrap()).await else { panic!("frozen") };
    assert_eq!(error.status(), Some(404));
    assert_eq!(service.take_requests(), [Kind::Register, Kind::Poll, Kind::Poll]);
}

#[tokio::test]
async fn a_host_that_another_has_taken_registers_anew_with_its_key() {
    let mut service = Service::start().await;
    service.register(registered()).poll(quiet()).poll(refusal(409)).poll(quiet());
    let kept = tempfile::tempdir().unwrap();
    let mut config = service.config();
    config.key_file = Some(kept.path().join("key"));
    watched(Agent::new(config, Pretender).unwrap(), async {
        let register = service.next().await;
        let key = register.headers["x-host-key"].clone();
        assert_eq!(key.len(), 43);
        for kind in [Kind::Poll, Kind::Poll, Kind::Register, Kind::Poll] {
            let asked = service.next().await;
            assert_eq!((asked.kind, &asked.headers["x-host-key"]), (kind, &key));
        }
    })
    .await;
}

#[tokio::test]
async fn other_failures_are_passing() {
    let mut service = Service::start().await;
    service
        .register(registered())
        .poll(infra_refusal(401))
        .poll(foreign(404))
        .poll(json_answer(200, "nonsense"))
        .poll(quiet());
    watched(service.agent(Pretender).unwrap(), async {
        assert_eq!(service.next().await.kind, Kind::Register);
        for _ in 0..5 {
            assert_eq!(service.next().await.kind, Kind::Poll);
        }
    })
    .await;
}

#[tokio::test]
async fn long_silence_makes_the_host_register_anew() {
    let mut service = Service::start().await;
    service.register(registered()).poll(refusal(500));
    let mut config = service.config();
    config.limits.silence = Duration::ZERO;
    watched(Agent::new(config, Pretender).unwrap(), async {
        for _ in 0..3 {
            assert_eq!(service.next().await.kind, Kind::Register);
            assert_eq!(service.next().await.kind, Kind::Poll);
        }
    })
    .await;
}

#[tokio::test]
async fn a_hostile_answer_is_bounded() {
    let mut service = Service::start().await;
    let many: Vec<_> = (0..1_000_000).map(|_| json!({})).collect();
    service.register(registered()).poll(steps(&Value::Array(many), i64::MAX, "continue")).poll(quiet());
    let mut config = service.config();
    config.limits.running = 1_000;
    watched(Agent::new(config, Pretender).unwrap(), async {
        for _ in 0..64 {
            let reply = service.next_of(Kind::Reply).await;
            assert_eq!(reply.body, json!({"exit_code": -1, "error": "no such thing"}));
        }
        assert!(service.take_requests().is_empty());
    })
    .await;
}

#[tokio::test]
async fn answers_without_end_are_cut_off() {
    let mut service = Service::start().await;
    service.register(endless(500)).register(endless(201)).register(registered());
    service.poll(endless(200)).poll(endless(500)).poll(quiet());
    watched(service.agent(Pretender).unwrap(), async {
        for kind in [Kind::Register, Kind::Register, Kind::Register, Kind::Poll, Kind::Poll, Kind::Poll] {
            assert_eq!(service.next().await.kind, kind);
        }
    })
    .await;
}

#[tokio::test]
async fn a_too_long_answer_is_a_failed_poll() {
    let mut service = Service::start().await;
    let step = json!([{"step_type": "inventory", "args": ["x".repeat(20 << 20)]}]);
    service.register(registered()).poll(steps(&step, 0, "continue")).poll(quiet());
    watched(service.agent(Pretender).unwrap(), async {
        for kind in [Kind::Register, Kind::Poll, Kind::Poll, Kind::Poll] {
            assert_eq!(service.next().await.kind, kind);
        }
    })
    .await;
}
