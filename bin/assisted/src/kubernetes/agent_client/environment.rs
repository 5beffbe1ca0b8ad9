//! The files that the ISO's units tell of by their environment (running §10.2).

use std::fs;
use std::path::{Path, PathBuf};

use assisted_console::{Failure, file};
use assisted_kubeapi::objects::Document;
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::infra_env::ImageType;
use clap::Args;

/// The manifests.
#[derive(Args, Debug)]
pub struct Manifests {
    #[arg(
        long,
        env = "PULL_SECRET_FILE",
        value_name = "FILE",
        default_value = "/manifests/pull-secret.yaml"
    )]
    pub pull_secret_file: PathBuf,
    #[arg(
        long,
        env = "CLUSTER_DEPLOYMENT_FILE",
        value_name = "FILE",
        default_value = "/manifests/cluster-deployment.yaml"
    )]
    pub cluster_deployment_file: PathBuf,
    #[arg(
        long,
        env = "AGENT_CLUSTER_INSTALL_FILE",
        value_name = "FILE",
        default_value = "/manifests/agent-cluster-install.yaml"
    )]
    pub agent_cluster_install_file: PathBuf,
    #[arg(
        long,
        env = "CLUSTER_IMAGE_SET_FILE",
        value_name = "FILE",
        default_value = "/manifests/cluster-image-set.yaml"
    )]
    pub cluster_image_set_file: PathBuf,
    #[arg(long, env = "INFRA_ENV_FILE", value_name = "FILE", default_value = "/manifests/infraenv.yaml")]
    pub infra_env_file: PathBuf,
    #[arg(
        long,
        env = "NMSTATE_CONFIG_FILE",
        value_name = "FILE",
        default_value = "/manifests/nmstateconfig.yaml"
    )]
    pub nmstate_config_file: PathBuf,
    #[arg(long, env = "EXTRA_MANIFESTS_PATH", value_name = "DIR", default_value = "/extra-manifests")]
    pub extra_manifests_path: PathBuf,
    /// Kind of discovery image
    #[arg(long, env = "IMAGE_TYPE_ISO", value_name = "TYPE", default_value = "full-iso")]
    pub image_type: ImageType,
}

/// The operators to install.
#[derive(Args, Debug)]
pub struct OperatorFile {
    #[arg(
        long,
        env = "OPERATOR_INSTALL_FILE",
        value_name = "FILE",
        default_value = "/manifests/operators.yaml"
    )]
    pub operator_install_file: PathBuf,
}

/// The file in which ids are left for other units of the host.
#[derive(Args, Debug)]
pub struct ClientConfig {
    #[arg(long, value_name = "FILE", default_value = "/etc/assisted/client_config")]
    pub client_config: PathBuf,
}

impl ClientConfig {
    /// Leaves an id under a name. Units that need it and don't find it say so, so a failure is only told.
    pub fn leave(&self, name: &str, id: &str) {
        let path = &self.client_config;
        let others = fs::read_to_string(path).unwrap_or_default();
        let others = others.lines().filter(|line| !line.starts_with(&format!("{name}=")));
        let text: String = others.map(|line| format!("{line}\n")).collect();
        if let Err(error) = fs::write(path, format!("{text}{name}={id}\n")) {
            report(&format!("{name} is not written to {}: {error}", path.display()));
        }
    }
}

/// The infra-env of hosts, and the folder of files that configure them.
#[derive(Args, Debug)]
pub struct HostFiles {
    /// Infra-env that the hosts register with
    #[arg(long, env = "INFRA_ENV_ID", value_name = "ID")]
    pub infra_env_id: InfraEnvId,
    #[arg(long, env = "HOST_CONFIG_DIR", value_name = "DIR", default_value = "/etc/assisted/hostconfig")]
    pub host_config_dir: PathBuf,
    /// With `addnodes` only this machine is configured
    #[arg(long, env = "WORKFLOW_TYPE", value_name = "TYPE", default_value = "install")]
    pub workflow_type: String,
    /// Where what could not be done is written, a line per host
    #[arg(long, value_name = "FILE", default_value = "/var/run/agent-installer/host-config-failures")]
    pub failures_file: PathBuf,
}

/// The cluster that is there.
#[derive(Args, Debug)]
pub struct ImportFiles {
    /// Id that the cluster gave itself
    #[arg(long, env = "CLUSTER_ID", value_name = "ID")]
    pub cluster_id: ClusterId,
    #[arg(long, env = "CLUSTER_NAME", value_name = "NAME")]
    pub cluster_name: String,
    /// Name of its API in DNS
    #[arg(long, env = "CLUSTER_API_VIP_DNS_NAME", value_name = "NAME")]
    pub cluster_api_vip_dns_name: String,
    #[arg(long, env = "CLUSTER_CONFIG_DIR", value_name = "DIR", default_value = "/clusterconfig")]
    pub cluster_config_dir: PathBuf,
}

/// The objects of a file.
pub fn documents(path: &Path) -> Result<Vec<Document>, Failure> {
    Document::read(&file(path)?).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// Like [`documents`], and none of a file that is not there.
pub fn documents_if_any(path: &Path) -> Result<Vec<Document>, Failure> {
    if path.exists() { documents(path) } else { Ok(Vec::new()) }
}

/// On standard error, where the unit's journal keeps it.
pub fn report(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}
