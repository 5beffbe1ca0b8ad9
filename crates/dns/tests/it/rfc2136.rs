//! Dynamic updates.

use assisted_dns::{Algorithm, DnsError, DynamicUpdate, Key, Provider};
use assisted_testkit::NameServer;

use crate::{change, names, record};

const ZONE: &str = "example.com";

fn key(secret: &[u8]) -> Key {
    Key { name: NameServer::KEY.0.to_owned(), secret: secret.to_vec(), algorithm: Algorithm::HmacSha256 }
}

/// What the server's configuration holds in base64.
const SECRET: &[u8] = b"secret of the tests of DNS records";

fn provider(server: &NameServer, zone: &str, secret: &[u8]) -> DynamicUpdate {
    DynamicUpdate::new(&server.address(), zone, Some(&key(secret))).unwrap()
}

#[tokio::test]
async fn records_come_and_go() {
    let server = NameServer::start(ZONE).unwrap();
    let dns = provider(&server, ZONE, SECRET);
    let of = |name: &str, kind: &str| server.addresses(name, kind).unwrap();
    assert_eq!(dns.zone().await.unwrap(), ZONE);
    let (api, apps) =
        (record("api.c.example.com", "192.0.2.1"), record("*.apps.c.example.com", "2001:db8::1"));
    let both = [api.clone(), apps.clone()];
    assert!(dns.taken(&names(&both)).await.unwrap().is_empty());

    dns.put(&[change(&api, false), change(&apps, false)]).await.unwrap();
    assert_eq!(of("api.c.example.com", "A"), ["192.0.2.1"]);
    assert_eq!(of("console.apps.c.example.com", "AAAA"), ["2001:db8::1"]);
    assert_eq!(dns.taken(&names(&both)).await.unwrap(), names(&both));

    // Once more, as after a crash.
    dns.put(&[change(&api, true), change(&apps, true)]).await.unwrap();
    assert_eq!(of("api.c.example.com", "A"), ["192.0.2.1"]);

    // All or none: a name that is taken keeps the other from being made.
    let other = record("api.d.example.com", "192.0.2.3");
    let error = dns.put(&[change(&other, false), change(&api, false)]).await.unwrap_err();
    assert!(matches!(&error, DnsError::Taken { .. }), "{error}");
    assert!(of("api.d.example.com", "A").is_empty());

    // A record of another kind takes the place of the first; what somebody has changed meanwhile stays.
    let moved = record("api.c.example.com", "2001:db8::9");
    dns.put(&[change(&moved, true)]).await.unwrap();
    assert!(of("api.c.example.com", "A").is_empty());
    dns.delete(&both).await.unwrap();
    assert_eq!(of("api.c.example.com", "AAAA"), ["2001:db8::9"]);
    assert!(of("console.apps.c.example.com", "AAAA").is_empty());
    dns.delete(&[moved, apps]).await.unwrap();
    assert!(of("api.c.example.com", "AAAA").is_empty());
}

#[tokio::test]
async fn a_wildcard_above_takes_no_name() {
    let server = NameServer::start(ZONE).unwrap();
    let dns = provider(&server, ZONE, SECRET);
    dns.put(&[change(&record("*.example.com", "192.0.2.1"), false)]).await.unwrap();
    assert_eq!(server.addresses("api.c.example.com", "A").unwrap(), ["192.0.2.1"]);
    assert!(dns.taken(&["api.c.example.com".to_owned()]).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_can_not_be_asked_is_told() {
    let server = NameServer::start(ZONE).unwrap();
    let free = ["api.c.example.com".to_owned()];
    let error = provider(&server, ZONE, b"another secret").taken(&free).await.unwrap_err().to_string();
    assert!(error.contains("does not know the key, the secret is another one"), "{error}");
    let unsigned = DynamicUpdate::new(&server.address(), ZONE, None).unwrap();
    let change = change(&record("api.c.example.com", "192.0.2.1"), false);
    let error = unsigned.put(&[change]).await.unwrap_err().to_string();
    assert!(error.contains("may not change these names"), "{error}");
    let error = provider(&server, "example.org", SECRET).zone().await.unwrap_err();
    assert!(matches!(error, DnsError::NoZone { .. }), "{error:?}");
    let nobody = DynamicUpdate::new("127.0.0.1:1", ZONE, None).unwrap();
    assert_eq!(nobody.zone().await.unwrap_err().to_string(), "127.0.0.1:1 can't be reached");
    assert!(matches!(DynamicUpdate::new("h:53", "a..b", None), Err(DnsError::Name { .. })));
}
