//! Types that belong to the contract although no operation's body refers to them: errors, and what travels as JSON inside
//! a string.

use assisted_wire::operation::SchemaOf;
use assisted_wire::{error, probe_requests as ask, probe_responses as reply};
use schemars::SchemaGenerator;

pub(super) const ERROR: SchemaOf = SchemaGenerator::subschema_for::<error::Error>;
pub(super) const INFRA_ERROR: SchemaOf = SchemaGenerator::subschema_for::<error::InfraError>;

macro_rules! schemas {
    ($($name:ty,)+) => { &[$(SchemaGenerator::subschema_for::<$name>,)+] };
}

/// The types that only these lines put into the documents.
pub(super) const UNREFERENCED: &[SchemaOf] = schemas![
    ask::ConnectivityCheckParams,
    ask::FreeAddressesRequest,
    ask::DownloadBootArtifactsRequest,
    ask::RebootForReclaimRequest,
    ask::ApiVipConnectivityRequest,
    ask::TangConnectivityRequest,
    ask::DiskSpeedCheckRequest,
    ask::DomainResolutionRequest,
    ask::DhcpAllocationRequest,
    ask::NextStepCmdRequest,
    ask::LogsGatherCmdRequest,
    ask::InstallCmdRequest,
    ask::NtpSynchronizationRequest,
    ask::ContainerImageAvailabilityRequest,
    ask::UpgradeAgentRequest,
    ask::VerifyVipsRequest,
    reply::FreeAddressesList,
    reply::ConnectivityReport,
    reply::FreeNetworksAddresses,
    reply::ApiVipConnectivityResponse,
    reply::TangConnectivityResponse,
    reply::DiskSpeedCheckResponse,
    reply::DomainResolutionResponse,
    reply::DhcpAllocationResponse,
    reply::NtpSynchronizationResponse,
    reply::ContainerImageAvailabilityResponse,
    reply::UpgradeAgentResponse,
    reply::VerifyVipsResponse,
    assisted_wire::inventory::Inventory,
    assisted_wire::host::DiskInfo,
    assisted_wire::host::HostValidationId,
    assisted_wire::cluster::ClusterValidationId,
    assisted_wire::cluster::LogsType,
    assisted_wire::support_level::FeatureSupportLevelId,
    assisted_wire::support_level::ArchitectureSupportLevelId,
    assisted_wire::support_level::Usage,
    assisted_wire::infra_env::ImageCreateParams,
    assisted_wire::step::StepsReply,
    assisted_wire::version::OsImages,
    assisted_wire::version::ReleaseImages,
    assisted_wire::requirements::ClusterHostRequirementsList,
    assisted_wire::requirements::VersionedHostRequirements,
];
