//! A hub: a real API server with the published definitions.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use assisted_crd::definition;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value;

/// How long anything may take until it is so.
const PATIENCE: Duration = Duration::from_secs(60);

const SILENCE: Duration = Duration::from_secs(600);

/// A hub of one's own, gone when it is dropped.
pub struct Hub {
    pub kube: Kube,
    /// As an administrator.
    pub client: Client,
}

impl Hub {
    /// A hub with all kinds of ours and of others.
    pub async fn launch() -> Self {
        let hub = Self::of(tokio::task::spawn_blocking(|| Kube::launch(&[]).unwrap()).await.unwrap()).await;
        define(&hub.client, |_| true).await;
        hub
    }

    /// The hub of a server, with the kinds that it has.
    pub async fn of(kube: Kube) -> Self {
        let client = assisted_kube::client::from_file(&kube.kubeconfig(), SILENCE).await.unwrap();
        Self { kube, client }
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

    /// Applies manifests with kubectl; what it says when it fails.
    pub fn try_apply(&self, manifests: &str) -> Result<(), String> {
        apply(&self.kube, manifests)
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
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut definitions = definition::read(definition::OURS).unwrap();
    definitions.extend(definition::read(definition::OTHERS).unwrap());
    definitions.retain(|definition| is_wanted(&definition.spec.group));
    for definition in &definitions {
        api.create(&PostParams::default(), definition).await.unwrap();
    }
    for definition in definitions {
        let name = definition.metadata.name.unwrap();
        eventually(&name, async || {
            let status = api.get(&name).await.unwrap().status.unwrap_or_default();
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
