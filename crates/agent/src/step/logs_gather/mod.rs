//! Step `logs-gather`: collects the host's logs and sends them to the service (agent-protocol §2.4.15, §4).
//!
//! What can't be collected is named in a report among the logs; what can be is sent nevertheless.

mod archive;
mod collect;
mod send;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_base::process::Tools;
use assisted_wire::cluster::LogsState;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::probe_requests::LogsGatherCmdRequest;

use super::{Guard, only_arg};
use crate::config::Config;
use crate::reply::Outcome;
use collect::Collection;
use send::Sender;

/// Limit for the whole step.
pub(crate) const LIMIT: Duration = Duration::from_secs(3_600);
/// How often what there is so far is sent while the bootstrap host's bundle is being made.
const PARTIAL: Duration = Duration::from_secs(60);
/// Exit code and words for logs that are being collected already, as of a container whose name is taken.
const RUNNING: i64 = 125;

/// What is collected, and for whom.
#[derive(Clone, Debug)]
pub struct LogsRequest {
    pub cluster_id: ClusterId,
    pub infra_env_id: InfraEnvId,
    pub host_id: HostId,
    /// Whether this host plays bootstrap: it also gathers from the masters.
    pub bootstrap: bool,
    /// Whether the whole journal and what crashed are wanted too.
    pub installer_gather: bool,
    pub master_ips: Vec<std::net::IpAddr>,
    /// Only log records since then, in the form of `journalctl --since`.
    pub since: Option<String>,
    /// Whether the collected files stay.
    pub keep: bool,
}

/// Where logs are and where they are put together.
#[derive(Clone, Debug)]
pub struct LogDirs {
    /// `/var/log`
    pub logs: PathBuf,
    /// `/tmp`: where the bootstrap host's tools put what they make.
    pub artifacts: PathBuf,
    /// `/root`: where the bundle of the bootstrap host is left.
    pub bundles: PathBuf,
}

impl Default for LogDirs {
    fn default() -> Self {
        Self { logs: "/var/log".into(), artifacts: "/tmp".into(), bundles: "/root".into() }
    }
}

pub(super) async fn run(
    args: &[String],
    tools: &Tools,
    service: Option<&Config>,
    dirs: &LogDirs,
    guard: &Guard,
) -> Outcome {
    let request: LogsGatherCmdRequest = match only_arg("logs gather", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    let mut master_ips = Vec::new();
    for text in request.master_ips.iter().flatten() {
        match text.parse() {
            Ok(ip) => master_ips.push(ip),
            Err(_) => {
                let text: String = text.chars().take(64).collect();
                return Outcome::failed(format!("logs gather: {text:?} is no address"));
            }
        }
    }
    let Some(service) = service else {
        return Outcome::failed("logs gather: this agent has no service to send logs to");
    };
    let Ok(_held) = guard.try_lock() else {
        return Outcome { exit_code: RUNNING, ..Outcome::failed("logs are being gathered already") };
    };
    let request = LogsRequest {
        cluster_id: request.cluster_id,
        infra_env_id: request.infra_env_id,
        host_id: request.host_id,
        bootstrap: request.bootstrap,
        installer_gather: request.installer_gather,
        master_ips,
        since: None,
        keep: false,
    };
    gather_logs(&request, tools, service, dirs).await
}

/// Collects and sends; the outcome is the program's: what it prints and its exit code.
pub async fn gather_logs(request: &LogsRequest, tools: &Tools, service: &Config, dirs: &LogDirs) -> Outcome {
    match gather(request, tools, service, dirs).await {
        Ok(report) => Outcome::done(format!("Logs were sent\n{report}").trim_end().to_owned()),
        Err(error) => {
            let text = format!("Failed to run send logs  {error}");
            Outcome { output: text.clone(), ..Outcome::failed(text) }
        }
    }
}

/// Why no logs were sent.
#[derive(Debug, thiserror::Error)]
enum GatherError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Settings(#[from] assisted_client::BuildError),
    #[error("the archive is longer than the service takes, whatever is left out")]
    TooLong,
    #[error(transparent)]
    Upload(#[from] assisted_client::Error),
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> GatherError + use<> {
    let path = path.to_owned();
    move |source| GatherError::Io { path, source }
}

async fn gather(
    request: &LogsRequest,
    tools: &Tools,
    service: &Config,
    dirs: &LogDirs,
) -> Result<String, GatherError> {
    let sender = Sender::new(request, service)?;
    sender.progress(LogsState::Requested).await;
    let name = format!("logs_host_{}", request.host_id);
    let dir = dirs.logs.join(&name);
    // What an earlier run left is no part of this one.
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).map_err(at(&dir))?;
    let archive = dirs.logs.join("logs.tar.gz");
    let mut collection = Collection::new(&dir, tools, request);
    collection.common().await;
    collection.images(dirs);
    if request.installer_gather {
        collection.installer().await;
        if request.bootstrap {
            let bundle = collection.bundle(dirs);
            let partial = partial_uploads(&dir, &archive, &sender, dirs);
            tokio::select! {
                () = bundle => {}
                () = partial => {}
            }
            let _ = std::fs::remove_dir_all(dir.join("partial"));
        }
    }
    let report = collection.report();
    if !report.is_empty() {
        let path = dir.join("report.logs");
        std::fs::write(&path, &report).map_err(at(&path))?;
    }
    sender.progress(LogsState::Collecting).await;
    let sent = send_all(&dir, &archive, &sender).await;
    if !request.keep {
        let _ = std::fs::remove_dir_all(&dir);
        let _ = std::fs::remove_file(&archive);
    }
    sent?;
    sender.progress(LogsState::Completed).await;
    Ok(report)
}

async fn send_all(dir: &Path, archive: &Path, sender: &Sender<'_>) -> Result<(), GatherError> {
    archive::pack(dir.to_owned(), archive.to_owned()).await?;
    Ok(sender.upload(archive).await?)
}

/// Never ends: what is there so far goes out each minute, for the case that the rest never comes.
async fn partial_uploads(dir: &Path, archive: &Path, sender: &Sender<'_>, dirs: &LogDirs) {
    loop {
        tokio::time::sleep(PARTIAL).await;
        let sent = async {
            collect::partial_bundle(dir, dirs).await?;
            send_all(dir, archive, sender).await
        };
        if let Err(error) = sent.await {
            tracing::warn!(%error, "partial logs not sent");
        }
    }
}
