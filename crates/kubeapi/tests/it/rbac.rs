//! Rights: the manifests in `deploy/` are those of the code, and a real API server grants them and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use assisted_kubeapi::rbac::{FURTHER, ROLES, Role, Scope, further, manifest};
use assisted_testkit::golden;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;

use crate::pool::{Kinds, lease};

const NAMESPACE: &str = "assisted-installer";

#[test]
fn manifests_are_those_of_the_code() {
    for role in ROLES {
        let file = format!("../../deploy/kustomize/rbac/{}.yaml", role.account);
        golden(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), &manifest(role, NAMESPACE));
    }
    for (folder, role) in FURTHER {
        let file = format!("../../deploy/kustomize/{folder}/{}.yaml", role.account);
        golden(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), &further(role, NAMESPACE));
    }
}

/// All roles.
fn all() -> impl Iterator<Item = &'static Role> {
    ROLES.iter().copied().chain(FURTHER.iter().map(|(_, role)| *role))
}

#[test]
fn the_operator_has_secrets_of_its_own_namespace_alone() {
    let role = ROLES.iter().find(|role| role.account == "assisted-operator").unwrap();
    let secrets = role
        .accesses
        .iter()
        .filter(|access| access.group.is_empty() && access.resources.contains(&"secrets"));
    assert!(
        secrets.clone().count() > 0 && secrets.into_iter().all(|access| access.scope == Scope::Namespace)
    );
}

#[test]
fn nothing_is_granted_as_a_whole_or_twice() {
    for role in all() {
        let mut seen = BTreeSet::new();
        for access in role.accesses {
            for word in access.resources.iter().chain(access.verbs).chain([&access.group]) {
                assert!(!word.contains('*'), "{}: {access:?}", role.name);
            }
            for resource in access.resources {
                for verb in access.verbs {
                    let right = (access.scope, access.group, *resource, *verb, access.names);
                    assert!(seen.insert(right), "{}: {verb} {resource} is granted twice", role.name);
                }
            }
            assert!(
                !access
                    .verbs
                    .iter()
                    .any(|verb| matches!(*verb, "escalate" | "bind" | "impersonate" | "deletecollection"))
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_grants_what_is_declared() {
    let hub = lease(Kinds::Operator).await;
    hub.namespace(NAMESPACE).await;
    for role in ROLES {
        hub.apply(&manifest(role, NAMESPACE));
    }
    let api: Api<SubjectAccessReview> = Api::all(hub.client.clone());
    let may = async |account: &str, attributes: ResourceAttributes| {
        let spec = SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{NAMESPACE}:{account}")),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        api.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
    };
    let of = |group: &str, resource: &str, verb: &str, namespace: &str, name: &str| {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let text = |text: &str| Some(text.to_owned());
        ResourceAttributes {
            group: text(group),
            resource: text(resource),
            subresource: text(subresource),
            verb: text(verb),
            namespace: text(namespace),
            name: text(name),
            ..ResourceAttributes::default()
        }
    };
    for (folder, role) in FURTHER {
        for scope in role.accesses.iter().map(|access| access.scope).collect::<BTreeSet<_>>() {
            if let Scope::In(name) = scope {
                hub.namespace(name).await;
            }
        }
        if *folder != "hosted" {
            hub.apply(&further(role, NAMESPACE));
            for access in role.accesses {
                let Scope::In(place) = access.scope else { panic!("{access:?}") };
                for (verb, name) in
                    access.verbs.iter().flat_map(|verb| access.names.iter().map(move |name| (*verb, *name)))
                {
                    let asked = |place, name| of(access.group, access.resources[0], verb, place, name);
                    assert!(may(role.account, asked(place, name)).await, "{verb} {name} in {place}");
                    assert!(!may(role.account, asked(place, "another")).await, "{verb} in {place}");
                    assert!(!may(role.account, asked("default", name)).await, "{verb} {name} elsewhere");
                }
            }
        }
    }
    for role in ROLES {
        for access in role.accesses {
            let name = access.names.first().copied().unwrap_or_default();
            for resource in access.resources {
                for verb in access.verbs {
                    let asked = |namespace| of(access.group, resource, verb, namespace, name);
                    assert!(may(role.account, asked(NAMESPACE)).await, "{} {verb} {resource}", role.account);
                    let elsewhere = role.accesses.iter().any(|other| {
                        other.scope == Scope::Cluster
                            && other.group == access.group
                            && other.resources.contains(resource)
                            && other.verbs.contains(verb)
                            && (other.names.is_empty() || other.names.contains(&name))
                    });
                    assert_eq!(
                        may(role.account, asked("default")).await,
                        elsewhere,
                        "{} {verb} {resource} in another namespace",
                        role.account
                    );
                }
            }
        }
        for (group, resource, verb) in [
            ("", "pods", "create"),
            ("", "pods/exec", "create"),
            ("", "nodes", "patch"),
            ("", "namespaces", "delete"),
            ("rbac.authorization.k8s.io", "clusterrolebindings", "create"),
            ("apiextensions.k8s.io", "customresourcedefinitions", "delete"),
            ("certificates.k8s.io", "certificatesigningrequests", "create"),
        ] {
            assert!(
                !may(role.account, of(group, resource, verb, NAMESPACE, "")).await,
                "{} {verb} {resource}",
                role.account
            );
        }
    }
}
