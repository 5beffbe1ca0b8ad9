//! The image of workers, built by a Job on a control plane node once the cluster stands (ocl-day1 §B7.1): begun, followed, handed to the
//! cluster. All that is known stands in the cluster's API and at the service, so that a controller that dies, or a second one, goes on
//! with the same build. What is written, an administrator writes: the controller's own account may not.

mod hand_over;
mod input;
mod nodes;
mod objects;
mod seen;

use std::fmt;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_kube::error::message as api_message;
use assisted_kube::host::of_node;
use assisted_ocl::paths::{CLUSTER_CONFIG, EXTRA_INPUTS, NAMESPACE};
use assisted_ocl::service::Layering;
use assisted_wire::id::HostId;
use assisted_wire::on_cluster_layering::{BuildLocation, BuildState, LayeringBuild, LayeringErrorCode, Pool};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{PassError, report};
use crate::cluster::{is_absent, status};
use crate::context::Context;
use crate::finish::{administrator, apply};
use objects::{Given, NAME, STATUS};
use seen::{BuilderStatus, JobState, Next};

pub(super) use hand_over::is_everywhere;

/// How pods that build, or bring an image to a registry, are found.
pub(crate) const PODS: &str = "app=ocl-build-worker";
/// The pool whose image is built in the cluster.
const POOL: Pool = Pool::Worker;
const MASTERS: &str = "node-role.kubernetes.io/master";
/// How long a build may wait for what it is begun with.
const BEGIN: Duration = Duration::from_secs(60 * 60);
/// What may be waited for when an installation ends otherwise.
const END: Duration = Duration::from_secs(30);

/// What this process knows of the build beside what all see.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// When the builder told what was reported last.
    told_at: String,
    /// Whether a build is under way.
    is_active: bool,
    /// Whether nothing of it runs any more.
    is_ended: bool,
    /// Since when it can't be begun.
    waits_since: Option<Instant>,
}

impl Work {
    /// Whether it could not be begun for too long, this time included.
    fn waits_too_long(&mut self) -> bool {
        self.waits_since.get_or_insert_with(Instant::now).elapsed() > BEGIN
    }
}

/// The builder's status, and its Job.
struct Looked {
    builder: Option<BuilderStatus>,
    job: JobState,
}

/// One pass over a build that has not ended.
pub(super) async fn pass(
    context: &Context,
    images: &Layering,
    build: LayeringBuild,
    work: &mut Work,
) -> Result<(), PassError> {
    match step(context, images, &build, work).await {
        Err(PassError::Hopeless { code, why }) => {
            warn!(%code, why, "the image of workers can't be built");
            context.degraded.set();
            let failed = LayeringBuild {
                state: BuildState::Failed,
                attempt: build.attempt.max(1),
                error: Some(why),
                error_code: Some(code),
                ..build
            };
            report(images, failed).await.map(drop)
        }
        done => done,
    }
}

async fn step(
    context: &Context,
    images: &Layering,
    build: &LayeringBuild,
    work: &mut Work,
) -> Result<(), PassError> {
    let Some(given) = given(context).await? else {
        if build.state == BuildState::Pending {
            let what = format!("ConfigMap {CLUSTER_CONFIG} is not in the cluster");
            return wait(images, build, work, what).await;
        }
        // With it all has gone that hung on it; the service gives up a builder that says nothing.
        warn!("ConfigMap {CLUSTER_CONFIG} has gone, and the builder with it");
        return Ok(());
    };
    let looked = look(context).await?;
    work.is_active |= looked.job != JobState::Absent;
    if !matches!(looked.job, JobState::Absent | JobState::Ending) {
        work.waits_since = None;
    }
    match seen::next(looked.builder.as_ref(), &looked.job) {
        Next::Begin => Box::pin(begin(context, images, &given, build, work)).await,
        Next::Follow if looked.job == JobState::Ending && work.waits_too_long() => {
            Err(hopeless(LayeringErrorCode::Timeout, "the builder's Job was deleted, and does not end"))
        }
        Next::Follow => follow(context, images, looked.builder, build, work).await,
        Next::HandOver => {
            let record =
                looked.builder.and_then(|builder| builder.progress.record(POOL, BuildLocation::ControlPlane));
            let record = record
                .ok_or_else(|| hopeless(LayeringErrorCode::Lost, "the builder has built another pool"))?;
            Box::pin(hand_over::step(context, images, &given, build, told(record, build))).await
        }
        Next::Fail(code, why) => Err(PassError::Hopeless { code, why }),
    }
}

fn hopeless(code: LayeringErrorCode, why: impl Into<String>) -> PassError {
    PassError::Hopeless { code, why: why.into() }
}

/// What the installation came with; `None` while it is not in the cluster.
async fn given(context: &Context) -> Result<Option<Given>, PassError> {
    let map = maps(&context.kube).get_opt(CLUSTER_CONFIG).await?;
    let read = map.as_ref().map(Given::read).transpose();
    read.map_err(|why| hopeless(LayeringErrorCode::BuildInfra, why))
}

fn maps(kube: &Client) -> Api<ConfigMap> {
    Api::namespaced(kube.clone(), NAMESPACE)
}

fn jobs(kube: &Client) -> Api<Job> {
    Api::namespaced(kube.clone(), NAMESPACE)
}

async fn look(context: &Context) -> Result<Looked, PassError> {
    let map = maps(&context.kube).get_opt(STATUS).await?;
    let job = jobs(&context.kube).get_opt(NAME).await?;
    Ok(Looked { builder: BuilderStatus::of(map.as_ref()), job: JobState::of(job.as_ref()) })
}

async fn control_plane(context: &Context) -> Result<Vec<Node>, PassError> {
    let labelled = ListParams::default().labels(MASTERS);
    Ok(Api::<Node>::all(context.kube.clone()).list(&labelled).await?.items)
}

/// Says at the service what a build waits for that can't begin, and gives it up after a while.
async fn wait(
    images: &Layering,
    build: &LayeringBuild,
    work: &mut Work,
    what: String,
) -> Result<(), PassError> {
    if work.waits_too_long() {
        return Err(hopeless(LayeringErrorCode::Timeout, format!("the build can't begin: {what}")));
    }
    info!(what, "the image of workers can't be built yet");
    // A build that was told of once counts as lost when it is not told of any more.
    report(images, LayeringBuild { step: Some(what), ..build.clone() }).await.map(drop)
}

/// A build that has a Job, with what it does; one that goes on has been further.
fn begun(build: &LayeringBuild, step: String) -> LayeringBuild {
    let state = if build.state == BuildState::Pending { BuildState::WaitingForRender } else { build.state };
    LayeringBuild { state, attempt: build.attempt.max(1), step: Some(step), ..build.clone() }
}

/// Has a builder started, as soon as the control plane can bear one, and the cluster has rendered what is built.
async fn begin(
    context: &Context,
    images: &Layering,
    given: &Given,
    build: &LayeringBuild,
    work: &mut Work,
) -> Result<(), PassError> {
    let nodes = control_plane(context).await?;
    let ready = nodes.iter().filter(|node| nodes::is_ready(node)).count();
    let needed = if context.config.control_plane_count == 1 { 1 } else { 2 };
    if ready < needed {
        // Until something else was waited for, hosts tell well enough how far the control plane is.
        if build.updated_at.is_some() {
            let what = format!("{ready} of {needed} control plane nodes are ready");
            return wait(images, build, work, what).await;
        }
        info!(ready, needed, "the image of workers waits for control plane nodes");
        return Ok(());
    }
    let Some(node) = nodes::choose(&nodes) else {
        let what =
            "no control plane node takes the builder: those that are ready are cordoned, or short of disk";
        return wait(images, build, work, what.to_owned()).await;
    };
    let name = node.name_any();
    let kube = administrator(context).await?;
    if let Some(what) = input::write(context, images, given, &kube).await? {
        return wait(images, build, work, what).await;
    }
    work.waits_since = None;
    create(&jobs(&kube), given.build_job(&name)).await?;
    info!(node = name, "the image of workers is built there");
    let step = format!("starting the builder on node {name}");
    let begun = LayeringBuild { host_id: host(context, node).await, ..begun(build, step) };
    report(images, begun).await.map(drop)
}

/// The host that a node is, for people to find it.
async fn host(context: &Context, node: &Node) -> Option<HostId> {
    let hosts = context.service.hosts(&[]).await;
    let hosts = hosts.map_err(|error| warn!(error = chain(&error), "hosts are not known")).ok()?;
    of_node(&hosts, &node.clone().into(), |_| true).map(|known| known.host.id)
}

/// What is known of a build with what its builder tells.
fn told(record: LayeringBuild, build: &LayeringBuild) -> LayeringBuild {
    use BuildState::{Pending, Ready, Rerendering, WaitingForRender};
    LayeringBuild {
        state: match record.state {
            Pending => WaitingForRender,
            // The cluster has to take it yet.
            Ready => Rerendering,
            other => other,
        },
        percent: if record.state == Ready { 94 } else { record.percent },
        // A builder that has begun anew elsewhere has counted anew.
        attempt: record.attempt.max(build.attempt).max(1),
        host_id: build.host_id,
        ..record
    }
}

/// Reports what the builder tells. One that runs and says nothing counts as lost at the service after a while; one that could not be
/// started yet does not.
async fn follow(
    context: &Context,
    images: &Layering,
    builder: Option<BuilderStatus>,
    build: &LayeringBuild,
    work: &mut Work,
) -> Result<(), PassError> {
    if let Some(BuilderStatus { at, progress }) = builder
        && at != work.told_at
        && let Some(record) = progress.record(POOL, BuildLocation::ControlPlane)
    {
        report(images, told(record, build)).await?;
        work.told_at = at;
        return Ok(());
    }
    let pods = Api::<Pod>::namespaced(context.kube.clone(), NAMESPACE);
    let own = pods.list(&ListParams::default().labels(&format!("job-name={NAME}"))).await?.items;
    let Some(waits) = seen::waits(&own) else { return Ok(()) };
    report(images, begun(build, waits)).await.map(drop)
}

/// Creates an object, unless it is there.
async fn create<K>(objects: &Api<K>, object: Value) -> Result<(), PassError>
where
    K: Clone + fmt::Debug + Serialize + DeserializeOwned,
{
    let object: K = serde_json::from_value(object)
        .map_err(|error| hopeless(LayeringErrorCode::BuildInfra, error.to_string()))?;
    match objects.create(&PostParams::default(), &object).await {
        Ok(_) => Ok(()),
        Err(error) => match status(&error) {
            Some(409) => Ok(()),
            // The API finds fault with the object itself.
            Some(400 | 413 | 422) => Err(hopeless(LayeringErrorCode::BuildInfra, api_message(&error))),
            _ => Err(error.into()),
        },
    }
}

/// After a build has ended without an image: nothing of it runs on, and its credentials go. What tells of it stays.
pub(super) async fn end(context: &Context, work: &mut Work) {
    if work.is_ended {
        return;
    }
    match try_end(context, false).await {
        Ok(()) => work.is_ended = true,
        Err(error) => warn!(error = chain(&error), "what the image of workers was built by stays for now"),
    }
}

/// When an installation has ended with a build under way.
pub(super) async fn abandon(context: &Context, work: &mut Work) {
    if work.is_active
        && !work.is_ended
        && tokio::time::timeout(END, Box::pin(end(context, work))).await.is_err()
    {
        warn!("the builder may still run: its Job ends by its deadline");
    }
}

/// After the cluster has taken the image over: all of it goes.
pub(super) async fn clean(context: &Context, work: &mut Work) {
    if work.is_ended {
        return;
    }
    work.is_active = false;
    match try_end(context, true).await {
        Ok(()) => work.is_ended = true,
        Err(error) => warn!(error = chain(&error), "what the image of workers was built by stays for now"),
    }
}

/// `everything`: finished Jobs, and what all hangs on, as well.
async fn try_end(context: &Context, everything: bool) -> Result<(), PassError> {
    let labelled = ListParams::default().labels(PODS);
    let all = jobs(&context.kube).list(&labelled).await?.items;
    let is_over = |job: &Job| matches!(JobState::of(Some(job)), JobState::Complete | JobState::Failed(..));
    let kube = administrator(context).await?;
    for job in all.iter().filter(|job| everything || !is_over(job)) {
        gone(jobs(&kube).delete(&job.name_any(), &DeleteParams::background()).await)?;
    }
    let secrets = Api::<Secret>::namespaced(kube.clone(), NAMESPACE);
    for name in EXTRA_INPUTS.map(objects::extra).into_iter().chain([NAME.to_owned()]) {
        gone(secrets.delete(&name, &DeleteParams::default()).await)?;
    }
    if everything {
        // What all hangs on goes last: until then, whoever comes next does this again.
        for name in [STATUS, CLUSTER_CONFIG] {
            gone(maps(&kube).delete(name, &DeleteParams::default()).await)?;
        }
        info!("what the image of workers was built by is gone");
    }
    Ok(())
}

/// That something is not there is as good as that it was deleted.
fn gone<T>(deleted: Result<T, kube::Error>) -> Result<(), PassError> {
    match deleted {
        Err(error) if !is_absent(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_build_that_can_not_begin_is_given_up() {
        let mut work = Work::default();
        assert!(!work.waits_too_long());
        tokio::time::advance(BEGIN).await;
        assert!(!work.waits_too_long());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(work.waits_too_long());
        // What has begun meanwhile has the whole time once more.
        work.waits_since = None;
        assert!(!work.waits_too_long());
    }
}
