//! API servers that tests take turns on, for the start of one takes longer than most of what is done on it. The kinds that were defined on one
//! at its start stay. All else that a test has left goes before the next one gets the server; one where that can't be done is ended.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use assisted_kube::client::from_file;
use assisted_kube::error::optional;
use assisted_testkit::kube::Kube;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::{ApiGroup, Discovery, verbs};
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::hub::{Hub, SILENCE, define, eventually};

/// Servers that nobody has at the moment, and the most of them: the one that was not asked for the longest is ended first.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());
const MOST_IDLE: usize = 3;

/// How long it may take until all that a test has left is gone.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// The kind of definitions, and that of namespaces.
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
const NAMESPACES: &str = "namespaces";
/// Kinds that go first: with them others would refuse to have objects changed, and somebody that a test has started could make more.
const FIRST: [&str; 4] = [
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
];

/// Kinds that are defined on a server beside those of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Those by which the operator is told what to do, on a cluster that is no OpenShift.
    Operator,
    /// Those that the controllers look at, on a hub and on the clusters that hosts join.
    Controllers,
    /// Those that the operator looks at on OpenShift.
    OpenShift,
}

impl Kinds {
    /// Whether those of a group are among them.
    pub fn hold(self, group: &str) -> bool {
        match self {
            Self::Operator => group == "agent-install.openshift.io",
            Self::Controllers => matches!(
                group,
                "agent-install.openshift.io"
                    | "extensions.hive.openshift.io"
                    | "hive.openshift.io"
                    | "machineconfiguration.openshift.io"
                    | "metal3.io"
            ),
            Self::OpenShift => matches!(
                group,
                "agent-install.openshift.io"
                    | "cluster.open-cluster-management.io"
                    | "config.openshift.io"
                    | "extensions.hive.openshift.io"
                    | "hive.openshift.io"
            ),
        }
    }
}

/// The server of a hub: a test's own, or one of the pool, which goes back there.
pub struct Server {
    kube: Option<Kube>,
    turn: Option<Turn>,
}

/// A server between two tests.
struct Idle {
    kube: Kube,
    turn: Turn,
}

/// What a server of the pool is for, and what is on it whenever a test gets it.
struct Turn {
    kinds: Kinds,
    objects: BTreeMap<Place, String>,
}

/// Where an object is: its kind as `plural.group`, its namespace if it has one, its name.
type Place = (String, String, String);

/// An object that is there.
struct Found {
    resource: ApiResource,
    metadata: ObjectMeta,
}

impl Found {
    /// What becomes another one when somebody makes the object anew, or changes more than its status if it has one.
    fn version(&self) -> String {
        let Self { metadata, .. } = self;
        let generation = metadata.generation.map(|generation| generation.to_string());
        format!("{:?} {:?}", metadata.uid, generation.or_else(|| metadata.resource_version.clone()))
    }
}

impl From<Kube> for Server {
    fn from(kube: Kube) -> Self {
        Self { kube: Some(kube), turn: None }
    }
}

impl Deref for Server {
    type Target = Kube;

    fn deref(&self) -> &Kube {
        self.kube.as_ref().unwrap()
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut Kube {
        self.kube.as_mut().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let (kube, turn) = (self.kube.take(), self.turn.take());
        // What was started by a test that fails may still be at work.
        let (Some(kube), Some(turn), false) = (kube, turn, std::thread::panicking()) else { return };
        let surplus = {
            let mut idle = IDLE.lock();
            idle.push(Idle { kube, turn });
            (idle.len() > MOST_IDLE).then(|| idle.remove(0))
        };
        drop(surplus);
    }
}

/// A hub with these kinds and with nothing else on it.
pub async fn lease(kinds: Kinds) -> Hub {
    while let Some(Idle { kube, turn }) = idle(kinds) {
        let client = from_file(&kube.kubeconfig(), SILENCE).await.unwrap();
        match Box::pin(clean(&client, &turn.objects)).await {
            Ok(()) => return Hub { kube: Server { kube: Some(kube), turn: Some(turn) }, client },
            Err(why) => tracing::warn!(?kinds, why, "no other test gets this API server"),
        }
    }
    let kube = tokio::task::spawn_blocking(|| Kube::launch(&[]).unwrap()).await.unwrap();
    let client = from_file(&kube.kubeconfig(), SILENCE).await.unwrap();
    Box::pin(define(&client, |group| kinds.hold(group))).await;
    let mut objects = BTreeMap::new();
    Box::pin(eventually("all kinds are told of", async || {
        let found = objects_of(&client).await.unwrap();
        found.is_some_and(|found| {
            objects = found.into_iter().map(|(place, found)| (place, found.version())).collect();
            true
        })
    }))
    .await;
    Hub { kube: Server { kube: Some(kube), turn: Some(Turn { kinds, objects }) }, client }
}

fn idle(kinds: Kinds) -> Option<Idle> {
    let mut idle = IDLE.lock();
    let index = idle.iter().position(|idle| idle.turn.kinds == kinds)?;
    Some(idle.remove(index))
}

/// Takes away what is not expected; then there is what is expected, and nothing else.
async fn clean(client: &Client, expected: &BTreeMap<Place, String>) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    let mut problem = "not all kinds are told of".to_owned();
    while Instant::now() < deadline {
        if let Some(found) = objects_of(client).await.map_err(|error| error.to_string())? {
            let left: Vec<_> = found.iter().filter(|(place, _)| !expected.contains_key(*place)).collect();
            if left.is_empty() {
                let changed = expected.iter().find(|(place, version)| {
                    found.get(*place).map(Found::version).as_ref() != Some(*version)
                });
                return changed.map_or(Ok(()), |(place, _)| Err(format!("{place:?} is not as it was")));
            }
            let places: Vec<_> = left.iter().map(|(place, _)| place).collect();
            problem = format!("these stay: {places:?}");
            remove(client, left).await;
        }
        sleep(PAUSE).await;
    }
    Err(problem)
}

/// All objects but for those that the server itself makes; none when it does not tell of all kinds that are defined.
async fn objects_of(client: &Client) -> Result<Option<BTreeMap<Place, Found>>, kube::Error> {
    let discovery = match Discovery::new(client.clone()).run_aggregated().await {
        Err(kube::Error::Discovery(_)) => return Ok(None),
        told => told?,
    };
    let (mut found, mut listed) = (BTreeMap::new(), BTreeSet::new());
    for (resource, capabilities) in discovery.groups().flat_map(ApiGroup::resources_by_stability) {
        let can = |verb| capabilities.supports_operation(verb);
        if !can(verbs::LIST) || !can(verbs::DELETE) || is_kind_of_server(&resource) {
            continue;
        }
        let kind = match resource.group.as_str() {
            "" => resource.plural.clone(),
            group => format!("{}.{group}", resource.plural),
        };
        // One that somebody has just taken the definition of away is still told of for a moment.
        let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
        let Some(objects) = optional(api.list_metadata(&ListParams::default()).await)? else { continue };
        listed.insert(kind.clone());
        for object in objects {
            let metadata = object.metadata;
            let namespace = metadata.namespace.clone().unwrap_or_default();
            let place = (kind.clone(), namespace, metadata.name.clone().unwrap_or_default());
            if !is_of_server(&place) {
                found.insert(place, Found { resource: resource.clone(), metadata });
            }
        }
    }
    let mut defined = found.keys().filter(|(kind, _, _)| kind == DEFINITIONS);
    let is_whole = defined.all(|(_, _, name)| listed.contains(name));
    Ok(is_whole.then_some(found))
}

/// Whether the server itself makes and removes the objects of a kind, or shows them by another one, too.
fn is_kind_of_server(resource: &ApiResource) -> bool {
    match resource.group.as_str() {
        "apiregistration.k8s.io" | "flowcontrol.apiserver.k8s.io" | "events.k8s.io" => true,
        "networking.k8s.io" => matches!(resource.plural.as_str(), "ipaddresses" | "servicecidrs"),
        _ => false,
    }
}

/// Whether an object is one that the server itself makes, some of them at any time.
fn is_of_server((kind, namespace, name): &Place) -> bool {
    match kind.as_str() {
        NAMESPACES => matches!(name.as_str(), "default" | "kube-node-lease" | "kube-public" | "kube-system"),
        "services" => namespace == "default" && name == "kubernetes",
        "configmaps" | "leases.coordination.k8s.io" => namespace == "kube-system",
        _ => false,
    }
}

/// Removes objects, whatever holds them. What fails is seen by what stays.
async fn remove(client: &Client, mut objects: Vec<(&Place, &Found)>) {
    objects.sort_by_key(|((kind, _, _), _)| !FIRST.contains(&kind.as_str()));
    let nothing_else = objects.iter().all(|((kind, _, _), _)| kind == NAMESPACES);
    for ((kind, namespace, name), Found { resource, metadata }) in objects {
        let api: Api<DynamicObject> = if namespace.is_empty() {
            Api::all_with(client.clone(), resource)
        } else {
            Api::namespaced_with(client.clone(), namespace, resource)
        };
        // That of a definition has the server take its objects away.
        if kind != DEFINITIONS && metadata.finalizers.as_ref().is_some_and(|held| !held.is_empty()) {
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            drop(api.patch(name, &PatchParams::default(), &free).await);
        }
        if kind != NAMESPACES || metadata.deletion_timestamp.is_none() {
            let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::background() };
            drop(api.delete(name, &now).await);
        } else if nothing_else {
            drop(finalize(client, name).await);
        }
    }
}

/// Says that nothing is left in a namespace that is deleted, as a controller does that does not run here.
async fn finalize(client: &Client, name: &str) -> Result<(), kube::Error> {
    let api: Api<Namespace> = Api::all(client.clone());
    let Some(mut namespace) = optional(api.get(name).await)? else { return Ok(()) };
    namespace.spec.get_or_insert_default().finalizers = Some(Vec::new());
    api.replace_subresource("finalize", name, &PostParams::default(), &namespace).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_test_gets_a_server_on_which_nothing_is_left() {
    let hub = lease(Kinds::Operator).await;
    let expected = hub.kube.turn.as_ref().unwrap().objects.clone();
    hub.namespace("left").await;
    let held = |text: &str| text.replace("HELD", "finalizers: [example.com/held]");
    hub.apply(&held(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: left, namespace: left, HELD}\n\
         ---\napiVersion: v1\nkind: Service\nmetadata: {name: left, namespace: default}\nspec: {ports: [{port: 80}]}\n\
         ---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: left}\nrules: []\n\
         ---\napiVersion: agent-install.openshift.io/v1beta1\nkind: AgentServiceConfig\nmetadata: {name: agent, HELD}\n\
         spec: {databaseStorage: {}, filesystemStorage: {}}\n\
         ---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rests.example.com}\n\
         spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Rest, plural: rests, singular: rest}\n  versions:\n  \
         - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n",
    ));
    let rest =
        held("apiVersion: example.com/v1\nkind: Rest\nmetadata: {name: left, namespace: left, HELD}\n");
    eventually("the kind is there", async || hub.try_apply(&rest).is_ok()).await;
    // Nobody who is asked by this one answers.
    hub.apply(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: left}\n\
         webhooks:\n- name: left.example.com\n  clientConfig: {url: 'https://127.0.0.1:1/'}\n  admissionReviewVersions: [v1]\n  \
         sideEffects: None\n  failurePolicy: Fail\n  \
         rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: [UPDATE, DELETE]}]\n",
    );

    Box::pin(clean(&hub.client, &expected)).await.unwrap();
    let found = Box::pin(objects_of(&hub.client)).await.unwrap().unwrap();
    let found: BTreeMap<_, _> = found.into_iter().map(|(place, found)| (place, found.version())).collect();
    assert_eq!(found, expected);
    // What was there before can't be made up for.
    let definition = (DEFINITIONS.to_owned(), String::new(), "agents.agent-install.openshift.io".to_owned());
    let gone = (DEFINITIONS.to_owned(), String::new(), "gone.example.com".to_owned());
    for place in [definition, gone] {
        let mut other = expected.clone();
        other.insert(place.clone(), "another".to_owned());
        let refused = Box::pin(clean(&hub.client, &other)).await.unwrap_err();
        assert!(refused.contains(&place.2), "{refused}");
    }
    // The namespace may be used again at once.
    hub.namespace("left").await;
}
