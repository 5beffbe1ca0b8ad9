//! Images on their way to where others pull them: with the list of what is in them, and signed.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assisted_base::http::{Trust, authorities_of_file};
use assisted_oci::{Attached, Index, Login, Registry};
use assisted_release::{PullSecret, Reference};
use assisted_wire::secret::Secret;

use crate::sbom;
use crate::signature::Signer;

/// Largest file with credentials that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// How registries are spoken to.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Credentials, in the form of `auth.json` and of docker's `config.json`.
    pub auth_file: Option<PathBuf>,
    /// Certificates of authorities that are trusted besides the system's, as PEM.
    pub ca: Option<PathBuf>,
    /// Whether registries are spoken to without TLS. Those of this machine are anyway.
    pub plain: bool,
}

impl Access {
    /// The registry of an image.
    fn registry(&self, image: &Reference) -> Result<Registry> {
        let repository = &image.repository;
        let login = match &self.auth_file {
            Some(path) => {
                let text = credentials(path)?;
                let found =
                    PullSecret::parse(&text).with_context(|| format!("{} can't be used", path.display()))?;
                let found = found.find(repository).map(|(_, one)| one.clone());
                found.map(|one| Login { user: one.user, password: one.password })
            }
            None => None,
        };
        if self.plain || is_here(&repository.registry) {
            return Ok(Registry::plain_with(&repository.registry, login)?);
        }
        let trust = match &self.ca {
            Some(path) => Trust::Also(authorities_of_file(path)?),
            None => Trust::System,
        };
        Ok(Registry::new(&repository.registry, login, trust)?)
    }
}

/// Reads a file with credentials.
fn credentials(path: &Path) -> Result<Secret> {
    let size = path.metadata().with_context(|| format!("can't read {}", path.display()))?.len();
    anyhow::ensure!(size <= LARGEST, "{} is too long for credentials", path.display());
    Ok(std::fs::read_to_string(path)?.into())
}

/// Whether a registry is on this machine.
fn is_here(registry: &str) -> bool {
    let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
    host == "localhost"
        || host == "[::1]"
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// An image that is pushed.
pub struct Pushed {
    /// Its name by digest.
    pub name: String,
}

/// Pushes images under a name, each with its list, in the order of the images, and signed if there is a key.
///
/// # Errors
/// The registry can't be reached, or refuses.
pub async fn publish(
    index: &Index,
    name: &str,
    lists: &[Vec<u8>],
    signer: Option<&Signer>,
    access: &Access,
) -> Result<Pushed> {
    let image: Reference = name.parse()?;
    anyhow::ensure!(image.digest.is_none(), "{name} names a digest: images are pushed under a tag");
    let repository = &image.repository;
    let registry = access.registry(&image)?;
    let pushed = registry.push_index(&repository.name, Some(&image.selector()), index).await;
    let pushed = pushed.with_context(|| format!("can't push {name}"))?;
    for (image, list) in index.images.iter().zip(lists) {
        let list = Attached::document(&image.manifest, sbom::MEDIA_TYPE, list)?;
        registry
            .attach(&repository.name, &list)
            .await
            .context("can't push the list of what is in an image")?;
    }
    if let Some(signer) = signer {
        let whole = repository.to_string();
        for manifest in index.images.iter().map(|image| &image.manifest).chain([&index.manifest]) {
            let signature = signer.image(manifest, &whole)?;
            registry.attach(&repository.name, &signature).await.context("can't push a signature")?;
        }
    }
    Ok(Pushed { name: pushed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_of_this_machine_are_known() {
        for (registry, here) in [
            ("127.0.0.1:5000", true),
            ("localhost", true),
            ("[::1]:5000", true),
            ("quay.io", false),
            ("127.example.com", false),
        ] {
            assert_eq!(is_here(registry), here, "{registry}");
        }
    }
}
