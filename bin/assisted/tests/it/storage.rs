//! Files in a bucket of S3.

use std::time::{Duration, Instant};

use assisted_base::http::{Trust, authorities};
use assisted_blob::{Blob, Key, S3};
use assisted_testkit::{Authority, AwsServer};
use serde_json::Value;

use crate::images;
use crate::import::wait_for;
use crate::secrets::ask;
use crate::service::{Service, text};
use crate::start::refused;

#[test]
fn clusters_are_installed_with_files_in_a_bucket() {
    let outside = tempfile::tempdir().unwrap();
    let (ours, foreign) = (Authority::new("ours").unwrap(), Authority::new("foreign").unwrap());
    let server = AwsServer::start_with_tls(&ours, outside.path()).unwrap();
    let [trusted, strange] = [("ours.pem", &ours), ("foreign.pem", &foreign)].map(|(name, authority)| {
        let path = outside.path().join(name);
        std::fs::write(&path, &authority.pem).unwrap();
        path.display().to_string()
    });
    let env = [
        ("STORAGE", "s3"),
        ("S3_ENDPOINT_URL", server.url.trim_start_matches("https://")),
        ("S3_USE_SSL", "true"),
        ("S3_BUCKET", "files"),
        ("AWS_ACCESS_KEY_ID", "me"),
        ("AWS_SECRET_ACCESS_KEY", "hush"),
        ("CREATE_S3_BUCKET", "true"),
        ("GENERATOR", "simulation"),
        // Whoever deletes a cluster here wants to see its files go.
        ("DELETION_WORKER_INTERVAL", "1s"),
        ("DELETED_UNREGISTERED_AFTER", "1s"),
    ];
    let untrusting = [env.as_slice(), &[("S3_CA_FILE", strange.as_str())]].concat();
    let told = text(&refused(tempfile::tempdir().unwrap().path(), &[], &untrusting).stderr);
    assert!(told.contains("S3_BUCKET") && told.contains("invalid peer certificate"), "{told}");
    let env = [env.as_slice(), &[("S3_CA_FILE", trusted.as_str())]].concat();
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
    let service = Service::on_with_env(service.stop(), &env);
    let again = service.cli(&["cluster", "download", &cluster, "kubeconfig", "--to", "again.yaml"]);
    assert!(again.status.success(), "{}\n{}", text(&again.stderr), service.log());
    assert_eq!(content, std::fs::read(service.dir.path().join("again.yaml")).unwrap());
    let trust = Trust::Only(authorities(ours.pem.as_bytes()).unwrap());
    let place = S3 { create: false, trust, ..S3::at(server.url.parse().unwrap(), "files", "me", "hush") };
    let kept = || {
        wait_for(async {
            let bucket = Blob::bucket(place.clone()).await.unwrap();
            bucket.list(&Key::new(cluster.as_str()).unwrap()).await.unwrap().len()
        })
    };
    assert!(kept() > 0, "files of a cluster are under its id");
    let deleted = service.cli(&["cluster", "delete", &cluster]);
    assert!(deleted.status.success(), "{}\n{}", text(&deleted.stderr), service.log());
    let began = Instant::now();
    while kept() > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "{} files are left: {}", kept(), service.log());
        std::thread::sleep(Duration::from_millis(100));
    }
}
