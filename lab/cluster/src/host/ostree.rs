//! `ostree container image deploy`, where there is no ostree system: the image comes from its registry by the real skopeo, which proves
//! each of its parts, is laid out in the folder of a deployment, and becomes what the machine starts from. What was there before stays
//! as the second entry. A system that runs deploys onto its own disk as well, and starts in it next.

use std::io::{BufReader, Read};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use serde::Deserialize;

use super::partitions::{DEPLOYMENTS, STOCK, must, of_own_disk};
use crate::files;

const FETCHED: &str = "/var/tmp/lab-ostree";
/// Most that an image holds, in bytes.
const LONGEST: u64 = 8 << 30;
/// What a layer says of a file that is gone.
const GONE: &str = ".wh.";
const ALL_GONE: &str = ".wh..wh..opq";

#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    sysroot: String,
    auth: String,
    image: String,
    kargs: Vec<String>,
}

#[derive(Deserialize)]
struct Manifest {
    layers: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    digest: String,
}

impl Wish {
    fn read(args: &[&str]) -> Result<Self> {
        let ["container", "image", "deploy", options @ ..] = args else {
            bail!("the lab's ostree deploys images of containers, and nothing else");
        };
        let mut wish = Self::default();
        for pair in options.chunks(2) {
            let [name, value] = pair else { bail!("{} has no value", pair.join(" ")) };
            match *name {
                "--sysroot" => (*value).clone_into(&mut wish.sysroot),
                "--authfile" => (*value).clone_into(&mut wish.auth),
                "--imgref" => {
                    let image = value.strip_prefix("ostree-unverified-registry:");
                    image.context("that is no image of a registry")?.clone_into(&mut wish.image);
                }
                "--karg" => wish.kargs.push((*value).to_owned()),
                "--stateroot" if *value == "rhcos" => {}
                _ => bail!("the lab's ostree does not know {name} {value}"),
            }
        }
        if wish.sysroot.is_empty() || wish.image.is_empty() {
            bail!("--sysroot and --imgref are wanted");
        }
        Ok(wish)
    }
}

pub async fn run(args: &[&str]) -> Result<i32> {
    let wish = Wish::read(args)?;
    let (_, digest) = wish.image.split_once("@sha256:").context("the image is not named by its digest")?;
    let fetched = Path::new(FETCHED);
    if fetched.exists() {
        std::fs::remove_dir_all(fetched)?;
    }
    let (from, to) = (format!("docker://{}", wish.image), format!("dir:{FETCHED}"));
    must("skopeo", &["copy", "--preserve-digests", "--src-authfile", &wish.auth, &from, &to]).await?;
    let (sysroot, boot) = match wish.sysroot.as_str() {
        "/" => (of_own_disk("root"), of_own_disk("boot")),
        mounted => (PathBuf::from(mounted), Path::new(mounted).join("boot")),
    };
    let name = format!("{digest}.0");
    let deployment = sysroot.join(DEPLOYMENTS).join(&name);
    if deployment.exists() {
        std::fs::remove_dir_all(&deployment)?;
    }
    std::fs::create_dir_all(&deployment)?;
    let manifest: Manifest = serde_json::from_slice(&files::read(fetched.join("manifest.json"))?)?;
    for layer in &manifest.layers {
        let file = fetched.join(layer.digest.trim_start_matches("sha256:"));
        apply_layer(&file, &deployment).with_context(|| format!("{} can't be laid out", layer.digest))?;
    }
    std::fs::remove_dir_all(fetched)?;
    std::fs::create_dir_all(deployment.join("etc"))?;
    let origin = format!("[origin]\ncontainer-image-reference=ostree-unverified-registry:{}\n", wish.image);
    files::write(sysroot.join(DEPLOYMENTS).join(format!("{name}.origin")), 0o644, origin)?;
    for (number, own, kargs) in [(2, name.as_str(), wish.kargs.join(" ")), (1, STOCK, String::new())] {
        let entry = format!("title lab {own}\nversion {number}\noptions {kargs} ostree={own}\n");
        files::write(boot.join(format!("loader/entries/ostree-{number}.conf")), 0o644, entry)?;
    }
    // The boot loader's default.
    files::write(boot.join("loader/default"), 0o644, &name)?;
    Ok(0)
}

/// Applies a layer of an image to what is there.
fn apply_layer(layer: &Path, root: &Path) -> Result<()> {
    let mut file = BufReader::new(std::fs::File::open(layer)?);
    let packed = std::io::BufRead::fill_buf(&mut file)?.starts_with(&[0x1f, 0x8b]);
    let content: Box<dyn Read> = if packed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    let mut archive = tar::Archive::new(content.take(LONGEST));
    archive.set_preserve_permissions(true);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let Some(gone) = name.strip_prefix(GONE) else {
            // Never outside of the root, and what a link leads to neither.
            entry.unpack_in(root)?;
            continue;
        };
        let folder = plain(root, path.parent().unwrap_or(Path::new("")))?;
        if name == ALL_GONE {
            for inner in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                remove(&inner.path())?;
            }
        } else {
            remove(&folder.join(gone))?;
        }
    }
    Ok(())
}

/// A folder of the deployment's own.
fn plain(root: &Path, path: &Path) -> Result<PathBuf> {
    if path.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        bail!("{} leads elsewhere", path.display());
    }
    let folder = root.join(path);
    let real = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
    match real.starts_with(std::fs::canonicalize(root)?) {
        true => Ok(folder),
        false => bail!("{} leads elsewhere", path.display()),
    }
}

fn remove(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => Ok(std::fs::remove_dir_all(path)?),
        Ok(_) => Ok(std::fs::remove_file(path)?),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked() {
        let args = "container image deploy --sysroot /mnt --authfile /a --imgref ostree-unverified-registry:r/i@sha256:00 \
                    --karg a=b --karg c --stateroot rhcos";
        let wish = Wish::read(&args.split_whitespace().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            (wish.sysroot.as_str(), wish.image.as_str(), wish.kargs.len()),
            ("/mnt", "r/i@sha256:00", 2)
        );
        for wrong in
            ["admin status", "container image deploy --sysroot /mnt", "container image deploy --sysroot"]
        {
            assert!(Wish::read(&wrong.split_whitespace().collect::<Vec<_>>()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn layers_lie_over_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let layer = |name: &str, files: &[(&str, &str)]| {
            let mut archive = tar::Builder::new(Vec::new());
            for (path, text) in files {
                let mut header = tar::Header::new_gnu();
                header.set_size(text.len() as u64);
                header.set_mode(0o640);
                archive.append_data(&mut header, path, text.as_bytes()).unwrap();
            }
            let path = dir.path().join(name);
            std::fs::write(&path, archive.into_inner().unwrap()).unwrap();
            path
        };
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        apply_layer(&layer("1", &[("usr/a", "1"), ("usr/b", "1"), ("etc/x/y", "1")]), &root).unwrap();
        apply_layer(&layer("2", &[("usr/a", "2"), ("usr/.wh.b", ""), ("etc/x/.wh..wh..opq", "")]), &root)
            .unwrap();
        assert_eq!(files::text(root.join("usr/a")).unwrap(), "2");
        assert!(!root.join("usr/b").exists() && !root.join("etc/x/y").exists());
    }
}
