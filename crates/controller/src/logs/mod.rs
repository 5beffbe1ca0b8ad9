//! Logs for whoever has to find out what happened: the controller's own, every few minutes, and at the end a summary, with
//! the cluster's own logs if something went wrong (installer-and-controller §B8).

mod archive;
mod must_gather;
mod router;

use std::io;
use std::path::{Path, PathBuf};

use assisted_base::error::chain;
use assisted_wire::cluster::LogsState;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::{Api, ResourceExt};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::context::Context;
use crate::layering::{self, PODS};
use crate::wait::{pause, poll_until};

use archive::{Content, Entry};

/// Name of the log in an archive; whoever reads archives looks for it.
const LOG: &str = "assisted-installer-controller.logs";
const SELECTOR: &str = "job-name=assisted-installer-controller";
/// What is taken of a pod's log, in bytes.
const LONGEST: i64 = 64 << 20;

/// Why logs were not uploaded.
#[derive(Debug, thiserror::Error)]
enum LogsError {
    #[error("the service did not take them")]
    Service(#[from] assisted_client::Error),
    #[error("the cluster's API did not answer as it should")]
    Kube(#[source] Box<kube::Error>),
    #[error("no pod of the controller runs")]
    NoPod,
    #[error("the archive can't be written")]
    Pack(#[source] io::Error),
    #[error("the archive was not finished")]
    Task(#[from] tokio::task::JoinError),
    #[error("the cluster's own logs are missing")]
    MustGather(#[from] must_gather::GatherError),
}

impl From<kube::Error> for LogsError {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

/// Uploads logs until it is to stop, and then what remains.
pub(crate) async fn upload(context: &Context, agent_based: bool, stop: &CancellationToken) {
    let logs = Logs { context, pod: OnceCell::new() };
    loop {
        if let Err(error) = logs.upload_own().await {
            warn!(error = chain(&error), "the controller's log can't be uploaded");
        }
        if pause(stop, context.config.intervals.upload).await {
            break;
        }
    }
    if agent_based {
        // Nobody is there any more to take them.
        return;
    }
    logs.report(LogsState::Requested).await;
    let intervals = &context.config.intervals;
    let unstopped = CancellationToken::new();
    let uploaded = poll_until(&unstopped, intervals.resync, Some(intervals.summary_limit), async || {
        logs.upload_summary()
            .await
            .map_err(|error| warn!(error = chain(&error), "logs are not complete yet"))
            .ok()
    });
    let diagnosis = async {
        if context.config.control_plane_count == 1 && context.degraded.is_installation() {
            router::diagnose(context).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        outcome = uploaded => match outcome {
            Ok(()) => info!("logs are uploaded"),
            Err(why) => warn!(%why, "not all logs are uploaded"),
        },
        () = diagnosis => {}
    }
    logs.report(LogsState::Completed).await;
}

struct Logs<'a> {
    context: &'a Context,
    /// The controller's own.
    pod: OnceCell<String>,
}

impl Logs<'_> {
    async fn report(&self, state: LogsState) {
        if let Err(error) = self.context.service.logs_progress(state).await {
            warn!(%state, error = chain(&error), "progress of logs not taken");
        }
    }

    /// What the controller has logged, as its pod has it, or else its file. There is always something to say.
    async fn own(&self) -> Content {
        let why = match self.of_pod().await {
            Ok(log) if !log.is_empty() => return Content::Bytes(log.into_bytes()),
            Ok(_) => "it is empty".to_owned(),
            Err(error) => chain(&error),
        };
        let path = &self.context.config.paths.log;
        match path.metadata() {
            Ok(_) => Content::File(path.clone()),
            Err(error) => {
                let text =
                    format!("No log of the controller: its pod's: {why}; {}: {error}\n", path.display());
                Content::Bytes(text.into_bytes())
            }
        }
    }

    async fn of_pod(&self) -> Result<String, LogsError> {
        let pods = Api::<Pod>::namespaced(self.context.kube.clone(), &self.context.config.namespace);
        let find = async || {
            let params = ListParams::default().labels(SELECTOR).fields("status.phase=Running");
            let found = pods.list(&params).await?;
            found.items.first().map(ResourceExt::name_any).ok_or(LogsError::NoPod)
        };
        let name = self.pod.get_or_try_init(find).await?;
        let params = LogParams { limit_bytes: Some(LONGEST), ..LogParams::default() };
        Ok(pods.logs(name, &params).await?)
    }

    /// What builders of node images have written, as far as their pods are there.
    async fn of_builders(&self) -> Vec<Entry> {
        let pods = Api::<Pod>::namespaced(self.context.kube.clone(), &self.context.config.namespace);
        let found = pods.list(&ListParams::default().labels(PODS)).await;
        let found = found.map_err(|error| warn!(error = chain(&error), "builders of images are not known"));
        let mut entries = Vec::new();
        for name in found.into_iter().flatten().map(|pod| pod.name_any()) {
            let params = LogParams { limit_bytes: Some(LONGEST), ..LogParams::default() };
            match pods.logs(&name, &params).await {
                Ok(log) => entries.push(Entry {
                    name: format!("ocl/{name}.log"),
                    content: Content::Bytes(log.into_bytes()),
                }),
                Err(error) => warn!(pod = name, error = chain(&error), "its log can't be had"),
            }
        }
        entries
    }

    async fn upload_own(&self) -> Result<(), LogsError> {
        let own = Entry { name: LOG.to_owned(), content: self.own().await };
        self.send(vec![own]).await
    }

    /// The last upload; one whose cluster's logs are missing has failed.
    async fn upload_summary(&self) -> Result<(), LogsError> {
        let degraded = &self.context.degraded;
        if !degraded.is_installation() && degraded.operators().is_empty() {
            let mut entries = vec![Entry { name: LOG.to_owned(), content: self.own().await }];
            entries.extend(self.images().await);
            return self.send(entries).await;
        }
        for path in &self.context.config.paths.resolvers {
            if let Ok(text) = std::fs::read_to_string(path) {
                info!(path = %path.display(), text, "name resolution");
            }
        }
        // What takes long may fail: the controller's log comes first.
        self.upload_own().await?;
        let gathered = must_gather::gather(self.context).await;
        let mut entries = Vec::new();
        if let Ok(path) = &gathered {
            entries.push(Entry { name: name(path), content: Content::File(path.clone()) });
        }
        entries.extend(self.of_builders().await);
        entries.push(Entry { name: LOG.to_owned(), content: self.own().await });
        entries.extend(self.images().await);
        self.send(entries).await?;
        Ok(gathered.map(drop)?)
    }

    /// What there is to tell of images of nodes that were built at installation.
    async fn images(&self) -> Vec<Entry> {
        let files = Box::pin(layering::gather(&self.context.kube)).await;
        files.into_iter().map(|(name, bytes)| Entry { name, content: Content::Bytes(bytes) }).collect()
    }

    async fn send(&self, entries: Vec<Entry>) -> Result<(), LogsError> {
        let dir = tempfile::tempdir().map_err(LogsError::Pack)?;
        let path: PathBuf = dir.path().join("controller_logs.tar.gz");
        let target = path.clone();
        let packed = tokio::task::spawn_blocking(move || archive::pack(&target, entries)).await;
        packed?.map_err(LogsError::Pack)?;
        Ok(self.context.service.upload_logs(&path).await?)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
