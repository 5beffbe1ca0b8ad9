//! Images of nodes that are built during the installation: that of workers is built here, in the cluster (ocl-day1 §B7); then whether the
//! cluster has taken them over as its own, and whether its nodes have booted them (§B8).

mod adopt;
mod build;
mod gather;

use std::collections::BTreeMap;

use assisted_base::error::chain;
use assisted_base::http::Proxies as Way;
use assisted_ocl::paths::image_machine_config;
use assisted_ocl::service::{Access, Layering, LayeringError};
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::on_cluster_layering::{
    BuildLocation, BuildState, LayeringBuild, LayeringErrorCode, LayeringState, Pool,
};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::{MACHINE_CONFIG, MACHINE_CONFIG_POOL, MACHINE_OS_CONFIG, is_absent, proxies, status};
use crate::context::{Context, ImagesEnd};
use crate::error::ReconcileError;
use crate::wait::{PollError, poll_until};
use adopt::{Adoption, Facts, NodeFacts};
use build::Work;

pub(crate) use build::PODS;

pub(crate) use gather::gather;

/// What the machine config operator makes of an image that it takes over.
const COMPONENT: &str = "10-prebuiltimage-osimageurl-";

/// Why a pass over the images did not reach its end.
#[derive(Debug, thiserror::Error)]
enum PassError {
    #[error(transparent)]
    Service(#[from] LayeringError),
    #[error("the cluster's hosts are not known")]
    Hosts(#[source] Box<assisted_client::Error>),
    #[error("the cluster's API did not answer as it should")]
    Kube(#[source] Box<kube::Error>),
    #[error(transparent)]
    Administrator(Box<ReconcileError>),
    /// No other pass will build it.
    #[error("{why}")]
    Hopeless { code: LayeringErrorCode, why: String },
}

impl From<kube::Error> for PassError {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

impl From<ReconcileError> for PassError {
    fn from(error: ReconcileError) -> Self {
        Self::Administrator(Box::new(error))
    }
}

/// Whether an installation ends only when the cluster has taken its images over. The service says whether there are any: they are asked for in the
/// install config, or beside it.
pub(crate) async fn are_awaited(
    context: &Context,
    stop: &CancellationToken,
    install_config_overrides: &str,
) -> bool {
    let images = match client(context).await {
        Ok(images) => images,
        Err(error) => {
            warn!(error = chain(&error), "whether there are images of nodes is not known");
            return false;
        }
    };
    let intervals = &context.config.intervals;
    // The service may take as long to answer as the cluster may take for its images.
    let limit = Some(intervals.adoption_limit);
    let told = poll_until(stop, intervals.resync, limit, async || match images.state().await {
        Ok(state) => Some(state.is_some_and(|state| waits_for_adoption(&state, install_config_overrides))),
        Err(error) => {
            warn!(error = chain(&error), "whether there are images of nodes is not known yet");
            None
        }
    });
    match told.await {
        Ok(waits) => waits,
        Err(PollError::Cancelled) => false,
        Err(PollError::TimedOut) => {
            let waits = is_asked_for(install_config_overrides);
            warn!(
                waits,
                "the service doesn't say whether there are images of nodes: the install config decides"
            );
            waits
        }
    }
}

/// What the install config says of it holds before what was asked for beside that.
fn waits_for_adoption(state: &LayeringState, install_config_overrides: &str) -> bool {
    let overrides: Value = serde_json::from_str(install_config_overrides).unwrap_or_default();
    let beside = state.settings.as_ref().and_then(|settings| settings.wait_for_adoption);
    let said = member(&overrides, "onClusterLayering").and_then(|asked| member(asked, "waitForAdoption"));
    said.and_then(Value::as_bool).or(beside).unwrap_or(true)
}

/// The same by the install config alone, where the service doesn't answer.
fn is_asked_for(install_config_overrides: &str) -> bool {
    let overrides: Value = serde_json::from_str(install_config_overrides).unwrap_or_default();
    let asked = member(&overrides, "onClusterLayering");
    let said = |name: &str| asked.and_then(|asked| member(asked, name));
    said("mode").is_some_and(|mode| mode == "Enabled")
        && said("waitForAdoption").and_then(Value::as_bool).unwrap_or(true)
}

/// A member of the overrides, whose names may be in any case.
fn member<'a>(object: &'a Value, wanted: &str) -> Option<&'a Value> {
    let members = object.as_object()?;
    members.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, said)| said)
}

/// What this process knows of the images beside what all see.
#[derive(Debug, Default)]
struct Followed {
    work: Work,
    /// The name of each pool's configuration at the moment when our MachineConfig was taken away.
    names: BTreeMap<Pool, String>,
}

/// Follows the images until each is the cluster's own, or has failed. There is nothing to do where there are none.
pub(crate) async fn follow(context: &Context, stop: &CancellationToken) {
    let mut followed = Followed::default();
    let end = Box::pin(watch(context, stop, &mut followed)).await;
    match end {
        Some(end) => {
            info!(?end, "nothing is left to do for images of nodes");
            *context.images.lock() = Some(end);
        }
        None => build::abandon(context, &mut followed.work).await,
    }
}

/// What the service knows of the images.
async fn client(context: &Context) -> Result<Layering, LayeringError> {
    let config = &context.config;
    let way = match proxies(&context.kube).await {
        Ok(found) => Way::Given { http: found.http, https: found.https, none_for: found.except },
        Err(error) => {
            warn!(error = chain(&error), "the cluster's proxies are not known");
            Way::None
        }
    };
    let access = Access {
        url: config.service_url.clone(),
        token: config.token.clone(),
        insecure: config.skip_cert_verification,
        ca_file: config.ca_file.clone(),
        proxies: way,
    };
    Layering::new(access, config.cluster_id)
}

/// Reports images that the cluster has not taken over in time, with what it was waited for: the installation ends with that.
pub(crate) async fn give_up(context: &Context) {
    let reported = async {
        let images = client(context).await?;
        let builds = images.state().await?.map(|state| state.builds).unwrap_or_default();
        for build in builds.into_iter().filter(|build| build.state == BuildState::Ready && !build.adopted) {
            // It is used as it is.
            if build.seedable == Some(false) {
                continue;
            }
            let why = build.step.clone().unwrap_or_else(|| "the cluster has not taken it over".to_owned());
            let (error, error_code) = (Some(why), Some(LayeringErrorCode::Adopt));
            report(&images, LayeringBuild { state: BuildState::Failed, error, error_code, ..build }).await?;
        }
        Ok::<_, PassError>(())
    };
    if let Err(error) = reported.await {
        warn!(error = chain(&error), "that images are not taken over can't be reported");
    }
}

/// Reports a build; whether the service has taken it. What the service takes for over or older is not taken: the next pass begins with what the
/// service knows.
async fn report(images: &Layering, build: LayeringBuild) -> Result<bool, PassError> {
    let pool = build.pool;
    match images.report(build).await {
        Ok(()) => Ok(true),
        Err(LayeringError::Refused { status: 409, message }) => {
            warn!(%pool, answer = message, "the service doesn't take what is reported of an image");
            Ok(false)
        }
        // The service finds fault with the image itself (ocl-day1 §B10.1).
        Err(LayeringError::Refused { status: 422, message }) => {
            let why = format!("the service refuses the image: {message}");
            Err(PassError::Hopeless { code: LayeringErrorCode::Verify, why })
        }
        Err(error) => Err(error.into()),
    }
}

/// `None` when it was stopped.
async fn watch(context: &Context, stop: &CancellationToken, followed: &mut Followed) -> Option<ImagesEnd> {
    let images = match client(context).await {
        Ok(images) => images,
        Err(error) => {
            let why = chain(&error);
            warn!(why, "images of nodes are not followed");
            return Some(Err(why));
        }
    };
    let mut is_known = false;
    let end = poll_until(stop, context.config.intervals.resync, None, async || {
        let state = match images.state().await {
            Ok(Some(state)) => state,
            Ok(None) if !is_known => return Some(Ok(())),
            // Images that the service has told of don't vanish: somebody else answers, or an older service does.
            Ok(None) => {
                warn!("the service knows nothing of the images of nodes any more");
                return None;
            }
            Err(error) => {
                warn!(error = chain(&error), "images of nodes have to wait");
                return None;
            }
        };
        is_known = true;
        Box::pin(pass(context, &images, followed, state)).await
    });
    end.await.ok()
}

/// One pass; how the images have ended, when nothing is left to do. A pool that has to wait keeps no other waiting.
async fn pass(
    context: &Context,
    images: &Layering,
    followed: &mut Followed,
    state: LayeringState,
) -> Option<ImagesEnd> {
    let (mut done, mut end) = (true, Ok(()));
    for build in state.builds {
        let pool = build.pool;
        if build.state == BuildState::Failed {
            end = end.and_then(|()| Err(failure(&build)));
        }
        done &= match Box::pin(pass_of(context, images, build, followed)).await {
            Ok(is_over) => is_over,
            Err(error) => {
                warn!(%pool, error = chain(&error), "the image of a pool has to wait");
                false
            }
        };
    }
    done.then_some(end)
}

/// One pass over the image of a pool; whether nothing is left to do for it.
async fn pass_of(
    context: &Context,
    images: &Layering,
    build: LayeringBuild,
    followed: &mut Followed,
) -> Result<bool, PassError> {
    let Followed { work, names } = followed;
    let in_cluster = build.location == BuildLocation::ControlPlane;
    match build.state {
        BuildState::Failed => {
            if in_cluster {
                build::end(context, work).await;
            }
            Ok(true)
        }
        BuildState::Ready => {
            let is_over = build.adopted
                || Box::pin(build::is_everywhere(context, images, &build)).await?
                    && adopt(context, images, build, names).await?;
            if is_over && in_cluster {
                build::clean(context, work).await;
            }
            Ok(is_over)
        }
        _ => {
            if in_cluster {
                Box::pin(build::pass(context, images, build, work)).await?;
            }
            Ok(false)
        }
    }
}

fn failure(build: &LayeringBuild) -> String {
    let code = build.error_code.map_or("unknown", LayeringErrorCode::as_str);
    format!("pool {}: {code}: {}", build.pool, build.error.as_deref().unwrap_or_default())
}

async fn adopt(
    context: &Context,
    images: &Layering,
    build: LayeringBuild,
    names: &mut BTreeMap<Pool, String>,
) -> Result<bool, PassError> {
    let facts = facts(context, &build).await?;
    let renamed = names.get(&build.pool).and_then(|before| facts.renamed(before));
    if let Some(renamed) = &renamed {
        warn!(pool = %build.pool, renamed, "nodes are rolled out once more");
    }
    match adopt::decide(&build, &facts) {
        Adoption::Adopted { superfluous } => {
            // That names stay as they are is seen once it has gone.
            if superfluous && remove_own(context, &build).await? {
                names.insert(build.pool, facts.configuration("status").to_owned());
                return Ok(false);
            }
            info!(pool = %build.pool, "the cluster has taken the image over");
            report(images, LayeringBuild { adopted: true, step: None, ..build }).await
        }
        Adoption::Waiting(what) => {
            let what = [Some(what), renamed].into_iter().flatten().collect::<Vec<_>>().join("; ");
            info!(pool = %build.pool, what, "the image is not the cluster's own yet");
            if build.step.as_ref() != Some(&what) {
                report(images, LayeringBuild { step: Some(what), ..build }).await?;
            }
            Ok(false)
        }
        Adoption::NotSeedable => {
            info!(pool = %build.pool, "the release doesn't take images over: nodes keep theirs by a MachineConfig");
            Ok(true)
        }
        Adoption::Wrong(what) => {
            warn!(pool = %build.pool, what, "a node has booted something else");
            context.degraded.set();
            let (error, error_code) = (Some(what), Some(LayeringErrorCode::Boot));
            report(images, LayeringBuild { state: BuildState::Failed, error, error_code, ..build }).await?;
            Ok(false)
        }
    }
}

async fn data(found: Result<DynamicObject, kube::Error>) -> Result<Option<Value>, kube::Error> {
    match found {
        Ok(object) => Ok(Some(object.data)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the cluster says of a pool and its nodes.
async fn facts(context: &Context, build: &LayeringBuild) -> Result<Facts, PassError> {
    let kube = &context.kube;
    let pool = build.pool.as_str();
    let configs = MACHINE_CONFIG.all(kube);
    let labelled = ListParams::default().labels(&format!("node-role.kubernetes.io/{pool}"));
    let nodes = Api::<Node>::all(kube.clone()).list(&labelled).await?.items;
    let mut nodes_seen: Vec<NodeFacts> =
        nodes.iter().filter_map(|node| NodeFacts::of(node, build.pool)).collect();
    for node in &mut nodes_seen {
        if !node.current_config.is_empty() {
            let config = data(configs.get(&node.current_config).await).await?.unwrap_or_default();
            node.boots = config["spec"]["osImageURL"].as_str().unwrap_or_default().to_owned();
        }
    }
    Ok(Facts {
        os_config: data(MACHINE_OS_CONFIG.all(kube).get(pool).await).await?,
        pool: data(MACHINE_CONFIG_POOL.all(kube).get(pool).await).await?,
        own: data(configs.get(&image_machine_config(build.pool)).await).await?,
        component: data(configs.get(&format!("{COMPONENT}{pool}")).await).await?,
        expected: expected(context, build.pool).await?,
        nodes: nodes_seen,
    })
}

/// How many hosts become nodes of a pool: those that have failed do not.
async fn expected(context: &Context, pool: Pool) -> Result<usize, PassError> {
    let gone = [HostStatus::Disabled, HostStatus::Error, HostStatus::Cancelled];
    let hosts = context.service.hosts(&gone).await.map_err(|error| PassError::Hosts(Box::new(error)))?;
    let is_of = |role: HostRole| match pool {
        Pool::Master => matches!(role, HostRole::Master | HostRole::Bootstrap),
        Pool::Worker => role == HostRole::Worker,
    };
    Ok(hosts.iter().filter(|known| known.host.role.is_some_and(is_of)).count())
}

/// Takes our MachineConfig away, whose place the operator's own has taken; whether it was there.
async fn remove_own(context: &Context, build: &LayeringBuild) -> Result<bool, kube::Error> {
    let name = image_machine_config(build.pool);
    match MACHINE_CONFIG.all(&context.kube).delete(&name, &DeleteParams::default()).await {
        Ok(_) => {
            info!(name, "removed: the operator's own says the same");
            return Ok(true);
        }
        Err(error) if is_absent(&error) => {}
        // It does no harm: both say the same.
        Err(error) if status(&error) == Some(403) => warn!(name, "stays: this account may not delete it"),
        Err(error) => return Err(error),
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn installations_wait_unless_they_are_told_not_to() {
        for (beside, overrides, waits) in [
            (None, r#"{"onClusterLayering":{"mode":"Enabled"}}"#, true),
            (None, r#"{"onClusterLayering":{"mode":"Enabled","waitForAdoption":true}}"#, true),
            (None, r#"{"onClusterLayering":{"mode":"Enabled","waitForAdoption":false}}"#, false),
            (None, r#"{"onclusterlayering":{"mode":"Enabled","waitforadoption":false}}"#, false),
            // Where nothing of it stands in the install config, it was asked for beside that.
            (Some(json!({"mode": "Enabled"})), r#"{"networking":{}}"#, true),
            (Some(json!({"mode": "Enabled", "wait_for_adoption": true})), "", true),
            (Some(json!({"mode": "Enabled", "wait_for_adoption": false})), "", false),
            (
                Some(json!({"mode": "Enabled", "wait_for_adoption": false})),
                r#"{"onClusterLayering":{"waitForAdoption":true}}"#,
                true,
            ),
        ] {
            let mut state = json!({
                "enabled": true, "registry_type": "Embedded", "rollout": "Deploy", "status": "ready", "adopted": false,
            });
            if let Some(beside) = beside {
                state["settings"] = beside;
            }
            let state: LayeringState = serde_json::from_value(state).unwrap();
            assert_eq!(waits_for_adoption(&state, overrides), waits, "{state:?} {overrides}");
        }
    }

    #[test]
    fn the_install_config_decides_where_the_service_does_not_answer() {
        for (overrides, waits) in [
            (r#"{"onClusterLayering":{"mode":"Enabled"}}"#, true),
            (r#"{"onclusterlayering":{"Mode":"Enabled","waitForAdoption":true}}"#, true),
            (r#"{"onClusterLayering":{"mode":"Enabled","waitForAdoption":false}}"#, false),
            (r#"{"onClusterLayering":{"mode":"Disabled"}}"#, false),
            (r#"{"networking":{}}"#, false),
            ("", false),
        ] {
            assert_eq!(is_asked_for(overrides), waits, "{overrides}");
        }
    }
}
