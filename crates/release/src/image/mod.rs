//! An image: found in a registry or one of its mirrors, for one architecture, and the files in it.

mod architecture;
pub(crate) mod layer;
mod sink;

use assisted_wire::cluster_params::CpuArchitecture;
use tokio::sync::mpsc;

use crate::error::{PullError, RegistryError};
use crate::mirror::Source;
use crate::reference::{Digest, Reference};
use crate::registry::{Descriptor, Found, Manifest, Session};
use layer::Search;

pub use architecture::{go_name, host, of_go_name};
pub(crate) use sink::{MemorySink, Sink, copy};

/// How much of a layer may wait to be unpacked, in pieces as they arrive.
const PIECES: usize = 32;
/// Links that are followed, at the most.
const MOST_LINKS: u8 = 8;

/// An image for one architecture.
#[derive(Clone, Debug)]
pub struct Image {
    session: Session,
    /// The image that was asked for, by digest.
    pinned: Reference,
    /// Where it was found.
    home: Source,
    manifest: Manifest,
    list: Option<Digest>,
    architectures: Vec<CpuArchitecture>,
}

impl Session {
    /// Finds an image. Of one that serves several architectures, the one for `architecture`.
    ///
    /// # Errors
    ///
    /// See [`RegistryError`]; [`RegistryError::Everywhere`] names each mirror that was asked.
    pub async fn image(&self, wanted: &Reference, architecture: CpuArchitecture) -> Result<Image, PullError> {
        let mut sources = self.sources(None, wanted);
        loop {
            let source = sources.next()?;
            match self.image_at(&source, wanted, architecture).await {
                Ok(image) => return Ok(image),
                Err(error) => sources.failed(&source, error)?,
            }
        }
    }

    pub(crate) async fn image_at(
        &self,
        source: &Source,
        wanted: &Reference,
        architecture: CpuArchitecture,
    ) -> Result<Image, RegistryError> {
        let (found, digest) = self.manifest(source).await?;
        let image = |manifest, digest, list, architectures| Image {
            session: self.clone(),
            pinned: Reference::pinned(wanted.repository.clone(), digest),
            home: source.clone(),
            manifest,
            list,
            architectures,
        };
        let index = match found {
            Found::Image(manifest) => {
                let config = self.config(source, &manifest.config).await?;
                let architectures = of_go_name(&config.architecture).into_iter().collect();
                return Ok(image(manifest, digest, None, architectures));
            }
            Found::Index(index) => index,
        };
        let (name, names) = (go_name(architecture), index.architectures());
        let missing = || RegistryError::NoArchitecture { wanted: name, has: names.join(", ") };
        let listed = index.find(name).ok_or_else(missing)?;
        let own = Reference::pinned(source.reference.repository.clone(), listed);
        match self.manifest(&Source { reference: own, insecure: source.insecure }).await? {
            (Found::Image(manifest), own) => {
                let architectures = names.iter().filter_map(|name| of_go_name(name)).collect();
                Ok(image(manifest, own, Some(digest), architectures))
            }
            (Found::Index(_), _) => Err(RegistryError::Malformed("it is a list of lists".to_owned())),
        }
    }
}

impl Image {
    /// The image by digest, in the repository that it was asked for in.
    pub fn pinned(&self) -> &Reference {
        &self.pinned
    }

    /// Digest of the list, when the name that was asked for leads to images for several architectures.
    pub fn list(&self) -> Option<Digest> {
        self.list
    }

    /// What it serves: of a list all that is in it.
    pub fn architectures(&self) -> &[CpuArchitecture] {
        &self.architectures
    }

    /// Where it was found: a mirror, or the source itself.
    pub fn home(&self) -> &Reference {
        &self.home.reference
    }

    /// What it is made of: its configuration and its layers.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Descriptor> {
        std::iter::once(&self.manifest.config).chain(&self.manifest.layers)
    }

    /// Reads small files, each at most `limit` bytes long; `None` for those that are not there.
    ///
    /// # Errors
    ///
    /// See [`RegistryError`].
    pub async fn read(&self, paths: &[&str], limit: u64) -> Result<Vec<Option<Vec<u8>>>, PullError> {
        let texts = self.search(paths, MemorySink::new(paths.len(), limit)).await?;
        Ok(texts.into_inner())
    }

    /// Gives files to a sink; those that are not in the image it is not given. Layers are searched from the top, and no
    /// further down than needed; what a higher one has deleted is not found.
    pub(crate) async fn search<S: Sink>(&self, paths: &[&str], mut sink: S) -> Result<S, PullError> {
        let layers = &self.manifest.layers;
        let mut search = Search::new(paths, MOST_LINKS);
        let mut level = layers.len();
        while let Some(layer) = level.checked_sub(1).and_then(|below| layers.get(below)) {
            level -= 1;
            if !search.begin(level) {
                continue;
            }
            let mut sources = self.session.sources(Some(&self.home), &self.pinned);
            loop {
                let source = sources.next()?;
                // What searches gets the sink, and gives it back; what it has found counts only when all went well.
                let unpacked = self.unpack(&source, layer, search.clone(), sink).await;
                let (searched, given_back, outcome) =
                    unpacked.map_err(|error| PullError::new(&source.reference, error))?;
                sink = given_back;
                match outcome {
                    Ok(()) => {
                        search = searched;
                        break;
                    }
                    Err(error) => sources.failed(&source, error)?,
                }
            }
            if let Some(again) = search.finish(layers.len()) {
                level = again;
            }
        }
        Ok(sink)
    }

    /// Searches one layer while it arrives from one place.
    async fn unpack<S: Sink>(
        &self,
        source: &Source,
        layer: &Descriptor,
        mut search: Search,
        mut sink: S,
    ) -> Result<(Search, S, Result<(), RegistryError>), RegistryError> {
        let (to, from) = mpsc::channel(PIECES);
        let unpacking = tokio::task::spawn_blocking(move || {
            let searched = search.unpack(from, &mut sink);
            (search, sink, searched)
        });
        let arrived = self.session.download(source, layer, to).await;
        let (search, sink, searched) = unpacking.await.map_err(|_| RegistryError::Stopped)?;
        let outcome = match (arrived, searched) {
            (Ok(()), Ok(())) => Ok(()),
            // The download was given up because of the other.
            (Ok(()) | Err(RegistryError::Stopped), Err(error)) | (Err(error), _) => Err(error),
        };
        Ok((search, sink, outcome))
    }
}
