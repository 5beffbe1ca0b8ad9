//! An image that is built becomes what workers boot (ocl-day1 §B7.1): every control plane node serves it, the pool's configuration names
//! it, the cluster takes it over. The configuration comes first: by it, the machine config operator names the build that it makes of the
//! image.

use assisted_ocl::builder::{machine_config, seeded};
use assisted_ocl::config::Registry;
use assisted_ocl::paths::image_machine_config;
use assisted_ocl::service::Layering;
use assisted_wire::on_cluster_layering::{BuildLocation, BuildState, LayeringBuild, LayeringErrorCode, Pool};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::Value;
use tracing::{info, warn};

use super::input::machine_os_config;
use super::objects::{Given, replica_name};
use super::seen::JobState;
use super::{POOL, PassError, apply, control_plane, create, given, gone, hopeless, jobs, nodes, report};
use crate::cluster::{MACHINE_CONFIG, MACHINE_CONFIG_POOL, MACHINE_OS_CONFIG, text};
use crate::context::Context;
use crate::finish::administrator;
use crate::layering::{adopt, expected};

/// How long the cluster may take beside the build's own time, in seconds.
const SLACK: i64 = 60 * 60;

/// One pass; `record` is what the builder has told.
pub(super) async fn step(
    context: &Context,
    images: &Layering,
    given: &Given,
    build: &LayeringBuild,
    record: LayeringBuild,
) -> Result<(), PassError> {
    let image = record.image.clone();
    let image = image.ok_or_else(|| hopeless(LayeringErrorCode::Verify, "the builder names no image"))?;
    match missing(context, images, given, &image, record.seedable).await? {
        None => {
            info!(image, "the image of workers is ready");
            let ready = LayeringBuild { state: BuildState::Ready, percent: 100, step: None, ..record };
            report(images, ready).await.map(drop)
        }
        Some(what) if is_late(build, given) => {
            Err(hopeless(LayeringErrorCode::Timeout, format!("the cluster doesn't take the image: {what}")))
        }
        Some(what) => {
            info!(what, "the image of workers is built, and not in the cluster yet");
            report(images, LayeringBuild { step: Some(what), ..record }).await.map(drop)
        }
    }
}

fn is_late(build: &LayeringBuild, given: &Given) -> bool {
    let limit = i64::try_from(given.config.build_timeout_seconds).unwrap_or(i64::MAX).saturating_add(SLACK);
    build
        .started_at
        .is_some_and(|begun| Timestamp::now().duration_since(begun.0) > SignedDuration::from_secs(limit))
}

/// Does what can be done now; what is still missing.
async fn missing(
    context: &Context,
    images: &Layering,
    given: &Given,
    image: &str,
    seedable: Option<bool>,
) -> Result<Option<String>, PassError> {
    if let Some(what) = spread(context, given, image).await? {
        return Ok(Some(what));
    }
    let configs = MACHINE_CONFIG.all(&context.kube);
    let names = |config: &Value| text(config, "/spec/osImageURL") == image;
    let own = configs.get_opt(&image_machine_config(POOL)).await?;
    if !own.is_some_and(|own| names(&own.data)) {
        let object = machine_config(POOL, image).to_string();
        apply(&administrator(context).await?, object.as_bytes()).await?;
    }
    let Some(pool) = MACHINE_CONFIG_POOL.all(&context.kube).get_opt(POOL.as_str()).await? else {
        return Ok(Some(format!("MachineConfigPool {POOL} is not there")));
    };
    for part in ["spec", "status"] {
        let name = text(&pool.data, &format!("/{part}/configuration/name"));
        let rendered = match name {
            "" => None,
            name => configs.get_opt(name).await?,
        };
        if !rendered.is_some_and(|rendered| names(&rendered.data)) {
            return Ok(Some(format!(
                "the configuration of MachineConfigPool {POOL} doesn't name the image yet"
            )));
        }
    }
    if seedable == Some(false) {
        return Ok(None);
    }
    let configs = MACHINE_OS_CONFIG.all(&context.kube);
    let Some(config) = configs.get_opt(POOL.as_str()).await? else {
        let object = machine_os_config(images).await?;
        // Created, and never changed: the operator takes the annotation away once it has taken the image.
        create(&MACHINE_OS_CONFIG.all(&administrator(context).await?), seeded(object, image)).await?;
        return Ok(Some(format!("MachineOSConfig {POOL} is not seeded yet")));
    };
    let is_seeded = adopt::holds(&config.data, "Seeded");
    Ok((!is_seeded).then(|| format!("MachineOSConfig {POOL} is not seeded yet")))
}

/// Has each ready control plane node's registry get the image; the first that lacks it. Nothing is to be done with an external registry.
async fn spread(context: &Context, given: &Given, image: &str) -> Result<Option<String>, PassError> {
    let Registry::Embedded { .. } = given.config.registry else { return Ok(None) };
    let mut lacking = None;
    let known = jobs(&context.kube);
    for node in control_plane(context).await?.iter().filter(|node| nodes::is_ready(node)) {
        let (name, job) = (node.name_any(), replica_name(&node.uid().unwrap_or_default()));
        match JobState::of(known.get_opt(&job).await?.as_ref()) {
            JobState::Complete => continue,
            JobState::Absent => {
                let kube = administrator(context).await?;
                create(&jobs(&kube), given.replica_job(&job, &name, image)).await?;
            }
            JobState::Failed(reason, message) => {
                warn!(node = name, reason, message, "its registry has not got the image: it tries again");
                let kube = administrator(context).await?;
                gone(jobs(&kube).delete(&job, &DeleteParams::background()).await)?;
            }
            JobState::Active | JobState::Ending => {}
        }
        lacking.get_or_insert(name);
    }
    Ok(lacking.map(|name| format!("the registry of node {name} doesn't serve the image yet")))
}

/// Whether all control plane nodes serve an image that is ready, those that came later too. An image that the bootstrap host has built came
/// onto each with its installation.
pub(in crate::layering) async fn is_everywhere(
    context: &Context,
    images: &Layering,
    build: &LayeringBuild,
) -> Result<bool, PassError> {
    let (BuildLocation::ControlPlane, Some(image)) = (build.location, &build.image) else { return Ok(true) };
    // Gone with all else once that was so.
    let Some(given) = given(context).await? else { return Ok(true) };
    let Registry::Embedded { .. } = given.config.registry else { return Ok(true) };
    let ready = control_plane(context).await?.iter().filter(|node| nodes::is_ready(node)).count();
    let what = match spread(context, &given, image).await? {
        Some(what) => what,
        None if ready < expected(context, Pool::Master).await? => {
            "not all control plane nodes are ready to serve the image".to_owned()
        }
        None => return Ok(true),
    };
    if build.step.as_ref() != Some(&what) {
        report(images, LayeringBuild { step: Some(what), ..build.clone() }).await?;
    }
    Ok(false)
}
