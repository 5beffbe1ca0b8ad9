//! Telling the bootstrap host that the controller reaches both sides (installer-and-controller §B4.1).

use std::time::Duration;

use assisted_base::error::chain;
use assisted_wire::cluster::Cluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::status;
use crate::context::Context;
use crate::node;
use crate::wait::poll_until;

/// Name and reason of the event; the bootstrap host looks for it.
const NAME: &str = "AssistedControllerIsReady";
const MESSAGE: &str =
    "Assisted controller managed to connect to assisted service and kube-apiserver and is ready to start";

/// Waits until service and cluster answer, and says so. Gives the cluster as it was seen last.
pub(crate) async fn announce(
    context: &Context,
    limit: Duration,
    stop: &CancellationToken,
) -> Option<Cluster> {
    let mut seen = None;
    let announced = poll_until(stop, context.config.intervals.ready, Some(limit), async || {
        seen = context
            .service
            .cluster()
            .await
            .map_err(|error| warn!(error = chain(&error), "the service does not answer"))
            .ok();
        seen.as_ref()?;
        node::list(&context.kube)
            .await
            .map_err(|error| warn!(error = chain(&error), "the cluster does not answer"))
            .ok()?;
        match create(context).await {
            Ok(()) => Some(()),
            Err(error) => {
                warn!(error = chain(&error), "can't say that the controller is ready");
                None
            }
        }
    });
    match announced.await {
        Ok(()) => info!("service and cluster answer"),
        Err(why) => warn!(%why, "service and cluster do not both answer"),
    }
    seen
}

async fn create(context: &Context) -> Result<(), kube::Error> {
    let namespace = &context.config.namespace;
    let now = Some(Time(Timestamp::now()));
    let event = Event {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            namespace: Some(namespace.clone()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            name: Some("assisted-installer-controller".to_owned()),
            namespace: Some(namespace.clone()),
            ..ObjectReference::default()
        },
        reason: Some(NAME.to_owned()),
        message: Some(MESSAGE.to_owned()),
        type_: Some("Normal".to_owned()),
        count: Some(1),
        first_timestamp: now.clone(),
        last_timestamp: now,
        ..Event::default()
    };
    let events = Api::<Event>::namespaced(context.kube.clone(), namespace);
    match events.create(&PostParams::default(), &event).await {
        // An earlier life of this controller has said it.
        Err(error) if status(&error) == Some(409) => Ok(()),
        outcome => outcome.map(drop),
    }
}
