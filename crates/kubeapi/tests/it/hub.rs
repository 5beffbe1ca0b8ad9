//! A hub: a real API server with the published definitions.

use std::io::Write;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use assisted_crd::definition;
use assisted_kube::error::is_missing;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams, ValidationDirective};
use kube::core::{DynamicObject, GroupVersionKind, TypeMeta};
use kube::discovery::{ApiCapabilities, ApiResource, Scope, pinned_kind};
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::Value;

use crate::pool::Server;

/// How long anything may take until it is so.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a kind that was defined may not be told of.
const UNTOLD: Duration = Duration::from_secs(3);
/// An API server heeds rights a moment after they are written.
const RIGHTS: Duration = Duration::from_millis(100);

pub const SILENCE: Duration = Duration::from_secs(600);

/// A hub for one test alone.
pub struct Hub {
    pub kube: Server,
    /// As an administrator.
    pub client: Client,
}

impl Hub {
    /// The hub of a server of one's own, with the kinds that it has; most tests take one of the pool ([`crate::pool::lease`]).
    pub async fn of(kube: Kube) -> Self {
        let client = assisted_kube::client::from_file(&kube.kubeconfig(), SILENCE).await.unwrap();
        Self { kube: kube.into(), client }
    }

    pub async fn namespace(&self, name: &str) {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        Api::all(self.client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    }

    /// A client with the rights of somebody else.
    pub async fn client_of(&self, user: &str) -> Client {
        let kubeconfig = self.kube.kubeconfig_of(user, &["system:authenticated"]);
        assisted_kube::client::from_text(&kubeconfig, SILENCE).await.unwrap()
    }

    /// Applies manifests as kubectl does, without the time that it takes to start; what the API server says when it refuses one.
    pub fn try_apply(&self, manifests: &str) -> Result<(), String> {
        let applied = self.apply_all(manifests);
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(applied))
    }

    async fn apply_all(&self, manifests: &str) -> Result<(), String> {
        let documents = serde_yaml_ng::Deserializer::from_str(manifests);
        let objects: Vec<Value> = documents.map(|document| Value::deserialize(document).unwrap()).collect();
        for object in objects.iter().filter(|object| !object.is_null()) {
            self.apply_object(object).await.map_err(|error| match error {
                kube::Error::Api(status) => status.message.clone(),
                other => other.to_string(),
            })?;
        }
        if objects.iter().any(|object| object["apiVersion"] == "rbac.authorization.k8s.io/v1") {
            tokio::time::sleep(RIGHTS).await;
        }
        Ok(())
    }

    async fn apply_object(&self, object: &Value) -> Result<(), kube::Error> {
        let types = TypeMeta::deserialize(object).unwrap();
        let (resource, capabilities) = self.resource(&GroupVersionKind::try_from(&types).unwrap()).await?;
        let metadata = &object["metadata"];
        let api: Api<DynamicObject> = match capabilities.scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => {
                let namespace = metadata["namespace"].as_str().unwrap_or("default");
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
        };
        let params = PatchParams::apply("kubectl").validation(ValidationDirective::Strict);
        api.patch(metadata["name"].as_str().unwrap(), &params, &Patch::Apply(object)).await.map(drop)
    }

    /// What the API server tells of a kind; of one that was just defined it does so a moment later.
    async fn resource(&self, kind: &GroupVersionKind) -> Result<(ApiResource, ApiCapabilities), kube::Error> {
        let deadline = tokio::time::Instant::now() + UNTOLD;
        loop {
            match pinned_kind(&self.client, kind).await {
                Err(error)
                    if tokio::time::Instant::now() < deadline
                        && (is_missing(&error) || matches!(error, kube::Error::Discovery(_))) =>
                {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                told => return told,
            }
        }
    }

    pub fn apply(&self, manifests: &str) {
        self.try_apply(manifests).unwrap();
    }

    /// What kubectl prints as JSON.
    pub fn get(&self, args: &[&str]) -> Value {
        let output = self.kube.kubectl().args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Applies manifests with kubectl; what it says when it fails.
pub fn apply(kube: &Kube, manifests: &str) -> Result<(), String> {
    let mut kubectl = kube.kubectl();
    let kubectl = kubectl.args(["apply", "--server-side", "--filename=-"]);
    let mut child =
        kubectl.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifests.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Defines the kinds of ours and of others that are of the groups that are wanted, and waits until there are objects of them.
pub async fn define(client: &Client, is_wanted: impl Fn(&str) -> bool) {
    static ALL: LazyLock<Vec<CustomResourceDefinition>> =
        LazyLock::new(|| definition::read(&[definition::OURS, definition::OTHERS].concat()).unwrap());
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let wanted: Vec<_> = ALL.iter().filter(|definition| is_wanted(&definition.spec.group)).collect();
    for definition in &wanted {
        api.create(&PostParams::default(), definition).await.unwrap();
    }
    for definition in wanted {
        let name = definition.metadata.name.as_deref().unwrap();
        eventually(name, async || {
            let status = api.get(name).await.unwrap().status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
        })
        .await;
    }
}

/// Waits until something is so.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("it never comes that {what}"));
}
