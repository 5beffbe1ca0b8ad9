//! A single node: what its temporary control plane has made is carried over to its disk.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use assisted_ignition_spec::Config;
use assisted_ignition_spec::resource::Resource;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tracing::info;

use crate::cluster::BOOTSTRAP;
use crate::control_plane::{DATA, names};
use crate::files;
use crate::machine_config::{Rendered, put_program, with_inner};

/// The file that the installer waits for.
const MADE: &str = "/opt/openshift/master.ign";
/// Etcd's data, packed, on the node.
const CARRIED: &str = "/var/lib/etcd-carried.tar.gz";
/// Credentials that the controller of the installation uses on a single node.
const CREDENTIALS: &str = "/etc/kubernetes/bootstrap-secrets/kubeconfig";
/// Most that is unpacked, in bytes.
const LONGEST: u64 = 2 << 30;

/// Writes the config of the node, with all that the cluster knows by now. Etcd must have ended. In image mode it is inside of another one:
/// whoever lays the image onto the disk looks for its name there.
pub fn write(rendered: &Rendered, image_mode: bool) -> Result<()> {
    let master = rendered.configs.get("master").context("a config of masters")?;
    let mut config: Config = serde_json::from_slice(master)?;
    put_program(&mut config)?;
    let packed = pack(Path::new(DATA))?;
    info!(bytes = packed.len(), "the cluster's data is carried over");
    config.add_file(CARRIED, 0o600, Resource::bytes(packed));
    let kubeconfig = files::read(Path::new(BOOTSTRAP).join(names::LOOPBACK))?;
    config.add_file(CREDENTIALS, 0o600, Resource::bytes(kubeconfig));
    if image_mode {
        config = with_inner(&config)?;
    }
    files::write(MADE, 0o600, config.to_json()?)
}

fn pack(folder: &Path) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    archive.append_dir_all("member", folder.join("member"))?;
    let mut packed = archive.into_inner()?;
    packed.flush()?;
    Ok(packed.finish()?)
}

/// Unpacks what was carried over, once.
pub fn restore() -> Result<()> {
    restore_to(Path::new(CARRIED), Path::new(DATA))
}

fn restore_to(carried: &Path, data: &Path) -> Result<()> {
    use std::io::Read;
    if !carried.exists() || data.join("member").exists() {
        return Ok(());
    }
    // Beside it, so that half of it is never taken for all.
    let half = data.join("half");
    if half.exists() {
        std::fs::remove_dir_all(&half)?;
    }
    std::fs::create_dir_all(&half)?;
    let unpacked = GzDecoder::new(std::fs::File::open(carried)?).take(LONGEST);
    tar::Archive::new(unpacked).unpack(&half).context("what was carried over can't be unpacked")?;
    std::fs::rename(half.join("member"), data.join("member"))?;
    info!("the cluster's data is here");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_inside_of_another() {
        use std::io::Read;
        let mut config = Config::new("3.2.0");
        config.add_file("/a", 0o644, Resource::bytes("x"));
        let outer = with_inner(&config).unwrap();
        assert!(outer.storage.files.is_empty());
        let inner = &outer.ignition.config.merge[0];
        assert_eq!(inner.compression.as_deref(), Some("gzip"));
        let mut text = Vec::new();
        GzDecoder::new(&inner.data().unwrap()[..]).read_to_end(&mut text).unwrap();
        assert_eq!(text, config.to_json().unwrap());
    }

    #[test]
    fn data_is_carried_over_once() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to, carried) =
            (dir.path().join("from"), dir.path().join("to"), dir.path().join("carried"));
        files::write(from.join("member/snap/db"), 0o600, "data").unwrap();
        std::fs::create_dir_all(&to).unwrap();
        restore_to(&carried, &to).unwrap();
        assert!(!to.join("member").exists());
        std::fs::write(&carried, pack(&from).unwrap()).unwrap();
        restore_to(&carried, &to).unwrap();
        assert_eq!(files::text(to.join("member/snap/db")).unwrap(), "data");
        std::fs::write(to.join("member/snap/db"), "later").unwrap();
        restore_to(&carried, &to).unwrap();
        assert_eq!(files::text(to.join("member/snap/db")).unwrap(), "later");
    }
}
