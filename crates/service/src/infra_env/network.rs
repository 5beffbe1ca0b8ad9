//! The networks of an infra-env's hosts, as files (image-service §3).

use std::sync::Arc;
use std::time::Duration;

use assisted_base::version::Version;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_netconf::archive::{self, Format};
use assisted_netconf::{File, image_files};
use assisted_wire::embedded;
use assisted_wire::infra_env::HostStaticNetworkConfig;
use moka::future::Cache;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::InfraEnvs;
use crate::Error;

/// Infra-envs whose files are remembered.
const REMEMBERED: u64 = 32;

/// The keyfiles of images that were made last, by the settings that they were made from: an image is fetched in many pieces,
/// and its files cost most of what a piece costs.
pub(super) struct KeyfileCache(Cache<String, Arc<[File]>>);

impl Default for KeyfileCache {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

impl InfraEnvs {
    /// Checks the networks of a request.
    pub(crate) async fn check_networks(
        &self,
        hosts: Option<&Vec<HostStaticNetworkConfig>>,
    ) -> Result<(), Error> {
        let Some(hosts) = hosts.filter(|hosts| !hosts.is_empty()).cloned() else { return Ok(()) };
        let checked = blocking(move || assisted_netconf::check(&hosts)).await?;
        Ok(checked.map_err(Refusal::invalid)?)
    }

    /// The files that an image carries, with the script; none without networks.
    pub(crate) async fn network_files(&self, record: &InfraEnvRecord) -> Result<Arc<[File]>, Error> {
        let settings = &record.infra_env.static_network_config;
        if settings.is_empty() {
            return Ok(Arc::default());
        }
        if let Some(files) = self.keyfiles.0.get(settings).await {
            return Ok(files);
        }
        let hosts = hosts(settings)?;
        let made = blocking(move || image_files::files(&hosts)).await?;
        let files: Arc<[File]> = made.map_err(Refusal::invalid)?.into();
        self.keyfiles.0.insert(settings.clone(), Arc::clone(&files)).await;
        Ok(files)
    }

    /// The files as people see them, as a tar archive; `None` without networks.
    pub(crate) async fn network_archive(&self, record: &InfraEnvRecord) -> Result<Option<Vec<u8>>, Error> {
        let settings = &record.infra_env.static_network_config;
        if settings.is_empty() {
            return Ok(None);
        }
        let least = &self.settings.versions.min_version_for_nmstate_service;
        let format = format_of(&record.infra_env.openshift_version, least);
        let hosts = hosts(settings)?;
        let made = blocking(move || archive::files(&hosts, format)).await?;
        tar(&made.map_err(Refusal::invalid)?).map(Some).map_err(Error::internal)
    }
}

fn hosts(settings: &str) -> Result<Vec<HostStaticNetworkConfig>, Error> {
    Ok(embedded::read(settings).map_err(Error::internal)?.unwrap_or_default())
}

/// How many networks are worked on at a time: thousands of hosts take seconds, and the threads are those that database and files are
/// read on.
const AT_ONCE: usize = 2;
static PLACES: Semaphore = Semaphore::const_new(AT_ONCE);
/// How long somebody waits for a place.
const PATIENCE: Duration = Duration::from_secs(60);

/// Works on networks, apart from the requests of others.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let busy = |_| {
        Refusal::new(
            RefusalKind::Unavailable,
            "the networks of too many hosts are worked on: ask again in a minute",
        )
    };
    let place = timeout(PATIENCE, PLACES.acquire()).await.map_err(busy)?.map_err(Error::internal)?;
    let placed = move || {
        // Until it ends, also when whoever asked is gone.
        let _place = place;
        work()
    };
    tokio::task::spawn_blocking(placed).await.map_err(Error::internal)
}

/// From some version on hosts have an nmstate that applies policies (image-service §3.3).
fn format_of(version: &str, least: &str) -> Format {
    match (Version::parse(version), Version::parse(least)) {
        (Some(version), Some(least)) if version >= least => Format::Policy,
        _ => Format::Keyfiles,
    }
}

fn tar(files: &[File]) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let mut header = tar::Header::new_ustar();
        // Absolute, which the setter of paths refuses.
        let path = file.path.as_bytes();
        let field = &mut header.as_old_mut().name;
        let room = field.get_mut(..path.len()).ok_or(std::io::ErrorKind::InvalidFilename)?;
        room.copy_from_slice(path);
        header.set_size(file.content.len() as u64);
        header.set_mode(file.mode);
        header.set_cksum();
        archive.append(&header, file.content.as_bytes())?;
    }
    archive.into_inner()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn so_many_are_worked_on_at_a_time() {
        static NOW: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let work = || {
            MOST.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            NOW.fetch_sub(1, Ordering::SeqCst);
        };
        // Somebody who gives up holds a place until the work ends.
        drop(timeout(Duration::from_millis(1), blocking(work)).await);
        for done in futures::future::join_all((0..16).map(|_| blocking(work))).await {
            done.unwrap();
        }
        assert_eq!(MOST.load(Ordering::SeqCst), AT_ONCE);
    }

    #[test]
    fn forms() {
        for (version, expected) in [
            ("", Format::Keyfiles),
            ("4.17.9", Format::Keyfiles),
            ("4.18.0-rc.1", Format::Keyfiles),
            ("4.18", Format::Policy),
            ("4.20.1", Format::Policy),
        ] {
            assert_eq!(format_of(version, "4.18"), expected, "{version}");
        }
    }
}
