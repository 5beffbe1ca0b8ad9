//! Pods of this node: those of an installation, each of one container on the host's network.

mod sandbox;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::{info, warn};

use self::sandbox::Sandbox;
use super::{Node, POLL_INTERVAL, RESYNC};
use crate::foundation::MACHINE_CONFIG_NAMESPACE;
use crate::machine_config::LOG;
use crate::program::Program;

/// Before a container that has failed is started again.
const BACK_OFF: Duration = Duration::from_secs(10);
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Runs the pods that are given to this node.
pub async fn run(node: &Node, kube: &Client) {
    if node.is_master() {
        mirror(node, kube).await;
    }
    let mut running: HashMap<String, JoinHandle<()>> = HashMap::new();
    loop {
        if let Err(error) = pass(node, kube, &mut running).await {
            warn!(error = format!("{error:#}"), "pods have to wait");
        }
        sleep(RESYNC).await;
    }
}

async fn pass(node: &Node, kube: &Client, running: &mut HashMap<String, JoinHandle<()>>) -> Result<()> {
    let all = Api::<Pod>::all(kube.clone());
    let own = all.list(&ListParams::default().fields(&format!("spec.nodeName={}", node.name))).await?.items;
    let ids: Vec<_> = own.iter().filter_map(ResourceExt::uid).collect();
    for (id, task) in running.iter() {
        if !ids.contains(id) {
            task.abort();
        }
    }
    running.retain(|id, _| ids.contains(id));
    for pod in own {
        let Some(id) = pod.uid() else { continue };
        if pod.annotations().contains_key(MIRROR) {
            continue;
        }
        if pod.metadata.deletion_timestamp.is_some() {
            if let Some(task) = running.remove(&id) {
                task.abort();
            }
            let pods = Api::<Pod>::namespaced(kube.clone(), &pod.namespace().unwrap_or_default());
            let _ = pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await;
            continue;
        }
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
        if matches!(phase, "Succeeded" | "Failed") || running.contains_key(&id) {
            continue;
        }
        info!(pod = pod.name_any(), "is given to this node");
        let (node, kube) = (node.clone(), kube.clone());
        running.insert(id, tokio::spawn(async move { live(&node, &kube, &pod).await }));
    }
    Ok(())
}

/// The life of one pod.
async fn live(node: &Node, kube: &Client, pod: &Pod) {
    let pods = Api::<Pod>::namespaced(kube.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    let mut restarts = 0;
    loop {
        let outcome = once(node, kube, pod, &pods, restarts).await;
        let code = match outcome {
            Ok(code) => code,
            Err(error) => {
                warn!(pod = name, error = format!("{error:#}"), "can't be run yet");
                report(&pods, pod, node, "Pending", waiting(&format!("{error:#}")), restarts).await;
                sleep(BACK_OFF).await;
                continue;
            }
        };
        let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always");
        info!(pod = name, code, policy, "its container has ended");
        let ended = json!({"terminated": {
            "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" },
            "finishedAt": Timestamp::now().to_string(),
        }});
        match (policy, code) {
            ("Never" | "OnFailure", 0) => {
                return report(&pods, pod, node, "Succeeded", ended, restarts).await;
            }
            ("Never", _) => return report(&pods, pod, node, "Failed", ended, restarts).await,
            _ => {}
        }
        restarts += 1;
        report(&pods, pod, node, "Running", waiting("CrashLoopBackOff"), restarts).await;
        sleep(BACK_OFF).await;
    }
}

fn waiting(why: &str) -> Value {
    json!({"waiting": {"reason": "ContainerCreating", "message": why}})
}

fn container(pod: &Pod) -> Result<&Container> {
    let spec = pod.spec.as_ref().context("it has no spec")?;
    match &spec.containers[..] {
        [only]
            if spec.init_containers.as_ref().is_none_or(Vec::is_empty) && spec.host_network == Some(true) =>
        {
            Ok(only)
        }
        _ => bail!("nodes of the lab run pods of one container on the host's network alone"),
    }
}

async fn once(node: &Node, kube: &Client, pod: &Pod, pods: &Api<Pod>, restarts: u32) -> Result<i32> {
    let container = container(pod)?;
    let sandbox = Sandbox::make(node, kube, pod, container).await?;
    let program = Program {
        name: pod.name_any(),
        image: container.image.clone().context("it names no image")?,
        command: container.command.clone().unwrap_or_default(),
        args: container.args.clone().unwrap_or_default(),
        env: sandbox.env.clone(),
        mounts: sandbox.mounts.clone(),
        is_pod: true,
    };
    let started = json!({"running": {"startedAt": Timestamp::now().to_string()}});
    report(pods, pod, node, "Running", started, restarts).await;
    tokio::select! {
        ended = node.programs.run(&program) => ended,
        () = sandbox.keep_fresh(kube, pod) => bail!("its credentials can't be kept"),
    }
}

/// Tells the state of a pod, until it is taken.
async fn report(pods: &Api<Pod>, pod: &Pod, node: &Node, phase: &str, state: Value, restarts: u32) {
    let now = Timestamp::now().to_string();
    let running = state.get("running").is_some();
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let statuses: Vec<_> = containers
        .map(|container| {
            json!({
                "name": container.name, "image": container.image, "imageID": "", "ready": running,
                "started": running, "restartCount": restarts, "state": state,
            })
        })
        .collect();
    let condition = |kind: &str, holds: bool| json!({"type": kind, "status": if holds { "True" } else { "False" }, "lastTransitionTime": now});
    let status = json!({"status": {
        "phase": phase, "hostIP": node.address, "podIP": node.address, "podIPs": [{"ip": node.address}],
        "startTime": pod.creation_timestamp(), "containerStatuses": statuses,
        "conditions": [
            condition("PodScheduled", true), condition("Initialized", true),
            condition("Ready", running), condition("ContainersReady", running),
        ],
    }});
    // The end of a job must be told; anything else is told again soon enough.
    let tries = if matches!(phase, "Succeeded" | "Failed") { 400 } else { 2 };
    for _ in 0..tries {
        let told =
            pods.patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Strategic(&status)).await;
        match told {
            Ok(_) => return,
            Err(error) if crate::kube_api::is_absent(&error) => return,
            Err(error) => warn!(pod = pod.name_any(), %error, "its state can't be reported"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Stands for the server of machine configs, which is a part of this program, so that its log is found.
async fn mirror(node: &Node, kube: &Client) {
    let name = format!("{LOG}-{}", node.name);
    let pods = Api::<Pod>::namespaced(kube.clone(), MACHINE_CONFIG_NAMESPACE);
    loop {
        let made = async {
            let nodes = Api::<k8s_openapi::api::core::v1::Node>::all(kube.clone());
            let own = nodes.get(&node.name).await?;
            let object: Pod = serde_json::from_value(json!({
                "metadata": {
                    "name": name, "labels": {"k8s-app": LOG}, "annotations": {MIRROR: "lab"},
                    "ownerReferences": [{
                        "apiVersion": "v1", "kind": "Node", "name": node.name, "uid": own.uid(), "controller": true,
                    }],
                },
                "spec": {
                    "nodeName": node.name, "hostNetwork": true, "automountServiceAccountToken": false,
                    "containers": [{"name": LOG, "image": "lab"}],
                },
            }))?;
            match pods.create(&PostParams::default(), &object).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                made => drop(made?),
            }
            anyhow::Ok(pods.get(&name).await?)
        };
        match made.await {
            Ok(pod) => {
                let started = json!({"running": {"startedAt": Timestamp::now().to_string()}});
                return report(&pods, &pod, node, "Running", started, 0).await;
            }
            Err(error) => {
                warn!(error = format!("{error:#}"), "the log of machine configs can't be found yet");
            }
        }
        sleep(POLL_INTERVAL).await;
    }
}
