//! A real API server asks the webhooks of both providers, each under its own rights: it serves objects in every version, and refuses
//! and fills in what they say.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use assisted_capi::rbac::{BOOTSTRAP, CONTROL_PLANE};
use assisted_capi::webhook::{self, Options, Webhooks};
use assisted_crd::definition;
use assisted_kube::client::{from_file, from_text};
use assisted_kubeapi::rbac::{Role, manifest};
use assisted_kubeapi::webhook_server::target::Target;
use assisted_kubeapi::webhook_server::tls::Protocols;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::world::wait;

const SILENCE: Duration = Duration::from_secs(330);
const NAMESPACE: &str = "default";
/// The groups whose kinds are there.
const GROUPS: [&str; 3] =
    ["bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io", "config.openshift.io"];

/// An API server of one's own: definitions are changed, which are the same for all of it.
struct Server {
    kube: Arc<Kube>,
    client: Client,
    stop: CancellationToken,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Server {
    async fn launch() -> Self {
        let kube = tokio::task::spawn_blocking(|| Arc::new(Kube::launch(&[]).unwrap())).await.unwrap();
        let client = from_file(&kube.kubeconfig(), SILENCE).await.unwrap();
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        let mut definitions = definition::read(definition::OURS).unwrap();
        definitions.extend(definition::read(definition::OTHERS).unwrap());
        for definition in definitions.iter_mut().filter(|found| found.spec.group == GROUPS[2]) {
            // Whether all components adhere is told by a field that is younger than the definition.
            for version in &mut definition.spec.versions {
                let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
                let fields = schema.unwrap().properties.as_mut().unwrap();
                fields.get_mut("spec").unwrap().x_kubernetes_preserve_unknown_fields = Some(true);
            }
        }
        for definition in definitions.iter().filter(|found| GROUPS.contains(&found.spec.group.as_str())) {
            let name = api.create(&PostParams::default(), definition).await.unwrap().name_any();
            wait(&name, async || {
                let conditions = api.get(&name).await.unwrap().status.unwrap_or_default().conditions;
                conditions
                    .iter()
                    .flatten()
                    .any(|found| found.type_ == "Established" && found.status == "True")
            })
            .await;
        }
        Self { kube, client, stop: CancellationToken::new() }
    }

    /// Serves the webhooks of a provider with the rights of its account; the port they listen on.
    async fn serve(&self, role: &'static Role, webhooks: &'static Webhooks) -> u16 {
        let kube = Arc::clone(&self.kube);
        let kubeconfig = tokio::task::spawn_blocking(move || {
            assert!(
                kubectl(&kube, &["apply", "--server-side", "--filename=-"], &manifest(role, NAMESPACE))
                    .status
                    .success()
            );
            let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
            kube.kubeconfig_of(&format!("system:serviceaccount:default:{}", role.account), &groups)
        });
        let client = from_text(&kubeconfig.await.unwrap(), SILENCE).await.unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Target::Url(format!("https://127.0.0.1:{port}"));
        let options =
            Options { webhooks, namespace: NAMESPACE.to_owned(), target, protocols: None::<Protocols> };
        let stop = self.stop.clone();
        tokio::spawn(async move {
            if let Err(error) = webhook::serve(client, listener, options, stop).await {
                panic!("{}", assisted_base::error::chain(&error));
            }
        });
        port
    }

    async fn both() -> Self {
        let server = Self::launch().await;
        server.serve(&BOOTSTRAP, &webhook::BOOTSTRAP).await;
        server.serve(&CONTROL_PLANE, &webhook::CONTROL_PLANE).await;
        let definitions: Api<CustomResourceDefinition> = Api::all(server.client.clone());
        for name in webhook::BOOTSTRAP.definitions.iter().chain(webhook::CONTROL_PLANE.definitions) {
            wait(name, async || {
                let conversion = definitions.get(name).await.unwrap().spec.conversion;
                conversion.is_some_and(|conversion| conversion.strategy == "Webhook")
            })
            .await;
        }
        // The part of the API server that asks is told of configurations a moment later.
        let (params, patch) = (PostParams::default(), PatchParams::default());
        let kind = "OpenshiftAssistedConfig";
        let configs = server.api(kind, "v1alpha2");
        configs.create(&params, &server.object(kind, "v1alpha2", "probe", json!({}))).await.unwrap();
        let change = merge(json!({"spec": {"sshAuthorizedKey": "other"}}));
        wait("changes are refused", async || {
            let dry = PatchParams { dry_run: true, ..patch.clone() };
            configs.patch("probe", &dry, &change).await.is_err()
        })
        .await;
        configs.delete("probe", &DeleteParams::default()).await.unwrap();
        let planes = server.api("OpenshiftAssistedControlPlane", "v1alpha3");
        let fields = json!({"machineTemplate": {"deletion": {"nodeDrainTimeoutSeconds": 1}}});
        let plane = server.plane("probe", "v1alpha3", fields);
        wait("timeouts are filled in", async || {
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            let made = planes.create(&dry, &plane).await.unwrap();
            made.data["spec"]["machineTemplate"]["deletion"]["nodeDeletionTimeoutSeconds"] == 10
        })
        .await;
        server
    }

    fn api(&self, kind: &str, version: &str) -> Api<DynamicObject> {
        let group = if kind.ends_with("ControlPlane") { GROUPS[1] } else { GROUPS[0] };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }

    fn object(&self, kind: &str, version: &str, name: &str, spec: Value) -> DynamicObject {
        let group = if kind.ends_with("ControlPlane") { GROUPS[1] } else { GROUPS[0] };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let mut object = DynamicObject::new(name, &resource);
        object.data = Value::Object([("spec".to_owned(), spec)].into_iter().collect());
        object
    }

    /// A control plane with these fields beside those that it must have.
    fn plane(&self, name: &str, version: &str, fields: Value) -> DynamicObject {
        let reference = match version {
            "v1alpha3" => json!({"apiGroup": "example.com", "kind": "Template", "name": "a"}),
            _ => json!({"apiVersion": "example.com/v1beta1", "kind": "Template", "name": "a"}),
        };
        let mut spec = json!({"config": {"baseDomain": "example.com"}, "distributionVersion": "4.20.0",
            "machineTemplate": {"infrastructureRef": reference}});
        let Value::Object(fields) = fields else { panic!("{fields} are no fields") };
        for (member, value) in fields {
            match value {
                Value::Object(members) if spec[&member].is_object() => {
                    spec[&member].as_object_mut().unwrap().extend(members);
                }
                value => spec[&member] = value,
            }
        }
        self.object("OpenshiftAssistedControlPlane", version, name, spec)
    }
}

fn kubectl(kube: &Kube, args: &[&str], input: &str) -> Output {
    let mut kubectl: Command = kube.kubectl();
    let piped = kubectl.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn merge(fields: Value) -> Patch<Value> {
    Patch::Merge(fields)
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_served_in_every_version_and_nothing_of_them_is_lost() {
    let server = Server::both().await;
    let params = PostParams::default();
    let patch = PatchParams::default();
    for kind in ["OpenshiftAssistedConfig", "OpenshiftAssistedConfigTemplate"] {
        let (old, hub) = (server.api(kind, "v1alpha1"), server.api(kind, "v1alpha2"));
        // What only the newer version can say survives what a client of the older one writes.
        let spec = json!({"nodeRegistration": {"name": "$METADATA_NAME", "providerID": "metal3://1"},
            "preBootstrapCommands": ["true"]});
        let (spec, place) = match kind {
            "OpenshiftAssistedConfig" => (spec, "/spec"),
            _ => (json!({"template": {"spec": spec}}), "/spec/template/spec"),
        };
        hub.create(&params, &server.object(kind, "v1alpha2", "new", spec)).await.unwrap();
        let found = old.get("new").await.unwrap();
        let said = found.data.pointer(place).unwrap();
        assert_eq!(said["nodeRegistration"], json!({"name": "$METADATA_NAME"}));
        assert!(said.get("preBootstrapCommands").is_none());
        old.patch("new", &patch, &merge(json!({"metadata": {"labels": {"of": "old"}}}))).await.unwrap();
        let found = hub.get("new").await.unwrap();
        assert_eq!(found.labels()["of"], "old");
        let said = found.data.pointer(place).unwrap();
        assert_eq!(said["nodeRegistration"]["providerID"], "metal3://1");
        assert_eq!(said["preBootstrapCommands"], json!(["true"]));
        assert!(found.annotations().is_empty(), "what is said needs no annotation");
    }

    // A status that the older version tells in other words, of several objects at once.
    let configs = server.api("OpenshiftAssistedConfig", "v1alpha2");
    let status = json!({"status": {"dataSecretName": "new", "initialization": {"dataSecretCreated": true}}});
    configs.patch_status("new", &patch, &merge(status)).await.unwrap();
    configs
        .create(&params, &server.object("OpenshiftAssistedConfig", "v1alpha2", "other", json!({})))
        .await
        .unwrap();
    let old = server.api("OpenshiftAssistedConfig", "v1alpha1");
    let listed = old.list(&Default::default()).await.unwrap().items;
    let ready: Vec<_> =
        listed.iter().map(|found| (found.name_any(), found.data["status"]["ready"].clone())).collect();
    assert_eq!(ready, [("new".to_owned(), json!(true)), ("other".to_owned(), Value::Null)]);

    // A control plane that is written in the older version, with a duration that is finer than the newer one can say.
    let (old, hub) = (
        server.api("OpenshiftAssistedControlPlane", "v1alpha2"),
        server.api("OpenshiftAssistedControlPlane", "v1alpha3"),
    );
    let fields = json!({"replicas": 3, "machineTemplate": {"nodeDrainTimeout": "1m30.5s"}});
    old.create(&params, &server.plane("plane", "v1alpha2", fields)).await.unwrap();
    let found = hub.get("plane").await.unwrap();
    let template = &found.data["spec"]["machineTemplate"];
    assert_eq!(
        template["infrastructureRef"],
        json!({"apiGroup": "example.com", "kind": "Template", "name": "a"})
    );
    // What the rule of the newer version fills in, too.
    assert_eq!(
        template["deletion"],
        json!({"nodeDrainTimeoutSeconds": 90, "nodeDeletionTimeoutSeconds": 10})
    );
    let found = old.get("plane").await.unwrap();
    assert_eq!(found.data["spec"]["machineTemplate"]["nodeDrainTimeout"], "1m30.5s");
    assert_eq!(found.data["spec"]["machineTemplate"]["nodeDeletionTimeout"], "10s");
    let scaled = hub.patch_scale("plane", &patch, &merge(json!({"spec": {"replicas": 5}}))).await.unwrap();
    assert_eq!(scaled.spec.unwrap().replicas, Some(5));
    assert_eq!(old.get("plane").await.unwrap().data["spec"]["replicas"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_t_change_is_refused_in_every_version() {
    let server = Server::both().await;
    let (params, patch) = (PostParams::default(), PatchParams::default());
    let kind = "OpenshiftAssistedConfig";
    let hub = server.api(kind, "v1alpha2");
    let spec = json!({"nodeRegistration": {"name": "$METADATA_NAME", "providerID": "metal3://1"}});
    hub.create(&params, &server.object(kind, "v1alpha2", "config", spec)).await.unwrap();
    for version in ["v1alpha1", "v1alpha2"] {
        let api = server.api(kind, version);
        let change = merge(json!({"spec": {"sshAuthorizedKey": version}}));
        let error = api.patch("config", &patch, &change).await.unwrap_err();
        let kube::Error::Api(status) = &error else { panic!("{error}") };
        let expected = format!(
            "admission webhook \"{version}.validation.openshiftassistedconfig.bootstrap.cluster.x-k8s.io\" denied the request: spec is immutable"
        );
        assert_eq!((status.code, status.message.as_str()), (400, expected.as_str()));
        // The same spec, and anything else.
        api.patch(
            "config",
            &patch,
            &merge(json!({"spec": {"nodeRegistration": {"name": "$METADATA_NAME"}}})),
        )
        .await
        .unwrap();
        api.patch("config", &patch, &merge(json!({"metadata": {"labels": {"a": version}}}))).await.unwrap();
        api.patch_status("config", &patch, &merge(json!({"status": {"observedGeneration": 1}})))
            .await
            .unwrap();
    }
    // What the older version can't say can't be taken away by it either.
    let change = merge(json!({"metadata": {"annotations": {"cluster.x-k8s.io/conversion-data": null}}}));
    let refused = server.api(kind, "v1alpha1").patch("config", &patch, &change).await.unwrap_err();
    assert!(refused.to_string().contains("spec is immutable"), "{refused}");
    hub.delete("config", &DeleteParams::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_server_knows_is_mended() {
    let server = Server::both().await;
    let patch = PatchParams::default();
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client.clone());
    let name = webhook::CONTROL_PLANE.definitions[0];
    let conversion = async || definitions.get(name).await.unwrap().spec.conversion.unwrap();
    let before = conversion().await;
    // Whoever installs the definitions anew writes them as they are published.
    definitions
        .patch(name, &patch, &merge(json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}})))
        .await
        .unwrap();
    wait("conversion is back", async || conversion().await == before).await;

    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(server.client.clone());
    let own = webhook::BOOTSTRAP.name;
    configurations.delete(own, &DeleteParams::default()).await.unwrap();
    wait("the configuration is back", async || configurations.get_opt(own).await.unwrap().is_some()).await;

    // Another certificate is told to everybody who has to trust it.
    let bundle = before.webhook.unwrap().client_config.unwrap().ca_bundle.unwrap();
    let secrets: Api<Secret> = Api::namespaced(server.client.clone(), NAMESPACE);
    secrets
        .patch(webhook::CONTROL_PLANE.name, &patch, &merge(json!({"data": {"ca.crt": null}})))
        .await
        .unwrap();
    wait("another authority is trusted", async || {
        let now = conversion().await.webhook.unwrap().client_config.unwrap().ca_bundle;
        now.is_some_and(|now| now != bundle)
    })
    .await;
    let api = server.api("OpenshiftAssistedControlPlane", "v1alpha2");
    let plane = server.plane("after", "v1alpha2", json!({"replicas": 1}));
    wait("it is asked with the other certificate", async || {
        api.create(&PostParams::default(), &plane).await.is_ok()
    })
    .await;
}

/// Whether somebody who speaks no newer version than this is listened to.
fn speaks(port: u16, version: &str) -> bool {
    let mut client = Command::new("openssl");
    let address = format!("127.0.0.1:{port}");
    client.args(["s_client", "-connect", &address, version]).stdin(Stdio::null());
    client.output().unwrap().status.success()
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_spoken_as_the_cluster_says() {
    let server = Server::launch().await;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUPS[2], "v1", "APIServer"));
    let api: Api<DynamicObject> = Api::all_with(server.client.clone(), &resource);
    let mut cluster = DynamicObject::new("cluster", &resource);
    cluster.data = json!({"spec": {"tlsAdherence": "LegacyAdheringComponentsOnly", "tlsSecurityProfile": {"type": "Modern", "modern": {}}}});
    api.create(&PostParams::default(), &cluster).await.unwrap();
    let port = server.serve(&BOOTSTRAP, &webhook::BOOTSTRAP).await;
    let listens = async |version: &'static str| {
        tokio::task::spawn_blocking(move || speaks(port, version)).await.unwrap()
    };
    wait("TLS 1.2, since the profile is not for all components", async || listens("-tls1_2").await).await;
    assert!(listens("-tls1_3").await);
    let all = merge(json!({"spec": {"tlsAdherence": "StrictAllComponents"}}));
    api.patch("cluster", &PatchParams::default(), &all).await.unwrap();
    wait("TLS 1.2 is no longer spoken", async || !listens("-tls1_2").await).await;
    assert!(listens("-tls1_3").await);
}
