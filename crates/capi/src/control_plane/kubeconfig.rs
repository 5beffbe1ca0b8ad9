//! The kubeconfig of the cluster: what the installer gives out is what Cluster API has, also after it changed (capi-providers §12).

use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::conditions::control_plane as says;
use assisted_crd::cluster_api::labels::{SECRET_TYPE, label};
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_kube::error::optional;
use assisted_kube::write::{self, Guard};
use assisted_wire::secret::Secret as Text;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, ResourceExt};

use super::installer::Installation;
use super::management_cluster::is_owned;
use super::provider::Provider;
use super::report::Report;
use crate::objects::{failed, owner};

/// Member of the Secret.
const HANDED_ON: &str = "value";

/// Hands on the kubeconfig; it, if there is one.
pub(super) async fn settle(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    cluster: &Cluster,
    installation: Option<&Installation>,
    report: &mut Report,
) -> Option<Text> {
    match hand_on(provider, plane, cluster, installation).await {
        Ok(kubeconfig) => {
            report.say(says::KUBECONFIG_AVAILABLE.with(&[]));
            Some(kubeconfig)
        }
        Err(Missing::NotGiven) => {
            report.say(says::KUBECONFIG_UNAVAILABLE.with(&["Kubeconfig not available"]));
            None
        }
        Err(Missing::Failed(failure)) => {
            report.say(says::KUBECONFIG_UNAVAILABLE.with(&[&failure.message]));
            report.fail(failure);
            None
        }
    }
}

/// Why there is none.
enum Missing {
    /// The installer has not given one out.
    NotGiven,
    Failed(assisted_reconcile::Failure),
}

async fn hand_on(
    provider: &Provider,
    plane: &OpenshiftAssistedControlPlane,
    cluster: &Cluster,
    installation: Option<&Installation>,
) -> Result<Text, Missing> {
    let installation = installation.ok_or(Missing::NotGiven)?;
    let given = provider.installer.kubeconfig(plane, cluster, installation).await;
    let text = given.map_err(Missing::Failed)?.ok_or(Missing::NotGiven)?;
    let wrong = |text: String| Missing::Failed(assisted_reconcile::Failure::passing(text));
    let secrets: Api<Secret> = provider.management.api(&plane.namespace().unwrap_or_default());
    let cause = |error: &kube::Error| assisted_base::error::chain(error);
    let cluster = cluster.name_any();
    let name = format!("{cluster}-kubeconfig");
    let before = optional(secrets.get(&name).await)
        .map_err(|error| wrong(format!("error retrieving Kubeconfig {}", cause(&error))))?;
    // One that a person has put there is left alone, and used.
    if let Some(before) = before.as_ref().filter(|before| !is_owned(*before, plane)) {
        let value = before.data.as_ref().and_then(|data| data.get(HANDED_ON));
        let text = value.and_then(|value| String::from_utf8(value.0.clone()).ok());
        return text
            .map(Text::from)
            .ok_or_else(|| wrong(format!("kubeconfig with key `{HANDED_ON}` not found in secret {name}")));
    }
    let mut after = before.clone().unwrap_or_else(|| secret(plane, &cluster, &name));
    after.data = Some([(HANDED_ON.to_owned(), ByteString(text.clone().into_bytes()))].into());
    let written = match &before {
        Some(before) => write::object(&secrets, before, &after, Guard::Version).await.map(drop),
        None => secrets.create(&PostParams::default(), &after).await.map(drop),
    };
    written.map_err(|error| {
        let failure = failed(&error);
        let message = format!("error creating Kubeconfig secret: {}", failure.message);
        Missing::Failed(assisted_reconcile::Failure { message, ..failure })
    })?;
    Ok(Text::from(text))
}

fn secret(plane: &OpenshiftAssistedControlPlane, cluster: &str, name: &str) -> Secret {
    let mut secret = Secret { type_: Some(SECRET_TYPE.to_owned()), ..Secret::default() };
    secret.metadata.name = Some(name.to_owned());
    secret.metadata.namespace = plane.namespace();
    secret.metadata.labels = Some([(label::CLUSTER_NAME.to_owned(), cluster.to_owned())].into());
    secret.metadata.owner_references = Some(vec![owner(plane, true)]);
    secret
}
