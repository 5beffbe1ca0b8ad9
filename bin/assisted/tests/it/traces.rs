//! Traces, as a collector reads them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use assisted_testkit::{Answer, Received, Receiver, Server, built};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

fn attributes(all: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    all.iter().map(|pair| (pair.key.as_str(), text(&pair.value))).collect()
}

fn ask(url: &str, what: &str, headers: &str, body: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{what} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_collector_gets_requests_work_and_commits_without_secrets() {
    let collector = Receiver::start(Answer::Status(200)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(&built("assisted").unwrap(), dir.path(), |command| {
        command.envs([
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab"),
            ("ENABLE_IMAGE_SERVICE", "false"),
        ]);
    })
    .unwrap();
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let body = r#"{"name":"c","openshift_version":"4.20","base_dns_domain":"example.com","control_plane_count":1,
        "high_availability_mode":"None","pull_secret":"{\"auths\":{\"cloud.openshift.com\":{\"auth\":\"aHVudGVyMjpodW50ZXIy\"},\"quay.io\":{\"auth\":\"aHVudGVyMjpodW50ZXIy\"}}}"}"#;
    let parent = format!("traceparent: 00-{trace}-00f067aa0ba902b7-01\r\nauthorization: Bearer hunter2\r\n");
    let created = ask(&server.url(), "POST /api/assisted-install/v2/clusters?token=hunter2", &parent, body);
    assert!(created.starts_with("HTTP/1.1 201"), "{created}");
    let began = Instant::now();
    let looked = || {
        let metrics = ask(&server.url(), "GET /metrics", "", "");
        let line =
            metrics.lines().find(|line| line.starts_with("assisted_work_finished_total{driver=\"due\"}"));
        line.is_some_and(|line| !line.ends_with(" 0"))
    };
    while !looked() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing was looked at: {}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    // What was not sent yet is sent before it ends.
    assert!(server.stop().unwrap().success(), "{}", server.log());

    let received = collector.received();
    assert!(!received.is_empty(), "nothing was sent: {}", server.log());
    let mut spans: Vec<Span> = Vec::new();
    for Received { head, body, .. } in &received {
        assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
        let head = head.to_lowercase();
        assert!(
            head.contains("x-team: blue") && head.contains("content-type: application/x-protobuf"),
            "{head}"
        );
        let text = String::from_utf8_lossy(body);
        for secret in ["hunter2", "aHVudGVyMjpodW50ZXIy"] {
            assert!(!text.contains(secret), "{secret} was told");
        }
        for of_resource in ExportTraceServiceRequest::decode(body.as_slice()).unwrap().resource_spans {
            let resource = of_resource.resource.unwrap();
            let resource = attributes(&resource.attributes);
            assert_eq!(resource["service.name"], "assisted-service");
            assert_eq!(resource["deployment.environment.name"], "lab");
            spans.extend(of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let request = spans.iter().find(|span| span.name == "POST /v2/clusters").unwrap();
    assert_eq!(
        (hex(&request.trace_id), hex(&request.parent_span_id)),
        (trace.to_owned(), "00f067aa0ba902b7".to_owned())
    );
    let told = attributes(&request.attributes);
    assert_eq!(
        (told["http.response.status_code"].as_str(), told["http.request.method"].as_str()),
        ("201", "POST")
    );
    let commit =
        spans.iter().find(|span| span.name == "commit" && span.parent_span_id == request.span_id).unwrap();
    let told = attributes(&commit.attributes);
    assert_eq!(told["db.system.name"], "sqlite");
    assert!(told["db.query.summary"].contains("insert clusters"), "{told:?}");
    let work = spans.iter().find(|span| span.name == "work due").unwrap();
    let told = attributes(&work.attributes);
    assert!(told["work.row"].starts_with("cluster ") && told["work.attempt"] == "1", "{told:?}");
    assert!(spans.iter().any(|span| span.parent_span_id == work.span_id), "what it writes is part of it");
}

/// Lists clusters until something holds; each request is a span.
fn list_until(server: &Server, what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "not {what}: {}", server.log());
        let answer = ask(&server.url(), "GET /api/assisted-install/v2/clusters", "", "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_collector_that_is_away_is_told_once_and_once_when_it_is_back() {
    let collector = Receiver::start(Answer::Nothing).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(&built("assisted").unwrap(), dir.path(), |command| {
        command.envs([
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("OTEL_BSP_SCHEDULE_DELAY", "20"),
            ("ENABLE_IMAGE_SERVICE", "false"),
        ]);
    })
    .unwrap();
    let told = || {
        let log = server.log();
        ["traces can't be sent, and are lost until they can", "traces are sent again"]
            .map(|words| log.matches(words).count())
    };
    // One that breaks connections, and one that answers, but takes nothing.
    for (round, away) in [(1, Answer::Nothing), (2, Answer::Status(503))] {
        collector.answer_with(away);
        list_until(&server, "away", || told() == [round, round - 1]);
        let before = collector.received().len();
        list_until(&server, "tried again", || collector.received().len() >= before + 3);
        assert_eq!(told(), [round, round - 1], "once, however often it is tried: {}", server.log());
        collector.answer_with(Answer::Status(200));
        list_until(&server, "back", || told() == [round, round]);
        let before = collector.received().len();
        list_until(&server, "sent again", || collector.received().len() >= before + 3);
        assert_eq!(told(), [round, round], "{}", server.log());
    }
    assert!(server.log().contains("the collector answered with status 503"), "{}", server.log());
    assert!(server.stop().unwrap().success(), "{}", server.log());
}
