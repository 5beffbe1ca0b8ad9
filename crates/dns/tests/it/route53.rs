//! Route 53.

use assisted_dns::{DnsError, Provider, Route53};
use assisted_testkit::AwsServer;
use tempfile::TempDir;

use crate::{change, names, record};

struct Lab {
    server: AwsServer,
    zone: String,
    provider: Route53,
    dir: TempDir,
}

impl Lab {
    async fn start(zone: &str) -> Self {
        let server = AwsServer::start().unwrap();
        let zone = AwsServer::create_zone(&server.url, zone).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("credentials");
        std::fs::write(&file, "[route53]\naws_access_key_id = a\naws_secret_access_key = b\n").unwrap();
        let provider = Route53::new(server.url.parse().unwrap(), "us-east-1", &zone, file).unwrap();
        Self { server, zone, provider, dir }
    }

    async fn records(&self) -> Vec<String> {
        AwsServer::zone_records(&self.server.url, &self.zone).await.unwrap()
    }
}

#[tokio::test]
async fn records_come_and_go() {
    let lab = Lab::start("example.com").await;
    assert_eq!(lab.provider.zone().await.unwrap(), "example.com");
    let (api, apps) =
        (record("api.c.example.com", "192.0.2.1"), record("*.apps.c.example.com", "2001:db8::1"));
    let both = [api.clone(), apps.clone()];
    assert!(lab.provider.taken(&names(&both)).await.unwrap().is_empty());

    lab.provider.put(&[change(&api, false), change(&apps, false)]).await.unwrap();
    let there = ["*.apps.c.example.com AAAA 60 2001:db8::1", "api.c.example.com A 60 192.0.2.1"];
    assert_eq!(lab.records().await, there);
    assert_eq!(lab.provider.taken(&names(&both)).await.unwrap(), names(&both));

    // Once more, as after a crash.
    lab.provider.put(&[change(&api, true), change(&apps, true)]).await.unwrap();
    assert_eq!(lab.records().await, there);

    // All or none: a name that is taken keeps the other from being made.
    let other = record("api.d.example.com", "192.0.2.3");
    let error = lab.provider.put(&[change(&api, false), change(&other, false)]).await.unwrap_err();
    assert!(matches!(&error, DnsError::Taken { said } if said.contains("already exists")), "{error}");
    assert_eq!(lab.records().await, there);

    // What somebody has changed meanwhile stays.
    let moved = record("api.c.example.com", "192.0.2.9");
    lab.provider.put(&[change(&moved, true)]).await.unwrap();
    lab.provider.delete(&both).await.unwrap();
    assert_eq!(lab.records().await, ["api.c.example.com A 60 192.0.2.9"]);
    lab.provider.delete(&[moved, apps]).await.unwrap();
    assert!(lab.records().await.is_empty());
}

#[tokio::test]
async fn what_can_not_be_asked_is_told() {
    let lab = Lab::start("example.org").await;
    let elsewhere = |url: &str, zone: &str, file: &str| {
        Route53::new(url.parse().unwrap(), "us-east-1", zone, lab.dir.path().join(file)).unwrap()
    };
    let error = elsewhere(&lab.server.url, "ZNOWHERE", "credentials").zone().await.unwrap_err();
    assert!(matches!(&error, DnsError::NoZone { zone, .. } if zone == "ZNOWHERE"), "{error:?}");
    let error = elsewhere(&lab.server.url, &lab.zone, "nothing").zone().await.unwrap_err();
    assert!(matches!(error, DnsError::Credentials { .. }), "{error:?}");
    let error = elsewhere("http://127.0.0.1:1", &lab.zone, "credentials").zone().await.unwrap_err();
    assert_eq!(error.to_string(), "127.0.0.1 can't be reached");
}
