//! What is in which image, and how it is started.

use std::path::PathBuf;

use anyhow::Result;

use super::{Inputs, Kind};
use crate::machine::{MACHINES, Machine};

/// Number of the user that the service runs as.
pub(super) const USER: u64 = 1001;

/// Shells and tools for the controller, as Debian has them: static, and for this machine's architecture. Jobs that set operators up
/// are scripts.
const TOOLS: [(&str, &str); 2] = [("/bin/bash-static", "usr/bin/bash"), ("/bin/busybox", "usr/bin/busybox")];

/// What busybox is called as; `rsync`, which a must-gather prefers, is not among it: it copies by tar without it.
const BUSYBOX: &[&str] = &[
    "awk", "base64", "basename", "cat", "chmod", "cp", "cut", "date", "dirname", "env", "find", "grep",
    "gunzip", "gzip", "head", "ls", "mkdir", "mktemp", "mv", "ps", "rm", "sed", "sh", "sleep", "sort",
    "tail", "tar", "tee", "timeout", "top", "tr", "uniq", "wc", "which", "xargs",
];

/// Names of the program for hosts in the image of the agent.
const AGENT: &[&str] = &[
    "next_step_runner",
    "inventory",
    "logs_sender",
    "free_addresses",
    "disk_speed_check",
    "ntp-synchronizer",
    "domain-resolution",
    "installer",
    "cp",
    "nsenter",
];

/// A file of an image: its place, and where it is now.
pub(super) struct Entry {
    pub(super) place: String,
    pub(super) from: PathBuf,
}

/// What is in an image.
pub(super) struct Contents {
    /// Programs that other images have as well, or may have.
    pub(super) programs: Vec<Entry>,
    /// What it has of its own.
    pub(super) own: Vec<Entry>,
    /// Symbolic links: place and target.
    pub(super) links: Vec<(String, String)>,
    pub(super) entrypoint: &'static [&'static str],
    pub(super) command: &'static [&'static str],
    pub(super) user: &'static str,
}

fn entry(place: impl Into<String>, from: PathBuf) -> Entry {
    Entry { place: place.into(), from }
}

impl Contents {
    pub(super) fn of(inputs: &Inputs, kind: Kind, machine: &Machine) -> Result<Self> {
        let program = inputs.program(machine, kind.program()).unwrap_or_default();
        machine.check(&program, inputs.may_be_dynamic)?;
        match kind {
            Kind::Service => Self::service(inputs, program),
            Kind::Agent => Ok(Self::agent(program)),
            Kind::Installer => Ok(Self::installer(program)),
            Kind::Controller => Self::controller(inputs, machine, program),
        }
    }

    /// The service gives out the programs for hosts of every architecture.
    fn service(inputs: &Inputs, program: PathBuf) -> Result<Self> {
        let mut programs = vec![entry("usr/bin/assisted", program)];
        for machine in MACHINES {
            if let Some(host) = inputs.program(&machine, "assisted-host") {
                machine.check(&host, inputs.may_be_dynamic)?;
                programs.push(entry(format!("usr/bin/assisted-host-{}", machine.name), host));
            }
        }
        let link = |place: &str, target: &str| (place.to_owned(), target.to_owned());
        // The names that units, manifests and operators of existing images call.
        let links = vec![
            link("assisted-service", "usr/bin/assisted"),
            link("assisted-service-operator", "usr/bin/assisted"),
            link("assisted-service-admission", "usr/bin/assisted"),
            link("assisted-image-service", "usr/bin/assisted"),
            link("usr/local/bin/agent-installer-client", "../../bin/assisted"),
            link("agent-based-installer-register-cluster-and-infraenv", "usr/bin/assisted"),
        ];
        let command = &["/usr/bin/assisted", "serve"];
        Ok(Self { programs, own: Vec::new(), links, entrypoint: &[], command, user: "1001:0" })
    }

    fn agent(program: PathBuf) -> Self {
        let links = AGENT.iter().map(|name| (format!("usr/bin/{name}"), "agent".to_owned())).collect();
        let programs = vec![entry("usr/bin/agent", program)];
        Self { programs, own: Vec::new(), links, entrypoint: &[], command: &["/usr/bin/agent"], user: "" }
    }

    fn installer(program: PathBuf) -> Self {
        // Builders of node images call it by its own name.
        let programs = vec![entry("usr/bin/assisted-host", program)];
        let link = |name: &str| (format!("usr/bin/{name}"), "assisted-host".to_owned());
        let links = vec![link("installer"), link("nsenter")];
        let entrypoint = &["/usr/bin/installer"];
        Self { programs, own: Vec::new(), links, entrypoint, command: &[], user: "" }
    }

    fn controller(inputs: &Inputs, machine: &Machine, program: PathBuf) -> Result<Self> {
        let mut own = Vec::new();
        let mut links = vec![("usr/bin/assisted-installer-controller".to_owned(), "assisted".to_owned())];
        if let Some(oc) = inputs.oc.get(machine.name) {
            // What it is linked with may come with the folder that is added.
            machine.check(oc, inputs.may_be_dynamic || inputs.added.contains_key(&Kind::Controller))?;
            own.push(entry("usr/bin/oc", oc.clone()));
        }
        for (from, place) in TOOLS {
            let from = PathBuf::from(from);
            if machine.check(&from, false).is_ok() {
                own.push(entry(place, from));
            }
        }
        let has = |name: &str| own.iter().any(|entry| entry.place.ends_with(name));
        if has("busybox") {
            links.extend(BUSYBOX.iter().map(|name| (format!("usr/bin/{name}"), "busybox".to_owned())));
        }
        if has("bash") {
            links.push(("bin".to_owned(), "usr/bin".to_owned()));
        }
        let programs = vec![entry("usr/bin/assisted", program)];
        let entrypoint = &["/usr/bin/assisted-installer-controller"];
        Ok(Self { programs, own, links, entrypoint, command: &[], user: "" })
    }

    /// What is in the image besides the program of this workspace, for the list of what is in it.
    pub(super) fn others(&self) -> impl Iterator<Item = &Entry> {
        self.own.iter()
    }
}

impl Inputs {
    /// Files of others that are in an image: name and file.
    ///
    /// # Errors
    /// A program is none that may be in an image.
    pub fn others(&self, kind: Kind, machine: &Machine) -> Result<Vec<(String, PathBuf)>> {
        let contents = Contents::of(self, kind, machine)?;
        let name = |place: &str| place.rsplit('/').next().unwrap_or(place).to_owned();
        Ok(contents.others().map(|entry| (name(&entry.place), entry.from.clone())).collect())
    }
}
