//! What nobody well-meaning sends.

use assisted_config::Settings;
use assisted_wire::operation::{self, Location};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::life::{HOST, PULL_SECRET, register};
use crate::server::Server;

const INSTRUCTIONS: &str =
    "infra-envs/11111111-2222-3333-4444-555555555555/hosts/11111111-2222-3333-4444-555555555555/instructions";

#[tokio::test]
async fn what_is_announced_as_too_large_is_not_asked_for() {
    let server = Server::start(Settings::default()).await;
    for (path, limit) in [("clusters", 4_194_304), (INSTRUCTIONS, 16_777_216)] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!(
            "POST /api/assisted-install/v2/{path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Content-Length: 1073741824\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let body = format!(r#"{{"code":413,"message":"the body is larger than {limit} bytes"}}"#);
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.ends_with(&body), "{answer}");
    }
    server.stop().await;
}

async fn send(server: &Server, method: Method, path: &str, body: Vec<u8>) -> (u16, Value) {
    let request = server.client.request(method, format!("{}{path}", server.url));
    let answer = request.header("Content-Type", "application/json").body(body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn a_million_levels_are_refused() {
    let server = Server::start(Settings::default()).await;
    let parsing = |name: &str, why: &str| {
        (400, json!({"code": 400, "message": format!("parsing {name} body from \"\" failed, because {why}")}))
    };
    let deep = |open: &str| open.repeat(1_000_000);
    for (path, body, expected) in [
        ("/v2/clusters", deep("["), parsing("newClusterParams", "unexpected EOF")),
        ("/v2/clusters", format!(r#"{{"x":{}"#, deep("[")), parsing("newClusterParams", "unexpected EOF")),
        (
            "/v2/clusters",
            format!(r#"{{"platform":{}"#, deep("[")),
            parsing("newClusterParams", "unexpected EOF"),
        ),
        (
            "/v2/clusters",
            format!(r#"{{"platform":{}"#, deep(r#"{"external":"#)),
            (413, json!({"code": 413, "message": "the body is larger than 4194304 bytes"})),
        ),
    ] {
        assert_eq!(send(&server, Method::POST, path, body.into_bytes()).await, expected);
    }

    // A text in the body is JSON in its own right.
    let (cluster, infra_env) = register(&server).await;
    let cluster = format!("/v2/clusters/{}", cluster["id"].as_str().unwrap());
    let infra_env = format!("/v2/infra-envs/{}", infra_env["id"].as_str().unwrap());
    let hosts = format!("{infra_env}/hosts");
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    let deep = || "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    let objects = || r#"{"auths":"#.repeat(300_000);
    let reply = |step: &str| json!({"step_type": step, "step_id": "x", "exit_code": 0, "output": deep(), "error": ""});
    let yaml =
        |text: String| json!({"static_network_config": [{"network_yaml": text, "mac_interface_map": []}]});
    let aliases: String = (1..40)
        .map(|level| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(",")))
        .collect();
    for (method, path, body) in [
        (Method::POST, format!("{hosts}/{HOST}/instructions"), reply("inventory")),
        (Method::POST, format!("{hosts}/{HOST}/instructions"), reply("connectivity-check")),
        (Method::POST, format!("{hosts}/{HOST}/instructions"), reply("ntp-synchronizer")),
        (Method::PATCH, cluster.clone(), json!({"pull_secret": objects()})),
        (
            Method::PATCH,
            cluster.clone(),
            json!({"disk_encryption": {"mode": "tang", "tang_servers": deep()}}),
        ),
        (Method::PUT, format!("{cluster}/ignored-validations"), json!({"host-validation-ids": deep()})),
        (Method::PATCH, format!("{hosts}/{HOST}/ignition"), json!({"config": deep()})),
        (Method::PATCH, infra_env.clone(), json!({"ignition_config_override": deep()})),
        (Method::PATCH, infra_env.clone(), yaml("[".repeat(100_000))),
        (Method::PATCH, infra_env.clone(), yaml(format!("a0: &a0 [x]\n{aliases}"))),
    ] {
        let (status, refused) = server.call(method, &path, Some(body)).await;
        assert_eq!((status, &refused["code"]), (400, &json!("400")), "{path} {refused}");
    }
    // Texts that nobody reads are kept as they are.
    let opaque = server.call(Method::PUT, &format!("{cluster}/ui-settings"), Some(json!(deep()))).await;
    assert_eq!(opaque, (200, json!(deep())));
    server.stop().await;
}

#[tokio::test]
async fn no_body_breaks_an_operation() {
    let server = Server::start(Settings::default()).await;
    let bodies: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"nul",
        b"\"",
        b"'a'",
        b"{\"a\"}",
        b"{\"a\":}",
        b"{,}",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe",
        b"\0",
        b"{\"name\":\"\xff\"}",
        b"{\"name\":\"\\ud800\"}",
        b"{\"name\":\"a\nb\"}",
        b"1e999",
        b"-",
        b"NaN",
        b"<xml/>",
    ];
    let wrong: &[&[u8]] = &[b"[]", b"5", b"true", b"{\"nobody knows this\":1}"];
    let mut walked = 0;
    for operation in operation::all().filter(|operation| operation.consumes != Some("multipart/form-data")) {
        let Some(body) = &operation.body else { continue };
        let path = operation
            .path
            .replace("{cluster_id}", HOST)
            .replace("{infra_env_id}", HOST)
            .replace("{machine_id}", HOST)
            .replace("{host_id}", HOST);
        let method = Method::from_bytes(operation.method.as_str().as_bytes()).unwrap();
        for text in bodies.iter().chain(wrong) {
            let (status, refused) = send(&server, method.clone(), &path, text.to_vec()).await;
            let name = operation.name;
            assert_eq!(
                (status, &refused["code"]),
                (400, &json!(400)),
                "{name} {} {refused}",
                text.escape_ascii()
            );
            assert!(
                refused["message"].as_str().is_some_and(|text| text.starts_with("parsing ")),
                "{name} {refused}"
            );
            walked += 1;
        }
        if body.required {
            let (status, refused) = send(&server, method, &path, b" ".to_vec()).await;
            assert_eq!(status, 400, "{refused}");
            assert!(refused["message"].as_str().unwrap().ends_with(" in body is required"), "{refused}");
        }
    }
    assert!(walked > 100);
    server.stop().await;
}

#[tokio::test]
async fn a_head_without_an_end_is_refused() {
    let server = Server::start(Settings::default()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /ready HTTP/1.1\r\nHost: x\r\nX-Long: ").await.unwrap();
    let part = vec![b'x'; 16 * 1024];
    let mut sent = 0;
    // The server answers or closes long before this; it never buffers it all.
    while sent < 64 << 20 && stream.write_all(&part).await.is_ok() {
        sent += part.len();
    }
    assert!(sent < 64 << 20);
    server.stop().await;
}

#[tokio::test]
async fn host_names_that_are_none() {
    let server = Server::start(Settings::default()).await;
    let (_, infra_env) = register(&server).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    let path = format!("{hosts}/{HOST}");
    let long = "n".repeat(10_000);
    for name in [
        "",
        " ",
        "-a",
        "a_b",
        "A",
        "a..b",
        "a\n",
        "a\0b",
        "\u{1b}[2J",
        "\u{202e}a",
        "\u{430}pple",
        "\u{1f4a5}",
        "'; DROP TABLE hosts; --",
        "../../etc/passwd",
        "${jndi:x}",
        "$(reboot)",
        "a;reboot",
        &long,
    ] {
        let (status, refused) = server.call(Method::PATCH, &path, Some(json!({"host_name": name}))).await;
        let reason = if name.len() > 63 {
            format!(
                "hostname is too long, must be 63 characters or less. Hostname: {name} has {} characters",
                name.len()
            )
        } else {
            let pattern = "^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$";
            format!("Hostname does not pass required regex validation: {pattern}. Hostname: {name}")
        };
        assert_eq!((status, &refused["reason"]), (400, &json!(reason)), "{name:?}");
    }
    for name in [
        "localhost",
        "localhost.localdomain",
        "localhost4",
        "localhost4.localdomain4",
        "localhost6",
        "localhost6.localdomain6",
    ] {
        let (status, refused) = server.call(Method::PATCH, &path, Some(json!({"host_name": name}))).await;
        assert_eq!((status, &refused["reason"]), (400, &json!(format!("The host name {name} is forbidden"))));
    }
    let (_, host) = server.call(Method::GET, &path, None).await;
    assert_eq!(host["requested_hostname"], HOST);
    server.stop().await;
}

#[tokio::test]
async fn hostile_texts_are_data() {
    let server = Server::start(Settings::default()).await;
    for name in [
        "'; DROP TABLE infra_envs; --",
        "../../etc/passwd",
        "\0\u{202e}\n",
        "${jndi:x}",
        &"\u{1f4a5}".repeat(10_000),
    ] {
        let body = json!({"name": name, "pull_secret": PULL_SECRET});
        let (status, infra_env) = server.call(Method::POST, "/v2/infra-envs", Some(body)).await;
        assert_eq!(status, 201, "{infra_env}");
        let path = format!("/v2/infra-envs/{}", infra_env["id"].as_str().unwrap());
        assert_eq!(server.call(Method::GET, &path, None).await.1["name"], name);
        for body in [
            json!({"ssh_authorized_key": name}),
            json!({"additional_ntp_sources": name}),
            json!({"proxy": {"http_proxy": name}}),
            json!({"proxy": {"no_proxy": name}}),
            json!({"additional_trust_bundle": name}),
            json!({"openshift_version": name}),
            json!({"rendezvous_ip": name}),
            json!({"kernel_arguments": [{"operation": "append", "value": name}]}),
        ] {
            let (status, refused) = server.call(Method::PATCH, &path, Some(body.clone())).await;
            // One of these is a kernel argument like any other.
            let fine = body.get("kernel_arguments").is_some() && !name.contains([' ', '\n']);
            assert_eq!(status, if fine { 201 } else { 400 }, "{body} {refused}");
        }
        let cluster = json!({"name": "c", "openshift_version": "4.20", "pull_secret": PULL_SECRET});
        for member in [
            "name",
            "openshift_version",
            "ocp_release_image",
            "base_dns_domain",
            "ssh_public_key",
            "tags",
            "http_proxy",
        ] {
            let mut body = cluster.clone();
            body[member] = json!(name);
            let (status, refused) = server.call(Method::POST, "/v2/clusters", Some(body)).await;
            // A version that can't be read is the service's failure (service-api §4.2 step 5).
            let expected = if member == "openshift_version" { 500 } else { 400 };
            assert_eq!(status, expected, "{member} {refused}");
            assert!(
                refused.get("reason").or(refused.get("message")).is_some_and(Value::is_string),
                "{refused}"
            );
        }
    }
    assert_eq!(server.call(Method::GET, "/v2/clusters", None).await, (200, json!([])));
    server.stop().await;
}

#[tokio::test]
async fn no_parameter_breaks_an_operation() {
    let server = Server::start(Settings::default()).await;
    for value in ["%00", "%ff", "%", "%zz", "'--", "%F0%9F%92%A5", "a,,,b", "{}", "[]", &"9".repeat(10_000)] {
        for operation in operation::all().filter(|operation| operation.method.as_str() == "GET") {
            let mut path = operation.path.replace("{cluster_id}", HOST).replace("{infra_env_id}", HOST);
            path = path
                .replace("{host_id}", HOST)
                .replace("{machine_id}", HOST)
                .replace("{operator_name}", value)
                .replace("{id}", value);
            for param in operation.params.iter().filter(|param| param.location == Location::Query) {
                let answer = server
                    .client
                    .get(format!("{}{path}?{}={value}", server.url, param.name))
                    .send()
                    .await
                    .unwrap();
                let status = answer.status().as_u16();
                assert!(status < 500 || status == 501, "{} {}={value} {status}", operation.name, param.name);
            }
        }
        let odd = server.client.get(format!("{}/v2/clusters/{value}", server.url)).send().await.unwrap();
        assert_eq!(odd.status(), 400, "{value}");
    }
    server.stop().await;
}
