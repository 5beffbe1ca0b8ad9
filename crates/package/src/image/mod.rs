//! Images without a base: static programs, certificates, and the names under which others call them.

mod contents;
mod layers;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assisted_oci::{Image, ImageConfig, Index, Packing};

use crate::VERSION;
use crate::machine::{MACHINES, Machine};
use contents::Contents;

/// What an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Service, image service, UI, operator, webhooks, providers of Cluster API: one program.
    Service,
    Agent,
    Installer,
    /// What runs in a new cluster.
    Controller,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Service, Self::Agent, Self::Installer, Self::Controller];

    /// Its name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Agent => "agent",
            Self::Installer => "installer",
            Self::Controller => "controller",
        }
    }

    /// The program that is in it, which is a package of this workspace, too.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Service | Self::Controller => "assisted",
            Self::Agent | Self::Installer => "assisted-host",
        }
    }

    /// Where it is pulled from unless something else is told: what the settings of the service name, too.
    pub fn default_name(self) -> String {
        let repository = match self {
            Self::Service => "assisted",
            Self::Agent => "assisted-installer-agent",
            Self::Installer => "assisted-installer",
            Self::Controller => "assisted-installer-controller",
        };
        format!("quay.io/assisted/{repository}:latest")
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Service => "Installs OpenShift on bare metal: API, web UI, images, operator, Cluster API",
            Self::Agent => "Tells a service what a host is, and does its steps",
            Self::Installer => "Installs a host",
            Self::Controller => "Finishes an installation from inside the new cluster",
        }
    }

    /// The variable of the service's environment that names it.
    const fn variable(self) -> Option<&'static str> {
        match self {
            Self::Service => None,
            Self::Agent => Some("AGENT_DOCKER_IMAGE"),
            Self::Installer => Some("INSTALLER_IMAGE"),
            Self::Controller => Some("CONTROLLER_IMAGE"),
        }
    }
}

/// What images are made of.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Folder with the programs: `ARCHITECTURE/assisted`, `ARCHITECTURE/assisted-host`.
    pub programs: PathBuf,
    /// Certificates of authorities that are trusted, as PEM.
    pub certificates: PathBuf,
    /// Commit that the programs were built from.
    pub revision: String,
    /// When that was made, in RFC 3339: an image tells no other time.
    pub created: String,
    /// Names under which images are pulled, where they are not the default ones.
    pub names: BTreeMap<Kind, String>,
    /// OpenShift's client for the controller, by architecture; a must-gather takes it.
    pub oc: BTreeMap<String, PathBuf>,
    /// Folders that are laid under an image, as a layer of their own.
    pub added: BTreeMap<Kind, PathBuf>,
    /// Whether programs may need libraries, which `added` brings then.
    pub may_be_dynamic: bool,
    pub packing: Packing,
}

impl Inputs {
    /// Where an image is pulled from.
    pub fn name(&self, kind: Kind) -> String {
        self.names.get(&kind).cloned().unwrap_or_else(|| kind.default_name())
    }

    /// A program for an architecture, if it was built.
    pub fn program(&self, machine: &Machine, name: &str) -> Option<PathBuf> {
        Some(self.programs.join(machine.name).join(name)).filter(|path| path.is_file())
    }

    /// The architectures that an image is made for: those that its program was built for.
    pub fn machines(&self, kind: Kind) -> Vec<Machine> {
        let built = |machine: &Machine| self.program(machine, kind.program()).is_some();
        MACHINES.into_iter().filter(built).collect()
    }

    /// The image for each of them, in a list.
    ///
    /// # Errors
    /// A program is missing, or is none that may be in an image.
    pub fn build(&self, kind: Kind) -> Result<Index> {
        let machines = self.machines(kind);
        if machines.is_empty() {
            bail!("there is no {} for any architecture in {}", kind.program(), self.programs.display());
        }
        let images = machines.iter().map(|machine| {
            let made = self.image(kind, machine);
            made.with_context(|| format!("the image {} for {}", kind.name(), machine.name))
        });
        Ok(Index::new(images.collect::<Result<_>>()?))
    }

    fn image(&self, kind: Kind, machine: &Machine) -> Result<Image> {
        let contents = Contents::of(self, kind, machine)?;
        let layers = layers::made(self, kind, &contents)?;
        Ok(Image::configured(machine.go, layers, &self.config(kind, &contents))?)
    }

    fn config(&self, kind: Kind, contents: &Contents) -> ImageConfig {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut env = vec!["PATH=/usr/local/bin:/usr/bin:/bin".to_owned()];
        if kind == Kind::Service {
            env.extend(["WORK_DIR=/data", "ASSISTED_LISTEN=[::]:8090", "HOME=/tmp"].map(str::to_owned));
            let named = Kind::ALL.into_iter().filter_map(|kind| Some((kind.variable()?, self.name(kind))));
            env.extend(named.map(|(variable, name)| format!("{variable}={name}")));
        }
        ImageConfig {
            entrypoint: words(contents.entrypoint),
            cmd: words(contents.command),
            env,
            user: contents.user.to_owned(),
            working_dir: "/".to_owned(),
            labels: self.labels(kind),
            created: self.created.clone(),
            history: false,
        }
    }

    fn labels(&self, kind: Kind) -> BTreeMap<String, String> {
        let oci = |name: &str| format!("org.opencontainers.image.{name}");
        [
            ("git_revision".to_owned(), self.revision.clone()),
            (oci("revision"), self.revision.clone()),
            (oci("version"), VERSION.to_owned()),
            (oci("title"), format!("assisted {}", kind.name())),
            (oci("description"), kind.description().to_owned()),
            (oci("licenses"), "Apache-2.0".to_owned()),
            (oci("created"), self.created.clone()),
        ]
        .into()
    }
}

/// Reads a file that goes into an image.
fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("can't read {}", path.display()))
}
