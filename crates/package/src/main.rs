//! `assisted-package`: makes what is shipped of programs that are built. `cargo xtask images` and `cargo xtask release` call it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use assisted_oci::{Packing, write_archive};
use assisted_package::image::{Inputs, Kind};
use assisted_package::publish::{Access, publish};
use assisted_package::release::{Release, lists};
use assisted_package::sbom::Crates;
use assisted_package::signature::Signer;
use assisted_package::{VERSION, bundle};
use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
#[command(version, about = "Makes images, packages and releases of programs that are built")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the images, write them into a folder, and push them
    Images(Images),
    /// Make everything that is shipped, with checksums and notes
    Release(Everything),
}

#[derive(Args)]
struct Sources {
    /// Folder with the programs, ARCHITECTURE/assisted and ARCHITECTURE/assisted-host, and what cargo says of their crates,
    /// ARCHITECTURE/crates.json
    #[arg(long, value_name = "DIR")]
    programs: PathBuf,
    /// Cargo.lock, which has the digests of the crates
    #[arg(long, value_name = "FILE")]
    lock: PathBuf,
    /// package-lock.json of the web UI, which names what it is made of
    #[arg(long, value_name = "FILE")]
    ui_lock: PathBuf,
    /// Certificates (PEM) that are trusted in the images
    #[arg(long, value_name = "FILE", default_value = "/etc/ssl/certs/ca-certificates.crt")]
    certificates: PathBuf,
    /// Commit that the programs were built from
    #[arg(long)]
    revision: String,
    /// When that was made, in RFC 3339
    #[arg(long)]
    created: jiff::Timestamp,
    /// Name of an image: service, agent, installer or controller, and REGISTRY/REPOSITORY:TAG
    #[arg(long = "name", value_name = "IMAGE=NAME", value_parser = pair)]
    names: Vec<(String, String)>,
    /// OpenShift's client for the controller, by architecture
    #[arg(long, value_name = "ARCHITECTURE=FILE", value_parser = pair)]
    oc: Vec<(String, String)>,
    /// A folder that is laid under an image, such as libraries for a client that needs some
    #[arg(long = "add", value_name = "IMAGE=DIR", value_parser = pair)]
    added: Vec<(String, String)>,
    /// Private key (PEM, P-256) that signs
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,
    /// Pack quickly: for what is only tried
    #[arg(long)]
    quick: bool,
    /// Take programs that are linked with libraries: for what is only tried
    #[arg(long)]
    dynamic: bool,
}

#[derive(Args)]
struct Images {
    #[command(flatten)]
    sources: Sources,
    /// Only these: service, agent, installer, controller [default: all]
    #[arg(long, value_name = "IMAGE", value_parser = kind)]
    only: Vec<Kind>,
    /// Folder for the images
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Push them to where their names say
    #[arg(long)]
    push: bool,
    /// Push the operator's bundle for OLM, too, under this name
    #[arg(long, value_name = "NAME", requires = "push")]
    bundle: Option<String>,
    /// Credentials of registries [default: where podman and docker keep theirs]
    #[arg(long, env = "REGISTRY_AUTH_FILE", value_name = "FILE")]
    auth_file: Option<PathBuf>,
    /// Certificates (PEM) of a registry's authority
    #[arg(long, value_name = "FILE")]
    registry_ca: Option<PathBuf>,
    /// Push without TLS; on this machine it is never asked for
    #[arg(long)]
    plain_http: bool,
}

#[derive(Args)]
struct Everything {
    #[command(flatten)]
    sources: Sources,
    /// Folder for the release; what is in it goes
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// The program for this machine, which tells its completion and man pages
    #[arg(long, value_name = "FILE")]
    speaks: PathBuf,
    /// The checkout: bases for kustomize are taken from it
    #[arg(long, value_name = "DIR")]
    checkout: PathBuf,
    /// The documentation as a book, built
    #[arg(long, value_name = "DIR")]
    book: PathBuf,
    /// What is new, in Markdown
    #[arg(long, value_name = "FILE")]
    changes: Option<PathBuf>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text} has no ="))?;
    Ok((key.to_owned(), value.to_owned()))
}

fn kind(name: &str) -> Result<Kind, String> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("there is no image {name}: service, agent, installer, controller"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Images(images) => images.run().await,
        Command::Release(everything) => everything.run().await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print_line(line: &str) {
    // Whoever closed the pipe wants no more lines; the work goes on.
    let _ = writeln!(std::io::stdout(), "{line}");
}

impl Sources {
    fn inputs(&self) -> Result<Inputs> {
        let named = |(name, value): &(String, String)| Ok((kind(name)?, value.clone()));
        let names: Result<BTreeMap<_, _>, String> = self.names.iter().map(named).collect();
        let added: Result<BTreeMap<_, _>, String> = self.added.iter().map(named).collect();
        let (names, added) = (names.map_err(anyhow::Error::msg)?, added.map_err(anyhow::Error::msg)?);
        Ok(Inputs {
            programs: self.programs.clone(),
            certificates: self.certificates.clone(),
            revision: self.revision.clone(),
            created: self.created.to_string(),
            names,
            oc: self.oc.iter().map(|(machine, file)| (machine.clone(), file.into())).collect(),
            added: added.into_iter().map(|(kind, dir)| (kind, dir.into())).collect(),
            may_be_dynamic: self.dynamic,
            packing: if self.quick { Packing::Quick } else { Packing::Small },
        })
    }

    fn crates(&self) -> Result<BTreeMap<String, Crates>> {
        let (lock, ui_lock) = (text(&self.lock)?, text(&self.ui_lock)?);
        let mut crates = BTreeMap::new();
        for machine in assisted_package::machine::MACHINES {
            let path = self.programs.join(machine.name).join("crates.json");
            if path.is_file() {
                let known = Crates::read(text(&path)?.as_bytes(), &lock, &ui_lock);
                crates.insert(machine.name.to_owned(), known.with_context(|| path.display().to_string())?);
            }
        }
        Ok(crates)
    }

    fn signer(&self) -> Result<Option<Signer>> {
        self.sign_key.as_ref().map(|path| Signer::from_pem(&text(path)?.into())).transpose()
    }
}

fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))
}

/// Where podman and docker keep credentials, if they do.
fn auth_file() -> Option<PathBuf> {
    let of = |variable, rest| Some(PathBuf::from(std::env::var_os(variable)?).join(rest));
    let places = [of("XDG_RUNTIME_DIR", "containers/auth.json"), of("HOME", ".docker/config.json")];
    places.into_iter().flatten().find(|path| path.is_file())
}

impl Images {
    async fn run(self) -> Result<()> {
        let (inputs, crates, signer) =
            (self.sources.inputs()?, self.sources.crates()?, self.sources.signer()?);
        if self.to.is_none() && !self.push {
            bail!("images go into a folder (--to), or are pushed (--push)");
        }
        let access = Access {
            auth_file: self.auth_file.clone().or_else(auth_file),
            ca: self.registry_ca.clone(),
            plain: self.plain_http,
        };
        for kind in Kind::ALL.into_iter().filter(|kind| self.only.is_empty() || self.only.contains(kind)) {
            let index = inputs.build(kind)?;
            let lists = lists(&inputs, kind, &crates)?;
            for image in &index.images {
                let size: u64 = image.blobs.iter().map(|blob| blob.size).sum();
                print_line(&format!("{} {}: {:.1} MB", kind.name(), image.architecture, size as f64 / 1e6));
            }
            if let Some(to) = &self.to {
                fs::create_dir_all(to).with_context(|| format!("can't create {}", to.display()))?;
                let path = to.join(format!("image-{}.oci.tar", kind.name()));
                let file = File::create(&path).with_context(|| format!("can't write {}", path.display()))?;
                write_archive(&index, VERSION, file)?;
                for (machine, list) in inputs.machines(kind).iter().zip(&lists) {
                    let name = format!("image-{}-{}.spdx.json", kind.name(), machine.name);
                    fs::write(to.join(name), list)?;
                }
                print_line(&format!("{}: {}", kind.name(), path.display()));
            }
            if self.push {
                let name = inputs.name(kind);
                let pushed = publish(&index, &name, &lists, signer.as_ref(), &access).await?;
                print_line(&format!("{}: {name} is {}", kind.name(), pushed.name));
            }
        }
        if let Some(name) = &self.bundle {
            let pushed = publish(&bundle::image(&inputs)?, name, &[], signer.as_ref(), &access).await?;
            print_line(&format!("bundle: {name} is {}", pushed.name));
        }
        Ok(())
    }
}

impl Everything {
    async fn run(self) -> Result<()> {
        let (inputs, crates, signer) =
            (self.sources.inputs()?, self.sources.crates()?, self.sources.signer()?);
        let changes = self.changes.as_deref().map(text).transpose()?.unwrap_or_default();
        let release = Release {
            inputs: &inputs,
            crates: &crates,
            speaks: &self.speaks,
            checkout: &self.checkout,
            book: &self.book,
            signer: signer.as_ref(),
            changes: &changes,
        };
        for name in release.make(&self.to).await? {
            let size = self.to.join(&name).metadata()?.len();
            print_line(&format!("{:>8.1} MB  {name}", size as f64 / 1e6));
        }
        Ok(())
    }
}
