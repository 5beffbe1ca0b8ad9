//! Whether a registry has something: asked by HEAD, so that nothing is moved.

use super::manifest::ACCEPT;
use super::{Descriptor, Get, Session};
use crate::error::RegistryError;
use crate::mirror::Source;
use crate::reference::Digest;

/// Where a registry says which digest the manifest has that a name leads to.
const DIGEST: &str = "docker-content-digest";

impl Session {
    /// Whether a place has the manifest of an image: the one with its digest, if it is named by digest.
    pub(crate) async fn has_manifest(&self, source: &Source) -> Result<(), RegistryError> {
        let path = format!("manifests/{}", source.reference.selector());
        let ask = Get { path, head: true, accept: Some(ACCEPT), from: 0, source };
        let headers = self.head(&ask).await?;
        let told = headers.get(DIGEST).and_then(|value| value.to_str().ok()?.parse::<Digest>().ok());
        match (source.reference.digest, told) {
            (Some(wanted), Some(got)) if wanted != got => Err(RegistryError::WrongDigest { wanted, got }),
            _ => Ok(()),
        }
    }

    /// Whether a place has a part of an image.
    pub(crate) async fn has_blob(&self, source: &Source, part: &Descriptor) -> Result<(), RegistryError> {
        let digest = part.digest;
        let ask = Get { path: format!("blobs/{digest}"), head: true, accept: None, from: 0, source };
        match self.head(&ask).await {
            Ok(_) => Ok(()),
            Err(RegistryError::NoImage) => Err(RegistryError::NoBlob(digest)),
            Err(other) => Err(other),
        }
    }
}
