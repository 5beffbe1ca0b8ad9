//! Against a real API server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod client;
mod lease;
mod write;

use std::time::Duration;

use assisted_kube::client::from_file;
use assisted_testkit::kube::Kube;
use kube::Client;

/// A client of a real API server.
async fn client() -> Client {
    let kube = tokio::task::spawn_blocking(|| Kube::start().unwrap()).await.unwrap();
    from_file(&kube.kubeconfig(), Duration::from_secs(60)).await.unwrap()
}
