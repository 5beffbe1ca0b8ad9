//! A generation that fails.

use std::sync::Arc;

use assisted_blob::Blob;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_service::generator::{Files, GenerateError, Generator, Payload};
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;
use assisted_wire::cluster::ClusterStatus;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::service::{Data, Otherwise};
use crate::travel::Travel;

/// What can't be generated is told, and the cluster is as ready as before.
#[tokio::test]
async fn is_told() {
    let data = Data::sqlite();
    let otherwise = Otherwise { generator: Some(Arc::new(Refusing)), ..Otherwise::default() };
    let mut travel = Travel::start(&data, otherwise).await;
    let mut plan = Plan::new(Shape::of(Topology::Compact), 1, 1.0).unwrap();
    plan.version = "4.20".to_owned();
    plan.expected = Some(ClusterStatus::Ready);
    let mut simulation = Simulation::new(plan);
    let now = travel.run(&mut simulation).await;
    let result = simulation.results(now).remove(0);
    assert!(result.as_expected, "{result:#?}");
    let id = result.id.unwrap();
    let cluster = travel.get(&format!("clusters/{id}")).await;
    assert_eq!(cluster["last-installation-preparation"]["status"], "failed", "{cluster:#}");
    assert_eq!(cluster["last-installation-preparation"]["reason"], "no such release");
    let events = travel.get(&format!("events?cluster_id={id}&categories=user")).await;
    let told =
        events.as_array().unwrap().iter().filter(|event| event["name"] == "prepare_installation_failed");
    let told: Vec<_> = told.map(|event| event["message"].as_str().unwrap()).collect();
    assert!(matches!(told.as_slice(), [text] if text.contains("no such release")), "{told:?}");
    let statuses =
        events.as_array().unwrap().iter().filter(|event| event["name"] == "cluster_status_updated");
    let last: Vec<_> = statuses.map(|event| event["message"].as_str().unwrap()).collect();
    assert!(last.last().unwrap().contains("ready"), "{last:?}");
    travel.stop().await;
}

/// A generator that always refuses.
struct Refusing;

impl Generator for Refusing {
    fn generate<'a>(
        &'a self,
        _: &'a Facts,
        _: Payload,
        _: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>> {
        async { Err(GenerateError::Refused("no such release".to_owned())) }.boxed()
    }

    fn host_ignition<'a>(
        &'a self,
        _: &'a Facts,
        _: HostKey,
    ) -> BoxFuture<'a, Result<bytes::Bytes, GenerateError>> {
        async { Err(GenerateError::Refused("no such release".to_owned())) }.boxed()
    }
}
