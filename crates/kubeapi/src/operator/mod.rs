//! The operator: brings an AgentServiceConfig to running (kube-api §6.9), and HypershiftAgentServiceConfigs ([`hosted`]).
//!
//! [`desired`] makes all objects of what the AgentServiceConfig says ([`AgentServiceConfigSpec`]), of the operator's own
//! variables ([`environment`]) and of what is known of the cluster ([`facts`]); it is pure, one file per object. [`reconcile`] gathers
//! the facts, applies the objects and takes away those that are not wanted any more; [`watch`] wakes it whenever one of them changes.
//!
//! [`AgentServiceConfigSpec`]: assisted_crd::agent_install::agent_service_config::AgentServiceConfigSpec

pub mod access;
pub mod apply;
pub mod conditions;
pub mod desired;
pub mod environment;
pub mod facts;
mod finalizers;
mod gather;
mod health;
mod hosted;
mod local_cluster;
mod predecessor;
pub mod reconcile;
mod reconciler;
pub mod validate;
pub mod watch;

/// The one AgentServiceConfig.
pub const CONFIG: &str = "agent";

/// Names of what runs, of its services and, on OpenShift, of the secrets with their certificates.
pub const SERVICE: &str = "assisted-service";
pub const IMAGE_SERVICE: &str = "assisted-image-service";
pub const WEBHOOK: &str = crate::admission::NAME;

/// Claims of volumes: of the service's files and of the database.
pub const FILES_CLAIM: &str = "assisted-service";
pub const DATABASE_CLAIM: &str = "postgres";
/// Template of the image service's claim.
pub const IMAGES_CLAIM: &str = "image-service-data";

/// Secrets: the keys that sign tokens, and how the database is reached.
pub const KEYS_SECRET: &str = "assisted-servicelocal-auth";
pub const DATABASE_SECRET: &str = "postgres";
/// The keys that secrets at rest are sealed with.
pub const SEAL_SECRET: &str = "assisted-service-seal-keys";

/// Config maps of the service: its variables, and on OpenShift the authorities that it and hosts trust.
pub const SETTINGS: &str = "assisted-service";
pub const INGRESS_AUTHORITIES: &str = "default-ingress-cert";
pub const CLUSTER_AUTHORITIES: &str = "cluster-trusted-ca-bundle";
pub const TRUSTED_AUTHORITIES: &str = "assisted-trusted-ca-bundle";

/// Deployments of the operators that this one may be part of.
pub const ACM: &str = "multiclusterhub-operator";
pub const MCE: &str = "multicluster-engine-operator";

/// Label of all that the operator makes, and under which name it owns fields.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "assisted-operator");

/// Annotations of an AgentServiceConfig (kube-api §4.8).
pub mod annotation {
    pub const SETTINGS: &str = "unsupported.agent-install.openshift.io/assisted-service-configmap";
    pub const SKIP_VERIFY_TLS: &str =
        "unsupported.agent-install.openshift.io/assisted-image-service-skip-verify-tls";
    pub const UNRESTRICTED_PULLS: &str =
        "unsupported.agent-install.openshift.io/assisted-service-allow-unrestricted-image-pulls";
    pub const CLAIM_PREFIX: &str = "unsupported.agent-install.openshift.io/assisted-service-pvc-prefix";
    pub const SECRET_PREFIX: &str = "unsupported.agent-install.openshift.io/assisted-service-secrets-prefix";
    pub const ENABLE_IMAGE_SERVICE: &str = "agent-install.openshift.io/enable-image-service";
    /// Its presence has the hub's own cluster taken in, on OpenShift.
    pub const ENABLE_LOCAL_CLUSTER_IMPORT: &str = "agent-install.openshift.io/enable-local-cluster-import";

    /// Those that can't change.
    pub const IMMUTABLE: &[&str] = &[CLAIM_PREFIX, SECRET_PREFIX, ENABLE_IMAGE_SERVICE];
}
