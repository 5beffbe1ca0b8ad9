//! The request that creates an infra-env.

use assisted_crd::common::{KernelArgument as CrdKernelArgument, Proxy as CrdProxy};
use assisted_wire::id::ClusterId;
use assisted_wire::infra_env::{ImageType, InfraEnvCreateParams, KernelArgument, KernelArguments, Proxy};
use assisted_wire::version::ImageCpuArchitecture;

use super::InfraEnvSpec;
use crate::sync_error::SyncError;
use crate::text::{given, joined};

/// The cluster that the hosts of an infra-env are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub id: ClusterId,
    /// Its version, whose image hosts boot.
    pub openshift_version: String,
}

impl InfraEnvSpec<'_> {
    /// The request that registers the infra-env (kube-api §6.3.2); its hosts are for a cluster, or wait in a pool.
    ///
    /// # Errors
    /// `Input` with the first field that is not one of its values.
    pub fn create(&self, cluster: Option<&Cluster>) -> Result<InfraEnvCreateParams, SyncError> {
        let spec = &self.object.spec;
        let version = given(&spec.os_image_version)
            .or_else(|| cluster.map(|cluster| cluster.openshift_version.clone()))
            .unwrap_or_default();
        Ok(InfraEnvCreateParams {
            name: self.name().to_owned(),
            image_type: self.image_type()?,
            ignition_config_override: spec.ignition_config_override.clone(),
            pull_secret: self.pull_secret.clone(),
            ssh_authorized_key: given(spec.ssh_authorized_key.trim()),
            cpu_architecture: self.architecture()?,
            cluster_id: cluster.map(|cluster| cluster.id),
            openshift_version: version,
            proxy: self.proxy(),
            additional_ntp_sources: joined(&spec.additional_ntp_sources),
            ntp_sources: joined(&spec.ntp_sources),
            kernel_arguments: (!spec.kernel_arguments.is_empty()).then(|| self.kernel_arguments()),
            static_network_config: (!self.networks.is_empty()).then(|| self.networks.clone()),
            additional_trust_bundle: spec.additional_trust_bundle.trim().to_owned(),
            network_discovery_delay_seconds: spec.network_discovery_delay_seconds,
            ..InfraEnvCreateParams::default()
        })
    }

    pub(super) fn image_type(&self) -> Result<Option<ImageType>, SyncError> {
        let text = &self.object.spec.image_type;
        if text.is_empty() {
            return Ok(None);
        }
        let read = text.parse().map_err(|error| SyncError::input(format!("spec.imageType: {error}")));
        read.map(Some)
    }

    /// The two names of one architecture are one.
    fn architecture(&self) -> Result<Option<ImageCpuArchitecture>, SyncError> {
        let text = match self.object.spec.cpu_architecture.as_str() {
            "" => return Ok(None),
            "aarch64" => "arm64",
            text => text,
        };
        let read = text.parse().map_err(|error| SyncError::input(format!("spec.cpuArchitecture: {error}")));
        read.map(Some)
    }

    pub(super) fn proxy(&self) -> Option<Proxy> {
        let CrdProxy { http_proxy, https_proxy, no_proxy } = self.object.spec.proxy.clone()?;
        Some(Proxy { http_proxy: Some(http_proxy), https_proxy: Some(https_proxy), no_proxy: Some(no_proxy) })
    }

    pub(super) fn kernel_arguments(&self) -> KernelArguments {
        let wire = |CrdKernelArgument { operation, value }: &CrdKernelArgument| KernelArgument {
            operation: *operation,
            value: value.clone(),
        };
        KernelArguments(self.object.spec.kernel_arguments.iter().map(wire).collect())
    }
}
