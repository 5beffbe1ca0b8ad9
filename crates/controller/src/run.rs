//! The controller's life, from its start until the installation has ended one way or another (installer-and-controller
//! §B3, §B12).

use std::sync::Arc;

use assisted_base::error::chain;
use assisted_client::Error as ServiceError;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::platform::PlatformType;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::{connect, proxies};
use crate::config::Config;
use crate::context::{Context, Degraded, Exit};
use crate::error::Error;
use crate::service::Service;
use crate::{abi, csr, dns, finish, labels, layering, logs, metal, node, ready};

/// Refusals of the token in a row after which it is given up.
const REFUSALS: u32 = 3;
/// Looks for a cluster that the service does not know before it is believed.
const UNKNOWN_LOOKS: u32 = 10;

/// Who had the cluster installed.
async fn is_agent_based(kube: &Client) -> bool {
    let maps = Api::<ConfigMap>::namespaced(kube.clone(), "openshift-config");
    let map = maps.get("openshift-install-manifests").await;
    let map = map.map_err(|error| warn!(error = chain(&error), "who installs is not known")).ok();
    map.and_then(|map| map.data)
        .is_some_and(|data| data.get("invoker").is_some_and(|name| name == abi::INVOKER))
}

/// What all parts share.
async fn context(config: &Config) -> Result<Context, Error> {
    let kube = connect(&config.paths.bootstrap_kubeconfig).await?;
    let service = Service::new(config, &proxies(&kube).await?)?;
    Ok(Context {
        config: config.clone(),
        kube,
        service,
        degraded: Degraded::default(),
        images: parking_lot::Mutex::default(),
        progress: Arc::default(),
    })
}

/// Runs the controller to its end. Dropping the future stops it at any point; run again, it goes on from there.
///
/// # Errors
/// It can't begin its work: configuration, credentials, the proxies of the cluster, or neither side answers.
pub async fn run(config: &Config) -> Result<Exit, Error> {
    if config.dry_run {
        return Err(Error::DryRun);
    }
    let context = Arc::new(context(config).await?);
    let agent_based = is_agent_based(&context.kube).await;
    info!(cluster = %config.cluster_id, version = config.openshift_version, agent_based, "the controller starts");
    if agent_based && config.control_plane_count == 1 {
        return Ok(abi::single(&context).await);
    }
    let stop = CancellationToken::new();
    let limit = if agent_based { config.intervals.ready_limit_abi } else { config.intervals.ready_limit };
    let cluster = ready::announce(&context, limit, &stop).await;
    if cluster.is_none() && !agent_based {
        return Err(Error::NotReady { minutes: limit.as_secs() / 60 });
    }
    let remove_taints = match agent_based {
        true => abi::taint_is_to_go(&context, cluster.as_ref()).await,
        false => cluster.as_ref().is_some_and(node::taint_is_to_go),
    };
    let on_metal = cluster
        .as_ref()
        .and_then(|cluster| cluster.platform.as_ref())
        .is_some_and(|platform| platform.r#type == PlatformType::Baremetal);

    let (reboots, counter) = node::reboots(config.notify_num_reboots);
    // Requests for certificates are looked at as long as nodes may come.
    let coming = stop.child_token();
    let (context, stop, coming) = (&context, &stop, &coming);
    let nodes = async move {
        node::follow(context, remove_taints, &reboots, stop).await;
        coming.cancel();
    };
    let finish = async {
        match agent_based {
            true => abi::operators(context, None, stop).await,
            false => finish::finish(context, stop).await,
        }
    };
    let machines = async {
        if on_metal {
            metal::update(context, stop).await;
        }
    };
    let work = async {
        tokio::join!(
            nodes,
            csr::approve(context, coming),
            finish,
            machines,
            labels::set(context, stop),
            logs::upload(context, agent_based, stop),
            dns::free_address(context, stop),
            layering::follow(context, stop),
            counter.run(context, stop),
        );
    };
    let end = async {
        match agent_based {
            true => abi::wait(context, remove_taints, config.control_plane_count).await,
            false => wait(context).await,
        }
    };
    let mut work = Box::pin(work);
    let exit = tokio::select! {
        exit = end => exit,
        // It has an end only when it is stopped.
        () = async { (&mut work).await; std::future::pending().await } => Exit::Complete,
    };
    info!(?exit, "the installation has ended");
    if matches!(exit, Exit::Unknown | Exit::Refused) {
        // Nobody would take what remains to be told.
        return Ok(exit);
    }
    stop.cancel();
    work.await;
    Ok(exit)
}

/// Waits until the service says that the installation has ended, or that it does not know of it.
async fn wait(context: &Context) -> Exit {
    use ClusterStatus::{AddingHosts, Cancelled, Error, Installed};
    let (mut refusals, mut unknown) = (0, 0);
    loop {
        let intervals = &context.config.intervals;
        sleep(if unknown == 0 { intervals.operators } else { intervals.unknown }).await;
        match context.service.cluster().await {
            Ok(cluster) => {
                (refusals, unknown) = (0, 0);
                if cluster.status == Error {
                    context.degraded.set();
                }
                if matches!(cluster.status, Error | Cancelled | Installed | AddingHosts) {
                    return Exit::Ended(cluster.status);
                }
            }
            Err(error) => {
                warn!(error = chain(&error), "the state of the installation is not known");
                match error {
                    ServiceError::Refused(refusal) if refusal.is_of_the_api() && refusal.status == 404 => {
                        unknown += 1;
                        if unknown > UNKNOWN_LOOKS {
                            return Exit::Unknown;
                        }
                    }
                    ServiceError::Refused(refusal) if refusal.status == 401 => {
                        refusals += 1;
                        if refusals >= REFUSALS {
                            return Exit::Refused;
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
