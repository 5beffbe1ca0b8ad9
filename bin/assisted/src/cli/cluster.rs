//! `assisted cluster …`

use std::path::{Path, PathBuf};

use assisted_client::VersionFilter;
use assisted_console::output::{Format, facts, line, list, show, table};
use assisted_console::{Failure, file};
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{ClusterCreateParams, ClusterUpdateParams};
use assisted_wire::network::{ApiVip, IngressVip, Ip, MachineNetwork, Subnet};
use assisted_wire::operator::OperatorCreateParams;
use assisted_wire::platform::{Platform, PlatformType};
use clap::{Args, Subcommand};

#[cfg(feature = "kubernetes")]
use super::apply;
use super::common::{Context, host_name, role};
use super::image_mode::{self, ImageMode};
use super::validation::{self, Validation};
use super::{cluster_wait, cluster_watch, download, manifest, render};

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Describe a new cluster
    Create(Box<Create>),
    /// List clusters
    List,
    /// Show a cluster, its hosts and its validations
    Show {
        /// Id, beginning of an id, or name
        cluster: String,
    },
    /// Change a cluster
    Update(Box<Update>),
    /// Delete a cluster; its hosts are released
    Delete {
        /// Id, beginning of an id, or name
        cluster: String,
    },
    /// Install a cluster that is ready
    Install {
        /// Id, beginning of an id, or name
        cluster: String,
    },
    /// Turn an installed cluster into one that hosts are added to: whatever boots its discovery image now becomes a worker
    AddHosts {
        /// Id, beginning of an id, or name
        cluster: String,
    },
    /// Follow a cluster: its state, its hosts with stages and progress, what happens
    ///
    /// On a terminal the picture is drawn anew in the same place; elsewhere each change is a line, with -o json an object.
    Watch(cluster_watch::Watch),
    /// Wait until a cluster has a status, such as installed; exit code 1 if it can't get there, or not in time
    Wait(cluster_wait::Wait),
    /// Manifests that are installed with a cluster: list, add, download, delete
    #[command(subcommand)]
    Manifest(manifest::Command),
    /// Save a file of a cluster, such as its kubeconfig
    Download(download::Download),
    /// Write everything that the cluster would be installed with, for review, without installing it
    Render(render::Render),
    /// Give up the installation
    Cancel {
        /// Id, beginning of an id, or name
        cluster: String,
    },
    /// Begin anew after an installation that failed or was given up
    Reset {
        /// Id, beginning of an id, or name
        cluster: String,
    },
    // Manifests are of more than clusters: who looks for these commands here finds them all the same.
    #[cfg(feature = "kubernetes")]
    #[command(hide = true)]
    Apply(Box<apply::Apply>),
    #[cfg(feature = "kubernetes")]
    #[command(hide = true)]
    Diff(apply::Diff),
}

/// Settings that can be given at creation and later.
#[derive(Args, Debug)]
pub struct Settings {
    /// DNS domain under which the cluster's names live
    #[arg(long, value_name = "DOMAIN")]
    base_domain: Option<String>,
    /// Virtual IP of the API; twice for dual stack
    #[arg(long = "api-vip", value_name = "IP")]
    api_vips: Vec<String>,
    /// Virtual IP of the ingress; twice for dual stack
    #[arg(long = "ingress-vip", value_name = "IP")]
    ingress_vips: Vec<String>,
    /// Network of the machines (CIDR); normally follows from the virtual IPs
    #[arg(long = "machine-network", value_name = "CIDR")]
    machine_networks: Vec<String>,
    /// Time server for all hosts; several separated by commas
    #[arg(long, value_name = "HOST")]
    ntp_source: Option<String>,
    /// File with the public SSH key for the nodes
    #[arg(long, value_name = "FILE")]
    ssh_key_file: Option<PathBuf>,
    /// Where the cluster runs
    #[arg(long, value_name = "PLATFORM", value_parser = ["baremetal", "none", "vsphere", "nutanix", "external"])]
    platform: Option<String>,
    /// Whether load balancing and DNS are the user's own affair
    #[arg(long, value_name = "BOOL")]
    user_managed_networking: Option<bool>,
    /// How many hosts are control-plane nodes
    #[arg(long, value_name = "N")]
    control_plane_count: Option<i64>,
}

impl Settings {
    fn ssh_key(&self) -> Result<Option<String>, Failure> {
        self.ssh_key_file.as_deref().map(file).transpose()
    }

    fn api_vips(&self) -> Option<Vec<ApiVip>> {
        let vips = self.api_vips.iter().map(|ip| ApiVip { ip: Ip(ip.clone()), ..ApiVip::default() });
        (!self.api_vips.is_empty()).then(|| vips.collect())
    }

    fn ingress_vips(&self) -> Option<Vec<IngressVip>> {
        let vips =
            self.ingress_vips.iter().map(|ip| IngressVip { ip: Ip(ip.clone()), ..IngressVip::default() });
        (!self.ingress_vips.is_empty()).then(|| vips.collect())
    }

    fn machine_networks(&self) -> Option<Vec<MachineNetwork>> {
        let networks = self
            .machine_networks
            .iter()
            .map(|cidr| MachineNetwork { cidr: Subnet(cidr.clone()), ..MachineNetwork::default() });
        (!self.machine_networks.is_empty()).then(|| networks.collect())
    }

    fn platform(&self) -> Result<Option<Platform>, Failure> {
        let parse = |name: &String| name.parse::<PlatformType>().map_err(Failure::Usage);
        let r#type = self.platform.as_ref().map(parse).transpose()?;
        Ok(r#type.map(|r#type| Platform { r#type, external: None }))
    }
}

#[derive(Args, Debug)]
pub struct Create {
    /// Name; becomes part of the cluster's DNS names
    name: String,
    /// File with the pull secret
    #[arg(long, value_name = "FILE")]
    pull_secret_file: PathBuf,
    /// OpenShift version; the service's default unless given
    #[arg(long, value_name = "VERSION")]
    openshift_version: Option<String>,
    /// Operator to install with the cluster, by its name in `assisted operator list`; several times for several
    #[arg(long = "operator", value_name = "NAME")]
    operators: Vec<String>,
    #[command(flatten)]
    image_mode: ImageMode,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args, Debug)]
pub struct Update {
    /// Id, beginning of an id, or name
    cluster: String,
    /// New name
    #[arg(long)]
    name: Option<String>,
    /// File with the pull secret
    #[arg(long, value_name = "FILE")]
    pull_secret_file: Option<PathBuf>,
    /// File with what is laid over the install config: JSON, or YAML
    #[arg(long, value_name = "FILE")]
    install_config_overrides_file: Option<PathBuf>,
    #[command(flatten)]
    image_mode: ImageMode,
    #[command(flatten)]
    settings: Settings,
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.run(context).await,
            Self::List => show(context.format, &context.clusters().await?, |clusters| {
                table(
                    ["ID", "NAME", "VERSION", "STATUS", "HOSTS", "READY"],
                    clusters.iter().map(|cluster| {
                        [
                            cluster.id.to_string(),
                            cluster.name.clone(),
                            cluster.openshift_version.clone(),
                            cluster.status.to_string(),
                            cluster.total_host_count.to_string(),
                            cluster.ready_host_count.to_string(),
                        ]
                    }),
                )
            }),
            Self::Show { cluster } => display(context, &context.cluster(&cluster).await?).await,
            Self::Update(update) => update.run(context).await,
            Self::Delete { cluster } => {
                let cluster = context.cluster(&cluster).await?;
                context.client.deregister_cluster(cluster.id).await?;
                line(&format!("deleted {} ({})", cluster.name, cluster.id))
            }
            Self::Install { cluster } => {
                let id = context.cluster(&cluster).await?.id;
                display(context, &context.client.install_cluster(id).await?).await
            }
            Self::AddHosts { cluster } => {
                let id = context.cluster(&cluster).await?.id;
                display(context, &context.client.transform_cluster_to_adding_hosts(id).await?).await
            }
            Self::Watch(watch) => watch.run(context).await,
            Self::Wait(wait) => wait.run(context).await,
            Self::Manifest(command) => command.run(context).await,
            Self::Download(download) => download.run(context).await,
            Self::Render(render) => render.run(context).await,
            Self::Cancel { cluster } => {
                let id = context.cluster(&cluster).await?.id;
                display(context, &context.client.cancel_installation(id).await?).await
            }
            Self::Reset { cluster } => {
                let id = context.cluster(&cluster).await?.id;
                display(context, &context.client.reset_cluster(id).await?).await
            }
            #[cfg(feature = "kubernetes")]
            Self::Apply(apply) => Box::pin(apply.run(context)).await,
            #[cfg(feature = "kubernetes")]
            Self::Diff(diff) => Box::pin(diff.run(context)).await,
        }
    }
}

impl Create {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let operator = |name| OperatorCreateParams { name, ..OperatorCreateParams::default() };
        let params = ClusterCreateParams {
            olm_operators: (!self.operators.is_empty())
                .then(|| self.operators.into_iter().map(operator).collect()),
            openshift_version: match self.openshift_version {
                Some(version) => version,
                None => default_version(context).await?,
            },
            pull_secret: file(&self.pull_secret_file)?.into(),
            base_dns_domain: self.settings.base_domain.clone().unwrap_or_default(),
            api_vips: self.settings.api_vips(),
            ingress_vips: self.settings.ingress_vips(),
            machine_networks: self.settings.machine_networks(),
            additional_ntp_source: self.settings.ntp_source.clone(),
            ssh_public_key: self.settings.ssh_key()?.unwrap_or_default(),
            platform: self.settings.platform()?,
            user_managed_networking: self.settings.user_managed_networking,
            control_plane_count: self.settings.control_plane_count,
            name: self.name,
            ..ClusterCreateParams::default()
        };
        let cluster = context.client.register_cluster(&params).await?;
        display(context, &self.image_mode.apply(&context.client, cluster).await?).await
    }
}

impl Update {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let cluster = context.cluster(&self.cluster).await?;
        let params = ClusterUpdateParams {
            name: self.name,
            pull_secret: self.pull_secret_file.as_deref().map(file).transpose()?.map(Into::into),
            base_dns_domain: self.settings.base_domain.clone(),
            api_vips: self.settings.api_vips(),
            ingress_vips: self.settings.ingress_vips(),
            machine_networks: self.settings.machine_networks(),
            additional_ntp_source: self.settings.ntp_source.clone(),
            ssh_public_key: self.settings.ssh_key()?,
            platform: self.settings.platform()?,
            user_managed_networking: self.settings.user_managed_networking,
            control_plane_count: self.settings.control_plane_count,
            ..ClusterUpdateParams::default()
        };
        let overrides = self.install_config_overrides_file.as_deref().map(overrides).transpose()?;
        let mut cluster = context.client.update_cluster(cluster.id, &params).await?;
        if let Some(overrides) = overrides {
            context.client.update_cluster_install_config(cluster.id, &overrides).await?;
            cluster = context.client.get_cluster(cluster.id).await?;
        }
        display(context, &self.image_mode.apply(&context.client, cluster).await?).await
    }
}

/// What is laid over an install config, as the API takes it.
fn overrides(path: &Path) -> Result<String, Failure> {
    let read: serde_json::Value = serde_yaml_ng::from_str(&file(path)?).map_err(|error| {
        Failure::Usage(format!("{} holds no overrides of an install config: {error}", path.display()))
    })?;
    Ok(read.to_string())
}

/// The version that the service recommends.
async fn default_version(context: &Context) -> Result<String, Failure> {
    let versions = context.client.openshift_versions(&VersionFilter::default()).await?;
    let recommended =
        versions.0.iter().find(|(_, version)| version.default).or_else(|| versions.0.iter().next_back());
    recommended.map(|(version, _)| version.clone()).ok_or_else(|| {
        Failure::Refused(
            "the service offers no OpenShift version; give one with --openshift-version".to_owned(),
        )
    })
}

async fn display(context: &Context, cluster: &Cluster) -> Result<(), Failure> {
    let validations = match context.format {
        Format::Table => validation::of_cluster(context, cluster).await?,
        Format::Json | Format::Yaml => Vec::new(),
    };
    let images = match context.format {
        Format::Table => image_mode::of_cluster(&context.client, cluster).await?,
        Format::Json | Format::Yaml => String::new(),
    };
    show(context.format, cluster, |cluster| {
        let text = describe(cluster, &validations);
        if images.is_empty() { text } else { format!("{}\n\n{images}", text.trim_end()) }
    })
}

fn describe(cluster: &Cluster, validations: &[Validation]) -> String {
    let platform = cluster.platform.as_ref().map(|platform| platform.r#type.to_string()).unwrap_or_default();
    let mut text = facts(&[
        ("id", cluster.id.to_string()),
        ("name", cluster.name.clone()),
        ("status", format!("{}: {}", cluster.status, cluster.status_info)),
        ("version", cluster.openshift_version.clone()),
        ("domain", cluster.base_dns_domain.clone()),
        ("platform", platform),
        ("control plane", cluster.control_plane_count.to_string()),
        ("API VIPs", list(cluster.api_vips.iter().flatten().map(|vip| &vip.ip.0))),
        ("ingress VIPs", list(cluster.ingress_vips.iter().flatten().map(|vip| &vip.ip.0))),
        ("machine networks", list(cluster.machine_networks.iter().flatten().map(|network| &network.cidr.0))),
        ("validations", validation::summary(validations)),
    ]);
    if !cluster.dns_records.is_empty() {
        let rows = cluster
            .dns_records
            .iter()
            .map(|record| [record.name.clone(), record.r#type.clone(), record.address.clone()]);
        text = format!("{text}\n\n{}", table(["DNS RECORD", "TYPE", "ADDRESS"], rows));
    }
    let hosts: Vec<_> = cluster.hosts.iter().flatten().collect();
    if !hosts.is_empty() {
        let rows = hosts.iter().map(|host| {
            [
                host.id.to_string(),
                host_name(host),
                role(host),
                host.status.to_string(),
                host.status_info.clone(),
            ]
        });
        text = format!("{text}\n\n{}", table(["HOST", "NAME", "ROLE", "STATUS", "INFO"], rows));
    }
    text + "\n\n" + &validation::report(validations)
}
