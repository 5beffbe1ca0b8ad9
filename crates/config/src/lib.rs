//! What an administrator of the service can set: one structure per topic, each field one environment variable.
//!
//! Read once at start ([`Settings::from_env`]); a value that can't be used is refused with the variable's name, what is
//! wrong, and what would be right. [`variables`] lists them all for the documentation, and [`UNREAD`] those of the service that
//! this one replaces which nothing reads here.

mod api;
mod clusters;
mod disabled;
mod discovery;
mod dns;
mod duration;
mod explain;
mod fate;
mod generation;
mod images;
mod kube;
mod layering;
mod limits;
mod operators;
mod origins;
mod outbound;
mod retention;
mod size;
mod storage;
mod timeouts;
mod topic;
mod value;

pub use api::{Accounts, Auth, AuthType, Http, Oidc};
pub use clusters::Clusters;
pub use discovery::{Hardware, Hosts, RequirementsText};
pub use dns::{Dns, DnsProvider, ManagedDomain, ManagedDomains, TsigAlgorithm};
pub use duration::{format_duration, parse_duration};
pub use explain::{Effect, Explained, explain};
pub use fate::{Fate, UNREAD, Unread, without_effect};
pub use generation::{Generation, Generator, SIMULATION};
pub use images::{AgentDelivery, Images, JsonList, MustGather, Versions};
pub use kube::Kube;
pub use layering::Layering;
pub use limits::Limits;
pub use operators::Operators;
pub use origins::Origins;
pub use outbound::{KafkaMechanism, OtlpProtocol, Sampler, Share, Stream, Telemetry, Upload};
pub use retention::{Events, RateLimits, Retention};
pub use size::Size;
pub use storage::{Database, Seal, Storage, StorageKind};
pub use timeouts::{FinalizingStageTimeouts, HostStageTimeouts, Timeouts};
use topic::Env;
pub use topic::{SettingsError, Variable};

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $field:ident: $topic:ident,)+) => {
        /// Settings of the whole service, by topic.
        #[derive(Clone, Debug, Default)]
        pub struct Settings {
            $($(#[doc = $doc])+ pub $field: $topic,)+
        }

        impl Settings {
            /// Reads every variable through `get`, which gives the text of a variable that is set.
            ///
            /// # Errors
            ///
            /// The first variable whose value can't be used, or asks for what this version can't do.
            pub fn from_env(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
                let env = Env(get);
                fate::check(&env)?;
                Ok(Self { $($field: $topic::read(&env)?,)+ })
            }
        }

        /// Every variable of this program with the value that it has now.
        fn given(env: &Env<'_>) -> Vec<(Variable, Result<String, SettingsError>)> {
            let mut all = Vec::new();
            $(all.extend($topic::variables(stringify!($field)).into_iter().zip($topic::given(env)));)+
            all
        }

        /// Every variable, by topic: what the documentation prints.
        pub fn variables() -> Vec<Variable> {
            let mut all = Vec::new();
            $(all.extend($topic::variables(stringify!($field)));)+
            all
        }
    };
}

settings! {
    /// Process, listener and addresses.
    http: Http,
    /// What those who ask may hold.
    limits: Limits,
    /// Who may do what.
    auth: Auth,
    /// The identity provider.
    oidc: Oidc,
    /// Accounts of an external service.
    accounts: Accounts,
    /// The database.
    database: Database,
    /// Keys of secrets at rest.
    seal: Seal,
    /// Stored files.
    storage: Storage,
    /// Container images and the tools made from them.
    images: Images,
    /// OS images, release images and where they come from.
    versions: Versions,
    /// Defaults and switches of clusters.
    clusters: Clusters,
    /// DNS records of clusters.
    dns: Dns,
    /// What hosts are installed with.
    generation: Generation,
    /// Hosts, their checks and steps.
    hosts: Hosts,
    /// Time limits of installations and of the steps towards them.
    timeouts: Timeouts,
    /// Time limits of a host's stages.
    host_stages: HostStageTimeouts,
    /// Time limits of a cluster's finalizing stages.
    finalizing_stages: FinalizingStageTimeouts,
    /// What hardware is required.
    hardware: Hardware,
    /// Operators installed with a cluster.
    operators: Operators,
    /// Image mode at installation.
    layering: Layering,
    /// How long things are kept.
    retention: Retention,
    /// Events.
    events: Events,
    /// Events and states for others.
    stream: Stream,
    /// What is told about clusters to who supports them.
    upload: Upload,
    /// Traces.
    telemetry: Telemetry,
    /// The Kubernetes API.
    kube: Kube,
}

#[cfg(test)]
mod tests;
