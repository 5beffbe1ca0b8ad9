//! `assisted infra-env …`

use std::path::PathBuf;
use std::time::{Duration, Instant};

use assisted_client::InfraEnvFile;
use assisted_console::output::{facts, line, show, table};
use assisted_console::{Failure, file};
use assisted_wire::host_params::BindHostParams;
use assisted_wire::infra_env::{
    HostStaticNetworkConfig, ImageType, InfraEnv, InfraEnvCreateParams, InfraEnvUpdateParams, KernelArgument,
    KernelArgumentOperation, KernelArguments, Proxy,
};
use clap::{Args, Subcommand};

use super::common::{Context, host_name};
use super::progress;
use super::save::SaveTo;

/// Between two looks at hosts that are waited for.
const INTERVAL: Duration = Duration::from_secs(2);

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Make an infra-env: hosts that boot its image register with it
    Create(Create),
    /// List infra-envs
    List,
    /// Show an infra-env
    Show {
        /// Id, beginning of an id, or name
        infra_env: String,
    },
    /// Change an infra-env
    Update(Update),
    /// Save a file of an infra-env: what its hosts boot with
    Download(Download),
    /// Wait until as many of its hosts have told what they are made of; exit code 1 if they don't in time
    Wait(Wait),
    /// Give all its hosts that wait in the pool to a cluster
    Bind {
        /// Id, beginning of an id, or name
        infra_env: String,
        /// Id, beginning of an id, or name
        #[arg(long)]
        cluster: String,
    },
    /// Take all its hosts from their clusters back into the pool
    Unbind {
        /// Id, beginning of an id, or name
        infra_env: String,
    },
    /// Make the addresses of images worthless that were signed with the infra-env's own key
    RotateKey {
        /// Id, beginning of an id, or name
        infra_env: String,
    },
    /// Delete an infra-env that has no hosts
    Delete {
        /// Id, beginning of an id, or name
        infra_env: String,
    },
}

/// Settings that can be given at creation and later.
#[derive(Args, Debug)]
pub struct Settings {
    /// File with the SSH key that may log in to discovered hosts
    #[arg(long, value_name = "FILE")]
    ssh_key_file: Option<PathBuf>,
    /// Time servers for hosts; several separated by commas
    #[arg(long, value_name = "HOST")]
    ntp_source: Option<String>,
    /// Kind of discovery image
    #[arg(long, value_name = "TYPE", value_parser = ["full-iso", "minimal-iso"])]
    image_type: Option<String>,
    /// File with the static networks of hosts, YAML: a list of hosts, each with network_yaml and mac_interface_map
    #[arg(long, value_name = "FILE")]
    static_network_file: Option<PathBuf>,
    /// Argument of the discovery image's kernel; can be given several times, and replaces those of before
    #[arg(long, value_name = "ARGUMENT")]
    kernel_argument: Vec<String>,
    /// Proxy of hosts for HTTP
    #[arg(long, value_name = "URL")]
    http_proxy: Option<String>,
    /// Proxy of hosts for HTTPS
    #[arg(long, value_name = "URL")]
    https_proxy: Option<String>,
    /// What hosts reach without a proxy; several separated by commas
    #[arg(long, value_name = "LIST")]
    no_proxy: Option<String>,
    /// File with certificates (PEM) that hosts trust besides the system's
    #[arg(long, value_name = "FILE")]
    trust_bundle_file: Option<PathBuf>,
    /// File with an Ignition config (3.1.0 or 3.2.0) that is laid over the discovery image's
    #[arg(long, value_name = "FILE")]
    ignition_override_file: Option<PathBuf>,
    /// Seconds that a minimal image waits before it looks at the network interfaces
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..=3600))]
    network_delay: Option<i64>,
}

impl Settings {
    fn networks(&self) -> Result<Option<Vec<HostStaticNetworkConfig>>, Failure> {
        let Some(path) = &self.static_network_file else { return Ok(None) };
        let read = serde_yaml_ng::from_str(&file(path)?);
        read.map(Some).map_err(|error| {
            Failure::Usage(format!(
                "{} is not a list of hosts, each with network_yaml and mac_interface_map: {error}",
                path.display()
            ))
        })
    }

    fn kernel_arguments(&self) -> Option<KernelArguments> {
        let append = |value: &String| KernelArgument {
            operation: Some(KernelArgumentOperation::Append),
            value: value.clone(),
        };
        let arguments = &self.kernel_argument;
        (!arguments.is_empty()).then(|| KernelArguments(arguments.iter().map(append).collect()))
    }

    fn proxy(&self) -> Option<Proxy> {
        let proxy = Proxy {
            http_proxy: self.http_proxy.clone(),
            https_proxy: self.https_proxy.clone(),
            no_proxy: self.no_proxy.clone(),
        };
        (proxy != Proxy::default()).then_some(proxy)
    }

    fn trust_bundle(&self) -> Result<Option<String>, Failure> {
        self.trust_bundle_file.as_deref().map(file).transpose()
    }

    fn ignition_override(&self) -> Result<String, Failure> {
        Ok(self.ignition_override_file.as_deref().map(file).transpose()?.unwrap_or_default())
    }

    fn image_type(&self) -> Result<Option<ImageType>, Failure> {
        self.image_type.as_ref().map(|text| text.parse().map_err(Failure::Usage)).transpose()
    }
}

#[derive(Args, Debug)]
pub struct Create {
    /// Name
    name: String,
    /// File with the pull secret
    #[arg(long, value_name = "FILE")]
    pull_secret_file: PathBuf,
    /// Cluster that its hosts are for (id, beginning of an id, or name); without one they wait in a pool
    #[arg(long)]
    cluster: Option<String>,
    /// OpenShift version whose image hosts boot; without one that of the cluster, else the newest
    #[arg(long, value_name = "VERSION")]
    openshift_version: Option<String>,
    /// CPU architecture of the hosts
    #[arg(long, value_name = "NAME", value_parser = ["x86_64", "arm64", "ppc64le", "s390x"])]
    architecture: Option<String>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args, Debug)]
pub struct Update {
    /// Id, beginning of an id, or name
    infra_env: String,
    /// File with the pull secret
    #[arg(long, value_name = "FILE")]
    pull_secret_file: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args, Debug)]
pub struct Download {
    /// Id, beginning of an id, or name
    infra_env: String,
    /// Name of the file
    #[arg(value_parser = ["discovery.ign", "ipxe-script", "static-network-config"])]
    file: String,
    #[command(flatten)]
    place: SaveTo,
}

#[derive(Args, Debug)]
pub struct Wait {
    /// Id, beginning of an id, or name
    infra_env: String,
    /// How many hosts
    #[arg(long, value_name = "N", default_value_t = 1)]
    hosts: usize,
    /// Minutes to wait at most
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    timeout: u64,
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.run(context).await,
            Self::List => show(context.format, &context.infra_envs().await?, |infra_envs| {
                table(
                    ["ID", "NAME", "CLUSTER", "VERSION", "ARCHITECTURE", "TYPE"],
                    infra_envs.iter().map(|infra_env| {
                        [
                            infra_env.id.to_string(),
                            infra_env.name.clone(),
                            infra_env.cluster_id.map(|id| id.to_string()).unwrap_or_default(),
                            infra_env.openshift_version.clone(),
                            infra_env
                                .cpu_architecture
                                .map(|architecture| architecture.to_string())
                                .unwrap_or_default(),
                            infra_env.r#type.to_string(),
                        ]
                    }),
                )
            }),
            Self::Show { infra_env } => show(context.format, &context.infra_env(&infra_env).await?, describe),
            Self::Update(update) => update.run(context).await,
            Self::Download(download) => {
                let id = context.infra_env(&download.infra_env).await?.id;
                let file = InfraEnvFile { file_name: download.file.clone(), ..InfraEnvFile::default() };
                let answer = context.client.download_infra_env_file(id, &file).await?;
                download.place.save(&download.file, answer).await
            }
            Self::Wait(wait) => wait.run(context).await,
            Self::Bind { infra_env, cluster } => {
                let (infra_env, cluster) =
                    (context.infra_env(&infra_env).await?, context.cluster(&cluster).await?);
                for host in context.hosts_of(&infra_env).await? {
                    if host.cluster_id.is_none() {
                        let body = BindHostParams { cluster_id: cluster.id };
                        context.client.bind_host(infra_env.id, host.id, &body).await?;
                        line(&format!("{} ({}) goes to {}", host_name(&host), host.id, cluster.name))?;
                    }
                }
                Ok(())
            }
            Self::Unbind { infra_env } => {
                let infra_env = context.infra_env(&infra_env).await?;
                for host in context.hosts_of(&infra_env).await? {
                    if host.cluster_id.is_some() {
                        context.client.unbind_host(infra_env.id, host.id).await?;
                        line(&format!("{} ({}) goes to the pool", host_name(&host), host.id))?;
                    }
                }
                Ok(())
            }
            Self::RotateKey { infra_env } => {
                let infra_env = context.infra_env(&infra_env).await?;
                context.client.regenerate_infra_env_signing_key(infra_env.id).await?;
                line(&format!("{} ({}) has a new signing key", infra_env.name, infra_env.id))
            }
            Self::Delete { infra_env } => {
                let infra_env = context.infra_env(&infra_env).await?;
                context.client.deregister_infra_env(infra_env.id).await?;
                line(&format!("deleted {} ({})", infra_env.name, infra_env.id))
            }
        }
    }
}

impl Wait {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let infra_env = context.infra_env(&self.infra_env).await?;
        let until = Instant::now() + Duration::from_secs(self.timeout.saturating_mul(60));
        let bar = progress::waiting();
        loop {
            let hosts = context.hosts_of(&infra_env).await?;
            let known = hosts.iter().filter(|host| !host.inventory.is_empty()).count();
            if known >= self.hosts {
                bar.finish_and_clear();
                return line(&format!("{known} hosts are there"));
            }
            if Instant::now() >= until {
                return Err(Failure::Refused(format!(
                    "{known} of {} hosts have told what they are made of after {} minutes; `assisted host list \
                     --infra-env {}` shows them",
                    self.hosts, self.timeout, infra_env.id
                )));
            }
            bar.set_message(format!("{known} of {} hosts", self.hosts));
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                _ = tokio::signal::ctrl_c() => return Err(Failure::Refused("interrupted".to_owned())),
            }
        }
    }
}

impl Create {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let cluster = match &self.cluster {
            Some(cluster) => Some(context.cluster(cluster).await?),
            None => None,
        };
        let params = InfraEnvCreateParams {
            pull_secret: file(&self.pull_secret_file)?.into(),
            cluster_id: cluster.as_ref().map(|cluster| cluster.id),
            // The service itself takes the newest, whatever the cluster's is (service-api §5.1).
            openshift_version: self
                .openshift_version
                .or_else(|| cluster.map(|cluster| cluster.openshift_version))
                .unwrap_or_default(),
            ssh_authorized_key: self.settings.ssh_key_file.as_deref().map(file).transpose()?,
            additional_ntp_sources: self.settings.ntp_source.clone(),
            image_type: self.settings.image_type()?,
            cpu_architecture: self
                .architecture
                .map(|name| name.parse().map_err(Failure::Usage))
                .transpose()?,
            static_network_config: self.settings.networks()?,
            kernel_arguments: self.settings.kernel_arguments(),
            proxy: self.settings.proxy(),
            additional_trust_bundle: self.settings.trust_bundle()?.unwrap_or_default(),
            ignition_config_override: self.settings.ignition_override()?,
            network_discovery_delay_seconds: self.settings.network_delay,
            name: self.name,
            ..InfraEnvCreateParams::default()
        };
        show(context.format, &context.client.register_infra_env(&params).await?, describe)
    }
}

impl Update {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let infra_env = context.infra_env(&self.infra_env).await?;
        let params = InfraEnvUpdateParams {
            pull_secret: self.pull_secret_file.as_deref().map(file).transpose()?.unwrap_or_default().into(),
            ssh_authorized_key: self.settings.ssh_key_file.as_deref().map(file).transpose()?,
            additional_ntp_sources: self.settings.ntp_source.clone(),
            image_type: self.settings.image_type()?,
            static_network_config: self.settings.networks()?,
            kernel_arguments: self.settings.kernel_arguments(),
            proxy: self.settings.proxy(),
            additional_trust_bundle: self.settings.trust_bundle()?,
            ignition_config_override: self.settings.ignition_override()?,
            network_discovery_delay_seconds: self.settings.network_delay,
            ..InfraEnvUpdateParams::default()
        };
        show(context.format, &context.client.update_infra_env(infra_env.id, &params).await?, describe)
    }
}

fn describe(infra_env: &InfraEnv) -> String {
    facts(&[
        ("id", infra_env.id.to_string()),
        ("name", infra_env.name.clone()),
        ("cluster", infra_env.cluster_id.map(|id| id.to_string()).unwrap_or_default()),
        ("version", infra_env.openshift_version.clone()),
        (
            "architecture",
            infra_env.cpu_architecture.map(|architecture| architecture.to_string()).unwrap_or_default(),
        ),
        ("image", infra_env.r#type.to_string()),
        ("NTP sources", infra_env.additional_ntp_sources.clone()),
        (
            "static networks",
            if infra_env.static_network_config.is_empty() { "none" } else { "set" }.to_owned(),
        ),
        ("kernel arguments", infra_env.kernel_arguments.clone().unwrap_or_default()),
        ("pull secret", if infra_env.pull_secret_set { "set" } else { "missing" }.to_owned()),
        ("created", infra_env.created_at.to_string()),
    ])
}
