//! What the provider needs of an installer, and the installers that it works with.

pub mod hub;
pub mod rest;

use std::collections::BTreeSet;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfigSpec;
use assisted_reconcile::Failure;
use assisted_wire::id::InfraEnvId;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use tokio_util::sync::CancellationToken;

/// What changed at the installer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A cluster: the namespace and the name of its Cluster.
    Cluster(ObjectKey),
    /// An infra-env, or a host of it.
    InfraEnv(ObjectKey),
    /// How the installer is reached: whatever could not be done is tried again.
    All,
}

/// An object of Cluster API for which there is something at an installer: a Cluster, or what an infra-env is for. Its name tells it
/// within one API server, its id from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub key: ObjectKey,
    pub uid: String,
}

impl Subject {
    /// An object of a namespace.
    pub fn of<K: Resource>(object: &K) -> Self {
        let metadata = object.meta();
        let key = ObjectKey::new(
            metadata.namespace.clone().unwrap_or_default(),
            metadata.name.clone().unwrap_or_default(),
        );
        Self { key, uid: metadata.uid.clone().unwrap_or_default() }
    }
}

/// A cluster at the installer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// How the installer finds it.
    pub key: ObjectKey,
    /// Its status, as the REST API calls it; empty: none yet.
    pub state: String,
}

/// The infra-env that is wanted.
#[derive(Clone, Debug)]
pub struct InfraEnvWanted<'a> {
    /// What it is for; it has its namespace and name.
    pub subject: &'a Subject,
    /// What hosts are discovered with.
    pub spec: &'a OpenshiftAssistedConfigSpec,
    /// The Cluster that it is for, and the name of the object it is made for.
    pub of: &'a Subject,
    pub config: &'a str,
    /// Where its hosts belong.
    pub cluster: &'a Cluster,
    /// What goes when these go goes with them.
    pub owners: Vec<OwnerReference>,
    /// Ignition config, as JSON, that is merged over that of the discovery.
    pub ignition_override: Option<&'a str>,
}

/// An infra-env as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InfraEnv {
    /// Its id in the REST API, where that is asked.
    pub id: Option<InfraEnvId>,
    /// Where the Ignition config of the discovery is; none while it is made. It may carry a key: it is shown to nobody.
    pub ignition_url: Option<String>,
    /// Where the ISO is; none while it is made.
    pub iso_url: Option<String>,
    /// What stands in the way, in the words of the installer.
    pub problem: Option<String>,
}

/// A host that registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Name, which is its id.
    pub name: String,
    pub approved: bool,
    /// When it registered, as something to order by.
    pub registered: Option<i64>,
    /// Hardware addresses in lower case.
    pub addresses: BTreeSet<String>,
}

/// What is wanted of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostWanted {
    pub approved: bool,
    /// `master`, `arbiter` or `worker`.
    pub role: &'static str,
    /// Ignition config, as JSON, that is merged over that of the installed node.
    pub ignition_overrides: String,
    /// Further arguments of the program that writes the disk, as a JSON array.
    pub installer_arguments: String,
    /// Host name; none: whatever it has.
    pub hostname: Option<String>,
}

/// An installer of clusters.
pub trait Installer: Send + Sync + 'static {
    /// The cluster of a Cluster; none: the installer does not know it yet.
    ///
    /// # Errors
    /// The installer can't be asked, or knows several.
    fn cluster(&self, of: &Subject) -> impl Future<Output = Result<Option<Cluster>, Failure>> + Send;

    /// Makes the infra-env unless it is there; as it is then.
    ///
    /// # Errors
    /// The installer can't be asked, or refuses it.
    fn infra_env(
        &self,
        wanted: &InfraEnvWanted<'_>,
    ) -> impl Future<Output = Result<InfraEnv, Failure>> + Send;

    /// The Ignition config of the discovery.
    ///
    /// # Errors
    /// It can't be had; the text names no key.
    fn ignition(&self, infra_env: &InfraEnv) -> impl Future<Output = Result<Vec<u8>, Failure>> + Send;

    /// Has an infra-env go with its hosts; whether it is gone.
    ///
    /// # Errors
    /// The installer can't be asked.
    fn remove_infra_env(&self, subject: &Subject) -> impl Future<Output = Result<bool, Failure>> + Send;

    /// The hosts of an infra-env.
    ///
    /// # Errors
    /// The installer can't be asked.
    fn hosts(&self, infra_env: &Subject) -> impl Future<Output = Result<Vec<Host>, Failure>> + Send;

    /// Brings a host to what is wanted of it; whether there was something to do.
    ///
    /// # Errors
    /// The installer can't be asked, or refuses.
    fn settle(
        &self,
        infra_env: &Subject,
        host: &str,
        wanted: &HostWanted,
    ) -> impl Future<Output = Result<bool, Failure>> + Send;

    /// Takes back the approval of a host.
    ///
    /// # Errors
    /// The installer can't be asked, or refuses.
    fn disapprove(&self, infra_env: &Subject, host: &str)
    -> impl Future<Output = Result<(), Failure>> + Send;

    /// Has a host go, so that its hardware can be another machine; whether it is gone.
    ///
    /// # Errors
    /// The installer can't be asked, or refuses.
    fn remove_host(
        &self,
        infra_env: &Subject,
        host: &str,
    ) -> impl Future<Output = Result<bool, Failure>> + Send;

    /// Tells changes until stopped; ends before only if it can't any more.
    fn follow(
        &self,
        changed: impl Fn(Change) + Clone + Send + Sync + 'static,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send;

    /// Returns when everything is known that can be asked for.
    ///
    /// # Errors
    /// It does not come; the text names what is missing.
    fn ready(&self) -> impl Future<Output = Result<(), String>> + Send;
}
