//! Bare-metal hosts of the cluster: those that were installed from outside are said to be so, and are given the machines
//! that wait for them (installer-and-controller §B7).

use std::collections::BTreeSet;

use assisted_base::error::chain;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::{BARE_METAL_HOST, MACHINE, PROVISIONING, is_absent, text};
use crate::context::Context;
use crate::wait::poll_until;

const NAMESPACE: &str = "openshift-machine-api";
const ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
const PAUSED: &str = "baremetalhost.metal3.io/paused";
const STATUS: &str = "baremetalhost.metal3.io/status";

/// Why a bare-metal host could not be updated.
#[derive(Debug, thiserror::Error)]
enum HostError {
    #[error("the cluster's API did not answer as it should")]
    Kube(#[source] Box<kube::Error>),
    #[error("its status annotation can't be read")]
    Annotation(#[source] serde_json::Error),
    #[error("{0} is no object")]
    Malformed(&'static str),
    #[error("no machine is free for it")]
    NoMachine,
}

impl From<kube::Error> for HostError {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

/// Updates the hosts until each is as it should be.
pub(crate) async fn update(context: &Context, stop: &CancellationToken) {
    let done =
        poll_until(stop, context.config.intervals.resync, None, async || match reconcile(context).await {
            Ok(true) => Some(()),
            Ok(false) => None,
            Err(error) => {
                warn!(error = chain(&error), "bare-metal hosts have to wait");
                None
            }
        });
    if done.await.is_ok() {
        info!("bare-metal hosts are up to date");
    }
}

/// One pass; true when all hosts are as they should be.
async fn reconcile(context: &Context) -> Result<bool, kube::Error> {
    let hosts = BARE_METAL_HOST.within(&context.kube, NAMESPACE).list(&ListParams::default()).await?.items;
    if hosts.is_empty() {
        return Ok(true);
    }
    let machines = MACHINE.within(&context.kube, NAMESPACE).list(&ListParams::default()).await?.items;
    let provisions = match PROVISIONING.all(&context.kube).get("provisioning-configuration").await {
        Ok(_) => true,
        Err(error) if is_absent(&error) => false,
        Err(error) => return Err(error),
    };
    let mut free = unallocated(&hosts, machines);
    let mut done = true;
    for host in hosts {
        let name = host.name_any();
        let outcome = if provisions {
            with_provisioning(context, host, &mut free).await
        } else {
            without_provisioning(context, host, &mut free).await
        };
        if let Err(error) = outcome {
            warn!(host = name, error = chain(&error), "the bare-metal host has to wait");
            done = false;
        }
    }
    Ok(done)
}

/// Machines of workers that no host consumes yet.
fn unallocated(hosts: &[DynamicObject], machines: Vec<DynamicObject>) -> Vec<DynamicObject> {
    let taken: BTreeSet<_> = hosts.iter().map(|host| text(&host.data, "/spec/consumerRef/name")).collect();
    let is_free = |machine: &DynamicObject| {
        machine.labels().get(ROLE).is_some_and(|role| role == "worker")
            && !taken.contains(machine.name_any().as_str())
    };
    machines.into_iter().filter(is_free).collect()
}

/// Hosts that the cluster would provision are said to be provisioned from outside.
async fn with_provisioning(
    context: &Context,
    mut host: DynamicObject,
    free: &mut Vec<DynamicObject>,
) -> Result<(), HostError> {
    if !matches!(text(&host.data, "/status/provisioning/state"), "" | "unmanaged") {
        return Ok(());
    }
    let before = host.clone();
    spec(&mut host)?.insert("externallyProvisioned".to_owned(), Value::Bool(true));
    host.annotations_mut().remove(PAUSED);
    consume(&mut host, free)?;
    replace(context, &before, &host).await
}

/// Where nothing provisions, the status that the host was made with is its status.
async fn without_provisioning(
    context: &Context,
    mut host: DynamicObject,
    free: &mut Vec<DynamicObject>,
) -> Result<(), HostError> {
    let kept = host.annotations().get(STATUS).filter(|status| !status.is_empty()).cloned();
    if let Some(kept) = kept {
        let mut status: Value = serde_json::from_str(&kept).map_err(HostError::Annotation)?;
        let fields = status.as_object_mut().ok_or(HostError::Malformed("its status annotation"))?;
        fields.entry("lastUpdated").or_insert_with(|| Timestamp::now().to_string().into());
        host.data.as_object_mut().ok_or(HostError::Malformed("it"))?.insert("status".to_owned(), status);
        let hosts = BARE_METAL_HOST.within(&context.kube, NAMESPACE);
        host = hosts.replace_status(&host.name_any(), &PostParams::default(), &host).await?;
    }
    let before = host.clone();
    host.annotations_mut().remove(STATUS);
    consume(&mut host, free)?;
    replace(context, &before, &host).await
}

fn spec(host: &mut DynamicObject) -> Result<&mut serde_json::Map<String, Value>, HostError> {
    let fields = host.data.as_object_mut().ok_or(HostError::Malformed("it"))?;
    fields.entry("spec").or_insert_with(|| json!({})).as_object_mut().ok_or(HostError::Malformed("its spec"))
}

/// Gives a host that nobody consumes the next free machine.
fn consume(host: &mut DynamicObject, free: &mut Vec<DynamicObject>) -> Result<(), HostError> {
    let spec = spec(host)?;
    if spec.get("consumerRef").is_some_and(|reference| !reference.is_null()) {
        return Ok(());
    }
    if free.is_empty() {
        return Err(HostError::NoMachine);
    }
    let machine = free.remove(0);
    let types = machine.types.clone().unwrap_or_default();
    let kind = if types.kind.is_empty() { "Machine".to_owned() } else { types.kind };
    let version = if types.api_version.is_empty() {
        "machine.openshift.io/v1beta1".to_owned()
    } else {
        types.api_version
    };
    let reference = json!({
        "apiVersion": version, "kind": kind, "name": machine.name_any(), "namespace": machine.namespace(),
    });
    spec.insert("consumerRef".to_owned(), reference);
    Ok(())
}

async fn replace(context: &Context, before: &DynamicObject, after: &DynamicObject) -> Result<(), HostError> {
    if before == after {
        return Ok(());
    }
    let hosts = BARE_METAL_HOST.within(&context.kube, NAMESPACE);
    hosts.replace(&after.name_any(), &PostParams::default(), after).await?;
    info!(host = after.name_any(), "the bare-metal host is updated");
    Ok(())
}
