//! Reactions to each answer to a registration.

use std::time::Duration;

use assisted_agent::{Agent, End};
use serde_json::json;
use tokio::net::TcpListener;

use crate::service::{
    HOST, INFRA_ENV, Kind, Pretender, Service, ends, foreign, infra_refusal, json_answer, quiet, refusal,
    registered, watched,
};

#[tokio::test]
async fn a_host_says_who_it_is_and_is_called_as_the_service_says() {
    let mut service = Service::start().await;
    service.register(registered()).poll(quiet());
    watched(service.agent(Pretender).unwrap(), async {
        let register = service.next().await;
        assert_eq!(register.uri, format!("/api/assisted-install/v2/infra-envs/{INFRA_ENV}/hosts"));
        assert_eq!(register.body, json!({"host_id": HOST, "discovery_agent_version": "image:v1"}));
        assert_eq!(register.headers["x-secret-key"], "token");
        assert_eq!(register.headers["discovery_agent_version"], "image:v1");
        let poll = service.next().await;
        let (path, query) = poll.uri.split_once('?').unwrap();
        assert_eq!(
            path,
            format!("/api/assisted-install/v2/infra-envs/{INFRA_ENV}/hosts/{HOST}/instructions")
        );
        let (name, value) = query.split_once('=').unwrap();
        assert_eq!(name, "timestamp");
        assert!(value.parse::<u64>().unwrap() > 1_700_000_000);
        assert_eq!(poll.headers["discovery_agent_version"], "image:v2");
        assert_ne!(poll.headers["x-request-id"], register.headers["x-request-id"]);
    })
    .await;
}

#[tokio::test]
async fn a_refusal_by_the_api_freezes_the_agent() {
    for answer in [infra_refusal(401), infra_refusal(403), refusal(404), refusal(409), json_answer(403, "")] {
        let mut service = Service::start().await;
        service.register(answer);
        let End::Frozen(_) = ends(service.agent(Pretender).unwrap()).await else { panic!("frozen") };
        assert_eq!(service.take_requests(), [Kind::Register]);
    }
}

#[tokio::test]
async fn anything_else_is_tried_again() {
    let mut service = Service::start().await;
    service
        .register(refusal(400))
        .register(refusal(405))
        .register(refusal(500))
        .register(refusal(501))
        .register(foreign(502))
        .register(foreign(404))
        .register(foreign(403))
        .register(refusal(403))
        .register(infra_refusal(404))
        .register(json_answer(201, "<html>"))
        .register(registered())
        .poll(quiet());
    watched(service.agent(Pretender).unwrap(), async {
        for _ in 0..11 {
            let asked = service.next().await;
            assert_eq!((asked.kind, asked.body["host_id"].as_str()), (Kind::Register, Some(HOST)));
        }
        assert_eq!(service.next().await.kind, Kind::Poll);
    })
    .await;
}

#[tokio::test]
async fn a_service_that_is_down_is_waited_for() {
    let mut service = Service::start().await;
    service.register(registered()).poll(quiet());
    let down = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = service.config();
    config.url = format!("http://{}", down.local_addr().unwrap());
    // Connections are taken and cut, then passed on.
    let target = service.url.trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        for attempt in 0.. {
            let (mut inward, _) = down.accept().await.unwrap();
            if attempt >= 2 {
                let mut outward = tokio::net::TcpStream::connect(&target).await.unwrap();
                tokio::spawn(async move { tokio::io::copy_bidirectional(&mut inward, &mut outward).await });
            }
        }
    });
    watched(Agent::new(config, Pretender).unwrap(), async {
        assert_eq!(service.next().await.kind, Kind::Register);
        assert_eq!(service.next().await.kind, Kind::Poll);
    })
    .await;
}

#[tokio::test]
async fn a_pretended_reboot_ends_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::start().await;
    service.register(registered()).poll(quiet());
    let mut config = service.config();
    config.reboot_marker = Some(dir.path().join("rebooted"));
    std::fs::write(dir.path().join("rebooted"), "").unwrap();
    assert!(matches!(ends(Agent::new(config, Pretender).unwrap()).await, End::Rebooted));
}

#[tokio::test]
async fn a_ca_file_without_certificates_is_refused() {
    let service = Service::start().await;
    let mut config = service.config();
    config.ca_file = Some("/dev/null".into());
    config.interval = Duration::ZERO;
    assert!(Agent::new(config, Pretender).is_err());
}
