//! The controllers of the Kubernetes API beside the REST API, where `ENABLE_KUBE_API` asks for them.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_base::process::Cmd;
use assisted_config::{AuthType, Settings};
use assisted_kube::client::Client;
use assisted_kube::lease;
use assisted_kubeapi::controllers::{Options, run};
use assisted_service::Service;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::kubernetes::QUERIES;
use crate::signals::stopping;

/// How long an API server may be silent: longer than a watch, which it ends after five minutes at the most.
const SILENCE: Duration = Duration::from_secs(330);
/// How long a new image rests before BareMetalHosts boot it.
const IMAGE_COOL_DOWN: Duration = Duration::from_secs(60);

/// This program, also when its file has been replaced since it started.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Refuses settings that do not go together.
pub(super) fn check(settings: &Settings) -> Result<()> {
    if settings.kube.enabled && !matches!(settings.auth.auth_type, AuthType::None | AuthType::Local) {
        bail!(
            "ENABLE_KUBE_API needs AUTH_TYPE=local, or none: objects show addresses that must stay good, and those of other \
             types end after hours"
        );
    }
    Ok(())
}

/// Finds the API server; `None`: no controllers are asked for.
pub(super) async fn connect(settings: &Settings) -> Result<Option<Client>> {
    if !settings.kube.enabled {
        return Ok(None);
    }
    let client = assisted_kube::client::from_environment(SILENCE).await.context(
        "ENABLE_KUBE_API is set, and there are no credentials for an API server; name a kubeconfig by KUBECONFIG",
    )?;
    Ok(Some(client))
}

/// Starts the controllers; they work as soon as this replica leads.
pub(super) fn start(
    settings: &Settings,
    client: Client,
    service: Service,
    stopped: &watch::Receiver<bool>,
    servers: &mut JoinSet<Result<()>>,
) {
    let kube = &settings.kube;
    let options = Options {
        lease: lease::Settings {
            namespace: kube.namespace.clone(),
            identity: format!("{}_{}", settings.http.pod_name, Uuid::new_v4()),
            duration: kube.lease_duration,
            deadline: kube.renew_deadline,
            retry: kube.retry_interval,
        },
        image_cool_down: IMAGE_COOL_DOWN,
        queries: Cmd::new(OWN_PROGRAM).arg(QUERIES),
    };
    let (stop, until) = (CancellationToken::new(), stopping(stopped));
    let token = stop.clone();
    servers.spawn(async move {
        let controllers = run(client, service, options, token);
        tokio::pin!(controllers);
        tokio::select! {
            ended = &mut controllers => return ended.context("the controllers of the Kubernetes API ended"),
            () = until => {}
        }
        stop.cancel();
        controllers.await.context("the controllers of the Kubernetes API ended")
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_show_addresses_that_stay_good() {
        let mut settings = Settings::default();
        settings.kube.enabled = true;
        for (kind, is_taken) in [(AuthType::None, true), (AuthType::Local, true), (AuthType::Users, false)] {
            settings.auth.auth_type = kind;
            assert_eq!(check(&settings).is_ok(), is_taken, "{kind:?}");
        }
    }
}
