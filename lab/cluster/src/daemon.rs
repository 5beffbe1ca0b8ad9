//! Lays the files and units of an Ignition config onto a running system: what OpenShift's machine-config daemon does once
//! on a bootstrap host. Users, folders, links and disks in it are not its business.

use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use assisted_ignition_spec::Config;
use assisted_ignition_spec::config::{File, Unit};
use assisted_ignition_spec::resource::Resource;
use clap::Args;
use flate2::read::GzDecoder;
use tracing::info;

use crate::files;
use crate::machine_config::{ANNOTATIONS, ENCAPSULATED, PROGRAM};

/// One file, unpacked, in bytes: a program with what is told for its debugger.
const LONGEST: u64 = 256 << 20;
const UNITS: &str = "etc/systemd/system";
/// Left by whoever laid something here before.
const STALE: &str = "etc/ignition-machine-config-encapsulated.json";
const DEFAULT_MODE: u32 = 0o644;

#[derive(Args)]
pub struct Options {
    #[arg(long)]
    node_name: String,
    /// Where the system's root is
    #[arg(long)]
    root_mount: PathBuf,
    /// The config, by its path on that system
    #[arg(long)]
    once_from: PathBuf,
    /// The lab's never restarts anything; the real one would without it
    #[arg(long)]
    skip_reboot: bool,
}

/// Lays the config.
pub fn start(options: &Options) -> Result<()> {
    if !options.skip_reboot {
        bail!("the lab's daemon does not restart machines: give --skip-reboot");
    }
    let root = &options.root_mount;
    let from = root.join(options.once_from.strip_prefix("/").unwrap_or(&options.once_from));
    let config: Config = serde_json::from_slice(&files::read(&from)?)
        .with_context(|| format!("{} is no Ignition config", from.display()))?;
    write_config(&config, root)?;
    // The units that were laid run this program.
    files::write(below(root, PROGRAM)?, 0o755, files::read_program()?)?;
    let (node, files) = (&options.node_name, config.storage.files.len());
    info!(node, files, units = config.systemd.units.len(), "laid");
    Ok(())
}

/// Lays what a later config says onto a system that runs: files that hold something else by now. What a node is told for its first start alone stays
/// as it is, and so does what is elsewhere. Gives how many it has laid.
pub fn update(config: &Config, root: &Path) -> Result<usize> {
    let mut laid = 0;
    let own = [ANNOTATIONS, ENCAPSULATED, PROGRAM];
    for file in &config.storage.files {
        if own.contains(&file.path.as_str()) || !file.append.is_empty() {
            continue;
        }
        let Ok(content) = content(&file.contents) else { continue };
        if std::fs::read(below(root, &file.path)?).is_ok_and(|known| known == content) {
            continue;
        }
        lay_file(file, root).with_context(|| format!("{} can't be laid", file.path))?;
        laid += 1;
    }
    Ok(laid)
}

fn write_config(config: &Config, root: &Path) -> Result<()> {
    let stale = root.join(STALE);
    if stale.exists() {
        std::fs::remove_file(stale)?;
    }
    for file in &config.storage.files {
        lay_file(file, root).with_context(|| format!("{} can't be laid", file.path))?;
    }
    for unit in &config.systemd.units {
        lay_unit(unit, root).with_context(|| format!("unit {} can't be laid", unit.name))?;
    }
    Ok(())
}

fn lay_file(file: &File, root: &Path) -> Result<()> {
    if !file.append.is_empty() {
        bail!("nothing can be appended to what is there");
    }
    let content = content(&file.contents)?;
    let path = below(root, &file.path)?;
    if let (Some(owner), _) | (_, Some(owner)) = (&file.user.name, &file.group.name)
        && owner != "root"
    {
        bail!("it would belong to {owner}");
    }
    files::write(path, file.mode.unwrap_or(DEFAULT_MODE) & 0o7777, content)
}

/// What a file holds; only what is in the config itself.
fn content(resource: &Resource) -> Result<Vec<u8>> {
    if resource.source.as_deref().unwrap_or_default().is_empty() {
        return Ok(Vec::new());
    }
    let data = resource.data().context("its contents are elsewhere, or can't be read")?;
    match resource.compression.as_deref() {
        None | Some("") => Ok(data),
        Some("gzip") => {
            let mut unpacked = Vec::new();
            GzDecoder::new(&data[..]).take(LONGEST + 1).read_to_end(&mut unpacked)?;
            if unpacked.len() as u64 > LONGEST {
                bail!("it is longer than {LONGEST} bytes");
            }
            Ok(unpacked)
        }
        Some(other) => bail!("it is packed by {other}"),
    }
}

fn lay_unit(unit: &Unit, root: &Path) -> Result<()> {
    let name = plain(&unit.name)?;
    let folder = root.join(UNITS);
    let path = folder.join(name);
    if unit.mask == Some(true) {
        return link("/dev/null", &path);
    }
    for dropin in &unit.dropins {
        let text = dropin.contents.as_deref().unwrap_or_default();
        files::write(folder.join(format!("{name}.d")).join(plain(&dropin.name)?), 0o644, text)?;
    }
    let text = unit.contents.as_deref().unwrap_or_default();
    if !text.is_empty() {
        files::write(&path, 0o644, text)?;
    }
    if unit.enabled == Some(true) {
        for (kind, target) in wanted(text) {
            link(&format!("/{UNITS}/{name}"), &folder.join(format!("{}.{kind}", plain(target)?)).join(name))?;
        }
    }
    Ok(())
}

/// Who wants a unit, as its text says.
fn wanted(text: &str) -> impl Iterator<Item = (&'static str, &str)> {
    text.lines().flat_map(|line| {
        let (key, targets) = line.split_once('=').unwrap_or_default();
        let kind = match key.trim() {
            "WantedBy" => Some("wants"),
            "RequiredBy" => Some("requires"),
            _ => None,
        };
        kind.into_iter().flat_map(move |kind| targets.split_whitespace().map(move |target| (kind, target)))
    })
}

fn link(to: &str, path: &Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    if path.symlink_metadata().is_ok() {
        std::fs::remove_file(path)?;
    }
    Ok(symlink(to, path)?)
}

/// A name without folders.
fn plain(name: &str) -> Result<&str> {
    let fine = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(fine) {
        bail!("{name:?} is no name of a unit");
    }
    Ok(name)
}

/// An absolute path, below the root and nowhere else. Links that stand in the way lead where they lead on that system.
fn below(root: &Path, path: &str) -> Result<PathBuf> {
    let mut found = root.to_owned();
    let parts = Path::new(path).strip_prefix("/").context("its path is not absolute")?;
    for part in parts.components() {
        let Component::Normal(name) = part else { bail!("its path is not plain") };
        found.push(name);
        // `/usr/local` is a link on systems whose `/usr` can't be written.
        if found.is_symlink() && found != root.join(parts) {
            let target = std::fs::read_link(&found)?;
            found.pop();
            let target = if target.is_absolute() {
                target
            } else {
                Path::new("/").join(found.strip_prefix(root)?).join(target)
            };
            found = root.join(resolved(&target).strip_prefix("/")?);
        }
    }
    Ok(found)
}

/// A path without `.` and `..`, which never lead above the root.
fn resolved(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::from("/"), |mut found, part| {
        match part {
            Component::ParentDir => drop(found.pop()),
            Component::Normal(name) => found.push(name),
            _ => {}
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_config_lays_what_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        files::write(at("etc/same"), 0o600, "same").unwrap();
        files::write(at("etc/other"), 0o644, "before").unwrap();
        let mut config = Config::new("3.2.0");
        for (path, text) in
            [("/etc/same", "same"), ("/etc/other", "after"), ("/etc/new", "new"), (ENCAPSULATED, "{}")]
        {
            config.add_file(path, 0o644, Resource::bytes(text));
        }
        config.add_file("/etc/elsewhere", 0o644, Resource::fetched("http://x/y", "00"));
        assert_eq!(update(&config, dir.path()).unwrap(), 2);
        assert_eq!(files::text(at("etc/other")).unwrap(), "after");
        assert_eq!(files::text(at("etc/new")).unwrap(), "new");
        assert!(!at("etc/elsewhere").exists() && !at(&ENCAPSULATED[1..]).exists());
        assert_eq!(update(&config, dir.path()).unwrap(), 0);
    }

    fn laid(config: &str) -> (tempfile::TempDir, Result<()>) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("usr")).unwrap();
        std::fs::create_dir_all(dir.path().join("var/usrlocal")).unwrap();
        symlink("../var/usrlocal", dir.path().join("usr/local")).unwrap();
        let done = write_config(&serde_json::from_str(config).unwrap(), dir.path());
        (dir, done)
    }

    #[test]
    fn files_and_units() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, done) = laid(
            r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[
                {"path":"/usr/local/bin/a.sh","mode":365,"contents":{"source":"data:,x%20y"}},
                {"path":"/opt/empty","user":{"name":"root"}},
                {"path":"/opt/packed","contents":{"compression":"gzip","source":"data:;base64,H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="}}]},
              "systemd":{"units":[
                {"name":"a.service","enabled":true,"contents":"[Install]\nWantedBy=multi-user.target b.target\n"},
                {"name":"m.service","mask":true},
                {"name":"d.service","dropins":[{"name":"10-x.conf","contents":"[Service]\n"}]}]}}"#,
        );
        done.unwrap();
        let at = |path: &str| dir.path().join(path);
        assert_eq!(files::text(at("var/usrlocal/bin/a.sh")).unwrap(), "x y");
        assert_eq!(
            std::fs::metadata(at("var/usrlocal/bin/a.sh")).unwrap().permissions().mode() & 0o777,
            0o555
        );
        assert_eq!(files::text(at("opt/packed")).unwrap(), "hello");
        assert_eq!(files::text(at("opt/empty")).unwrap(), "");
        let units = at(UNITS);
        for target in ["multi-user", "b"] {
            let link = std::fs::read_link(units.join(format!("{target}.target.wants/a.service"))).unwrap();
            assert_eq!(link, Path::new("/etc/systemd/system/a.service"));
        }
        assert_eq!(std::fs::read_link(units.join("m.service")).unwrap(), Path::new("/dev/null"));
        assert!(units.join("d.service.d/10-x.conf").is_file() && !units.join("d.service").exists());
    }

    #[test]
    fn what_is_refused() {
        for (config, why) in [
            (r#"{"storage":{"files":[{"path":"a"}]}}"#, "not absolute"),
            (r#"{"storage":{"files":[{"path":"/a/../../b"}]}}"#, "not plain"),
            (r#"{"storage":{"files":[{"path":"/a","contents":{"source":"http://h/a"}}]}}"#, "elsewhere"),
            (r#"{"storage":{"files":[{"path":"/a","append":[{"source":"data:,x"}]}]}}"#, "appended"),
            (r#"{"storage":{"files":[{"path":"/a","user":{"name":"core"}}]}}"#, "belong to core"),
            (r#"{"systemd":{"units":[{"name":"../a.service","contents":"x"}]}}"#, "no name of a unit"),
        ] {
            let (_, done) = laid(config);
            let told = format!("{:#}", done.unwrap_err());
            assert!(told.contains(why), "{why}: {told}");
        }
    }

    #[test]
    fn links_stay_below_the_root() {
        let dir = tempfile::tempdir().unwrap();
        symlink("../../../etc", dir.path().join("out")).unwrap();
        assert_eq!(below(dir.path(), "/out/passwd").unwrap(), dir.path().join("etc/passwd"));
    }
}
