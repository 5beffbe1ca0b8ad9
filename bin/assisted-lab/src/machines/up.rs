//! `assisted-lab up`, `down`, `status`, `exec`: an installation in virtual machines, on one computer.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assisted_console::output::{line_if_read, show, table};
use assisted_console::{Failure, Global};
use assisted_lab_machines::up::{
    Boots, Fault, Flow, Lab, LabError, Operator, Plan, Rack, Record, Replicas, Topology, Until,
};
use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Iso {
    Full,
    Minimal,
}

/// Install a cluster on virtual machines, or real ones, from the image to the kubeconfig
///
/// Makes a network of its own with addresses, names, time and a registry, starts the service on it, boots machines from
/// its discovery image and installs a cluster on them. Real machines are switched on and given the image by Redfish. Needs root, and what `cargo xtask setup` installs.
#[derive(Args, Debug)]
pub struct Up {
    /// Shape of the cluster
    #[arg(long, value_enum, default_value = "compact")]
    topology: Topology,
    /// Workers beside those of the shape
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10))]
    workers: u32,
    /// Workers that are added to the cluster once it is installed
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10))]
    day2_workers: u32,
    /// Install real machines instead of virtual ones: a file that lists them (see docs/lab.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topology", "workers", "day2_workers"])]
    machines: Option<PathBuf>,
    /// Machines that are namespaces of this computer: a few minutes instead of many, but no firmware, kernel or boot loader
    #[arg(long, conflicts_with_all = ["machines", "static_network", "iso"])]
    namespaces: bool,
    /// Describe everything by objects of a hub, BareMetalHosts included, whose metal3 the lab plays, instead of by commands; how metal3 has
    /// machines boot
    #[arg(long, value_enum, value_name = "FLOW", num_args = 0..=1, require_equals = true, default_missing_value = "virtual-media", conflicts_with_all = [
        "static_network", "faults", "operators", "image_mode", "day2_workers", "until",
    ])]
    hub: Option<Flow>,
    /// Have Cluster API make the cluster: its core, both providers, and an infrastructure of the lab's machines, on a hub; how machines boot
    #[arg(long, value_enum, value_name = "BOOTS", num_args = 0..=1, require_equals = true, default_missing_value = "live-iso", conflicts_with_all = [
        "hub", "static_network", "iso", "faults", "operators", "image_mode", "until",
    ])]
    cluster_api: Option<Boots>,
    /// Give no orders: somebody else does, and brings the image that machines boot
    #[arg(long, conflicts_with_all = [
        "hub", "cluster_api", "machines", "day2_workers", "static_network", "iso", "faults", "operators", "image_mode",
        "until",
    ])]
    by_hand: bool,
    /// Give the machines fixed addresses instead of DHCP's
    #[arg(long)]
    static_network: bool,
    /// Which discovery image the machines boot
    #[arg(long, value_enum, default_value = "full")]
    iso: Iso,
    /// Let something go wrong; several times, each with a machine of its own
    #[arg(long = "fault", value_enum)]
    faults: Vec<Fault>,
    /// Operator to install with the cluster, as the service calls it; it fails with =fails, and no catalogue has it with =missing
    #[arg(long = "operator", value_name = "NAME[=fails|=missing]")]
    operators: Vec<Operator>,
    /// Install the cluster in image mode: the Containerfile of all pools' images, which begins with FROM configs AS final
    #[arg(long, value_name = "CONTAINERFILE", conflicts_with = "machines")]
    image_mode: Option<PathBuf>,
    /// In image mode, build the image of workers on a control plane node, once the cluster is there; with machines of namespaces
    #[arg(long, requires = "image_mode")]
    workers_in_cluster: bool,
    /// In image mode, have nodes start in the release's image first and switch to their own; with machines of namespaces, without workers
    /// unless the registry is external
    #[arg(long, requires = "image_mode")]
    switch: bool,
    /// In image mode, push the images to a registry outside of the cluster, with TLS and a password, instead of the embedded one; with
    /// machines of namespaces
    #[arg(long, requires = "image_mode")]
    external_registry: bool,
    /// Serve with so many replicas behind one address, on a PostgreSQL and a bucket, instead of one service on SQLite
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=9), requires = "database", conflicts_with_all = [
        "hub", "cluster_api",
    ])]
    replicas: Option<u16>,
    /// The PostgreSQL of the replicas, at a socket of this computer
    #[arg(long, value_name = "URL", requires = "replicas")]
    database: Option<String>,
    /// Kill one replica after the other, each after so long a time of the installation, and start it again
    #[arg(long, value_name = "SECONDS", requires = "replicas", value_parser = clap::value_parser!(u64).range(1..))]
    kill_replica_every: Option<u64>,
    /// How far to go
    #[arg(long, value_enum, default_value = "installed", value_name = "STATUS")]
    until: Until,
    /// How long that may take
    #[arg(long, default_value_t = 80, value_name = "MINUTES", value_parser = clap::value_parser!(u64).range(1..=1440))]
    limit: u64,
    /// End, and take everything down, when that is reached, instead of waiting for Ctrl-C
    #[arg(long)]
    once: bool,
    /// Folder with the program for hosts [default: that of this program]
    #[arg(long, value_name = "DIR")]
    host_programs: Option<PathBuf>,
    #[command(flatten)]
    folder: LabFolder,
}

/// Which lab is meant.
#[derive(Args, Debug)]
pub struct LabFolder {
    /// Folder of disks, consoles and logs [default: assisted-lab in the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// End a lab: machines, network and all; its folder stays
#[derive(Args, Debug)]
pub struct Down {
    #[command(flatten)]
    folder: LabFolder,
}

/// Show a lab that runs: its service, its machines and their consoles
#[derive(Args, Debug)]
pub struct Status {
    #[command(flatten)]
    folder: LabFolder,
}

/// Run a program in the network of a lab
#[derive(Args, Debug)]
pub struct Exec {
    #[command(flatten)]
    folder: LabFolder,
    /// The program and its arguments, such as: kubectl get nodes
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Up {
    /// Installs, shows, and waits.
    pub async fn run(self) -> Result<(), Failure> {
        assisted_base::http::install_crypto();
        let stop = Arc::new(AtomicBool::new(false));
        let once = self.once;
        let plan = self.plan(Arc::clone(&stop))?;
        let mut work = tokio::task::spawn_blocking(move || {
            let mut lab = Lab::start(plan)?;
            lab.run()?;
            line_if_read(&format!("\n{}", lab.summary())).map_err(|_| LabError::Interrupted)?;
            if once {
                return Ok(());
            }
            line_if_read("Ctrl-C, or `assisted-lab down`, ends it.").map_err(|_| LabError::Interrupted)?;
            lab.wait()
        });
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
            .map_err(|error| Failure::Refused(error.to_string()))?;
        let ended = loop {
            tokio::select! {
                ended = &mut work => break ended,
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            stop.store(true, Ordering::Relaxed);
        };
        ended.map_err(Failure::refused)?.map_err(Failure::refused)
    }

    fn plan(self, stop: Arc<AtomicBool>) -> Result<Plan, Failure> {
        let own = std::env::current_exe().map_err(|error| Failure::Refused(error.to_string()))?;
        let killed_every = self.kill_replica_every.map(Duration::from_secs);
        let replicas = self.replicas.zip(self.database);
        let beside = own.parent().map(PathBuf::from).unwrap_or_default();
        Ok(Plan {
            topology: self.topology,
            workers: self.workers,
            day2_workers: self.day2_workers,
            namespaces: self.namespaces,
            rack: self.machines.as_deref().map(Rack::read).transpose().map_err(Failure::refused)?,
            hub: self.hub.or(self.cluster_api.map(|_| Flow::VirtualMedia)),
            cluster_api: self.cluster_api,
            by_hand: self.by_hand,
            static_network: self.static_network,
            // They read nothing of it but the Ignition config.
            minimal: self.namespaces || matches!(self.iso, Iso::Minimal),
            dir: self.folder.dir(),
            program: beside.join("assisted"),
            host_programs: self.host_programs.unwrap_or(beside),
            faults: self.faults,
            replicas: replicas.map(|(count, database)| Replicas { count, database, killed_every }),
            operators: self.operators,
            containerfile: self.image_mode,
            workers_in_cluster: self.workers_in_cluster,
            switches: self.switch,
            external_registry: self.external_registry,
            until: self.until,
            limit: Duration::from_secs(self.limit * 60),
            stop,
        })
    }
}

impl LabFolder {
    fn dir(self) -> PathBuf {
        self.dir.unwrap_or_else(|| std::env::temp_dir().join("assisted-lab"))
    }
}

impl Down {
    pub fn run(self) -> Result<(), Failure> {
        Record::find(&self.folder.dir()).and_then(|record| record.end()).map_err(Failure::refused)
    }
}

impl Status {
    pub fn run(self, global: &Global) -> Result<(), Failure> {
        let content = Record::find(&self.folder.dir()).map_err(Failure::refused)?.content();
        show(global.output, &content, |content| {
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let rows = content["machines"].as_array().into_iter().flatten().map(|machine| {
                [
                    text(&machine["name"]),
                    text(&machine["role"]),
                    text(&machine["address"]),
                    text(&machine["console"]),
                ]
            });
            let machines = table(["MACHINE", "ROLE", "ADDRESS", "CONSOLE"], rows);
            format!(
                "service: {}, in network {}\n{machines}",
                text(&content["url"]),
                text(&content["namespace"])
            )
        })
    }
}

impl Exec {
    pub fn run(self) -> Result<(), Failure> {
        let record = Record::find(&self.folder.dir()).map_err(Failure::refused)?;
        Err(Failure::refused(record.exec(&self.command)))
    }
}
