//! What a package installs: the program, those for hosts, its unit, its settings, completion, man pages.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_base::process::Cmd;
use assisted_oci::Packing;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::image::Inputs;
use crate::machine::{MACHINES, Machine};

/// How long a program may take to describe itself.
const LIMIT: Duration = Duration::from_secs(60);

/// When all files were written, as far as a package tells: a moment that was chosen once.
pub(crate) const WRITTEN: u64 = 1_700_000_000;

const UNIT: &str = include_str!("../../../deploy/systemd/assisted.service");
const SETTINGS: &str = include_str!("../../../deploy/systemd/assisted.env");
const LICENSE: &str = include_str!("../../../LICENSE");

/// Where a person changes settings, which no upgrade overwrites.
pub(crate) const SETTINGS_FILE: &str = "etc/assisted/assisted.env";

/// Shells, and where their completion is looked for.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/assisted"),
    ("zsh", "usr/share/zsh/vendor-completions/_assisted"),
    ("fish", "usr/share/fish/vendor_completions.d/assisted.fish"),
];

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFile {
    /// From the root of the system on.
    pub place: String,
    pub mode: u32,
    pub content: Vec<u8>,
}

impl PackageFile {
    pub(crate) fn new(place: impl Into<String>, mode: u32, content: impl Into<Vec<u8>>) -> Self {
        Self { place: place.into(), mode, content: content.into() }
    }
}

/// The files for an architecture, in the order of their places. `speaks` is the same program for this machine: it tells its own
/// completion and man pages.
///
/// # Errors
/// A program is missing, or does not run.
pub async fn package_files(inputs: &Inputs, machine: &Machine, speaks: &Path) -> Result<Vec<PackageFile>> {
    let Some(program) = inputs.program(machine, "assisted") else {
        bail!("there is no assisted for {} in {}", machine.name, inputs.programs.display());
    };
    machine.check(&program, inputs.may_be_dynamic)?;
    let read = |path: &Path| fs::read(path).with_context(|| format!("can't read {}", path.display()));
    let mut files = vec![
        PackageFile::new("usr/bin/assisted", 0o755, read(&program)?),
        PackageFile::new("usr/lib/systemd/system/assisted.service", 0o644, UNIT),
        PackageFile::new(SETTINGS_FILE, 0o644, SETTINGS),
        PackageFile::new("usr/share/doc/assisted/copyright", 0o644, LICENSE),
    ];
    for host in MACHINES {
        if let Some(path) = inputs.program(&host, "assisted-host") {
            host.check(&path, inputs.may_be_dynamic)?;
            let place = format!("usr/lib/assisted/assisted-host-{}", host.name);
            files.push(PackageFile::new(place, 0o755, read(&path)?));
        }
    }
    for (shell, place) in COMPLETIONS {
        let script = output_of(speaks, &["completion", shell]).await?;
        files.push(PackageFile::new(place, 0o644, script));
    }
    let dir = tempfile::tempdir()?;
    output_of(speaks, &["man", dir.path().to_str().context("the folder for temporary files is no text")?])
        .await?;
    for entry in fs::read_dir(dir.path())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).context("a man page has no name")?;
        let place = format!("usr/share/man/man1/{name}.gz");
        files.push(PackageFile::new(place, 0o644, packed(&read(&path)?, Packing::Small)?));
    }
    files.sort_by(|one, other| one.place.cmp(&other.place));
    Ok(files)
}

/// All files below a folder, in the order of their places, which begin in it.
///
/// # Errors
/// Something in it can't be read, or has a name that is no text.
pub fn below(folder: &Path) -> Result<Vec<PackageFile>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("can't read {}", next.display()))? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push(path);
                continue;
            }
            let content = fs::read(&path).with_context(|| format!("can't read {}", path.display()))?;
            let place = path.strip_prefix(folder)?.to_str();
            let place = place.with_context(|| format!("{} is no text", path.display()))?;
            files.push(PackageFile::new(place, 0o644, content));
        }
    }
    files.sort_by(|one, other| one.place.cmp(&other.place));
    Ok(files)
}

/// What the program prints.
async fn output_of(program: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let output = Cmd::new(program).args(args).timeout(LIMIT).output_limit(16 << 20).run().await?;
    if !output.success() {
        bail!("{} {} failed: {}", program.display(), args.join(" "), output.complaint());
    }
    Ok(output.stdout)
}

/// Packs bytes by gzip; the same bytes give the same result.
pub(crate) fn packed(bytes: &[u8], packing: Packing) -> Result<Vec<u8>> {
    let level = if packing == Packing::Quick { Compression::fast() } else { Compression::best() };
    let mut packed = GzEncoder::new(Vec::new(), level);
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}
