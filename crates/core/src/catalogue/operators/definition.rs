//! What an operator is.

use assisted_wire::cluster::{Cluster, ClusterValidationId as C};
use assisted_wire::host::HostValidationId as H;
use assisted_wire::own_operators::OWN_OPERATORS;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::Value;

use super::view::{ClusterView, HostView};
use crate::catalogue::feature::rule::Rule;
use crate::model::outcome::Outcome;
use crate::model::topology;
use crate::policy;

/// An operator that its own subscription brings into a cluster.
#[derive(Clone, Copy)]
pub struct Operator {
    /// Its name among the operators of a cluster.
    pub name: &'static str,
    /// Its name in the texts of refusals.
    pub full_name: &'static str,
    pub namespace: &'static str,
    /// Name of its subscription, unless it differs for a cluster ([`Self::subscribed`]).
    pub(super) subscription: &'static str,
    /// How long it may take to be there, unless the policy says it.
    pub(super) timeout_seconds: i64,
    /// Operators that it needs.
    pub(super) depends_on: &'static [&'static str],
    /// Operators that it needs besides on a single node.
    pub(super) depends_on_single_node: &'static [&'static str],
    pub(super) bundle: Membership,
    /// Where it can be had.
    pub(crate) rule: Rule,
    pub(crate) host: H,
    pub(crate) cluster: C,
    /// What is said of it when it is not installed.
    pub(crate) disabled: &'static str,
    pub(super) package: Package,
    pub(crate) behaviour: &'static dyn Behaviour,
}

impl Operator {
    /// The feature that it is.
    pub fn feature(&self) -> Id {
        self.rule.id
    }

    /// Whether the published contract has it; else it is one of ours ([`OWN_OPERATORS`]).
    pub fn is_published(&self) -> bool {
        OWN_OPERATORS.iter().all(|own| own.name != self.name)
    }

    /// How many seconds it may take to be there.
    pub fn timeout_seconds(&self, policy: &policy::Operators) -> i64 {
        match policy.operator_timeout.as_secs() {
            0 => self.timeout_seconds,
            seconds => i64::try_from(seconds).unwrap_or(i64::MAX),
        }
    }

    /// How a cluster of a version subscribes to it.
    pub fn subscribed(&self, version: &str, policy: &policy::Operators) -> Subscribed {
        let mut subscribed =
            Subscribed { name: self.subscription, namespace: self.namespace, package: self.package };
        self.behaviour.adapt(&mut subscribed, version, policy);
        subscribed
    }

    /// Names of the operators that it needs.
    pub fn dependencies(&self, single_node: bool) -> impl Iterator<Item = &'static str> {
        let further = if single_node { self.depends_on_single_node } else { &[] };
        self.depends_on.iter().chain(further).copied()
    }

    /// Names of the operators that it needs somewhere.
    pub fn all_dependencies(&self) -> impl Iterator<Item = &'static str> {
        self.dependencies(true)
    }
}

/// How an operator is subscribed to in one cluster.
#[derive(Clone, Copy, Debug)]
pub struct Subscribed {
    /// Name of the subscription.
    pub name: &'static str,
    pub namespace: &'static str,
    pub(super) package: Package,
}

impl Subscribed {
    /// Name of its package in the catalogue.
    pub fn package(&self) -> &'static str {
        if self.package.name.is_empty() { self.name } else { self.package.name }
    }

    /// The channel that it is taken from; `None`: the package's own default.
    pub fn channel(&self) -> Option<&'static str> {
        self.package.channel
    }

    /// Name of the catalogue in a cluster, and the repository of its images: they are tagged `v` and the version, without its patch.
    pub fn catalogue(&self) -> (&'static str, &'static str) {
        let source = self.package.source;
        let index = INDEXES.iter().find(|(known, _)| *known == source);
        (source, index.map_or("", |(_, index)| index))
    }
}

/// The bundle that an operator is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Membership {
    None,
    /// Always comes with it.
    Required(&'static str),
    /// Comes with it, unless the cluster is a single node.
    RequiredOfSeveralNodes(&'static str),
    /// Comes with it if the cluster is a single node.
    RequiredOfSingleNode(&'static str),
    /// Can be chosen with it.
    Optional(&'static str),
}

/// How an operator is found in the catalogues of a cluster, and what is made for it (operators §3.1, §3.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Package {
    /// Empty: that of the subscription.
    pub name: &'static str,
    /// `None`: the package's own default.
    pub channel: Option<&'static str>,
    pub source: &'static str,
    /// Whether the subscription says that updates need no approval, which they don't without it either.
    pub says_automatic: bool,
    /// `None`: the namespace is there already, or another operator brings it.
    pub namespace: Option<Namespace>,
    /// `None`: the namespace has a group already.
    pub group: Option<Group>,
    /// How the names of its files begin.
    pub files: &'static str,
    pub file_names: FileNames,
}

impl Package {
    pub(super) const NONE: Self = Self {
        name: "",
        channel: None,
        source: REDHAT,
        says_automatic: true,
        namespace: None,
        group: None,
        files: "",
        file_names: FileNames::Long,
    };
}

pub(super) const REDHAT: &str = "redhat-operators";
pub(super) const CERTIFIED: &str = "certified-operators";
pub(super) const COMMUNITY: &str = "community-operators";

/// Where the images of the catalogues are that every cluster has.
const INDEXES: [(&str, &str); 3] = [
    (REDHAT, "registry.redhat.io/redhat/redhat-operator-index"),
    (CERTIFIED, "registry.redhat.io/redhat/certified-operator-index"),
    (COMMUNITY, "registry.redhat.io/redhat/community-operator-index"),
];

/// The object of an operator's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Namespace {
    Plain,
    /// The cluster's monitoring looks at it.
    Monitored,
}

/// The group of an operator's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub name: &'static str,
    pub scope: Scope,
    /// Whether it names the strategy for updates, which is the default one.
    pub says_strategy: bool,
    /// Annotation that says which kinds of objects are served; empty: OLM says it.
    pub provided_apis: &'static str,
}

impl Group {
    /// The operator looks after its own namespace.
    pub(super) const fn own(name: &'static str) -> Self {
        Self { name, scope: Scope::Own, says_strategy: false, provided_apis: "" }
    }

    /// The operator looks after all namespaces.
    pub(super) const fn all(name: &'static str) -> Self {
        Self { name, scope: Scope::All, says_strategy: false, provided_apis: "" }
    }

    pub(super) const fn saying_strategy(self) -> Self {
        Self { says_strategy: true, ..self }
    }

    pub(super) const fn providing(self, provided_apis: &'static str) -> Self {
        Self { provided_apis, ..self }
    }
}

/// Which namespaces an operator looks after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Own,
}

/// What the files of namespace, group and subscription are called behind their common beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileNames {
    Short,
    /// As short ones, but for that of the subscription.
    OfEngine,
    Long,
}

impl FileNames {
    /// Of namespace, group and subscription.
    pub(super) const fn of(self) -> [&'static str; 3] {
        match self {
            Self::Short => ["ns", "operator_group", "subscription"],
            Self::OfEngine => ["ns", "operator_group", "operator_subscription"],
            Self::Long => ["namespace", "operatorgroup", "subscription"],
        }
    }
}

/// The cluster that hosts are looked for, as far as it matters to operators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedCluster<'a> {
    pub version: &'a str,
    pub single_node: bool,
}

impl<'a> PlannedCluster<'a> {
    pub fn of(cluster: &'a Cluster) -> Self {
        Self { version: &cluster.openshift_version, single_node: topology::is_single_node(cluster) }
    }
}

/// What an operator asks and brings; unless it says so, nothing.
pub(crate) trait Behaviour: Sync {
    /// What it takes of a host that is there.
    fn requirements(&self, _host: &HostView<'_>) -> OperatorRequirements {
        OperatorRequirements::default()
    }

    /// What it would take of hosts that are not there yet.
    fn preflight(&self, _planned: PlannedCluster<'_>, _policy: &policy::Operators) -> Preflight {
        Preflight::default()
    }

    /// Whether a host can be part of it.
    fn check_host(&self, _host: &HostView<'_>) -> Outcome {
        Outcome::success("")
    }

    /// Whether it can be installed with the cluster.
    fn check_cluster(&self, _cluster: &ClusterView<'_>) -> Outcome {
        Outcome::success("")
    }

    /// Objects that are installed with the cluster besides namespace, group and subscription, each with the end of its
    /// file's name.
    fn manifests(&self, _cluster: &ClusterView<'_>) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Objects that are applied once it is there, in order.
    fn objects(&self, _cluster: &ClusterView<'_>) -> Vec<Value> {
        Vec::new()
    }

    /// Changes what differs in how clusters of some versions subscribe to it, or by the policy.
    fn adapt(&self, _subscribed: &mut Subscribed, _version: &str, _policy: &policy::Operators) {}
}

/// An operator that asks for nothing and brings nothing but its subscription.
pub(super) struct SubscriptionOnly;

impl Behaviour for SubscriptionOnly {}

/// What an operator takes of a host, besides what OpenShift itself does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OperatorRequirements {
    pub cpu_cores: i64,
    pub ram_mib: i64,
}

impl OperatorRequirements {
    pub fn new(cpu_cores: i64, ram_mib: i64) -> Self {
        Self { cpu_cores, ram_mib }
    }

    pub fn with_gib(cpu_cores: i64, ram_gib: i64) -> Self {
        Self { cpu_cores, ram_mib: ram_gib.saturating_mul(1024) }
    }
}

/// What an operator takes of the hosts of each role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preflight {
    pub master: RolePreflight,
    pub worker: RolePreflight,
}

/// What an operator takes of the hosts of a role: numbers, and words for what depends on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RolePreflight {
    pub extra: OperatorRequirements,
    pub qualitative: Vec<String>,
}

impl RolePreflight {
    pub fn new(extra: OperatorRequirements, qualitative: &[&str]) -> Self {
        Self { extra, qualitative: qualitative.iter().map(|text| (*text).to_owned()).collect() }
    }
}

impl Preflight {
    /// The same requirements for control-plane nodes and workers.
    pub fn of_both(role: RolePreflight) -> Self {
        Self { master: role.clone(), worker: role }
    }

    /// Processors and memory of both roles, in numbers and in words.
    pub fn of_resources(extra: OperatorRequirements) -> Self {
        let words = [
            format!("{} MiB of additional RAM", extra.ram_mib),
            format!("{} additional CPUs", extra.cpu_cores),
        ];
        Self::of_both(RolePreflight::new(extra, &[&words[0], &words[1]]))
    }
}

/// Declares the operator of a file: its name, the validations of it, its full name, and its members; those that are not named
/// are empty, or usual.
macro_rules! operator {
    ($name:literal, $id:ident, $full_name:literal; $($field:ident: $value:expr),+ $(,)?) => {
        pub(in crate::catalogue::operators) const OPERATOR: $crate::catalogue::operators::Operator =
            $crate::catalogue::operators::Operator {
                name: $name,
                full_name: $full_name,
                disabled: concat!($name, " is disabled"),
                host: assisted_wire::host::HostValidationId::$id,
                cluster: assisted_wire::cluster::ClusterValidationId::$id,
                $($field: $value,)+
                ..$crate::catalogue::operators::definition::USUAL
            };
    };
}

pub(super) use operator;

/// What operators have in common; a test holds that each names what is empty here.
pub(super) const USUAL: Operator = Operator {
    name: "",
    full_name: "",
    namespace: "",
    subscription: "",
    timeout_seconds: 1800,
    depends_on: &[],
    depends_on_single_node: &[],
    bundle: Membership::None,
    rule: Rule::new(Id::Lso, ""),
    host: H::LsoRequirementsSatisfied,
    cluster: C::LsoRequirementsSatisfied,
    disabled: "",
    package: Package::NONE,
    behaviour: &SubscriptionOnly,
};
