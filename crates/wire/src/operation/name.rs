//! Names of parameters, each with the type of its value: a row of the table of operations and whoever reads the parameter use the
//! same one, so that neither a name nor a type can be mistaken.

use std::marker::PhantomData;

use uuid::Uuid;

use super::Kind;

/// A parameter's name; `T` is the type of its value.
#[derive(Debug)]
pub struct Name<T>(&'static str, PhantomData<fn() -> T>);

impl<T> Clone for Name<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Name<T> {}

impl<T> Name<T> {
    const fn new(text: &'static str) -> Self {
        Self(text, PhantomData)
    }

    /// The name as it travels.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// A type that the value of a parameter can have.
pub trait Typed {
    /// How the contract calls it.
    const KIND: Kind;
    /// The form that its text must have.
    const FORMAT: Option<&'static str> = None;
}

impl Typed for String {
    const KIND: Kind = Kind::String;
}

impl Typed for Uuid {
    const KIND: Kind = Kind::String;
    const FORMAT: Option<&'static str> = Some("uuid");
}

impl Typed for i64 {
    const KIND: Kind = Kind::Integer;
}

impl Typed for bool {
    const KIND: Kind = Kind::Boolean;
}

impl Typed for Vec<String> {
    const KIND: Kind = Kind::Strings;
}

/// An uploaded file.
#[derive(Debug)]
pub struct Upload;

impl Typed for Upload {
    const KIND: Kind = Kind::File;
}

pub const ADDITIONAL_NAME: Name<String> = Name::new("additional_name");
pub const AMS_SUBSCRIPTION_IDS: Name<Vec<String>> = Name::new("ams_subscription_ids");
pub const CATEGORIES: Name<Vec<String>> = Name::new("categories");
pub const CLUSTER_ID: Name<Uuid> = Name::new("cluster_id");
pub const CLUSTER_LEVEL: Name<bool> = Name::new("cluster_level");
pub const CPU_ARCHITECTURE: Name<String> = Name::new("cpu_architecture");
pub const DELETED_HOSTS: Name<bool> = Name::new("deleted_hosts");
pub const DISCOVERY_AGENT_VERSION: Name<String> = Name::new("discovery_agent_version");
pub const DISCOVERY_ISO_TYPE: Name<String> = Name::new("discovery_iso_type");
pub const EXCLUDE_HOSTS: Name<bool> = Name::new("exclude-hosts");
pub const EXTERNAL_PLATFORM_NAME: Name<String> = Name::new("external_platform_name");
pub const FEATURE_IDS: Name<Vec<String>> = Name::new("feature_ids");
pub const FILE_NAME: Name<String> = Name::new("file_name");
pub const FOLDER: Name<String> = Name::new("folder");
pub const GET_UNREGISTERED_CLUSTERS: Name<bool> = Name::new("get_unregistered_clusters");
pub const HOST_ID: Name<Uuid> = Name::new("host_id");
pub const HOST_IDS: Name<Vec<String>> = Name::new("host_ids");
pub const ID: Name<String> = Name::new("id");
pub const INCLUDE_SYSTEM_GENERATED: Name<bool> = Name::new("include_system_generated");
pub const INFRA_ENV_ID: Name<Uuid> = Name::new("infra_env_id");
pub const IPXE_SCRIPT_TYPE: Name<String> = Name::new("ipxe_script_type");
pub const LAST_EVENT_ID: Name<String> = Name::new(crate::live::LAST_EVENT_ID);
pub const LIMIT: Name<i64> = Name::new("limit");
pub const LOGS_TYPE: Name<String> = Name::new("logs_type");
pub const MAC: Name<String> = Name::new("mac");
pub const MACHINE_ID: Name<Uuid> = Name::new("machine_id");
pub const MESSAGE: Name<String> = Name::new("message");
pub const OFFSET: Name<i64> = Name::new("offset");
pub const ONLY_LATEST: Name<bool> = Name::new("only_latest");
pub const OPENSHIFT_CLUSTER_ID: Name<Uuid> = Name::new("openshift_cluster_id");
pub const OPENSHIFT_VERSION: Name<String> = Name::new("openshift_version");
pub const OPERATOR_NAME: Name<String> = Name::new("operator_name");
pub const ORDER: Name<String> = Name::new("order");
pub const OWNER: Name<String> = Name::new("owner");
pub const POOL: Name<String> = Name::new("pool");
pub const PLATFORM_TYPE: Name<String> = Name::new("platform_type");
pub const ROLE: Name<String> = Name::new("role");
pub const SEVERITIES: Name<Vec<String>> = Name::new("severities");
pub const STATUS: Name<String> = Name::new("status");
pub const TIMESTAMP: Name<i64> = Name::new("timestamp");
pub const UPFILE: Name<Upload> = Name::new("upfile");
pub const VALIDATION_ID: Name<String> = Name::new("validation_id");
pub const VERSION: Name<String> = Name::new("version");
pub const WITH_CONNECTIVITY: Name<bool> = Name::new("with-connectivity");
pub const WITH_INVENTORY: Name<bool> = Name::new("with-inventory");
pub const WORK_ID: Name<String> = Name::new("work_id");
pub const WITH_HOSTS: Name<bool> = Name::new("with_hosts");
