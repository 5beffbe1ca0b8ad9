//! How releases are read by the settings: which mirrors are asked, and who is trusted.

use std::path::{Path, PathBuf};

use assisted_config::Settings;
use assisted_core::admission::install_config::Additions;
use assisted_release::mirror::Rule;
use assisted_release::{Mirrors, Reference, Registries, Retry, Transport};

use super::setup_error::{SetupError, optional};
use crate::registries_conf::names_registries;

/// The way to registries, and what clusters are told of it. `assisted mirror` takes it like the generator, so that what the one finds is
/// found by the other.
#[derive(Clone, Debug)]
pub struct RegistryAccess {
    pub registries: Registries,
    /// What goes into each install config, unless a cluster has mirrors of its own.
    pub additions: Additions,
    /// Where releases are read instead of under their own names.
    pub release_mirror: Option<Reference>,
}

impl RegistryAccess {
    /// What the settings say; reads files.
    ///
    /// # Errors
    ///
    /// See [`SetupError`].
    pub fn open(settings: &Settings, retry: Retry) -> Result<Self, SetupError> {
        let images = &settings.images;
        let conf = PathBuf::from(&images.registries_conf);
        let mut mirrors = match optional(&conf)?.filter(|text| names_registries(text)) {
            Some(text) => Mirrors::from_registries_conf(&text)
                .map_err(|source| SetupError::Mirrors { path: conf.clone(), source })?,
            None => Mirrors::default(),
        };
        let trusted: Vec<String> = optional(Path::new(&images.registries_ca))?.into_iter().collect();
        let additions = Additions {
            mirrors: mirrors.by_digest(),
            // Clusters need it for mirrors alone.
            authorities: if mirrors.is_empty() { Vec::new() } else { trusted.clone() },
        };
        let release_mirror = match images.release_image_mirror.as_str() {
            "" => None,
            // Mirrors by rule come before a mirror of the release alone.
            _ if !mirrors.is_empty() => None,
            text => Some(text.parse::<Reference>()?),
        };
        if let Some(mirror) = &release_mirror {
            let prefix = mirror.repository.registry.clone();
            let rule = Rule { prefix, location: None, blocked: false, insecure: true, mirrors: Vec::new() };
            let unchecked = Mirrors::new([rule]);
            mirrors.extend(unchecked.map_err(|source| SetupError::Mirrors { path: conf, source })?);
        }
        let transport = Transport { trusted, ..Transport::default() };
        let registries = Registries::new(&transport, mirrors, retry).map_err(SetupError::Registries)?;
        Ok(Self { registries, additions, release_mirror })
    }
}
