//! Certificates in other forms than most programs write.

use assisted_api::Timeouts;
use assisted_client::Client;
use assisted_config::Settings;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::json;

use crate::life::{PULL_SECRET, register};
use crate::server::Server;

const CERTIFICATE: &str = include_str!("../data/certificate.pem");
const KEY: &str = include_str!("../data/key.pem");

/// All letters in one line, in CRLF, and text around it.
fn flat(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let letters = lines[1..lines.len() - 1].concat();
    format!("Bag Attributes\r\n{}\r\n{letters}\r\n{}\r\nend", lines[0], lines[lines.len() - 1])
}

#[tokio::test]
async fn a_listener_and_its_client_read_what_openssl_reads() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (certificate, key) = (write("certificate", &flat(CERTIFICATE)), write("key", &flat(KEY)));
    let tls = assisted_api::server::tls(&certificate, &key, "").unwrap();
    let server = Server::start_with(Settings::default(), Timeouts::default(), Some(tls)).await;
    let url = format!("https://localhost:{}", server.address.port());
    let client = Client::builder(&url).proxy_from_env(false).ca_file(&certificate).build().unwrap();
    assert!(client.list_clusters(&Default::default()).await.unwrap().is_empty());
    server.stop().await;
    for (file, text) in [("certificate", &CERTIFICATE[..200]), ("key", &KEY[..80]), ("key", CERTIFICATE)] {
        let broken = write("broken", text);
        let made = match file {
            "key" => assisted_api::server::tls(&certificate, &broken, ""),
            _ => assisted_api::server::tls(&broken, &key, ""),
        };
        let told = made.unwrap_err().to_string();
        assert!(told.contains(&format!("the {file} file")) && !told.contains(&KEY[40..60]), "{told}");
    }
}

#[tokio::test]
async fn bundles_are_read_in_every_form() {
    let server = Server::start(Settings::default()).await;
    let bundle = flat(CERTIFICATE);
    let infra_env = json!({"name": "i", "pull_secret": PULL_SECRET, "additional_trust_bundle": bundle});
    let (status, made) = server.call(Method::POST, "/v2/infra-envs", Some(infra_env)).await;
    // Shown as it was given: existing clients compare.
    assert_eq!((status, &made["additional_trust_bundle"]), (201, &json!(bundle)), "{made}");
    let path = format!("/v2/infra-envs/{}", made["id"].as_str().unwrap());
    for (bundle, status) in [
        (format!("# one\n{CERTIFICATE}\n# two\n{bundle}"), 201),
        (CERTIFICATE.replace("CERTIFICATE", "TRUSTED CERTIFICATE"), 201),
        (CERTIFICATE[..200].to_owned(), 400),
        (CERTIFICATE.replacen("MI", "!I", 1), 400),
        (format!("{CERTIFICATE}{KEY}"), 400),
    ] {
        let (given, told) =
            server.call(Method::PATCH, &path, Some(json!({"additional_trust_bundle": bundle}))).await;
        assert_eq!(given, status, "{bundle} {told}");
    }
    let (cluster, _) = register(&server).await;
    let path = format!("/v2/clusters/{}", cluster["id"].as_str().unwrap());
    let endpoint = |ca: &str| json!({"ignition_endpoint": {"url": "https://x.y", "ca_certificate": STANDARD.encode(ca)}});
    assert_eq!(server.call(Method::PATCH, &path, Some(endpoint(&flat(CERTIFICATE)))).await.0, 201);
    assert_eq!(server.call(Method::PATCH, &path, Some(endpoint("x"))).await.0, 400);
    server.stop().await;
}
