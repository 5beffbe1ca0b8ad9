//! Images on their way into a registry.

use crate::{Attached, Image, Index, PushError, Registry};

impl Registry {
    /// Pushes an image under a tag, if one is told; gives its name by digest.
    ///
    /// # Errors
    /// When the registry can't be reached or refuses.
    pub async fn push(
        &self,
        repository: &str,
        tag: Option<&str>,
        image: &Image,
    ) -> Result<String, PushError> {
        for blob in &image.blobs {
            self.blob(repository, blob).await?;
        }
        self.manifest(repository, &image.manifest, tag).await
    }

    /// Pushes a list of images with all that is in it.
    ///
    /// # Errors
    /// When the registry can't be reached or refuses.
    pub async fn push_index(
        &self,
        repository: &str,
        tag: Option<&str>,
        index: &Index,
    ) -> Result<String, PushError> {
        for image in &index.images {
            self.push(repository, None, image).await?;
        }
        self.manifest(repository, &index.manifest, tag).await
    }

    /// Pushes what is attached to an image.
    ///
    /// # Errors
    /// When the registry can't be reached or refuses.
    pub async fn attach(&self, repository: &str, attached: &Attached) -> Result<String, PushError> {
        for blob in &attached.blobs {
            self.blob(repository, blob).await?;
        }
        let Some(list) = &attached.list else {
            return self.manifest(repository, &attached.manifest, Some(&attached.tag)).await;
        };
        let name = self.manifest(repository, &attached.manifest, None).await?;
        self.manifest(repository, list, Some(&attached.tag)).await?;
        Ok(name)
    }
}

/// Pushes an image to `registry`, a host and its port that takes images over plain HTTP from anyone, under a tag if one is told;
/// gives its name by digest.
///
/// # Errors
/// When the registry can't be reached or refuses.
pub async fn push(
    registry: &str,
    repository: &str,
    tag: Option<&str>,
    image: &Image,
) -> Result<String, PushError> {
    Registry::plain(registry)?.push(repository, tag, image).await
}

/// Pushes a list of images with all that is in it, likewise.
///
/// # Errors
/// When the registry can't be reached or refuses.
pub async fn push_index(
    registry: &str,
    repository: &str,
    tag: Option<&str>,
    index: &Index,
) -> Result<String, PushError> {
    Registry::plain(registry)?.push_index(repository, tag, index).await
}
