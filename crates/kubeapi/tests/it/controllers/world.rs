//! One hub for all tests of the process: a real API server, a real service, the controllers. Each test has a namespace of its own.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use assisted_api::Api as Rest;
use assisted_api::server::serve;
use assisted_base::process::Cmd;
use assisted_blob::Blob;
use assisted_config::{AgentDelivery, Auth, AuthType, Generator, Settings};
use assisted_core::model::object_key::ObjectKey;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::config::cluster_operator::ClusterOperator;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_kube::client::{from_file, from_text};
use assisted_kube::error::optional;
use assisted_kube::lease;
use assisted_kubeapi::controllers::{Options, run};
use assisted_kubeapi::rbac::{SERVICE, manifest};
use assisted_service::generator;
use assisted_service::{Background, Caller, Service, Signer};
use assisted_simhost::plan::PULL_SECRET;
use assisted_store::Store;
use assisted_testkit::built;
use assisted_testkit::kube::Kube;
use assisted_wire::version::ReleaseImages;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::hub::{apply, define};
use crate::pool::Kinds;

/// How long something may take; a failing test waits as long.
const PATIENCE: Duration = Duration::from_secs(180);
pub const SILENCE: Duration = Duration::from_secs(330);
/// A release that the service knows, so that nobody asks a registry.
pub const RELEASE: &str = "quay.io/openshift-release-dev/ocp-release:4.20.0-x86_64";
const IMAGES: &str = "http://images.example.com:8080";

/// A hub, and what runs for it.
pub struct Shared {
    pub service: Service,
    pub address: SocketAddr,
    pub kube: &'static Kube,
}

/// How metal3 treats machines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    VirtualMedia,
    /// It inspects them, and has them installed.
    Converged,
}

/// The hub that all tests share, started on first use, on threads of its own.
pub fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| start_apart(Flow::VirtualMedia))
}

/// The one on which metal3 has machines installed.
fn converged() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| start_apart(Flow::Converged))
}

fn start_apart(flow: Flow) -> Shared {
    let told = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::WARN);
    drop(told.with_test_writer().with_writer(std::io::stderr).try_init());
    let kube: &'static Kube = Box::leak(Box::new(Kube::launch(&[]).unwrap()));
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let shared = Box::pin(start(kube, flow)).await;
            send.send(shared).unwrap();
            std::future::pending::<()>().await;
        });
    });
    receive.recv().unwrap()
}

async fn start(kube: &'static Kube, flow: Flow) -> Shared {
    let client = client(kube).await;
    define(&client, |group| {
        Kinds::Controllers.hold(group) || flow == Flow::Converged && group == "config.openshift.io"
    })
    .await;
    if flow == Flow::Converged {
        is_openshift(&client).await;
    }
    let Served { service, address, background } = serving().await;
    let own = service.clone();
    let limited = account(kube).await;
    tokio::spawn(async move {
        let _background = background;
        let options = options(Duration::from_secs(15));
        let ended = Box::pin(run(limited, own, options, CancellationToken::new())).await;
        panic!("the controllers ended: {ended:?}");
    });
    Shared { service, address, kube }
}

/// A service with an empty database.
pub struct Served {
    pub service: Service,
    pub address: SocketAddr,
    pub background: Background,
}

/// Starts one, on a free port; its files stay.
pub async fn serving() -> Served {
    serving_in(&tempfile::tempdir().unwrap().keep(), |_| ()).await
}

/// Starts one with the database and the files of a folder, and with settings of its own.
pub async fn serving_in(dir: &Path, change: impl FnOnce(&mut Settings)) -> Served {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut settings = Settings::default();
    settings.generation.generator = Generator::Simulation;
    settings.kube.enabled = true;
    settings.layering.preview = true;
    // No program for hosts has to be there.
    settings.images.agent_delivery = AgentDelivery::Image;
    settings.kube.approve_csrs_requeue = Duration::from_millis(500);
    settings.http.service_base_url = format!("http://{address}");
    settings.http.image_service_base_url = IMAGES.to_owned();
    let releases = json!([{
        "openshift_version": "4.20", "cpu_architecture": "x86_64", "cpu_architectures": ["x86_64"], "url": RELEASE,
        "version": "4.20.0", "default": true, "support_level": "production",
    }]);
    settings.versions.release_images = Some(serde_json::from_value::<ReleaseImages>(releases).unwrap());
    change(&mut settings);
    let store = Store::open(&format!("sqlite:{}", dir.join("test.db").display())).await.unwrap();
    let blob = Blob::open(dir.join("files")).await.unwrap();
    let generator = generator::open(&settings, dir).unwrap();
    let mut builder = Service::builder(settings.clone(), store, blob, generator).unwrap();
    if settings.auth.auth_type == AuthType::Local {
        builder = builder.signer(signer(&settings.auth));
    }
    let (service, background) = builder.start();
    let api = Rest::new(service.clone(), &settings).unwrap();
    tokio::spawn(serve(listener, None, api, std::future::pending()));
    Served { service, address, background }
}

/// Signs tokens of which each is another one, as if each was of another day.
fn signer(auth: &Auth) -> Signer {
    let (signer, asked) = (assisted_auth::Signer::new(&auth.ec_private_key_pem).unwrap(), AtomicI64::new(0));
    Arc::new(move |grant| {
        let life = SignedDuration::from_secs(3600 + asked.fetch_add(1, Ordering::Relaxed));
        Some(signer.token(grant, Timestamp::now() + life).unwrap().expose().to_owned())
    })
}

/// How the controllers are run, with a lease of this duration.
pub fn options(duration: Duration) -> Options {
    Options {
        lease: lease::Settings {
            namespace: "default".to_owned(),
            identity: "test".to_owned(),
            duration,
            deadline: duration * 2 / 3,
            retry: duration / 8,
        },
        image_cool_down: Duration::from_secs(1),
        queries: Cmd::new(built("examples/queries").unwrap()),
    }
}

/// The operator by which metal3 is known to have machines installed.
pub async fn is_openshift(client: &Client) {
    let operator: ClusterOperator = serde_json::from_value(json!({
        "metadata": {"name": "baremetal"}, "spec": {},
        "status": {"versions": [{"name": "operator", "version": "4.20.0"}]},
    }))
    .unwrap();
    let api = Api::<ClusterOperator>::all(client.clone());
    let made = api.create(&PostParams::default(), &operator).await.unwrap();
    assert!(made.status.is_some(), "the status is part of the object");
}

/// The account of the service, with the rights that are declared and no others.
async fn account(kube: &'static Kube) -> Client {
    let kubeconfig = tokio::task::spawn_blocking(|| kubeconfig(kube));
    from_text(&kubeconfig.await.unwrap(), SILENCE).await.unwrap()
}

/// The kubeconfig of that account.
pub fn kubeconfig(kube: &Kube) -> String {
    apply(kube, &manifest(&SERVICE, "default")).unwrap();
    let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
    kube.kubeconfig_of(&format!("system:serviceaccount:default:{}", SERVICE.account), &groups)
}

async fn client(kube: &Kube) -> Client {
    from_file(&kube.kubeconfig(), SILENCE).await.unwrap()
}

/// Waits until an object is as it should be.
pub async fn until<K>(api: &Api<K>, name: &str, is_so: impl Fn(&K) -> bool) -> K
where
    K: Clone + DeserializeOwned + Debug,
{
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let found = optional(api.get(name).await).unwrap();
        if let Some(found) = &found
            && is_so(found)
        {
            return found.clone();
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "{name} does not become what it should be: {found:#?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until something is so.
pub async fn wait<F: Future<Output = bool>>(what: &str, is_so: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A namespace of the hub.
pub struct Site {
    pub client: Client,
    pub namespace: &'static str,
    pub service: Service,
}

impl Site {
    pub async fn new(namespace: &'static str) -> Self {
        Self::of(namespace, shared).await
    }

    /// One of the hub on which metal3 has machines installed.
    pub async fn converged(namespace: &'static str) -> Self {
        Self::of(namespace, converged).await
    }

    async fn of(namespace: &'static str, shared: fn() -> &'static Shared) -> Self {
        let shared = tokio::task::spawn_blocking(shared).await.unwrap();
        Self::on(client(shared.kube).await, shared.service.clone(), namespace).await
    }

    /// One of another hub.
    pub async fn on(client: Client, service: Service, namespace: &'static str) -> Self {
        let mut own = Namespace::default();
        own.metadata.name = Some(namespace.to_owned());
        Api::all(client.clone()).create(&PostParams::default(), &own).await.unwrap();
        Self { client, namespace, service }
    }

    pub fn caller(&self) -> Caller {
        Caller::admin(Uuid::new_v4())
    }

    pub fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::new(self.namespace, name)
    }

    pub fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    /// Creates an object: its metadata and spec are given.
    pub async fn create<K>(&self, name: &str, fields: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Serialize
            + Clone
            + Debug,
    {
        let mut object: Value = fields;
        object["metadata"]["name"] = name.into();
        let object: K = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap()
    }

    /// Merges something into an object.
    pub async fn merge<K>(&self, name: &str, change: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
    {
        self.api().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap()
    }

    pub async fn delete<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
    {
        self.api::<K>().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Removes an object without the work that its finalizers stand for; the controllers may add theirs again at any time.
    pub async fn remove_by_force<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
    {
        wait(&format!("{name} keeps its finalizers"), || async {
            let bare: K = self.merge(name, json!({"metadata": {"finalizers": null}})).await;
            let resource_version = bare.meta().resource_version.clone();
            let unchanged = DeleteParams::default()
                .preconditions(Preconditions { resource_version, ..Preconditions::default() });
            match self.api::<K>().delete(name, &unchanged).await {
                Ok(_) => true,
                Err(kube::Error::Api(error)) if error.is_conflict() => false,
                Err(error) => panic!("{name}: {error}"),
            }
        })
        .await;
        self.gone::<K>(name).await;
    }

    /// Waits until an object is gone.
    pub async fn gone<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
    {
        let api = self.api::<K>();
        wait(&format!("{name} does not go"), || async { optional(api.get(name).await).unwrap().is_none() })
            .await;
    }

    pub async fn pull_secret(&self) {
        let data = json!({"metadata": {}, "stringData": {".dockerconfigjson": PULL_SECRET}});
        self.create::<Secret>("pull", data).await;
    }

    pub async fn infra_env(&self, name: &str, spec: Value) -> InfraEnv {
        let mut whole = json!({"pullSecretRef": {"name": "pull"}});
        whole.as_object_mut().unwrap().extend(spec.as_object().cloned().unwrap());
        self.create(name, json!({"metadata": {}, "spec": whole})).await
    }

    /// Waits until a condition of an AgentClusterInstall has a reason.
    pub async fn install_says(&self, name: &str, kind: &str, reason: &str) -> AgentClusterInstall {
        until(&self.api(), name, |object: &AgentClusterInstall| condition_of(object, kind).0 == reason).await
    }

    /// Names of the objects of a kind.
    pub async fn names<K>(&self) -> Vec<String>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
    {
        let found = self.api::<K>().list(&ListParams::default()).await.unwrap();
        found.into_iter().filter_map(|object| object.meta().name.clone()).collect()
    }
}

/// Reason and message of a condition of an AgentClusterInstall.
pub fn condition_of<'a>(object: &'a AgentClusterInstall, kind: &str) -> (&'a str, &'a str) {
    let mut conditions = object.status.iter().flat_map(|status| &status.conditions);
    let found = conditions.find(|condition| condition.r#type == kind);
    found.map_or(("", ""), |condition| (condition.reason.as_str(), condition.message.as_str()))
}
