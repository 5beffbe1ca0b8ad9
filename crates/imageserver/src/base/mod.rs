//! Base images: fetched at the start or when they are asked for, some at a time, each on its own account, so that one bad
//! address holds up nobody else (image-service §1.12).
//!
//! Images can be made from a base image while it is still arriving, as soon as its directory is here: what is sent of it
//! follows what arrives. Its last bytes are held back until the whole has been checked, so that nobody takes a bad image
//! for a good one.

mod check;
mod downloader;
mod fetch;
mod fetch_context;
mod part;
mod probe;
mod while_downloading;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_base::http::TrustError;
use assisted_base::retry::{Backoff, Jitter};
pub use fetch::FetchOptions;
use parking_lot::Mutex;
pub use probe::Probe;
use serde::Serialize;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use url::Url;

use crate::catalog::{BaseKey, BaseKind, Catalog, OsImage};
use crate::image::{BaseImage, Support};
use crate::metrics::Metrics;

/// Why there are no base images at all.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the folder of base images {} can't be used", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the header {name:?} for fetching base images is none that can be sent")]
    Header { name: String },
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// What is known of a base image.
#[derive(Clone, Debug, Default)]
enum DownloadState {
    /// Nobody has asked for it.
    #[default]
    Idle,
    /// It waits for others to be fetched.
    Queued,
    /// It arrives; images can be made from it once there is enough of it.
    Fetching(Option<Arc<BaseImage>>),
    Ready(Arc<BaseImage>),
    /// It will be tried again.
    Failed {
        reason: String,
        again: Instant,
    },
}

/// How far a base image is.
#[derive(Clone, Debug, Default)]
struct Progress {
    stage: DownloadState,
    received: u64,
    /// 0 while it is not known.
    length: u64,
    /// Attempts that failed.
    failures: u32,
}

#[derive(Debug)]
struct Base {
    image: OsImage,
    /// What it is called in logs and measures.
    label: String,
    path: PathBuf,
    support: Support,
    progress: Mutex<Progress>,
    /// Somebody has asked for it.
    wanted: Notify,
}

/// All base images.
#[derive(Clone, Debug)]
pub(crate) struct Bases(Arc<BTreeMap<BaseKey, Arc<Base>>>);

/// Why no image can be made from a base image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotReady {
    /// There is none.
    Unknown,
    /// It is not here yet, for the reason that is given; it may be after some seconds.
    Later { seconds: u32, why: String },
}

/// How far a base image is, for people and programs.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    version: String,
    openshift_version: String,
    cpu_architecture: String,
    r#type: &'static str,
    /// `idle`, `queued`, `fetching`, `arriving` (images can be made), `ready` or `failed`.
    state: &'static str,
    received_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_bytes: Option<u64>,
    failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_in_seconds: Option<u64>,
}

impl Bases {
    /// Takes over what is in the folder, removes what is no longer in the list, and starts a task for each image.
    pub fn open(
        dir: &Path,
        catalog: &Catalog,
        base_url: Option<&Url>,
        options: &FetchOptions,
        metrics: &Metrics,
        tasks: &mut JoinSet<()>,
    ) -> Result<Self, StoreError> {
        let refuse = |source| StoreError::Folder { path: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(refuse)?;
        let bases: BTreeMap<_, _> = catalog
            .distinct()
            .into_iter()
            .map(|image| (image.key(), Arc::new(Base::new(dir, base_url, image.clone()))))
            .collect();
        for base in bases.values().filter(|base| base.image.is_unproven()) {
            tracing::warn!(image = %base.label, "whoever stands between can change this image: it comes by plain HTTP, and no sha256 is given");
        }
        clean(dir, bases.values()).map_err(refuse)?;
        let context = Arc::new(fetch_context::FetchContext {
            fetcher: fetch::Fetcher::new(options)?,
            slots: Semaphore::new(options.parallel.max(1)),
            eager: options.eager,
            least: options.least,
            metrics: metrics.clone(),
        });
        for base in bases.values() {
            tasks.spawn(downloader::download(Arc::clone(base), Arc::clone(&context)));
        }
        Ok(Self(Arc::new(bases)))
    }

    /// What images of a base are made from; asks for it when it is not here.
    pub fn find(&self, key: &BaseKey) -> Result<Arc<BaseImage>, NotReady> {
        let base = self.0.get(key).ok_or(NotReady::Unknown)?;
        let progress = base.progress.lock();
        let (seconds, why) = match &progress.stage {
            DownloadState::Ready(base_image) | DownloadState::Fetching(Some(base_image)) => {
                return Ok(Arc::clone(base_image));
            }
            DownloadState::Failed { again, reason } => {
                let left = again.saturating_duration_since(Instant::now()).as_secs();
                let seconds = u32::try_from(left).unwrap_or(u32::MAX).clamp(1, 300);
                (seconds, format!("can't be fetched: {reason}; it is tried again in {seconds} s"))
            }
            DownloadState::Idle => {
                base.wanted.notify_one();
                (5, "is going to be fetched".to_owned())
            }
            DownloadState::Queued => (5, "waits for others to be fetched".to_owned()),
            DownloadState::Fetching(None) => {
                (5, format!("is being fetched: {} of {} bytes", progress.received, progress.length))
            }
        };
        Err(NotReady::Later { seconds, why: format!("the base image {} {why}", base.label) })
    }

    /// Whether each image is here or has failed, and at least one is here.
    pub fn settled(&self) -> bool {
        let mut any = false;
        for base in self.0.values() {
            match base.progress.lock().stage {
                DownloadState::Ready(_) => any = true,
                DownloadState::Failed { .. } => {}
                _ => return false,
            }
        }
        any
    }

    /// How far each image is.
    pub fn report(&self) -> Vec<Report> {
        self.0.values().map(|base| base.report()).collect()
    }
}

impl Base {
    fn new(dir: &Path, base_url: Option<&Url>, image: OsImage) -> Self {
        let OsImage { version, cpu_architecture, kind, .. } = &image;
        let name = match kind {
            BaseKind::Full => format!("rhcos-full-iso-{version}-{cpu_architecture}.iso"),
            BaseKind::Disconnected => format!("rhcos-disconnected-iso-{version}-{cpu_architecture}.iso"),
        };
        // A file that this machine has anyway is used where it is.
        let own = (image.url.scheme() == "file").then(|| image.url.to_file_path().ok()).flatten();
        let label = match kind {
            BaseKind::Full => format!("{version}-{cpu_architecture}"),
            BaseKind::Disconnected => format!("{version}-{cpu_architecture}-disconnected"),
        };
        Self {
            label,
            support: Support::new(dir, base_url, &image),
            path: own.unwrap_or_else(|| dir.join(name)),
            image,
            progress: Mutex::default(),
            wanted: Notify::new(),
        }
    }

    fn is_local(&self) -> bool {
        self.image.url.scheme() == "file"
    }

    fn set(&self, stage: DownloadState) {
        self.progress.lock().stage = stage;
    }

    fn report(&self) -> Report {
        let Progress { stage, received, length, failures } = self.progress.lock().clone();
        let (mut error, mut retry) = (None, None);
        let state = match stage {
            DownloadState::Idle => "idle",
            DownloadState::Queued => "queued",
            DownloadState::Fetching(None) => "fetching",
            DownloadState::Fetching(Some(_)) => "arriving",
            DownloadState::Ready(_) => "ready",
            DownloadState::Failed { reason, again } => {
                error = Some(reason);
                retry = Some(again.saturating_duration_since(Instant::now()).as_secs());
                "failed"
            }
        };
        Report {
            version: self.image.version.clone(),
            openshift_version: self.image.openshift_version.clone(),
            cpu_architecture: self.image.cpu_architecture.clone(),
            r#type: self.image.kind.name(),
            state,
            received_bytes: received,
            total_bytes: (length > 0).then_some(length),
            failures,
            error,
            retry_in_seconds: retry,
        }
    }
}

/// Removes base images that are no longer in the list, and minimal images that other image services leave behind. Whatever
/// has another name is somebody else's.
fn clean<'a>(dir: &Path, bases: impl Iterator<Item = &'a Arc<Base>>) -> std::io::Result<()> {
    let mut keep = Vec::new();
    for base in bases {
        let OsImage { version, cpu_architecture, .. } = &base.image;
        keep.push(format!("nmstatectl-{version}-{cpu_architecture}"));
        if let Some(name) = base.path.file_name().and_then(|name| name.to_str()).filter(|_| !base.is_local())
        {
            keep.extend([name.to_owned(), format!("{name}.part"), format!("{name}.part.json")]);
        }
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let ours = name.starts_with("rhcos-") || name.starts_with("nmstatectl-");
        if ours && entry.file_type()?.is_file() && !keep.iter().any(|kept| kept == name) {
            tracing::info!(file = name, "a base image that is not in the list is removed");
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// How long to wait after so many failures: doubling from a second; longer where trying again helps less.
fn pause(failures: u32, bad_content: bool) -> Duration {
    let [first, longest] = if bad_content { [60, 3600] } else { [1, 300] }.map(Duration::from_secs);
    Backoff { first, longest, jitter: Jitter::None }.pause(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_files_that_are_not_in_the_list_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = Catalog::parse(
            r#"[{"openshift_version":"4.18","cpu_architecture":"x86_64","version":"418","url":"https://h/a"}]"#,
        )
        .unwrap();
        let kept = [
            "rhcos-full-iso-418-x86_64.iso",
            "rhcos-full-iso-418-x86_64.iso.part",
            "nmstatectl-418-x86_64",
            "notes.txt",
        ];
        let gone = [
            "rhcos-full-iso-417-x86_64.iso",
            "rhcos-full-iso-417-x86_64.iso.part.json",
            "rhcos-minimal-iso-418-x86_64.iso",
            "nmstatectl-417-x86_64",
        ];
        for name in kept.iter().chain(&gone) {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        fs::create_dir(dir.path().join("lost+found")).unwrap();
        let bases: Vec<_> = catalog
            .distinct()
            .into_iter()
            .map(|image| Arc::new(Base::new(dir.path(), None, image.clone())))
            .collect();
        clean(dir.path(), bases.iter()).unwrap();
        for name in kept {
            assert!(dir.path().join(name).exists(), "{name}");
        }
        assert!(dir.path().join("lost+found").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), kept.len() + 1);
    }

    #[test]
    fn pauses_grow_and_end_growing() {
        assert_eq!(pause(1, false).as_secs(), 1);
        assert_eq!(pause(4, false).as_secs(), 8);
        assert_eq!(pause(400, false).as_secs(), 300);
        assert_eq!(pause(1, true).as_secs(), 60);
        assert_eq!(pause(400, true).as_secs(), 3600);
    }
}
