//! The certificate of the webhooks through the years.

use assisted_base::pem;
use assisted_kubeapi::admission::certificate::{Stored, next};
use assisted_kubeapi::admission::tls::{Certified, Protocols, server_config};
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::{ServerName, UnixTime};
use rustls::server::ParsedCertificate;

const NAMES: [&str; 2] = ["agentinstalladmission.hub.svc", "agentinstalladmission.hub.svc.cluster.local"];

fn names() -> Vec<String> {
    NAMES.map(str::to_owned).to_vec()
}

fn start() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

/// Whether a client that trusts a bundle trusts a certificate under a name, at a time.
fn trusts(bundle: &str, stored: &Stored, name: &str, at: Timestamp) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(pem::certificates(bundle.as_bytes()).unwrap());
    let leaf = pem::certificates(stored.certificate.as_bytes()).unwrap().remove(0);
    let leaf = ParsedCertificate::try_from(&leaf).unwrap();
    let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(at.as_second().try_into().unwrap()));
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms.all;
    rustls::client::verify_server_cert_signed_by_trust_anchor(&leaf, &roots, &[], at, algorithms).is_ok()
        && rustls::client::verify_server_name(&leaf, &ServerName::try_from(name.to_owned()).unwrap()).is_ok()
}

#[test]
fn the_first_one_is_good_for_its_names() {
    let now = start();
    let step = next(None, &names(), now, false).unwrap();
    let stored = step.store.unwrap();
    for name in NAMES {
        assert!(trusts(&stored.bundle, &stored, name, now));
        assert!(!trusts(&stored.bundle, &stored, name, now + days(91)));
    }
    assert!(!trusts(&stored.bundle, &stored, "other.hub.svc", now));
    assert_eq!(step.look_at, now + days(60));
    // Nothing is to do until then.
    for at in [now, now + days(59)] {
        let again = next(Some(&stored), &names(), at, true).unwrap();
        assert!(again.store.is_none());
        assert_eq!(again.look_at.as_second(), step.look_at.as_second());
    }
    let certified = Certified::default();
    assert!(!certified.is_set());
    certified.set(stored.certificate.as_bytes(), stored.key.expose().as_bytes()).unwrap();
    assert!(certified.is_set());
    // A key of something else shows nothing.
    assert!(certified.set(stored.certificate.as_bytes(), stored.authority_key.expose().as_bytes()).is_err());
}

#[test]
fn every_client_trusts_it_at_any_time() {
    let (mut now, end) = (start(), start() + days(30 * 365));
    let mut stored: Option<Stored> = None;
    // What the configurations hold: it is always written a while later.
    let mut placed = String::new();
    let (mut authorities, mut certificates) = (0, 0);
    while now < end {
        let step = next(stored.as_ref(), &names(), now, false).unwrap();
        for step in [step.store, None] {
            let before = stored.clone();
            let step = match step {
                Some(store) => Some(store),
                None => next(stored.as_ref(), &names(), now, true).unwrap().store,
            };
            let Some(store) = step else { continue };
            if before.as_ref().is_none_or(|before| before.bundle != store.bundle) {
                authorities += 1;
            }
            if before.as_ref().is_none_or(|before| before.certificate != store.certificate) {
                certificates += 1;
            }
            if before.is_some() {
                assert!(trusts(&placed, &store, NAMES[0], now), "before the configurations are written");
            }
            placed.clone_from(&store.bundle);
            assert!(trusts(&placed, &store, NAMES[0], now));
            stored = Some(store);
        }
        assert!(pem::certificates(placed.as_bytes()).unwrap().len() <= 2);
        now += days(5);
    }
    assert!(authorities >= 4, "{authorities}");
    assert!(certificates > 150, "{certificates}");
}

#[test]
fn what_is_of_no_use_is_made_anew() {
    let now = start();
    let good = next(None, &names(), now, false).unwrap().store.unwrap();
    let other = next(None, &names(), now + days(1), false).unwrap().store.unwrap();
    for (what, stored) in [
        ("no authority", Stored { bundle: String::new(), ..good.clone() }),
        ("another authority", Stored { bundle: other.bundle.clone(), ..good.clone() }),
        ("no key", Stored { key: "text".into(), ..good.clone() }),
        ("no certificate", Stored { certificate: "text".to_owned(), ..good.clone() }),
    ] {
        let anew = next(Some(&stored), &names(), now, true).unwrap().store.expect(what);
        assert!(trusts(&anew.bundle, &anew, NAMES[0], now), "{what}");
        assert_ne!(anew.bundle, good.bundle, "{what}");
    }
    // After a long sleep all is over.
    let late = now + days(20 * 365);
    let anew = next(Some(&good), &names(), late, false).unwrap().store.unwrap();
    assert!(trusts(&anew.bundle, &anew, NAMES[0], late));
    // Under another name the authority stays.
    let moved = next(Some(&good), &["webhook.example.com".to_owned()], now, true).unwrap().store.unwrap();
    assert_eq!(moved.bundle, good.bundle);
    assert!(trusts(&moved.bundle, &moved, "webhook.example.com", now));
}

#[test]
fn protocols_leave_something_to_speak() {
    let config = |min_version: &str, cipher_suites: &str| {
        let protocols =
            Protocols { min_version: min_version.to_owned(), cipher_suites: cipher_suites.to_owned() };
        server_config(std::sync::Arc::new(Certified::default()), &protocols)
            .map(|config| config.crypto_provider().cipher_suites.len())
            .map_err(|error| error.to_string())
    };
    let all = config("", "").unwrap();
    assert_eq!(config("VersionTLS13", ""), Ok(all));
    assert_eq!(
        config("VersionTLS12", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
        Ok(4)
    );
    assert_eq!(config("", "TLS_AES_128_GCM_SHA256"), Ok(3));
    assert!(config("", "TLS_RSA_WITH_3DES_EDE_CBC_SHA").unwrap_err().contains("none of the cipher suites"));
    assert!(config("VersionTLS11", "").unwrap_err().contains("VersionTLS11"));
}
