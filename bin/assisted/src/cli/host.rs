//! `assisted host …`

use assisted_console::Failure;
use assisted_console::output::{Format, bytes, facts, line, list, rendered, show, table};
use assisted_wire::host::Host;
use assisted_wire::host_params::{
    BindHostParams, DiskConfigParams, DiskRole, HostRoleUpdateParams, HostUpdateParams, NodeLabelParams,
};
use assisted_wire::id::InfraEnvId;
use clap::{Args, Subcommand};

use super::common::{Context, host_name, inventory, role};
use super::validation::{self, Validation};
use super::watch;

#[derive(Subcommand, Debug)]
pub enum Command {
    /// List hosts
    List(Filter),
    /// Show a host: hardware, and every reason why it can or can't be installed
    Show {
        /// Id, beginning of an id, or host name
        host: String,
    },
    /// Change a host
    Update(Update),
    /// Give a host from the pool to a cluster
    Bind {
        /// Id, beginning of an id, or host name
        host: String,
        /// Id, beginning of an id, or name
        #[arg(long)]
        cluster: String,
    },
    /// Take a host from its cluster back into the pool
    Unbind {
        /// Id, beginning of an id, or host name
        host: String,
    },
    /// Install a host that is added to an installed cluster
    Install {
        /// Id, beginning of an id, or host name
        host: String,
    },
    /// Leave a host out: it takes no part in validations, roles and the installation until it is enabled
    Disable {
        /// Id, beginning of an id, or host name
        host: String,
    },
    /// Let a host that was disabled take part again
    Enable {
        /// Id, beginning of an id, or host name
        host: String,
    },
    /// Let another machine register as this host: its board was changed, or it has another agent
    ReleaseMachine {
        /// Id, beginning of an id, or host name
        host: String,
    },
    /// Forget a host; it registers again while its agent runs
    Delete {
        /// Id, beginning of an id, or host name
        host: String,
    },
    /// Follow hosts: shows them whenever one changes
    Watch(Filter),
}

/// Which hosts.
#[derive(Args, Debug)]
pub struct Filter {
    /// Only those of an infra-env (id, beginning of an id, or name)
    #[arg(long)]
    infra_env: Option<String>,
    /// Only those of a cluster (id, beginning of an id, or name)
    #[arg(long)]
    cluster: Option<String>,
}

#[derive(Args, Debug)]
pub struct Update {
    /// Id, beginning of an id, or host name
    host: String,
    /// Host name
    #[arg(long)]
    name: Option<String>,
    /// Role in the cluster
    #[arg(long, value_parser = ["auto-assign", "master", "arbiter", "worker"])]
    role: Option<String>,
    /// Id of the disk to install to, as `assisted host show` lists it
    #[arg(long, value_name = "DISK")]
    install_disk: Option<String>,
    /// Label of the node, key=value; replaces all labels
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
}

impl Filter {
    async fn hosts(&self, context: &Context) -> Result<Vec<Host>, Failure> {
        let mut hosts = match &self.infra_env {
            Some(infra_env) => context.hosts_of(&context.infra_env(infra_env).await?).await?,
            None => context.hosts().await?,
        };
        if let Some(cluster) = &self.cluster {
            let id = context.cluster(cluster).await?.id;
            hosts.retain(|host| host.cluster_id == Some(id));
        }
        Ok(hosts)
    }
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List(filter) => {
                show(context.format, &filter.hosts(context).await?, |hosts| overview(hosts))
            }
            Self::Show { host } => display(context, &context.host(&host).await?).await,
            Self::Update(update) => update.run(context).await,
            Self::Bind { host, cluster } => {
                let (host, cluster) = (context.host(&host).await?, context.cluster(&cluster).await?);
                let body = BindHostParams { cluster_id: cluster.id };
                display(context, &context.client.bind_host(infra_env(&host), host.id, &body).await?).await
            }
            Self::Unbind { host } => {
                let host = context.host(&host).await?;
                display(context, &context.client.unbind_host(infra_env(&host), host.id).await?).await
            }
            Self::Install { host } => {
                let host = context.host(&host).await?;
                display(context, &context.client.install_host(infra_env(&host), host.id).await?).await
            }
            Self::Disable { host } => {
                let host = context.host(&host).await?;
                display(context, &context.client.disable_host(infra_env(&host), host.id).await?).await
            }
            Self::Enable { host } => {
                let host = context.host(&host).await?;
                display(context, &context.client.enable_host(infra_env(&host), host.id).await?).await
            }
            Self::ReleaseMachine { host } => {
                let host = context.host(&host).await?;
                display(context, &context.client.release_machine(infra_env(&host), host.id).await?).await
            }
            Self::Delete { host } => {
                let host = context.host(&host).await?;
                context.client.deregister_host(infra_env(&host), host.id).await?;
                line(&format!("deleted {}", host.id))
            }
            Self::Watch(filter) => {
                let filter = &filter;
                let look = || async move {
                    rendered(context.format, &filter.hosts(context).await?, |hosts| overview(hosts))
                };
                watch::follow(context, look).await
            }
        }
    }
}

impl Update {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let host = context.host(&self.host).await?;
        let role = self
            .role
            .as_ref()
            .map(|role| role.parse::<HostRoleUpdateParams>().map_err(Failure::Usage))
            .transpose()?;
        let labels = self.labels.iter().map(|label| match label.split_once('=') {
            Some((key, value)) => Ok(NodeLabelParams { key: key.to_owned(), value: value.to_owned() }),
            None => Err(Failure::Usage(format!("{label:?} is no label: write key=value"))),
        });
        let labels = labels.collect::<Result<Vec<_>, _>>()?;
        let params = HostUpdateParams {
            host_role: role,
            host_name: self.name,
            disks_selected_config: self
                .install_disk
                .map(|id| vec![DiskConfigParams { id, role: Some(DiskRole::Install) }]),
            node_labels: (!labels.is_empty()).then_some(labels),
            ..HostUpdateParams::default()
        };
        display(context, &context.client.update_host(infra_env(&host), host.id, &params).await?).await
    }
}

/// The infra-env that a host registered with: each host has one.
fn infra_env(host: &Host) -> InfraEnvId {
    host.infra_env_id.unwrap_or_default()
}

fn overview(hosts: &[Host]) -> String {
    table(
        ["ID", "NAME", "ROLE", "STATUS", "CPUS", "MEMORY", "VALIDATIONS", "LAST HEARD"],
        hosts.iter().map(|host| {
            let inventory = inventory(host).unwrap_or_default();
            [
                host.id.to_string(),
                host_name(host),
                role(host),
                host.status.to_string(),
                inventory.cpu.map(|cpu| cpu.count.to_string()).unwrap_or_default(),
                inventory.memory.map(|memory| bytes(memory.physical_bytes)).unwrap_or_default(),
                validation::summary(&validation::read(&host.validations_info)),
                host.checked_in_at.to_string(),
            ]
        }),
    )
}

async fn display(context: &Context, host: &Host) -> Result<(), Failure> {
    let validations = match context.format {
        Format::Table => validation::of_host(context, host).await?,
        Format::Json | Format::Yaml => Vec::new(),
    };
    show(context.format, host, |host| describe(host, &validations))
}

fn describe(host: &Host, validations: &[Validation]) -> String {
    let inventory = inventory(host).unwrap_or_default();
    let vendor = inventory.system_vendor.unwrap_or_default();
    let cpu = inventory.cpu.unwrap_or_default();
    let memory = inventory.memory.unwrap_or_default();
    let mut text = facts(&[
        ("id", host.id.to_string()),
        ("name", host_name(host)),
        ("status", format!("{}: {}", host.status, host.status_info)),
        ("cluster", host.cluster_id.map(|id| id.to_string()).unwrap_or_default()),
        ("role", role(host)),
        (
            "machine",
            format!("{} {} {}", vendor.manufacturer, vendor.product_name, vendor.serial_number)
                .trim()
                .to_owned(),
        ),
        (
            "CPU",
            if cpu.count == 0 {
                String::new()
            } else {
                format!("{} x {} ({})", cpu.count, cpu.model_name, cpu.architecture)
            },
        ),
        ("memory", if memory.physical_bytes == 0 { String::new() } else { bytes(memory.physical_bytes) }),
        ("install to", host.installation_disk_id.clone()),
        ("last heard", host.checked_in_at.to_string()),
    ]);
    let disks = inventory.disks.unwrap_or_default();
    if !disks.is_empty() {
        let rows = disks.iter().map(|disk| {
            let reasons = disk.installation_eligibility.not_eligible_reasons.iter().flatten();
            let usable = if disk.installation_eligibility.eligible {
                "yes".to_owned()
            } else {
                format!("no: {}", list(reasons))
            };
            let kind = disk.drive_type.map(|kind| kind.to_string()).unwrap_or_default();
            [disk.name.clone(), disk.id.clone(), kind, bytes(disk.size_bytes), usable]
        });
        text = format!("{text}\n\n{}", table(["DISK", "ID", "TYPE", "SIZE", "CAN BE INSTALLED TO"], rows));
    }
    let interfaces = inventory.interfaces.unwrap_or_default();
    if !interfaces.is_empty() {
        let rows = interfaces.iter().map(|interface| {
            let addresses =
                interface.ipv4_addresses.iter().flatten().chain(interface.ipv6_addresses.iter().flatten());
            let speed = if interface.speed_mbps > 0 {
                format!("{} Mbit/s", interface.speed_mbps)
            } else {
                String::new()
            };
            [interface.name.clone(), interface.mac_address.clone(), speed, list(addresses)]
        });
        text = format!("{text}\n\n{}", table(["INTERFACE", "MAC", "SPEED", "ADDRESSES"], rows));
    }
    text + "\n\n" + &validation::report(validations)
}
