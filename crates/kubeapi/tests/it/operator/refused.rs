//! What stands in the way is told with the reason of the object that it concerns, and forgotten once it is out of the way.

use assisted_kubeapi::operator::access::ROLE;
use assisted_kubeapi::rbac::{Access, Role, manifest};
use serde_json::json;

use super::hub::{Running, condition, limited, plain, reconciled, touch};
use super::{NAMESPACE, environment, text};
use crate::hub::{Hub, eventually};

/// What is granted of kinds that can't be written.
const READ: &[&str] = &["get", "list", "watch"];
/// How often it is asked what the operator says until it is to look once more.
const LOOKS: u32 = 10;

/// The operator's role, which may only read these kinds.
fn without(withheld: &[&str]) -> Role {
    let mut accesses = Vec::new();
    for access in ROLE.accesses {
        let (kept, read): (Vec<&'static str>, Vec<&'static str>) =
            access.resources.iter().copied().partition(|resource| !withheld.contains(resource));
        for (resources, verbs) in [(kept, access.verbs), (read, READ)] {
            if !resources.is_empty() {
                accesses.push(Access { resources: resources.leak(), verbs, ..*access });
            }
        }
    }
    Role { accesses: accesses.leak(), ..ROLE }
}

/// Whether the object says this of what was applied.
async fn says(hub: &Hub, reason: &str, text: &str) -> bool {
    let told = condition(&hub.client, "ReconcileCompleted").await;
    told.is_some_and(|(status, said, message)| {
        status == "False" && said == reason && message.starts_with(text)
    })
}

/// Has the operator look, again and again, until something is so: what is granted counts a moment after it is written.
async fn looked(hub: &Hub, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let mut waited = 0;
    eventually(what, async || {
        if waited % LOOKS == 0 {
            touch(hub).await;
        }
        waited += 1;
        is_so().await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_told_until_it_is_allowed() {
    // Kinds that can't be written, in the order in which they are wanted, with reason and name of the first object of each.
    const WITHHELD: [(&str, &str, &str); 11] = [
        ("persistentvolumeclaims", "StorageFailure", "FilesystemStorage"),
        ("services", "AgentServiceFailure", "AgentService"),
        ("networkpolicies", "NetworkPolicyFailure", "AgentServiceNetworkPolicy"),
        ("secrets", "AgentLocalAuthSecretFailure", "AgentLocalAuthSecret"),
        ("serviceaccounts", "ImageHandlerServiceAccountFailure", "ImageServiceServiceAccount"),
        ("ingresses", "AgentRouteFailure", "AgentRoute"),
        ("deployments", "ReasonWebHookDeploymentFailure", "WebHookServiceDeployment"),
        ("mutatingwebhookconfigurations", "MutatingWebHookFailure", "AgentClusterInstallMutatingWebHook"),
        (
            "validatingwebhookconfigurations",
            "ValidatingWebHookFailure",
            "AgentClusterInstallValidatingWebHook",
        ),
        ("configmaps", "ConfigFailure", "AssistedServiceConfigMap"),
        ("statefulsets", "ImageHandlerStatefulSetFailure", "ImageServiceStatefulSet"),
    ];
    let hub = plain().await;
    let mut withheld: Vec<&str> = WITHHELD.iter().map(|(resource, _, _)| *resource).collect();
    hub.apply(&manifest(&without(&withheld), NAMESPACE));
    let client = hub.client_of(&format!("system:serviceaccount:{NAMESPACE}:{}", ROLE.account)).await;
    hub.apply(&text(&json!({})));
    let running = Running::start(client, environment());
    for (resource, reason, name) in WITHHELD {
        let told = format!("Failed to ensure {name}: {resource}");
        looked(&hub, &told, async || says(&hub, reason, &told).await).await;
        withheld.retain(|one| *one != resource);
        hub.apply(&manifest(&without(&withheld), NAMESPACE));
    }
    looked(&hub, "everything is there", async || {
        condition(&hub.client, "ReconcileCompleted").await.is_some_and(|(status, _, _)| status == "True")
    })
    .await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_named_is_missed_until_it_is_as_it_should_be() {
    let hub = plain().await;
    let client = limited(&hub).await;
    hub.apply(&text(&json!({"spec": {"OSImageCACertRef": {"name": "authorities"},
                                     "OSImageAdditionalParamsRef": {"name": "params"}}})));
    let running = Running::start(client, environment());
    let object = |kind: &str, name: &str, key: &str, value: &str| {
        let member = if kind == "Secret" { "stringData" } else { "data" };
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, member: {key: value}})
            .to_string()
    };
    let pem = assisted_testkit::Authority::new("images").unwrap().pem;
    let authorities = "OSImageCACertRefFailure";
    let params = "ReasonOSImageAdditionalParamsRefFailure";
    for (reason, told, next) in [
        (authorities, "there is no ConfigMap authorities", object("ConfigMap", "authorities", "a", "b")),
        (
            authorities,
            "file a does not contain a valid PEM certificate",
            object("ConfigMap", "authorities", "a", &pem),
        ),
        (params, "there is no Secret params", object("Secret", "params", "headers", "{}")),
    ] {
        eventually(told, async || says(&hub, reason, told).await).await;
        hub.apply(&next);
    }
    reconciled(&hub.client).await;
    hub.apply(&object("Secret", "params", "other", "{}"));
    eventually("another member is refused", async || {
        says(&hub, params, "secret referenced by OSImageAdditionalParamsRef is expected to contain").await
    })
    .await;
    running.stop().await;
}
