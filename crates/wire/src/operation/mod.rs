//! The operations of the REST contract, and those that we add to it, as data: routing, authorisation, request checks and the
//! OpenAPI documents are all made from this one table.

mod additions;
mod cluster_actions;
mod cluster_files;
mod clusters;
mod events;
mod hosts;
mod infra_envs;
mod manifests;
pub mod name;
mod operators;
mod versions;

use name::{Name, Typed};
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Path below which every operation lives.
pub const BASE_PATH: &str = "/api/assisted-install";

/// An operation's typed name. The API matches over it without a wildcard: no operation can be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationId {
    RegisterCluster,
    ListClusters,
    GetCluster,
    DeregisterCluster,
    UpdateCluster,
    GetClusterSupportedPlatforms,
    GetClusterDefaultConfig,
    GetPreflightRequirements,
    ImportCluster,
    RegisterDisconnectedCluster,
    GetIgnoredValidations,
    SetIgnoredValidations,
    UpdateClusterFinalizingProgress,
    InstallCluster,
    CancelInstallation,
    ResetCluster,
    TransformClusterToDay2,
    TransformClusterToAddingHosts,
    CompleteInstallation,
    ListClusterHosts,
    RegisterHost,
    ListHosts,
    GetHost,
    UpdateHost,
    DeregisterHost,
    GetNextSteps,
    PostStepReply,
    UpdateHostInstallProgress,
    BindHost,
    UnbindHost,
    ResetHostValidation,
    ResetHost,
    InstallHost,
    UpdateHostInstallerArgs,
    GetHostIgnition,
    UpdateHostIgnition,
    UpdateHostLogsProgress,
    DownloadHostIgnition,
    RegisterInfraEnv,
    ListInfraEnvs,
    GetInfraEnv,
    UpdateInfraEnv,
    DeregisterInfraEnv,
    GetInfraEnvDownloadURL,
    DownloadInfraEnvFiles,
    GetInfraEnvPresignedFileURL,
    RegenerateInfraEnvSigningKey,
    DownloadMinimalInitrd,
    GetPresignedForClusterCredentials,
    GetCredentials,
    DownloadClusterFiles,
    DownloadClusterCredentials,
    GetPresignedForClusterFiles,
    GetClusterInstallConfig,
    UpdateClusterInstallConfig,
    UploadClusterIngressCert,
    UpdateClusterLogsProgress,
    DownloadClusterLogs,
    UploadLogs,
    GetClusterUISettings,
    UpdateClusterUISettings,
    ListManagedDomains,
    ListComponentVersions,
    ListSupportedOpenshiftVersions,
    ListReleaseSources,
    GetSupportedFeatures,
    GetDetailedSupportedFeatures,
    GetSupportedArchitectures,
    ListOperatorProperties,
    ListSupportedOperators,
    ListBundles,
    GetBundle,
    ListOfClusterOperators,
    ReportMonitoredOperatorStatus,
    ListClusterManifests,
    CreateClusterManifest,
    UpdateClusterManifest,
    DeleteClusterManifest,
    DownloadClusterManifest,
    ListEvents,
    TriggerEvent,
    ListClusterValidations,
    ListHostValidations,
    ListClusterActions,
    RenderCluster,
    EnableHost,
    DisableHost,
    ReleaseMachine,
    Watch,
    ListWork,
    ReleaseWork,
    ListOperators,
    AssessClusterOperators,
    GetImageState,
    GetOnClusterLayering,
    ReportOnClusterLayeringBuild,
    UploadOnClusterLayeringLogs,
    DownloadOnClusterLayeringLogs,
    GetMachineOSConfig,
    ListMachines,
    GetMachine,
    AddMachine,
    RemoveMachine,
    SwitchMachine,
    BootMachine,
    GetClusterMirrorRegistry,
    SetClusterMirrorRegistry,
    GetInfraEnvMirrorRegistry,
    SetInfraEnvMirrorRegistry,
    ReadReleaseImage,
}

impl OperationId {
    /// The operation's row in the table.
    pub fn operation(self) -> &'static Operation {
        // The variants are declared in the order of the groups, checked by a test.
        let mut index = self as usize;
        for group in GROUPS {
            match group.get(index) {
                Some(operation) => return operation,
                None => index -= group.len(),
            }
        }
        &GROUPS[0][0]
    }

    /// Whether the operation stands beside the contract: other services may not know it.
    pub fn is_addition(self) -> bool {
        additions::OPERATIONS.iter().any(|operation| operation.id == self)
    }
}

/// HTTP method of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The method as HTTP writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// How a caller shows who it is (service-api §14.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// People and user interfaces: header `Authorization`.
    User,
    /// Agents, installers, controllers: header `X-Secret-Key`.
    Agent,
    /// Signed URLs: query `api_key`.
    Url,
    /// The image service: header `Image-Token`.
    Image,
    /// Signed image URLs: query `image_token`.
    ImageUrl,
    /// Monitors: header `Watcher-Authorization`.
    Watcher,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: &[Self] =
        &[Self::User, Self::Agent, Self::Image, Self::Watcher, Self::ImageUrl, Self::Url];

    /// The scheme's name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "userAuth",
            Self::Agent => "agentAuth",
            Self::Url => "urlAuth",
            Self::Image => "imageAuth",
            Self::ImageUrl => "imageURLAuth",
            Self::Watcher => "watcherAuth",
        }
    }

    /// Where the credential travels: place and name.
    pub const fn carrier(self) -> (Location, &'static str) {
        match self {
            Self::User => (Location::Header, "Authorization"),
            Self::Agent => (Location::Header, "X-Secret-Key"),
            Self::Url => (Location::Query, "api_key"),
            Self::Image => (Location::Header, "Image-Token"),
            Self::ImageUrl => (Location::Query, "image_token"),
            Self::Watcher => (Location::Header, "Watcher-Authorization"),
        }
    }
}

/// Role of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Sees and changes everything.
    Admin,
    /// Sees everything.
    ReadOnlyAdmin,
    /// Sees and changes what it owns.
    User,
}

impl Role {
    /// The role's name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::ReadOnlyAdmin => "read-only-admin",
            Self::User => "user",
        }
    }
}

/// One accepted scheme with the roles it admits; no roles: all of them.
#[derive(Clone, Copy, Debug)]
pub struct Security {
    pub scheme: Scheme,
    pub roles: &'static [Role],
}

/// Users who may see.
const READER: Security =
    Security { scheme: Scheme::User, roles: &[Role::Admin, Role::ReadOnlyAdmin, Role::User] };
/// Users who may change.
const WRITER: Security = Security { scheme: Scheme::User, roles: &[Role::Admin, Role::User] };
/// Users who own the object.
const OWNER: Security = Security { scheme: Scheme::User, roles: &[Role::User] };
/// Users whatever their role.
const USER: Security = Security { scheme: Scheme::User, roles: &[] };
const AGENT: Security = Security { scheme: Scheme::Agent, roles: &[] };
const URL: Security = Security { scheme: Scheme::Url, roles: &[] };
const IMAGE: Security = Security { scheme: Scheme::Image, roles: &[] };
const IMAGE_URL: Security = Security { scheme: Scheme::ImageUrl, roles: &[] };
const WATCHER: Security = Security { scheme: Scheme::Watcher, roles: &[] };

/// Where a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    Path,
    Query,
    Header,
    Form,
}

/// Type of a parameter that is not a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    String,
    Integer,
    Boolean,
    /// Several strings: separated by commas, or repeated (`multi`).
    Strings,
    /// An uploaded file.
    File,
}

/// A parameter that is not a body. `format`, `one_of` hold for each item of `Kind::Strings`.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub name: &'static str,
    pub location: Location,
    pub kind: Kind,
    pub required: bool,
    pub format: Option<&'static str>,
    pub one_of: &'static [&'static str],
    pub default: Option<&'static str>,
    pub multi: bool,
    pub max_length: Option<u64>,
}

impl Param {
    const fn new<T: Typed>(name: Name<T>, location: Location) -> Self {
        Self {
            name: name.as_str(),
            location,
            kind: T::KIND,
            required: matches!(location, Location::Path),
            format: T::FORMAT,
            one_of: &[],
            default: None,
            multi: false,
            max_length: None,
        }
    }
    const fn path<T: Typed>(name: Name<T>) -> Self {
        Self::new(name, Location::Path)
    }
    const fn query<T: Typed>(name: Name<T>) -> Self {
        Self::new(name, Location::Query)
    }
    const fn header<T: Typed>(name: Name<T>) -> Self {
        Self::new(name, Location::Header)
    }
    const fn form<T: Typed>(name: Name<T>) -> Self {
        Self::new(name, Location::Form)
    }
    const fn required(mut self) -> Self {
        self.required = true;
        self
    }
    const fn format(mut self, format: &'static str) -> Self {
        self.format = Some(format);
        self
    }
    const fn one_of(mut self, values: &'static [&'static str]) -> Self {
        self.one_of = values;
        self
    }
    const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }
    const fn multi(mut self) -> Self {
        self.multi = true;
        self
    }
    const fn max_length(mut self, bytes: u64) -> Self {
        self.max_length = Some(bytes);
        self
    }
}

const CLUSTER_ID: Param = Param::path(name::CLUSTER_ID);
const INFRA_ENV_ID: Param = Param::path(name::INFRA_ENV_ID);
const HOST_ID: Param = Param::path(name::HOST_ID);
const AGENT_VERSION: Param = Param::header(name::DISCOVERY_AGENT_VERSION);
const CPU_ARCHITECTURE: Param = Param::query(name::CPU_ARCHITECTURE)
    .one_of(&["x86_64", "aarch64", "arm64", "ppc64le", "s390x", "multi"])
    .default("x86_64");
const PLATFORM_TYPE: Param =
    Param::query(name::PLATFORM_TYPE).one_of(&["baremetal", "none", "nutanix", "vsphere", "external"]);
const EXTERNAL_PLATFORM_NAME: Param = Param::query(name::EXTERNAL_PLATFORM_NAME);

/// Makes the JSON schema of a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A JSON body of a request.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// The parameter's name in the contract; error texts show it.
    pub name: &'static str,
    pub required: bool,
    pub schema: SchemaOf,
}

impl Body {
    const fn required<T: JsonSchema>(name: &'static str) -> Self {
        Self { name, required: true, schema: SchemaGenerator::subschema_for::<T> }
    }
    const fn optional<T: JsonSchema>(name: &'static str) -> Self {
        Self { name, required: false, schema: SchemaGenerator::subschema_for::<T> }
    }
}

/// What a success carries.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    Json(SchemaOf),
    /// A download with a file name.
    File,
    /// Bytes without a name.
    Binary,
    /// Server-sent events, without an end (see [`crate::live`]).
    Changes,
}

impl Payload {
    const fn json<T: JsonSchema>() -> Self {
        Self::Json(SchemaGenerator::subschema_for::<T>)
    }
}

/// A successful answer.
#[derive(Clone, Copy, Debug)]
pub struct Success {
    pub status: u16,
    pub payload: Option<Payload>,
    /// Response headers, all of them counts.
    pub headers: &'static [&'static str],
}

impl Success {
    const fn json<T: JsonSchema>(status: u16) -> Self {
        Self { status, payload: Some(Payload::json::<T>()), headers: &[] }
    }
    const fn file(status: u16) -> Self {
        Self { status, payload: Some(Payload::File), headers: &[] }
    }
    const fn empty(status: u16) -> Self {
        Self { status, payload: None, headers: &[] }
    }
}

/// One operation of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub id: OperationId,
    /// The operation id as the contract writes it.
    pub name: &'static str,
    pub method: Method,
    /// Path template below [`BASE_PATH`].
    pub path: &'static str,
    pub tags: &'static [&'static str],
    /// Accepted schemes, tried in this order.
    pub security: &'static [Security],
    pub params: &'static [Param],
    pub body: Option<Body>,
    pub success: &'static [Success],
    /// Statuses of refusals. 401 and 403 carry an `infra_error`, the others an `error`.
    pub errors: &'static [u16],
    /// Content type of the request, where it is not JSON.
    pub consumes: Option<&'static str>,
    /// Content type of the answer, where it is not JSON.
    pub produces: Option<&'static str>,
    /// Whether clients should stop using it.
    pub deprecated: bool,
}

const GROUPS: &[&[Operation]] = &[
    clusters::OPERATIONS,
    cluster_actions::OPERATIONS,
    hosts::OPERATIONS,
    infra_envs::OPERATIONS,
    cluster_files::OPERATIONS,
    versions::OPERATIONS,
    operators::OPERATIONS,
    manifests::OPERATIONS,
    events::OPERATIONS,
    additions::OPERATIONS,
];

/// Every operation, in the order of [`OperationId`].
pub fn all() -> impl Iterator<Item = &'static Operation> {
    GROUPS.iter().flat_map(|group| group.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_is_found_by_its_id() {
        for operation in all() {
            assert_eq!(operation.id.operation().name, operation.name);
        }
        assert_eq!(all().filter(|operation| !operation.id.is_addition()).count(), 81);
    }
}
