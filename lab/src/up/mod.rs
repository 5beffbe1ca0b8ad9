//! A whole installation on one computer: a network, the service on it, machines that boot its image, and a cluster on them.
//!
//! Everything is done with the product's own command line, as a person would do it; only the computer room is the lab's.

mod by_hand;
mod cluster_api;
mod command_line;
mod controlled;
mod converged;
mod day2;
mod define;
mod error;
mod fault;
mod hub;
mod image_fault;
mod image_mode;
mod image_registry;
mod ironic;
mod kubectl;
mod machine_handle;
mod machines;
mod manifests;
mod metal3;
mod minutes;
mod operators;
mod payload;
mod people;
mod plan;
mod program;
mod rack;
mod record;
mod replicas;
mod service;
mod tls;
mod topology;
mod watch;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assisted_lab_tools::kubernetes;

use crate::image::Image;
use crate::machine::{Hypervisor, Machine};
use crate::namespace;
use crate::network::{API_VIP, GATEWAY, INGRESS_VIP, Names, Network, NicAttachment};
pub use cluster_api::Boots;
use cluster_api::ClusterApi;
use command_line::CommandLine;
use controlled::Controlled;
pub use error::LabError;
pub use fault::Fault;
use fault::ScheduledFault;
use image_registry::ImageRegistry;
use ironic::Ironic;
use machine_handle::MachineHandle;
pub use operators::Operator;
pub use plan::{Flow, Plan, Until};
pub use rack::Rack;
pub use record::Record;
pub use replicas::Replicas;
pub use topology::Topology;
use topology::{Kind, Planned, Role};

/// Name and domain of the cluster.
const NAME: &str = "lab";
const DOMAIN: &str = "example.com";

/// Between two looks at machines and programs.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Without KVM a machine takes minutes to start, and several share the processors.
const DISCOVERY: Duration = Duration::from_secs(25 * 60);
/// A build of Kubernetes takes minutes, and machines may be in its way.
const KUBERNETES: Duration = Duration::from_secs(60 * 60);

/// How far it has come: what a machine loses when it starts again depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing but the memory of a live system.
    Before,
    /// The installation.
    Installing,
    /// Nothing: the cluster is installed, and machines start from their disks.
    Installed,
}

/// A lab that runs. It goes, machines and all, when this is dropped.
pub struct Lab {
    plan: Plan,
    machines: Vec<(Planned, Option<MachineHandle>)>,
    /// The administrator's.
    cli: CommandLine,
    editor: CommandLine,
    service: service::Service,
    /// Where images of nodes are pushed, where that is not embedded in the cluster.
    image_registry: Option<ImageRegistry>,
    network: Network,
    /// The programs that machines of namespaces run.
    programs: Option<namespace::MachinePrograms>,
    faults: Vec<ScheduledFault>,
    /// What the fault of this installation holds.
    held: image_fault::Held,
    /// When faults were last looked for.
    looked: Instant,
    kills: replicas::Kills,
    /// Machines whose medium comes before their disk.
    boots_medium: Vec<usize>,
    /// What machines start from that have something of their own; the others have the discovery image.
    media: BTreeMap<usize, namespace::Medium>,
    /// The images that BareMetalHosts name, by their addresses: files in the lab's folder.
    images: BTreeMap<String, String>,
    /// What Cluster API is, where it makes the cluster.
    cluster_api: Option<ClusterApi>,
    /// What Ironic is, where it has machines installed.
    ironic: Option<Ironic>,
    phase: Phase,
    began: Instant,
    /// Where the time goes; `None` once that has been told.
    minutes: Option<minutes::Sampler>,
    _record: record::Written,
}

impl Lab {
    /// Sets up network, service, cluster and infra-env, and starts the machines.
    pub fn start(plan: Plan) -> Result<Self, LabError> {
        let began = Instant::now();
        cluster_api::must_come(&plan)?;
        metal3::must_come(&plan)?;
        image_mode::must_come(&plan)?;
        let mut minutes = minutes::Sampler::start().map_err(LabError::io(Path::new("/proc")))?;
        minutes.begin("network, service, image");
        let image = Image::find(image_mode::kind(&plan))?;
        if plan.rack.is_none() && !plan.namespaces {
            let verdict = Hypervisor::here()?.verdict(say);
            say(&format!("machines are run by {}: {}", verdict.accelerator, verdict.why));
        }
        std::fs::create_dir_all(&plan.dir).map_err(LabError::io(&plan.dir))?;
        let record = Record::new(&plan.dir)?;
        let machines = machines::machines(&plan);
        let faults = fault::all(&plan.faults, &machines)?;
        image_mode::must_fail_in_it(&plan)?;
        payload::must_come(&plan)?;
        forget_earlier(&plan, &machines)?;
        let handles =
            machines.iter().map(|planned| planned.controlled(&plan)).collect::<Result<Vec<_>, _>>()?;
        let members: Vec<_> = machines.iter().map(Planned::member).collect();
        let masters = machines.iter().filter(|machine| machine.role == Role::Master).count();
        let single = members.first().filter(|_| masters == 1).map(|member| member.address);
        let names = names(single);
        let attachment = match &plan.rack {
            Some(rack) => NicAttachment::Card(&rack.interface),
            None if plan.namespaces => NicAttachment::Own,
            None => NicAttachment::Taps,
        };
        let network = Network::start(&record.namespace, &names, &members, attachment, &plan.dir)?;
        let record = record.write(&machines)?;
        let programs = plan.namespaces.then(|| payload::programs(&plan)).transpose()?;
        let media = plan.rack.as_ref().map(|rack| rack.media.ip());
        let addresses: Vec<_> = std::iter::once(IpAddr::V4(GATEWAY)).chain(media).collect();
        let certificate = tls::Certificate::make(&plan.dir, &addresses)?;
        let image_registry = ImageRegistry::start(&plan, &network)?;
        let service = service::Service::start(&plan, image, payload::names(), certificate, &network)?;
        let ironic = (plan.hub == Some(Flow::Converged)).then(|| Ironic::start(&network, &members));
        let ironic = ironic.transpose()?;
        let cli = CommandLine::new(&plan.program, &plan.dir, &network);
        let mut lab = Self {
            plan,
            machines: machines.into_iter().zip(handles).collect(),
            editor: cli.of(people::EDITOR_CONFIG),
            cli,
            service,
            image_registry,
            network,
            programs,
            boots_medium: faults
                .iter()
                .filter(|one| one.fault == Fault::BootOrder)
                .map(|one| one.target)
                .collect(),
            faults,
            held: image_fault::Held::default(),
            looked: began,
            kills: replicas::Kills::none(),
            media: BTreeMap::new(),
            images: BTreeMap::new(),
            cluster_api: None,
            ironic,
            phase: Phase::Before,
            began,
            minutes: Some(minutes),
            _record: record,
        };
        lab.service.await_ready()?;
        lab.log_in()?;
        lab.service.start_others(&lab.plan, &lab.network)?;
        if let Some(rack) = &lab.plan.rack {
            lab.network.forward_port(rack.media, service::IMAGES)?;
        }
        lab.define(masters)?;
        Ok(lab)
    }

    /// Does the whole of it.
    pub fn run(&mut self) -> Result<(), LabError> {
        if self.plan.cluster_api.is_some() {
            return self.run_by_cluster_api();
        }
        if self.plan.hub.is_some() {
            return self.run_by_hub();
        }
        if self.plan.by_hand {
            return self.run_by_hand();
        }
        heading("Machines boot the discovery image");
        self.begins("machines boot, and are discovered");
        for number in self.numbers(false) {
            self.power_on(number)?;
        }
        self.await_hosts(false)?;
        heading("The hosts, and every reason why they can or can't be installed");
        self.begins("hosts are checked");
        self.watch("ready")?;
        self.cli.show(&["host", "list"])?;
        if self.plan.until == Until::Ready {
            return Ok(());
        }
        heading("The release, and the installation");
        self.begins("the release comes into the registry");
        self.await_kubernetes()?;
        payload::push(&self.plan, &self.network)?;
        let until = if self.plan.until == Until::Installing { "installing" } else { "installed" };
        let mut installed = self.install(until);
        loop {
            let fault = match installed {
                // Whoever is reset in mid-write has no disk and no memory of it: the installation fails, and says why.
                Err(LabError::Command { .. }) if self.fails_by_fault() => self.take_ended(),
                // That happens once: afterwards every machine is emulated.
                Err(error @ LabError::KvmFailed { .. }) => {
                    say(&format!("\n--- {error}"));
                    None
                }
                installed => break installed?,
            };
            installed = self.begin_again(until, fault);
        }
        self.phase = Phase::Installed;
        if self.plan.until == Until::Installed {
            self.show_cluster()?;
            self.add_workers()?;
        }
        Ok(())
    }

    /// The machines of the installation, or those that are added later, by their places.
    fn numbers(&self, is_late: bool) -> Vec<usize> {
        let machines = self.machines.iter().enumerate();
        machines.filter(|(_, (planned, _))| planned.is_late == is_late).map(|(number, _)| number).collect()
    }

    /// The demo builds Kubernetes while machines boot: they need it from here on.
    fn await_kubernetes(&mut self) -> Result<(), LabError> {
        let log = kubernetes::log().map(|log| log.display().to_string()).unwrap_or_default();
        let mut wait = self.wait_for(&format!("Kubernetes, which is being built ({log})"), KUBERNETES);
        while kubernetes::is_being_built() {
            self.pause()?;
            wait.go_on()?;
        }
        Ok(())
    }

    /// Installs the cluster.
    fn install(&mut self, until: &str) -> Result<(), LabError> {
        self.prepare_image_fault()?;
        self.order_installation()?;
        self.phase = Phase::Installing;
        self.watch(until)
    }

    /// Switches a virtual machine off, and empties its disks.
    fn wipe(&mut self, number: usize) -> Result<(), LabError> {
        if let Some((planned, machine @ Some(MachineHandle::Virtual(_) | MachineHandle::Namespace(_)))) =
            self.machines.get_mut(number)
        {
            *machine = None;
            if matches!(planned.kind, Kind::Namespace { .. }) {
                forget(&self.plan.dir.join(&planned.name))?;
            }
            if let Some(spec) = machines::spec(planned, self.plan.dir.join(machines::ISO), false) {
                Machine::wipe(&spec, &self.plan.dir.join(&planned.name))?;
            }
        }
        Ok(())
    }

    /// Where the time went, and what can be looked at.
    pub fn summary(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut minutes) = self.minutes.take() {
            // Without the events the minutes are told less finely.
            let events = self.cli.json(&["event", "list", "--cluster", NAME]).unwrap_or_default();
            minutes.add(minutes::of_events(&events));
            text = minutes.table(self.plan.rack.is_some());
        }
        text.push_str(&self.tell_of_replicas());
        let dir = self.plan.dir.display();
        text.push_str(&format!(
            "\nlogs, consoles, kubeconfig: {dir}\nlook around: assisted-lab exec --dir {dir} -- assisted cluster show {NAME}\n"
        ));
        text
    }

    /// Waits until somebody ends it.
    pub fn wait(&mut self) -> Result<(), LabError> {
        while !self.plan.stop.load(Ordering::Relaxed) {
            std::thread::sleep(POLL_INTERVAL);
            self.must_live()?;
            if self.cluster_api.is_some() {
                self.play_infrastructure()?;
            } else if self.ironic.is_some() {
                self.play_converged()?;
            } else {
                continue;
            }
            // Looking costs what machines could use.
            std::thread::sleep(POLL_INTERVAL * 2);
        }
        Ok(())
    }

    /// Notes what the time from now on goes into.
    fn begins(&mut self, phase: &str) {
        if let Some(minutes) = &mut self.minutes {
            minutes.begin(phase);
        }
    }

    fn power_on(&mut self, number: usize) -> Result<(), LabError> {
        let medium_first = self.boots_medium.contains(&number);
        let medium = self.media.get(&number).cloned();
        let medium = medium.unwrap_or_else(|| namespace::Medium::Image(self.plan.dir.join(machines::ISO)));
        if self.plan.rack.is_some() {
            let url = self.cli.json(&["iso", "url", NAME])?;
            return self.boot_by_controller(number, url["url"].as_str().unwrap_or_default());
        }
        let Some((planned, machine)) = self.machines.get_mut(number) else { return Ok(()) };
        let dir = self.plan.dir.join(&planned.name);
        if let Some(programs) = &self.programs
            && let Some(spec) = machines::namespace(
                planned,
                &self.plan,
                medium.clone(),
                medium_first,
                programs,
                &self.plan.outcomes()?,
            )
        {
            say(&format!("{}: console in {}", planned.name, dir.join("console.log").display()));
            let started = namespace::Machine::start(self.network.name(), spec, &dir)?;
            *machine = Some(MachineHandle::Namespace(started));
            return Ok(());
        }
        let namespace::Medium::Image(image) = medium else { return Err(LabError::OnlyLiveIso) };
        let Some(spec) = machines::spec(planned, image, medium_first) else { return Ok(()) };
        say(&format!("{}: console in {}", planned.name, dir.join("console.log").display()));
        *machine = Some(MachineHandle::Virtual(Machine::start_in(self.network.name(), &spec, &dir)?));
        Ok(())
    }

    /// Has a management controller boot its machine from the image at this address of the service, which it reaches by another one.
    fn boot_by_controller(&self, number: usize, url: &str) -> Result<(), LabError> {
        let (Some((planned, Some(MachineHandle::Real(machine)))), Some(rack)) =
            (self.machines.get(number), &self.plan.rack)
        else {
            return Ok(());
        };
        say(&format!("{}: its management controller boots the image", planned.name));
        let path = url.strip_prefix(&service::image_origin()).unwrap_or_default();
        machine.boot_medium(&format!("https://{}{path}", rack.media))
    }

    /// Waits for each host, and gives it its name and its role as soon as it is there.
    fn await_hosts(&mut self, is_late: bool) -> Result<(), LabError> {
        let mut wait = self.wait_for("the hosts' discovery", DISCOVERY);
        let mut awaited: Vec<_> = self
            .machines
            .iter()
            .filter(|(planned, machine)| machine.is_some() && planned.is_late == is_late)
            .map(|(planned, _)| planned.clone())
            .collect();
        while !awaited.is_empty() {
            let hosts = self.cli.json(&["host", "list"])?;
            let hosts: Vec<_> = hosts.as_array().into_iter().flatten().collect();
            let mut absent = Vec::new();
            for planned in awaited {
                let Some(id) =
                    hosts.iter().find(|host| planned.is(host)).and_then(|host| host["id"].as_str())
                else {
                    absent.push(planned);
                    continue;
                };
                self.cli.show(&[
                    "host",
                    "update",
                    id,
                    "--name",
                    &planned.name,
                    "--role",
                    planned.role.name(),
                ])?;
            }
            awaited = absent;
            // Looking costs what machines could use.
            self.pause()?;
            self.pause()?;
            if !awaited.is_empty() {
                let names: Vec<_> = awaited.iter().map(|planned| planned.name.as_str()).collect();
                wait.is_for(format_args!("discovery of {}", names.join(", ")));
                wait.go_on()?;
            }
        }
        Ok(())
    }
}

/// Names of the cluster: addresses of their own, or that of its only master.
fn names(single: Option<Ipv4Addr>) -> Names {
    Names {
        cluster: format!("{NAME}.{DOMAIN}"),
        api: single.unwrap_or(API_VIP),
        apps: single.unwrap_or(INGRESS_VIP),
    }
}

/// An earlier lab has left its disks, its image, its clusters, and a service that was ready.
fn forget_earlier(plan: &Plan, machines: &[Planned]) -> Result<(), LabError> {
    let configs = [command_line::CONFIG, people::EDITOR_CONFIG];
    let old = [service::IMAGE_LOG, replicas::BUCKET_LOG, machines::ISO].into_iter().chain(configs);
    for name in machines.iter().map(|machine| machine.name.as_str()).chain(old) {
        forget(&plan.dir.join(name))?;
    }
    for number in 0..plan.replicas.as_ref().map_or(1, |replicas| replicas.count) {
        for name in [service::DATA, service::LOG] {
            forget(&plan.dir.join(replicas::named(name, number)))?;
        }
    }
    Ok(())
}

/// Removes a file, or a folder, if it is there.
fn forget(path: &Path) -> Result<(), LabError> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(LabError::io(path)(error)),
        _ => Ok(()),
    }
}

/// Writes a file that nobody else may read.
fn write_secret(path: &Path, text: &str) -> Result<(), LabError> {
    // One that is there already would keep its rights.
    forget(path)?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(LabError::io(path))?;
    file.write_all(text.as_bytes()).map_err(LabError::io(path))
}

impl Planned {
    /// A real machine, whose controller answers.
    fn controlled(&self, plan: &Plan) -> Result<Option<MachineHandle>, LabError> {
        match (&self.kind, &plan.rack) {
            (Kind::Real(controller), Some(rack)) => {
                Ok(Some(MachineHandle::Real(Controlled::connect(controller, &rack.dir)?)))
            }
            _ => Ok(None),
        }
    }
}

fn heading(text: &str) {
    say(&format!("\n=== {text}"));
}

/// Tells whoever watches; that nobody does is no failure.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
