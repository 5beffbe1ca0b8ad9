//! Building the generator from the settings.

use std::io;
use std::path::{Path, PathBuf};

use assisted_config::Settings;
use assisted_core::admission::field::certificate;
use assisted_release::{Bounds, Cache, Retry};

use super::registries::RegistryAccess;
use super::setup_error::{SetupError, optional, read};
use super::{Openshift, Setup};

/// Below the service's folder: programs that are kept, and where the installer works.
const CACHE: &str = "installer-cache";
const WORK: &str = "install-config-generate";

impl Openshift {
    /// A generator that keeps programs and works below `dir`; reads and writes the disk.
    ///
    /// # Errors
    ///
    /// See [`SetupError`].
    pub fn open(settings: &Settings, dir: &Path) -> Result<Self, SetupError> {
        let generation = &settings.generation;
        let vendor_authority = match settings.clusters.install_rh_ca {
            true => vendor_authority(Path::new(&settings.clusters.rh_ca_file))?,
            false => String::new(),
        };
        let tls_dir = Some(PathBuf::from(&generation.tls_dir)).filter(|path| !path.as_os_str().is_empty());
        if let Some(path) = &tls_dir {
            std::fs::read_dir(path).map_err(|source| SetupError::TlsDir { path: path.clone(), source })?;
        }
        let RegistryAccess { registries, additions, release_mirror } =
            RegistryAccess::open(settings, Retry::default())?;
        let bounds = Bounds {
            capacity: generation.installer_cache_capacity.0,
            largest: generation.installer_cache_max_release_size.0,
        };
        let cache = Cache::open(&dir.join(CACHE), bounds)?;
        let work = clear(dir)?;
        let authority = match settings.http.service_ca_cert_path.as_str() {
            "" => String::new(),
            path => read(Path::new(path))?,
        };
        let setup = Setup {
            dir: work,
            invoker: settings.http.install_invoker.clone(),
            additions,
            vendor_authority,
            authority,
            tls_dir,
            release_mirror,
            timeout: generation.installer_timeout,
            memory: generation.installer_memory.0,
            at_once: generation.at_once,
        };
        Ok(Self::new(registries, cache, setup))
    }
}

/// Removes what runs that were killed have left below `dir`: pull secrets and keys of clusters. Returns where runs work.
pub(in crate::generator) fn clear(dir: &Path) -> Result<PathBuf, SetupError> {
    let work = dir.join(WORK);
    match std::fs::remove_dir_all(&work) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(SetupError::Clear { path: work, source })
        }
        _ => Ok(work),
    }
}

fn vendor_authority(path: &Path) -> Result<String, SetupError> {
    let text = optional(path)?.filter(|text| !text.trim().is_empty() && certificate::bundle(text).is_ok());
    text.ok_or_else(|| SetupError::NoVendorAuthority { path: path.to_owned() })
}
