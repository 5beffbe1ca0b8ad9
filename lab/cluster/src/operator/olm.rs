//! What the Operator Lifecycle Manager would do: an operator that is subscribed to comes with the kinds of its objects, and says that
//! it is there, or that it could not be installed. It operates nothing.

use std::collections::BTreeSet;

use anyhow::Result;
use assisted_lab_kinds::{Outcome, Outcomes, operators};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tracing::info;

use crate::kube_api::{Applier, Fields};

const VERSION: &str = "operators.coreos.com/v1alpha1";

/// Brings the operators of subscriptions that have brought none yet. `brought`: namespaces and names of those that have.
pub async fn bring(
    outcomes: &Outcomes,
    kube: &Client,
    applier: &mut Applier,
    brought: &mut BTreeSet<(String, String)>,
) -> Result<()> {
    let kind = GroupVersionKind::gvk("operators.coreos.com", "v1alpha1", "Subscription");
    let resource = ApiResource::from_gvk_with_plural(&kind, "subscriptions");
    let subscriptions = Api::<DynamicObject>::all_with(kube.clone(), &resource);
    for subscription in subscriptions.list(&ListParams::default()).await?.items {
        let (namespace, name) = (subscription.namespace().unwrap_or_default(), subscription.name_any());
        if brought.contains(&(namespace.clone(), name.clone())) {
            continue;
        }
        let package = subscription.data["spec"]["name"].as_str().unwrap_or_default();
        let outcome = outcomes.of(package);
        if outcome == Outcome::Missing {
            continue;
        }
        for kind in operators()?
            .into_iter()
            .filter(|operator| operator.package == package)
            .flat_map(|each| each.kinds)
        {
            applier.apply(kind.definition()?, Fields::Known).await?;
        }
        for object in
            [service_version(&namespace, package, outcome), subscription_status(&namespace, &name, package)]
        {
            match object["kind"] == "Subscription" {
                true => applier.apply_status(&object).await?,
                false => applier.apply(object, Fields::Known).await?,
            }
        }
        info!(namespace, package, ?outcome, "brought");
        brought.insert((namespace, name));
    }
    Ok(())
}

fn service_version(namespace: &str, package: &str, outcome: Outcome) -> Value {
    let (phase, reason, message) = match outcome {
        Outcome::Fails => ("Failed", "InstallCheckFailed", "install timeout"),
        _ => ("Succeeded", "InstallSucceeded", "install strategy completed with no errors"),
    };
    json!({
        "apiVersion": VERSION, "kind": "ClusterServiceVersion",
        "metadata": {"name": format!("{package}.v1.0.0"), "namespace": namespace},
        "spec": {"displayName": package, "version": "1.0.0"},
        "status": {"phase": phase, "reason": reason, "message": message},
    })
}

fn subscription_status(namespace: &str, name: &str, package: &str) -> Value {
    let version = format!("{package}.v1.0.0");
    json!({
        "apiVersion": VERSION, "kind": "Subscription", "metadata": {"name": name, "namespace": namespace},
        "status": {"currentCSV": version, "installedCSV": version, "state": "AtLatestKnown"},
    })
}

#[cfg(test)]
mod tests {
    use assisted_lab_kinds::definitions;
    use assisted_testkit::kube::Kube;
    use kube::config::Kubeconfig;
    use kube::discovery::pinned_kind;

    use super::*;
    use crate::kube_api::of;

    const FAILS: &str = "redhat-oadp-operator";
    const MISSING: &str = "numaresources-operator";

    #[tokio::test]
    async fn an_operator_comes_with_its_kinds_or_fails_or_is_missing() {
        let api = tokio::task::spawn_blocking(|| Kube::launch(&[])).await.unwrap().unwrap();
        let kube = of(Kubeconfig::read_from(api.kubeconfig()).unwrap()).await.unwrap();
        let mut applier = Applier::new(kube.clone());
        for definition in definitions().unwrap() {
            let is_of_olm = definition["spec"]["group"] == "operators.coreos.com";
            if is_of_olm {
                applier.apply(definition, Fields::Known).await.unwrap();
            }
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-nfd"}});
        let subscription = |package: &str| {
            let (source, namespace) = ("redhat-operators", "openshift-marketplace");
            json!({
                "apiVersion": VERSION, "kind": "Subscription",
                "metadata": {"name": package, "namespace": "openshift-nfd"},
                "spec": {"name": package, "source": source, "sourceNamespace": namespace},
            })
        };
        for object in [namespace, subscription("nfd"), subscription(FAILS), subscription(MISSING)] {
            // A kind is known a moment after it was defined.
            let mut applied = applier.apply(object.clone(), Fields::Known).await;
            for _ in 0..100 {
                if applied.is_ok() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                applied = applier.apply(object.clone(), Fields::Known).await;
            }
            applied.unwrap();
        }
        let outcomes = format!("{FAILS}=fails,{MISSING}=missing").parse().unwrap();
        let mut brought = BTreeSet::new();
        for _ in 0..100 {
            if bring(&outcomes, &kube, &mut applier, &mut brought).await.is_ok() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert_eq!(brought, ["nfd", FAILS].map(|name| ("openshift-nfd".to_owned(), name.to_owned())).into());
        let kind = GroupVersionKind::gvk("nfd.openshift.io", "v1", "NodeFeatureDiscovery");
        let mut known = pinned_kind(&kube, &kind).await;
        for _ in 0..100 {
            if known.is_ok() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            known = pinned_kind(&kube, &kind).await;
        }
        known.unwrap();
        let get = |kind: &str, plural: &str, name: &str| {
            let name = name.to_owned();
            let kind = GroupVersionKind::gvk("operators.coreos.com", "v1alpha1", kind);
            let resource = ApiResource::from_gvk_with_plural(&kind, plural);
            let objects = Api::<DynamicObject>::namespaced_with(kube.clone(), "openshift-nfd", &resource);
            async move { objects.get(&name).await.unwrap().data }
        };
        let version = get("ClusterServiceVersion", "clusterserviceversions", "nfd.v1.0.0").await;
        assert_eq!(version["status"]["phase"], "Succeeded");
        let subscription = get("Subscription", "subscriptions", "nfd").await;
        assert_eq!(subscription["status"]["currentCSV"], "nfd.v1.0.0");
        let failed = get("ClusterServiceVersion", "clusterserviceversions", &format!("{FAILS}.v1.0.0")).await;
        assert_eq!(failed["status"]["phase"], "Failed");
        let missing = get("Subscription", "subscriptions", MISSING).await;
        assert!(missing.get("status").is_none(), "{missing}");
    }
}
