//! One of several leads.

use std::time::Duration;

use assisted_kube::lease::{Leadership, Settings};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use crate::client;

fn leadership(client: &Client, name: &'static str, identity: &str, duration: u64) -> Leadership {
    let settings = Settings {
        namespace: "default".to_owned(),
        identity: identity.to_owned(),
        duration: Duration::from_secs(duration),
        deadline: Duration::from_millis(duration * 700),
        retry: Duration::from_millis(50),
    };
    Leadership::new(client.clone(), name, settings)
}

async fn holder(client: &Client, name: &str) -> (String, i32) {
    let api: Api<Lease> = Api::namespaced(client.clone(), "default");
    let spec = api.get(name).await.unwrap().spec.unwrap();
    (spec.holder_identity.unwrap_or_default(), spec.lease_transitions.unwrap_or_default())
}

#[tokio::test]
async fn a_lease_that_is_given_back_goes_to_the_next() {
    let (client, never) = (client().await, CancellationToken::new());
    // Nobody waits for the end of such a lease.
    let mut first = leadership(&client, "given", "first", 3600);
    let mut second = leadership(&client, "given", "second", 3600);
    assert!(first.acquire(&never).await);
    assert_eq!(holder(&client, "given").await, ("first".to_owned(), 0));

    let stop = CancellationToken::new();
    let waiting = {
        let stop = stop.clone();
        tokio::spawn(async move { (second.acquire(&stop).await, second) })
    };
    let (kept, released) = (CancellationToken::new(), CancellationToken::new());
    let token = kept.clone();
    let keeping = tokio::spawn(async move {
        let lost = first.keep(&token).await;
        first.release().await.unwrap();
        released.cancel();
        lost
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished(), "two lead");
    kept.cancel();
    assert!(!keeping.await.unwrap());
    let (leads, _) = waiting.await.unwrap();
    assert!(leads);
    assert_eq!(holder(&client, "given").await, ("second".to_owned(), 1));
}

#[tokio::test]
async fn a_lease_that_nobody_renews_is_taken_over_and_its_holder_hears_of_it() {
    let (client, never) = (client().await, CancellationToken::new());
    let mut dead = leadership(&client, "dead", "dead", 1);
    let mut heir = leadership(&client, "dead", "heir", 1);
    assert!(dead.acquire(&never).await);
    assert!(heir.acquire(&never).await);
    assert!(dead.keep(&never).await, "it lost the lease");
    dead.release().await.unwrap();
    assert_eq!(holder(&client, "dead").await.0, "heir");
}

#[tokio::test]
async fn who_is_stopped_waits_no_longer() {
    let (client, stop) = (client().await, CancellationToken::new());
    let mut first = leadership(&client, "stopped", "first", 3600);
    assert!(first.acquire(&stop).await);
    stop.cancel();
    assert!(!leadership(&client, "stopped", "second", 3600).acquire(&stop).await);
}
