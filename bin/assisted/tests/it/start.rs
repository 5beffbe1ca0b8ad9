//! What the service refuses to start with: each refusal names what is wrong, and what would be right.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::images::{self, get};
use crate::import::poll;
use crate::service::{Service, text};

/// A start that must fail; on a free port and with the data folder `dir`, unless the arguments say otherwise.
pub fn refused(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> Output {
    let mut all = vec!["serve"];
    for (flag, value) in [("--listen", "127.0.0.1:0"), ("--data-dir", dir.to_str().unwrap())] {
        if !args.contains(&flag) {
            all.extend([flag, value]);
        }
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_assisted"))
        .args(all)
        .args(args)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A service that starts all the same says so, and would not end by itself.
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if !line.is_empty() {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert!(line.is_empty() && !output.status.success(), "{args:?} {env:?}: {line}");
    output
}

#[test]
fn a_bad_setting_is_named_with_what_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    for (variable, value, parts) in [
        ("DISABLED_HOST_VALIDATIONS", "ntp-synced,nonsense", ["'nonsense'", "ids of host validations"]),
        ("DISABLED_HOST_VALIDATIONS", "ntp-synced,,mtu-valid", ["'ntp-synced,,mtu-valid'", "such as"]),
        ("DISABLED_CLUSTER_VALIDATIONS", "ntp-synced", ["'ntp-synced'", "ids of cluster validations"]),
        ("HW_VALIDATOR_REQUIREMENTS", "[{]", ["\"[{]\"", "a JSON list of requirements"]),
        ("HW_VALIDATOR_REQUIREMENTS", r#"[{"version":"4.9"}]"#, ["the role is missing", "cpu_cores"]),
        ("RELEASE_IMAGES", "[{}]", ["missing field", "a JSON list of release images"]),
        ("OS_IMAGES", "x86_64", ["\"x86_64\"", "a JSON list of OS images"]),
        ("RELEASE_SOURCES", "{}", ["\"{}\"", "a JSON list of release sources"]),
        ("MUST_GATHER_IMAGES", "[", ["\"[\"", "a JSON map"]),
        ("IGNORED_OPENSHIFT_VERSIONS", "4.10", ["\"4.10\"", "a JSON list of texts"]),
        ("HOST_MAX_DISCONNECTION_TIME", "3", ["\"3\"", "such as 90s"]),
        ("ENABLE_AUTO_ASSIGN", "yes", ["\"yes\"", "true or false"]),
        ("DB_MAX_OPEN_CONNECTIONS", "many", ["\"many\"", "a whole number"]),
        ("CLUSTER_NETWORK_CIDR", "10.0.0.0", ["\"10.0.0.0\"", "an IPv4 network"]),
        ("AUTH_TYPE", "basic", ["\"basic\"", "none, local"]),
        ("HTTP_LISTEN_PORT", "http", ["\"http\"", "is no port"]),
        ("LOG_LEVEL", "a=b=c", ["\"a=b=c\"", "debug or trace"]),
        ("LOG_FORMAT", "xml", ["\"xml\"", "text or json"]),
    ] {
        let told = text(&refused(dir.path(), &[], &[(variable, value)]).stderr);
        assert!(told.contains(variable), "{variable}={value}: {told}");
        for part in parts {
            assert!(told.contains(part), "{variable}={value}: {told} lacks {part}");
        }
    }
}

#[test]
fn what_this_version_cannot_do_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (variable, value, remedy) in [
        ("STORAGE", "s3", "S3_BUCKET is not set"),
        ("STORAGE", "nfs", "filesystem or s3"),
        ("S3_BUCKET", "b", "with STORAGE=filesystem they are kept in a folder"),
        ("BASE_DNS_DOMAINS", "example.com:Z1/bind", "there are route53 and rfc2136"),
        ("BASE_DNS_DOMAINS", "example.com:example.com/rfc2136", "DNS_UPDATE_SERVER"),
        ("DUMMY_IGNITION", "true", "GENERATOR=simulation"),
        ("TLS_CIPHER_SUITES", "TLS_AES_128_GCM_SHA256", "unset it"),
        ("GENERATOR", "none", "give openshift or simulation"),
    ] {
        let told = text(&refused(dir.path(), &[], &[(variable, value)]).stderr);
        assert!(told.contains(variable) && told.contains(remedy), "{variable}={value}: {told}");
    }
    for (set, told) in [
        (&[("ENABLE_EVENT_STREAMING", "true")][..], "KAFKA_BOOTSTRAP_SERVER must be set"),
        (
            &[
                ("ENABLE_EVENT_STREAMING", "true"),
                ("KAFKA_BOOTSTRAP_SERVER", "broker:9092"),
                ("KAFKA_EVENT_STREAM_TOPIC", "t"),
                ("KAFKA_CLIENT_ID", "ann"),
            ],
            "KAFKA_CLIENT_SECRET must be set",
        ),
        (&[("KAFKA_SASL_MECHANISM", "GSSAPI")], "PLAIN or SCRAM"),
        (
            &[("ENABLE_DATA_COLLECTION", "true"), ("DATA_UPLOAD_ENDPOINT", "nowhere")],
            "DATA_UPLOAD_ENDPOINT: it is no address of a web server",
        ),
        (&[("AUTH_TYPE", "local")], "AUTH_TYPE=local needs EC_PRIVATE_KEY_PEM"),
        (&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "http/protobuf"),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector")],
            "OTEL_EXPORTER_OTLP_ENDPOINT is no address of a web server",
        ),
        (&[("EVENTS_WEBHOOK_URL", "https://x")], "EVENTS_WEBHOOK_SECRET must be set"),
        (
            &[
                ("EVENTS_WEBHOOK_URL", "https://x"),
                ("EVENTS_WEBHOOK_SECRET", "s"),
                ("EVENTS_WEBHOOK_KINDS", "All"),
            ],
            "EVENTS_WEBHOOK_KINDS: \"All\" is none of ClusterState, HostState, InfraEnv, Event",
        ),
    ] {
        let output = text(&refused(dir.path(), &[], set).stderr);
        assert!(output.contains(told), "{set:?}: {output}");
    }
    let hub = [("ENABLE_KUBE_API", "true"), ("KUBECONFIG", "/nowhere")];
    let told = text(&refused(dir.path(), &[], &hub).stderr);
    assert!(told.contains("no credentials for an API server"), "{told}");
}

/// What the published pod, and the template of Kubernetes without S3, set.
const TEMPLATE: &[(&str, &str)] = &[
    ("ASSISTED_SERVICE_HOST", "127.0.0.1:8090"),
    ("ASSISTED_SERVICE_SCHEME", "http"),
    ("AUTH_TYPE", "none"),
    ("BASE_DNS_DOMAINS", ""),
    ("CHECK_CLUSTER_VERSION", "True"),
    ("CREATE_S3_BUCKET", "False"),
    ("DEPLOYMENT_TYPE", "Podman"),
    ("DEPLOY_TARGET", "onprem"),
    ("DISK_ENCRYPTION_SUPPORT", "true"),
    ("DUMMY_IGNITION", "false"),
    ("ENABLE_KUBE_API", "False"),
    ("ENABLE_SINGLE_NODE_DNSMASQ", "true"),
    ("IPV6_SUPPORT", "true"),
    ("ISO_IMAGE_TYPE", "full-iso"),
    ("JWKS_URL", "https://api.openshift.com/.well-known/jwks.json"),
    ("LISTEN_PORT", "8888"),
    ("NAMESPACE", "assisted-installer"),
    ("NTP_DEFAULT_SERVER", ""),
    ("POD_NAME", "assisted-0"),
    ("POSTGRESQL_DATABASE", "installer"),
    ("PUBLIC_CONTAINER_REGISTRIES", "quay.io,registry.ci.openshift.org"),
    ("REGISTRY_CREDS", ""),
    ("S3_USE_SSL", "false"),
    ("STORAGE", "filesystem"),
];

#[test]
fn a_template_of_the_replaced_service_starts_and_is_told_what_has_no_effect() {
    let service = Service::start_with_env(
        &[
            TEMPLATE,
            &[
                ("DB_LOG_SLOW_QUERIES", "true"),
                ("DB_SLOW_QUERY_THRESHOLD", "0"),
                ("ENABLE_SOFT_TIMEOUT", "true"),
                ("FILESYSTEM_USAGE_THRESHOLD", "0"),
            ],
        ]
        .concat(),
    );
    service.cluster("slow");
    let log = service.log();
    for told in [
        "DEPLOY_TARGET has no effect: each replica takes work",
        "ASSISTED_SERVICE_HOST has no effect here: it is read by `assisted image-service`",
        "ENABLE_SOFT_TIMEOUT has no effect: there is no such variable. Was ENABLE_SOFT_TIMEOUTS meant?",
        "slow statement",
        "insert into clusters",
        "the file system that files are kept on is filling up",
        "assisted-0",
    ] {
        assert!(log.contains(told), "{told} is not in {log}");
    }
    for silent in
        ["STORAGE has", "POD_NAME has", "BASE_DNS_DOMAINS has", "POSTGRESQL_DATABASE has", "dXNlcjpwYXNz"]
    {
        assert!(!log.contains(silent), "{silent} is in {log}");
    }
}

#[test]
fn a_simulation_says_so() {
    for (service, simulated) in [(Service::simulating(), true), (Service::start(), false)] {
        let sentence = "this service only simulates installations (GENERATOR=simulation)";
        assert_eq!(service.log().contains(sentence), simulated, "{}", service.log());
        let (head, body) = get(&format!("{}/ready", service.url));
        let body = text(&body);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert_eq!((body.starts_with(sentence), body.is_empty()), (simulated, !simulated), "{body}");
    }
}

#[test]
fn who_sends_hosts_where_nobody_listens_is_told_once() {
    for (base_url, times) in [("http://192.0.2.7:8090", 1), ("http://localhost:8090", 0)] {
        let service = Service::start_with_env(&[("SERVICE_BASE_URL", base_url)]);
        let log = service.log();
        assert_eq!(log.matches("only this machine is listened to").count(), times, "{base_url}: {log}");
        let lines: Vec<_> = log.lines().filter(|line| line.contains("ASSISTED_LISTEN=0.0.0.0:")).collect();
        assert_eq!(lines.len(), times, "{base_url}: {log}");
        let is_warning =
            |line: &&str| line.contains("WARN") && line.contains("ASSISTED_ALLOW_UNAUTHENTICATED");
        assert!(lines.iter().all(is_warning), "{lines:?}");
    }
}

#[test]
fn where_hosts_can_speak_for_each_other_it_is_told() {
    let told =
        "AGENT_TOKENS_UNSCOPED is on: whoever has the token of one discovery image can read and report";
    for (unscoped, times) in [("true", 1), ("false", 0)] {
        let settings = [("AUTH_TYPE", "users"), ("AGENT_TOKENS_UNSCOPED", unscoped)];
        let log = Service::start_with_env(&settings).log();
        let lines: Vec<_> = log.lines().filter(|line| line.contains(told)).collect();
        assert_eq!(lines.len(), times, "{log}");
        assert!(lines.iter().all(|line| line.contains("WARN")), "{lines:?}");
    }

    let service = Service::start();
    let (_, infra_env) = service.cluster("hosts");
    let registers = |number: u32, key: &str| {
        let body = format!(r#"{{"host_id":"11111111-2222-3333-4444-{number:012}"}}"#);
        let address = service.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /api/assisted-install/v2/infra-envs/{infra_env}/hosts HTTP/1.1\r\nHost: {address}\r\n{key}\
             Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        let log = service.log();
        let told = log.lines().filter(|line| line.contains("an agent without a key of its own registers"));
        told.filter(|line| line.contains("WARN")).count()
    };
    assert_eq!(registers(1, &format!("X-Host-Key: {}\r\n", "a1".repeat(32))), 0);
    // However many there are.
    assert_eq!((registers(2, ""), registers(3, "")), (1, 1));
}

#[test]
fn firmware_is_not_led_to_images_that_it_cannot_fetch() {
    let dir = tempfile::tempdir().unwrap();
    let told = text(&refused(dir.path(), &[], &[("SERVE_HTTPS", "true"), ("HTTP_LISTEN_PORT", "0")]).stderr);
    assert!(told.contains("assisted image-service") && told.contains("IMAGE_SERVICE_BASE_URL"), "{told}");
}

#[test]
fn a_bad_place_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "no folder").unwrap();
    let garbage = dir.path().join("garbage.db");
    std::fs::write(&garbage, "no database ".repeat(1000)).unwrap();
    let garbage = format!("sqlite:{}", garbage.display());
    for (args, parts) in [
        (["--listen", "nonsense"].as_slice(), ["--listen", "nonsense"]),
        (&["--listen", "0.0.0.0:0"], ["0.0.0.0:0", "--allow-unauthenticated"]),
        (&["--listen", "192.0.2.1:0"], ["192.0.2.1:0", "--allow-unauthenticated"]),
        (&["--listen", "192.0.2.1:0", "--allow-unauthenticated"], ["192.0.2.1:0", "--listen"]),
        (&["--data-dir", file.to_str().unwrap()], ["file", "--data-dir"]),
        (&["--data-dir", "/proc/nowhere"], ["/proc/nowhere", "--data-dir"]),
        (&["--database", &garbage], ["garbage.db", "not a database"]),
        (&["--database", "nonsense"], ["sqlite:nonsense", "--database"]),
        (&["--database", "/nowhere/at/all.db"], ["no folder /nowhere/at", "--database"]),
        (&["--database", "mysql://db.example.com/x"], ["mysql://db.example.com/x", "postgres://"]),
        (&["--database", "postgres://user:hunter2@127.0.0.1:1/assisted"], ["127.0.0.1:1", "refused"]),
    ] {
        let told = text(&refused(dir.path(), args, &[]).stderr);
        for part in parts {
            assert!(told.contains(part), "{args:?}: {told} lacks {part}");
        }
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn a_taken_port_is_named() {
    let service = Service::start();
    let address = service.url.trim_start_matches("http://");
    let dir = tempfile::tempdir().unwrap();
    let told = text(&refused(dir.path(), &["--listen", address], &[]).stderr);
    assert!(told.contains(address) && told.contains("in use") && told.contains("--listen"), "{told}");
}

#[test]
fn an_environment_is_explained() {
    let explained = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.env_clear().args(["config", "explain"]).args(args).envs(env.iter().copied());
        let output = command.stdin(Stdio::null()).output().unwrap();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let (done, told, _) = explained(&["--set", "-o", "json"], TEMPLATE);
    assert!(done && !told.contains("refused"), "{told}");
    let rows: serde_json::Value = serde_json::from_str(&told).unwrap();
    let row = |name: &str| rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!(
        (&row("DEPLOY_TARGET")["effect"], &row("DEPLOY_TARGET")["from"]),
        (&"harmless".into(), &"environment".into())
    );
    assert_eq!(row("AUTH_TYPE")["effect"], "works");

    let env =
        [("DB_PASS", "hush"), ("ASSISTED_DATABASE", "postgres://me:hush@db/a"), ("DUMMY_IGNITION", "true")];
    let (done, told, _) = explained(&[], &env);
    assert!(done && !told.contains("hush") && told.contains("(secret)"), "{told}");
    let line = |name: &str| told.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert!(line("DUMMY_IGNITION").contains("refused"), "{told}");
    assert!(
        line("ASSISTED_LISTEN").contains("127.0.0.1:8090") && line("LOG_LEVEL").contains("default"),
        "{told}"
    );
    let (done, told, why) = explained(&["DB_PASS", "NONSENSE"], &env);
    assert!(!done && told.is_empty() && why.contains("NONSENSE is not set"), "{why}");
}

#[test]
fn the_key_that_verifies_tokens_is_taken_from_the_one_that_signs_them() {
    // Whoever makes infra-envs is somebody else where tokens are needed.
    let open = Service::start();
    let (_, infra_env) = open.cluster("one");
    let settings = [("AUTH_TYPE", "local"), ("EC_PRIVATE_KEY_PEM", images::ONE.private)];
    let service = Service::on_with_env(open.stop(), &settings);
    let host = format!("/v2/infra-envs/{infra_env}/hosts/30000000-0000-4000-8000-000000000001");
    // That there is no such host is told only to those whose token is good.
    let status = poll(&service, &host, Some(&images::ONE.token(&infra_env, 1)));
    assert!(status.contains(" 404"), "{status}");
    let status = poll(&service, &host, Some(&images::OTHER.token(&infra_env, 1)));
    assert!(status.contains(" 401"), "{status}");
}
