//! `podman`, as far as an installation calls it on a host. Images are fetched from their registry, so that the rate is a real
//! one, and not kept: whoever is run is the program of that name which this machine has. Where images are built, and storage is named for it,
//! it is this computer's own podman that does the work.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assisted_lab_tools::{SWAPS_PUSHED, blob};

use super::init::{Request, ask};
use super::{partitions, registry};
use crate::files;
use crate::program::{Program, ProgramRuntime};

/// What was pulled, and how many bytes it has.
const KNOWN: &str = "/var/lib/containers/lab.json";
/// What the bootstrap host's registry serves.
const REGISTRY: &str = "/var/ocl-scratch/registry";

pub async fn run(args: &[&str]) -> Result<i32> {
    match args {
        ["images", "--quiet", image] => {
            if let Some(size) = known()?.get(*image) {
                writeln!(std::io::stdout(), "{size:x}")?;
            }
            Ok(0)
        }
        ["image", "inspect", "--format={{.Size}}", image] => match known()?.get(*image) {
            Some(size) => Ok(writeln!(std::io::stdout(), "{size}").map(|()| 0)?),
            None => bail!("{image}: image not known"),
        },
        // The lab's registry asks nobody who they are.
        ["pull", "--quiet" | "--tls-verify=false", "--authfile", _, image] => pull(image).await,
        ["pull", options @ .., image] if options.iter().all(|option| *option == "--quiet") => {
            pull(image).await
        }
        ["image", "exists", image] => Ok(i32::from(!known()?.contains_key(*image))),
        ["run", rest @ ..] => contained(rest).await,
        ["rm", options @ .., name] if options.contains(&"--force") => stop(name).await,
        ["stop", .., name] => stop(name).await,
        ["container", "inspect", "--format", "{{.State.Running}}", name] => {
            let answer = ask(&Request::State { unit: unit(name) }).await?;
            Ok(writeln!(std::io::stdout(), "{}", answer.code == 0).map(|()| 0)?)
        }
        ["--root", ..] => builds(args).await,
        _ => bail!("the lab's podman does not know {}", args.join(" ")),
    }
}

fn known() -> Result<BTreeMap<String, u64>> {
    match files::read(KNOWN) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(_) => Ok(BTreeMap::new()),
    }
}

async fn pull(image: &str) -> Result<i32> {
    let mut all = known()?;
    if !all.contains_key(image) {
        let size = registry::fetch(image).await.with_context(|| format!("{image} can't be pulled"))?;
        all.insert(image.to_owned(), size);
        files::write(KNOWN, 0o600, serde_json::to_vec(&all)?)?;
    }
    writeln!(std::io::stdout(), "{image}")?;
    Ok(0)
}

/// Runs the program that an image is for on this machine; folders that it is to see elsewhere are linked there.
async fn contained(args: &[&str]) -> Result<i32> {
    let mut program = Program { name: "podman".to_owned(), ..Program::default() };
    let mut rest = args.iter();
    let mut detached = None;
    let mut name = None;
    while let Some(arg) = rest.next() {
        let (option, given) = match arg.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value)),
            _ => (*arg, None),
        };
        let mut value = || given.or_else(|| rest.next().copied()).context("an option without its value");
        match option {
            "--net" | "--network" | "--pid" | "--pull" | "--authfile" | "--security-opt" | "--user" => {
                let _ = value()?;
            }
            "--privileged" | "--rm" | "--replace" => {}
            "--detach" => detached = Some(()),
            "--name" => name = Some(value()?),
            "--entrypoint" => program.command = vec![value()?.to_owned()],
            "--mount" => {
                let mount = value()?;
                let part = |name: &str| mount.split(',').find_map(|part| part.strip_prefix(name));
                let paths = part("src=").zip(part("dst="));
                let (here, there) =
                    paths.filter(|_| part("type=") == Some("bind")).context("no mount of a path")?;
                program.mounts.push((here.into(), there.into()));
            }
            "--volume" => {
                let mut parts = value()?.split(':').map(PathBuf::from);
                let (here, there) = parts.next().zip(parts.next()).context("a volume has two paths")?;
                program.mounts.push((here, there));
            }
            option if option.starts_with('-') => bail!("the lab's podman run does not know {option}"),
            image => {
                program.image = image.to_owned();
                program.args = rest.by_ref().map(|word| (*word).to_owned()).collect();
            }
        }
    }
    // Another program has put it there.
    if !program.image.starts_with("localhost/") {
        pull(&program.image).await?;
    }
    match (detached, name) {
        (Some(()), name) => started(&program, name.context("no name")?).await,
        (None, Some(name)) => {
            name.clone_into(&mut program.name);
            ProgramRuntime::Direct.run(&program).await
        }
        // Whoever runs it sees what it complains about, as of any container.
        (None, None) => {
            let show = |piece: &[u8]| {
                let _ = std::io::stderr().write_all(piece);
            };
            ProgramRuntime::Direct.run_watched(&program, show).await
        }
    }
}

/// The unit that a container in the background is here.
fn unit(name: &str) -> String {
    format!("podman-{name}.service")
}

/// Runs a program in the background.
async fn started(program: &Program, name: &str) -> Result<i32> {
    let words = program.words()?;
    let answer = ask(&Request::Run { unit: unit(name), properties: Vec::new(), words, wait: false }).await?;
    if answer.code != 0 {
        bail!("{name} can't be started: {}", answer.text);
    }
    writeln!(std::io::stdout(), "{name}")?;
    Ok(0)
}

async fn stop(name: &str) -> Result<i32> {
    Ok(ask(&Request::Stop { units: vec![unit(name)] }).await?.code)
}

/// This computer's podman, with storage of its own: it builds as it does on a host. The machine is no more than namespaces, so steps have none
/// of their own.
async fn builds(args: &[&str]) -> Result<i32> {
    let mut child = tokio::process::Command::new(format!("{}/podman", partitions::COMPUTER))
        .args(args)
        .env("BUILDAH_ISOLATION", "chroot")
        .spawn()
        .context("podman can't be started")?;
    let code = child.wait().await?.code().unwrap_or(125);
    if code == 0 && args.contains(&"push") && Path::new(SWAPS_PUSHED).exists() {
        swap_pushed(args)?;
    }
    Ok(code)
}

/// A fault that a lab asks for: puts other bytes in the place of the image that was just pushed into this machine's registry.
fn swap_pushed(args: &[&str]) -> Result<()> {
    let told = args.iter().skip_while(|arg| **arg != "--digestfile").nth(1).context("no digest is told")?;
    let digest = files::text(told)?;
    let blob = blob(Path::new(REGISTRY), digest.trim()).context("that is no digest")?;
    let mut manifest = files::read(&blob)?;
    manifest.push(b'\n');
    files::write(&blob, 0o644, manifest)
}
