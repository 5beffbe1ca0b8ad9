//! Files in a bucket of S3.

use assisted_testkit::AwsServer;
use serde_json::Value;

use crate::images;
use crate::secrets::ask;
use crate::service::{Service, text};

#[test]
fn clusters_are_installed_with_files_in_a_bucket() {
    let server = AwsServer::start().unwrap();
    let env = [
        ("STORAGE", "s3"),
        ("S3_ENDPOINT_URL", server.url.trim_start_matches("http://")),
        ("S3_BUCKET", "files"),
        ("AWS_ACCESS_KEY_ID", "me"),
        ("AWS_SECRET_ACCESS_KEY", "hush"),
        ("CREATE_S3_BUCKET", "true"),
        ("GENERATOR", "simulation"),
    ];
    let service = Service::start_with_env(&env);
    let done = service.simulation(&["--topology", "sno", "--speed", "600"]).output().unwrap();
    assert!(done.status.success(), "{}\n{}", text(&done.stderr), service.log());
    let clusters = service.json(&["cluster", "list"]);
    let cluster = clusters[0]["id"].as_str().unwrap().to_owned();
    let config = service.cli(&["cluster", "download", &cluster, "kubeconfig", "--to", "kubeconfig.yaml"]);
    assert!(config.status.success(), "{}", text(&config.stderr));
    assert!(!service.dir.path().join("files").exists(), "no file is kept in the folder");
    // An address opens it to whoever has it; what opens it stands in no log.
    let presigned = format!("/clusters/{cluster}/downloads/credentials-presigned?file_name=kubeconfig");
    let (status, body) = ask(&service, "GET", &presigned, &Value::Null);
    assert!(status.contains(" 200"), "{status}: {body}\n{}", service.log());
    let made: Value = serde_json::from_str(&body).unwrap();
    let (_, path) = made["url"].as_str().unwrap().split_once("/api/").unwrap();
    let (head, content) = images::get(&format!("{}/api/{path}", service.url));
    assert!(head.starts_with("HTTP/1.1 200"), "{head}\n{}", service.log());
    assert_eq!(content, std::fs::read(service.dir.path().join("kubeconfig.yaml")).unwrap());
    let (place, token) = path.split_once("?token=").unwrap();
    let log = service.log();
    assert!(
        log.contains(place) && !log.contains(token) && !log.contains(&token[token.len() - 32..]),
        "{log}"
    );
    assert!(!service.log().contains("hush"), "{}", service.log());
    // Another process finds them, and what is deleted is gone.
    let dir = service.stop();
    assert!(dir.path().join("kubeconfig.yaml").exists());
}
