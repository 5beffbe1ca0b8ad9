//! The layers of an image: what is added, what any of them has, the program, what is its own.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use assisted_oci::{Blob, Layer};

use super::contents::{Contents, Entry, USER};
use super::{Inputs, Kind, read};

const USERS: &str = "root:x:0:0:root:/root:/sbin/nologin\nassisted:x:1001:0:assisted:/data:/sbin/nologin\n";
const GROUPS: &str = "root:x:0:\n";

/// Where programs look for the certificates of authorities, whatever they were built with.
const CERTIFICATES: [&str; 2] = ["etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt"];

pub(super) fn made(inputs: &Inputs, kind: Kind, contents: &Contents) -> Result<Vec<Blob>> {
    let layer = || Layer::packed(inputs.packing);
    let mut layers = Vec::new();
    if let Some(folder) = inputs.added.get(&kind) {
        layers.push(tree(layer()?, folder, folder)?.finish()?);
    }
    layers.push(system(inputs, layer()?)?.finish()?);
    let mut programs = layer()?;
    for program in &contents.programs {
        programs = put(programs, program)?;
    }
    layers.push(programs.finish()?);
    let mut own = layer()?;
    for entry in &contents.own {
        own = put(own, entry)?;
    }
    for (place, target) in &contents.links {
        own = own.symlink(place, target)?;
    }
    if kind == Kind::Service {
        // Whoever asks which commit an image is of reads it there.
        let revision = format!("{}\n", inputs.revision);
        let size = revision.len() as u64;
        own = own.file_with("commit-reference.txt", 0o644, revision.as_bytes(), size)?;
        for folder in ["data", "data_temp"] {
            own = own.folder(folder, 0o775, USER)?;
        }
    }
    layers.push(own.finish()?);
    Ok(layers)
}

/// What every image has: certificates, users, a folder for temporary files.
fn system(inputs: &Inputs, layer: Layer) -> Result<Layer> {
    let certificates = read(&inputs.certificates)?;
    let mut layer = layer.folder("tmp", 0o1777, 0)?;
    for (place, text) in [("etc/passwd", USERS.as_bytes()), ("etc/group", GROUPS.as_bytes())]
        .into_iter()
        .chain(CERTIFICATES.map(|place| (place, certificates.as_slice())))
    {
        layer = layer.file_with(place, 0o644, text, text.len() as u64)?;
    }
    Ok(layer)
}

fn put(layer: Layer, Entry { place, from }: &Entry) -> Result<Layer> {
    let file = File::open(from).with_context(|| format!("can't read {}", from.display()))?;
    let size = file.metadata()?.len();
    layer.file_from(place, file, size).with_context(|| format!("can't read {}", from.display()))
}

/// Adds a folder with all that is in it, in the order of the names.
fn tree(mut layer: Layer, root: &Path, folder: &Path) -> Result<Layer> {
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .with_context(|| format!("can't read {}", folder.display()))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let place = path.strip_prefix(root)?.to_str().with_context(|| format!("{path:?} is no text"))?;
        let metadata = path.symlink_metadata()?;
        layer = if metadata.is_symlink() {
            let target = fs::read_link(&path)?;
            layer.symlink(place, target.to_str().with_context(|| format!("{target:?} is no text"))?)?
        } else if metadata.is_dir() {
            tree(layer.folder(place, metadata.permissions().mode() & 0o7777, 0)?, root, &path)?
        } else {
            let mode = metadata.permissions().mode() & 0o7777;
            layer.file_with(place, mode, File::open(&path)?, metadata.len())?
        };
    }
    Ok(layer)
}
