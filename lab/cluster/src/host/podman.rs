//! `podman`, as far as an installation calls it on a host. Images are fetched from their registry, so that the rate is a real
//! one, and not kept: whoever is run is the program of that name which this machine has.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::registry;
use crate::files;
use crate::program::{Program, ProgramRuntime};

/// What was pulled, and how many bytes it has.
const KNOWN: &str = "/var/lib/containers/lab.json";

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
        ["pull", options @ .., image] if options.iter().all(|option| *option == "--quiet") => {
            pull(image).await
        }
        ["run", rest @ ..] => contained(rest).await,
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
    while let Some(arg) = rest.next() {
        match *arg {
            "--net" => drop(rest.next()),
            "--pid=host" | "--privileged" | "--rm" => {}
            "--entrypoint" => program.command = vec![(*rest.next().context("no entry point")?).to_owned()],
            "--volume" => {
                let volume = rest.next().context("no volume")?;
                let mut parts = volume.split(':').map(PathBuf::from);
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
    pull(&program.image).await?;
    ProgramRuntime::Direct.run(&program).await
}
