//! A management cluster with the core of Cluster API, the hub's service with simulated hosts, and both providers with their webhooks.
//! The test plays metal3: what it does is done here ([`Metal3`]). The cluster that is installed is another API server.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assisted_api::Api as Rest;
use assisted_api::server::serve;
use assisted_base::process::Cmd;
use assisted_blob::Blob;
use assisted_capi::control_plane::Installer;
use assisted_capi::installer::hub::{self, Hub};
use assisted_capi::installer::rest::{self, Rest as Alone};
use assisted_capi::rbac::{BOOTSTRAP, BOOTSTRAP_OF_SERVICE, CONTROL_PLANE, CONTROL_PLANE_OF_SERVICE};
use assisted_capi::webhook::{self, Options, Webhooks};
use assisted_capi::{bootstrap, control_plane};
use assisted_client::{ClusterFilter, InfraEnvFilter};
use assisted_config::{AgentDelivery, Generator, Settings};
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_kube::client::{from_file, from_text};
use assisted_kube::lease;
use assisted_kubeapi::controllers;
use assisted_kubeapi::rbac::{Role, SERVICE, manifest};
use assisted_kubeapi::webhook_server::target::Target;
use assisted_service::generator::Simulation as NoProgram;
use assisted_service::{Background, Service};
use assisted_store::Store;
use assisted_testkit::cluster_api::{Core, OLDEST};
use assisted_testkit::kube::{ClusterApi, Kube};
use assisted_testkit::oci::{OPENSHIFT_INSTALL, push_release, release_tag};
use assisted_testkit::terminal::limited;
use assisted_testkit::{Access, DockerRegistry};
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::version::ReleaseImages;
use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::door::Door;
use crate::gate::Gate;
use crate::metal3::{Metal3, Playing};
use crate::world::{GROUPS, Site, apply, define_groups, wait};

const SILENCE: Duration = Duration::from_secs(330);
pub const NAMESPACE: &str = "demo";
/// How long a webhook may be away whose program was killed.
const WEBHOOKS: Duration = Duration::from_secs(120);
const VERSION: &str = "4.20.0";
pub const NEXT_VERSION: &str = "4.20.1";
pub const OKD_VERSION: &str = "4.19.0-okd-scos.5";
/// The releases that the service knows: their versions, and where they are published.
const RELEASES: [(&str, &str); 2] =
    [(VERSION, "quay.io/openshift-release-dev/ocp-release"), (OKD_VERSION, "quay.io/okd/scos-release")];
/// What stands in the examples for the registry with releases.
const REGISTRY: &str = "registry.example.com";

/// Where the providers find what they write to, each as its own account.
#[derive(Clone)]
struct Doors {
    bootstrap: String,
    control_plane: String,
    service: String,
}

/// Everything that runs.
pub struct World {
    pub kube: Arc<Kube>,
    pub core: Arc<Mutex<ClusterApi>>,
    pub site: Site,
    pub service: Service,
    pub address: SocketAddr,
    /// The cluster that is installed.
    pub spoke: Arc<Kube>,
    pub spoke_client: Client,
    pub metal3: Playing,
    pub registry: String,
    /// Files of the service.
    pub blob: Blob,
    /// Whether the providers work with the service alone; there are no kinds of a hub then.
    pub alone: bool,
    /// Where the service asks for accounts, and speaks TLS.
    pub door: Option<Door>,
    providers: Mutex<Vec<JoinHandle<()>>>,
    /// What stands between the providers and all that they write to.
    doors: Mutex<Option<Doors>>,
    ports: [u16; 2],
    _background: Background,
    _registry: DockerRegistry,
    _images: tempfile::TempDir,
}

impl Drop for World {
    fn drop(&mut self) {
        self.metal3.stop();
        for provider in self.providers.lock().unwrap().drain(..) {
            provider.abort();
        }
    }
}

impl World {
    /// With the kinds of a hub, and its controllers.
    pub async fn launch() -> Self {
        Box::pin(Self::launch_with(OLDEST, false, false)).await
    }

    /// The same, with another core.
    pub async fn launch_by(core: Core) -> Self {
        Box::pin(Self::launch_with(core, false, false)).await
    }

    /// With a service alone.
    pub async fn launch_alone() -> Self {
        Box::pin(Self::launch_with(OLDEST, true, false)).await
    }

    /// With a service alone that has accounts.
    pub async fn launch_with_accounts() -> Self {
        Box::pin(Self::launch_with(OLDEST, true, true)).await
    }

    async fn launch_with(core: Core, alone: bool, has_accounts: bool) -> Self {
        let (kube, spoke, core) = tokio::task::spawn_blocking(move || {
            let kube = Kube::launch(&["garbage-collector-controller"]).unwrap();
            let spoke = Kube::launch(&[]).unwrap();
            let core = ClusterApi::start(&kube, core).unwrap();
            (Arc::new(kube), Arc::new(spoke), core)
        })
        .await
        .unwrap();
        let client = from_file(&kube.kubeconfig(), SILENCE).await.unwrap();
        // The core has brought its own kinds along.
        let is_of_hub = |group: &str| group.contains("agent-install") || group.contains("hive");
        let is_wanted = |group: &str| {
            GROUPS.contains(&group) && group != "cluster.x-k8s.io" && !(alone && is_of_hub(group))
        };
        define_groups(&client, is_wanted).await;
        let images = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(images.path(), &Access::default()).unwrap();
        for version in [VERSION, NEXT_VERSION, OKD_VERSION] {
            push_release(&registry, version, OPENSHIFT_INSTALL.as_bytes()).await.unwrap();
        }
        let releases = releases(&registry.name()).await;
        let (service, address, background, blob, door) =
            serving(releases, !alone, has_accounts, &client).await;
        if !alone {
            run_controllers(&kube, &service).await;
        }
        let spoke_client = from_file(&spoke.kubeconfig(), SILENCE).await.unwrap();
        let site = Site { client, namespace: NAMESPACE, service: address };
        let metal3 = Metal3::start(site.clone());
        let mut ports = [0; 2];
        for port in &mut ports {
            *port = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
        }
        let name = registry.name();
        let world = Self {
            kube,
            core: Arc::new(Mutex::new(core)),
            site,
            service,
            address,
            spoke,
            spoke_client,
            metal3,
            registry: name,
            blob,
            alone,
            door,
            providers: Mutex::default(),
            doors: Mutex::default(),
            ports,
            _background: background,
            _registry: registry,
            _images: images,
        };
        world.start_providers().await;
        world
    }

    /// The accounts of the providers.
    const fn roles(&self) -> [&'static Role; 2] {
        match self.alone {
            true => [&BOOTSTRAP_OF_SERVICE, &CONTROL_PLANE_OF_SERVICE],
            false => [&BOOTSTRAP, &CONTROL_PLANE],
        }
    }

    /// The providers write through a gate from now on; they are started again.
    pub async fn write_through(&self, gate: &Gate) {
        self.kill_providers().await;
        let [bootstrap, control_plane] = self.roles();
        let doors = Doors {
            bootstrap: gate.before(client_of(&self.kube, bootstrap).await).await,
            control_plane: gate.before(client_of(&self.kube, control_plane).await).await,
            service: gate.before_url(&format!("http://{}", self.address)).await,
        };
        *self.doors.lock().unwrap() = Some(doors);
        self.start_providers().await;
    }

    /// Starts both providers, with their webhooks.
    pub async fn start_providers(&self) {
        let mut started = Vec::new();
        let doors = self.doors.lock().unwrap().clone();
        let [bootstrap_role, control_plane_role] = self.roles();
        let client = async |role, door: Option<&String>| match door {
            Some(url) => from_text(&kubeconfig_at(url), SILENCE).await.unwrap(),
            None => client_of(&self.kube, role).await,
        };
        let alone = |client: &Client| {
            let door = self.door.as_ref();
            let url = || match &doors {
                Some(doors) => doors.service.clone(),
                None => format!("http://{}", self.address),
            };
            let options = rest::Options {
                url: door.map_or_else(url, |door| door.url.clone()),
                token_file: door.map(Door::token_file),
                ca_file: door.map(Door::ca_file),
                pause: Duration::from_millis(500),
            };
            Alone::new(client.clone(), options)
        };
        let limited = client(bootstrap_role, doors.as_ref().map(|doors| &doors.bootstrap)).await;
        started.push(webhooks(limited.clone(), &webhook::BOOTSTRAP, self.ports[0]).await);
        let service = self.alone.then(|| alone(&limited));
        started.push(tokio::spawn(async move {
            let (settings, stop) = (lease("bootstrap"), CancellationToken::new());
            let ended = match service {
                Some(service) => Box::pin(bootstrap::run(limited, service, settings, stop)).await,
                None => {
                    let hub = Hub::new(limited.clone(), hub::Options::default());
                    Box::pin(bootstrap::run(limited, hub, settings, stop)).await
                }
            };
            panic!("the provider ended: {ended:?}");
        }));
        let limited = client(control_plane_role, doors.as_ref().map(|doors| &doors.control_plane)).await;
        let installer = match self.alone {
            true => Installer::service(alone(&limited)),
            false => Installer::hub(limited.clone()),
        };
        started.push(webhooks(limited.clone(), &webhook::CONTROL_PLANE, self.ports[1]).await);
        started.push(tokio::spawn(async move {
            let work =
                control_plane::run(limited, installer, lease("control-plane"), CancellationToken::new());
            panic!("the provider ended: {:?}", Box::pin(work).await);
        }));
        *self.providers.lock().unwrap() = started;
    }

    /// The kinds of both providers name no version for a contract of Cluster API any more: the core falls back to an older one.
    pub async fn withdraw_contract(&self, contract: &str) {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.site.client.clone());
        let label = format!("cluster.x-k8s.io/{contract}");
        let change = Patch::Merge(json!({"metadata": {"labels": {label: null}}}));
        for name in [webhook::BOOTSTRAP.definitions, webhook::CONTROL_PLANE.definitions].concat() {
            definitions.patch(name, &PatchParams::default(), &change).await.unwrap();
        }
    }

    /// In which versions the core has written objects of a kind.
    pub async fn versions_written_by_core(&self, kind: &str) -> Vec<String> {
        let args = ["get", kind, "--namespace", NAMESPACE, "--show-managed-fields", "--output=json"];
        let told: Value = serde_json::from_str(&self.kubectl(&args).await).unwrap();
        let objects = told["items"].as_array().unwrap().iter();
        let writes = objects.flat_map(|object| object["metadata"]["managedFields"].as_array().unwrap());
        let versions: BTreeSet<_> = writes
            .filter(|write| write["manager"].as_str().unwrap().starts_with("cluster-api"))
            .map(|write| write["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
            .collect();
        versions.into_iter().collect()
    }

    /// Ends both providers wherever they are.
    pub async fn kill_providers(&self) {
        let providers = std::mem::take(&mut *self.providers.lock().unwrap());
        for provider in providers {
            provider.abort();
            let _ = provider.await;
        }
    }

    /// The core writes through a gate from now on; it is started again.
    pub async fn core_writes_through(&self, gate: &Gate) {
        let url = gate.before(self.site.client.clone()).await;
        self.core.lock().unwrap().connect_by(&kubeconfig_at(&url)).unwrap();
        self.restart_core().await;
    }

    /// The core ends wherever it is.
    pub fn kill_core(&self) {
        self.core.lock().unwrap().stop();
    }

    /// The core ends wherever it is, and is started again.
    pub async fn restart_core(&self) {
        let core = Arc::clone(&self.core);
        let restarted = tokio::task::spawn_blocking(move || {
            let mut core = core.lock().unwrap();
            core.stop();
            core.begin().unwrap();
        });
        restarted.await.unwrap();
    }

    /// Applies the examples of the documentation, changed by the test.
    pub async fn apply_examples(&self, change: impl Fn(&str) -> String) {
        self.kubectl(&["create", "namespace", NAMESPACE]).await;
        self.apply_examples_to(NAMESPACE, change).await;
    }

    /// The same, in another namespace.
    pub async fn apply_examples_to(&self, namespace: &'static str, change: impl Fn(&str) -> String) {
        for file in ["registries", "cluster", "control-plane", "workers"] {
            self.apply(namespace, change(&self.example(&format!("cluster-api/{file}")))).await;
        }
    }

    /// Applies the examples of a cluster by a class.
    pub async fn apply_class(&self) {
        self.kubectl(&["create", "namespace", NAMESPACE]).await;
        for file in ["cluster-api/registries", "cluster-class/class", "cluster-class/cluster"] {
            self.apply(NAMESPACE, self.example(file)).await;
        }
    }

    /// A file of the documentation's examples, with the test's registry in it.
    pub fn example(&self, file: &str) -> String {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
        std::fs::read_to_string(folder.join(format!("{file}.yaml")))
            .unwrap()
            .replace(REGISTRY, &self.registry)
    }

    /// Applies a manifest.
    pub async fn apply(&self, namespace: &'static str, text: String) {
        self.kubectl_with(&["--namespace", namespace, "apply", "--filename=-"], &text).await;
    }

    /// `kubectl` in the namespace; what it prints.
    pub async fn kubectl(&self, args: &[&str]) -> String {
        self.kubectl_with(args, "").await
    }

    /// The same, with something to read. Where a webhook is asked whose program was killed, it is done once more.
    pub async fn kubectl_with(&self, args: &[&str], input: &str) -> String {
        let deadline = Instant::now() + WEBHOOKS;
        loop {
            let (kube, input) = (Arc::clone(&self.kube), input.to_owned());
            let own: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let ran = tokio::task::spawn_blocking(move || kubectl(&kube, &own, &input)).await.unwrap();
            match ran {
                Ok(told) => return told,
                Err(told) if told.contains("webhook") && Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(told) => panic!("{args:?}: {told}"),
            }
        }
    }

    /// What `clusterctl describe` shows of the Cluster.
    pub async fn described(&self) -> String {
        let core = Arc::clone(&self.core);
        let told = tokio::task::spawn_blocking(move || {
            let mut describe = core.lock().unwrap().clusterctl().unwrap();
            describe.args([
                "describe",
                "cluster",
                "demo",
                "--namespace",
                NAMESPACE,
                "--show-conditions=all",
                "--color=false",
            ]);
            let output = limited(120, &describe).output().unwrap();
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        });
        told.await.unwrap()
    }

    /// The service, by its REST API.
    pub fn rest(&self) -> assisted_client::Client {
        assisted_client::Client::builder(&format!("http://{}", self.address)).build().unwrap()
    }

    /// The status of the cluster at the service.
    pub async fn state(&self) -> String {
        let clusters = self.rest().list_clusters(&ClusterFilter::default()).await.unwrap();
        clusters
            .iter()
            .find(|cluster| cluster.name == "demo")
            .map(|found| found.status.to_string())
            .unwrap_or_default()
    }

    pub async fn infra_env_id(&self, name: &str) -> InfraEnvId {
        if self.alone {
            let all = self.rest().list_infra_envs(&InfraEnvFilter::default()).await.unwrap();
            let prefix = format!("{NAMESPACE}.{name}.");
            return all.iter().find(|found| found.name.starts_with(&prefix)).unwrap().id;
        }
        self.site
            .until(name, |object: &InfraEnv| {
                object.status.as_ref().is_some_and(|status| !status.iso_download_url.is_empty())
            })
            .await;
        let key = ObjectKey::new(NAMESPACE, name);
        self.service.infra_envs().of_object(&key).await.unwrap().unwrap().infra_env.id
    }

    pub async fn cluster_id(&self, name: &str) -> ClusterId {
        if self.alone {
            let all = self.rest().list_clusters(&ClusterFilter::default()).await.unwrap();
            return all.iter().find(|found| found.name == name).unwrap().id;
        }
        let key = ObjectKey::new(NAMESPACE, name);
        self.service.clusters().of_object(&key).await.unwrap().unwrap().cluster.id
    }

    /// The kubeconfig that the installer gives out leads to the other API server, once there is one.
    pub async fn hand_out_kubeconfig(&self) {
        let kubeconfig = self.spoke_kubeconfig();
        if self.alone {
            let files = async || {
                let all = self.blob.all().await.unwrap().into_iter().map(|(key, _)| key);
                all.filter(|key| key.name().starts_with("kubeconfig")).collect::<Vec<_>>()
            };
            wait("the service has a kubeconfig", async || !files().await.is_empty()).await;
            for file in files().await {
                self.blob.put(&file, kubeconfig.clone().into_bytes()).await.unwrap();
            }
            return;
        }
        let name = "demo-admin-kubeconfig";
        self.site.until(name, |secret: &Secret| secret.data.is_some()).await;
        self.site.merge::<Secret>(name, json!({"stringData": {"kubeconfig": kubeconfig}})).await;
    }

    pub fn spoke_kubeconfig(&self) -> String {
        std::fs::read_to_string(self.spoke.kubeconfig()).unwrap()
    }

    /// A node of the cluster comes, which is ready.
    pub async fn node(&self, name: &str, provider_id: &str) {
        let node = json!({"metadata": {"name": name}, "spec": {"providerID": provider_id}});
        let node: Node = serde_json::from_value(node).unwrap();
        let nodes: Api<Node> = Api::all(self.spoke_client.clone());
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let condition = |kind: &str, status: &str| {
            json!({"type": kind, "status": status, "reason": "Kubelet", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": "2026-01-01T00:00:00Z"})
        };
        let conditions = [
            condition("Ready", "True"),
            condition("MemoryPressure", "False"),
            condition("DiskPressure", "False"),
            condition("PIDPressure", "False"),
        ];
        let change = Patch::Merge(json!({"status": {"conditions": conditions}}));
        nodes.patch_status(name, &PatchParams::default(), &change).await.unwrap();
    }
}

/// A kubeconfig for somebody who needs no credentials.
fn kubeconfig_at(url: &str) -> String {
    let named = |what: &str, value: Value| json!([{"name": "gate", what: value}]);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "gate",
        "clusters": named("cluster", json!({"server": url})),
        "users": named("user", json!({})),
        "contexts": named("context", json!({"cluster": "gate", "user": "gate"})),
    });
    kubeconfig.to_string()
}

/// Runs it; otherwise what is wrong.
fn kubectl(kube: &Kube, args: &[String], input: &str) -> Result<String, String> {
    let mut command: Command = kube.kubectl();
    command.args(["--request-timeout=120s", "--namespace", NAMESPACE]).args(args);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn lease(identity: &str) -> lease::Settings {
    lease::Settings {
        namespace: "default".to_owned(),
        // Who comes after one that was killed goes on at once.
        identity: identity.to_owned(),
        duration: Duration::from_secs(60),
        deadline: Duration::from_secs(40),
        retry: Duration::from_secs(1),
    }
}

/// A client with the rights of an account and no others.
async fn client_of(kube: &Arc<Kube>, role: &'static Role) -> Client {
    let kube = Arc::clone(kube);
    let kubeconfig = tokio::task::spawn_blocking(move || {
        apply(&kube, &manifest(role, "default"));
        let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
        kube.kubeconfig_of(&format!("system:serviceaccount:default:{}", role.account), &groups)
    });
    from_text(&kubeconfig.await.unwrap(), SILENCE).await.unwrap()
}

async fn webhooks(client: Client, webhooks: &'static Webhooks, port: u16) -> JoinHandle<()> {
    // Its predecessor, which was killed, may not have let go of the port yet.
    let bound = async {
        loop {
            match TcpListener::bind(("127.0.0.1", port)).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let listener = tokio::time::timeout(WEBHOOKS, bound).await.expect("the port stays taken");
    let target = Target::Url(format!("https://127.0.0.1:{port}"));
    let options = Options { webhooks, namespace: "default".to_owned(), target, protocols: None };
    tokio::spawn(async move {
        let ended = webhook::serve(client, listener, options, CancellationToken::new()).await;
        panic!("the webhooks ended: {ended:?}");
    })
}

/// The controllers of a hub, until the test ends.
async fn run_controllers(kube: &Arc<Kube>, service: &Service) {
    let account = client_of(kube, &SERVICE).await;
    let options = controllers::Options {
        lease: lease("hub"),
        image_cool_down: Duration::from_secs(1),
        // There are no AgentClassifications.
        queries: Cmd::new("true"),
    };
    let hub = service.clone();
    tokio::spawn(async move {
        let ended = Box::pin(controllers::run(account, hub, options, CancellationToken::new())).await;
        panic!("the controllers ended: {ended:?}");
    });
}

/// What the service is told of releases: where each is published, by its digest.
async fn releases(registry: &str) -> Value {
    let mut known = Vec::new();
    for (version, published) in RELEASES {
        let digest = digest(registry, version).await;
        let series = version.split('.').take(2).collect::<Vec<_>>().join(".");
        known.push(json!({
            "openshift_version": series, "cpu_architecture": "x86_64", "cpu_architectures": ["x86_64"],
            "url": format!("{published}@{digest}"),
            "version": version, "default": version == VERSION, "support_level": "production",
        }));
    }
    json!(known)
}

/// The digest of a release.
async fn digest(registry: &str, version: &str) -> String {
    let accept =
        "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
    let url = format!("http://{registry}/v2/ocp/release/manifests/{}", release_tag(version));
    let asked = reqwest::Client::new().get(url).header("accept", accept).send().await.unwrap();
    let asked = asked.error_for_status().unwrap();
    asked.headers()["docker-content-digest"].to_str().unwrap().to_owned()
}

/// A service with an empty database, which knows the releases.
async fn serving(
    releases: Value,
    of_hub: bool,
    has_accounts: bool,
    hub: &Client,
) -> (Service, SocketAddr, Background, Blob, Option<Door>) {
    let dir = tempfile::tempdir().unwrap().keep();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut settings = Settings::default();
    settings.generation.generator = Generator::Simulation;
    settings.kube.enabled = of_hub;
    if of_hub {
        // As the operator sets a hub up.
        settings.clusters.public_container_registries = vec!["quay.io".to_owned()];
    }
    settings.images.agent_delivery = AgentDelivery::Image;
    settings.http.service_base_url = format!("http://{address}");
    settings.http.image_service_base_url = "http://images.example.com:8080".to_owned();
    settings.versions.release_images = Some(serde_json::from_value::<ReleaseImages>(releases).unwrap());
    let store = Store::open(&format!("sqlite:{}", dir.join("test.db").display())).await.unwrap();
    let blob = Blob::open(dir.join("files")).await.unwrap();
    let builder = Service::builder(settings.clone(), store, blob.clone(), Arc::new(NoProgram)).unwrap();
    let (service, background) = builder.start();
    let door = match has_accounts {
        true => Some(Door::open(&service, &settings, hub.clone()).await),
        false => None,
    };
    let api = Rest::new(service.clone(), &settings).unwrap();
    tokio::spawn(serve(listener, None, api, std::future::pending()));
    (service, address, background, blob, door)
}

/// A condition of an object, as it is printed: status and reason.
pub fn condition(object: &Value, kind: &str) -> (String, String) {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    let text = |member: &str| found.map(|found| found[member].as_str().unwrap_or_default().to_owned());
    (text("status").unwrap_or_default(), text("reason").unwrap_or_default())
}
