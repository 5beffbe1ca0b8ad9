//! Files in a bucket of S3.

use assisted_testkit::AwsServer;

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
    assert!(!service.log().contains("hush"), "{}", service.log());
    // Another process finds them, and what is deleted is gone.
    let dir = service.stop();
    assert!(dir.path().join("kubeconfig.yaml").exists());
}
