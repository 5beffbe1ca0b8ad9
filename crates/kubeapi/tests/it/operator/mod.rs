//! The operator: what is to be, and that a real API server comes to have it.

mod desired;
mod environment;
mod hosted;
mod hub;
mod openshift;
mod pods;
mod refused;
mod settings;
mod upgrade;
mod validate;

use std::collections::BTreeMap;

use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_kubeapi::operator::conditions::ReconcileError;
use assisted_kubeapi::operator::desired::{Desired, Input, desired};
use assisted_kubeapi::operator::environment::Environment;
use assisted_kubeapi::operator::facts::{Facts, Fresh, Keys, OperatorPod};
use jiff::Timestamp;
use serde_json::{Value, json};

pub const NAMESPACE: &str = "assisted-installer";

/// An AgentServiceConfig with changes merged in.
pub fn config(change: &Value) -> AgentServiceConfig {
    let claim =
        |size: &str| json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
    let base = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1",
        "kind": "AgentServiceConfig",
        "metadata": {"name": "agent", "uid": "0d7a1c9e-0000-4000-8000-000000000001"},
        "spec": {
            "databaseStorage": claim("10Gi"),
            "filesystemStorage": claim("100Gi"),
            "ingress": {"className": "nginx", "assistedServiceHostname": "service.example.com",
                        "imageServiceHostname": "images.example.com"},
        },
    });
    serde_json::from_value(crate::admission::with(&base, change)).unwrap()
}

/// The same as somebody writes it.
pub fn text(change: &Value) -> String {
    let mut config = serde_json::to_value(config(change)).unwrap();
    config["metadata"].as_object_mut().unwrap().remove("uid");
    config.to_string()
}

/// One that asks for no volume.
pub fn bare(change: &Value) -> AgentServiceConfig {
    let mut config = config(change);
    config.spec.database_storage = Default::default();
    config.spec.filesystem_storage = Default::default();
    config
}

pub fn environment() -> Environment {
    let set =
        BTreeMap::from([("NAMESPACE", NAMESPACE), ("SERVICE_IMAGE", "registry.example.com/assisted:1")]);
    Environment::read(&|name| set.get(name).map(|value| (*value).to_owned())).unwrap()
}

/// OpenShift, once everything is filled in.
pub fn openshift() -> Facts {
    let authority = assisted_testkit::Authority::new("cluster").unwrap();
    let hosts = [
        ("assisted-service", "service.apps.example.com"),
        ("assisted-image-service", "images.apps.example.com"),
    ];
    Facts {
        is_openshift: true,
        has_service_monitors: true,
        ingress_authorities: Some(BTreeMap::from([("ca-bundle.crt".to_owned(), authority.pem.clone())])),
        cluster_authorities: Some(authority.pem),
        route_hosts: hosts.map(|(name, host)| (name.to_owned(), host.to_owned())).into(),
        ..kubernetes()
    }
}

/// Another cluster.
pub fn kubernetes() -> Facts {
    let operator =
        OperatorPod { image: "registry.example.com/operator:1".to_owned(), ..OperatorPod::default() };
    Facts { operator, ..Facts::default() }
}

pub fn fresh() -> Fresh {
    Fresh {
        keys: Some(Keys { private: "private".into(), public: "public".to_owned() }),
        password: Some("password".into()),
        seal_keys: Some("seal".into()),
        now: "2026-01-02T03:04:05Z".parse::<Timestamp>().unwrap(),
    }
}

pub fn make(config: &AgentServiceConfig, facts: &Facts) -> Result<Desired, ReconcileError> {
    desired(&Input { config, environment: &environment(), facts, fresh: &fresh(), hosted: None })
}

/// An object of what is to be.
pub fn find<'a>(desired: &'a Desired, kind: &str, name: &str) -> Option<&'a Value> {
    let mut objects = desired.components.iter().map(|component| &component.object);
    objects.find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

/// Kinds and names of what is to be, in its order.
pub fn names(desired: &Desired) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |object: &Value| format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]));
    desired.components.iter().map(|component| of(&component.object)).collect()
}
