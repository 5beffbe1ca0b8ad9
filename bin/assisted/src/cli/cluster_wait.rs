//! `assisted cluster wait`: nothing but the end of it, for scripts.

use std::io::Write;
use std::time::Duration;

use assisted_console::Failure;
use assisted_console::output::printable;
use assisted_wire::cluster::{Cluster, ClusterStatus};
use clap::Args;

use super::cluster_view::View;
use super::cluster_watch::{Source, is_over};
use super::common::Context;
use super::progress;

#[derive(Args, Debug)]
pub struct Wait {
    /// Id, beginning of an id, or name
    cluster: String,
    /// What the cluster has to become
    #[arg(long = "for", value_name = "STATUS", default_value = "installed")]
    until: ClusterStatus,
    /// Minutes to wait at most
    #[arg(long, value_name = "MINUTES", default_value_t = 240)]
    timeout: u64,
}

impl Wait {
    /// Ends when the cluster has the status. Each change of its status is told on standard error; on a terminal there is a bar.
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let id = context.cluster(&self.cluster).await?.id;
        let mut view = View::new(id);
        let limit = Duration::from_secs(self.timeout.saturating_mul(60));
        match tokio::time::timeout(limit, self.wait(context, &mut view)).await {
            Ok(ended) => ended,
            Err(_) => Err(Failure::Refused(match view.cluster() {
                Some(cluster) => format!(
                    "cluster {} is {} and not {} after {} minutes: {}",
                    cluster.name, cluster.status, self.until, self.timeout, cluster.status_info
                ),
                None => format!("nothing was heard of cluster {id} for {} minutes", self.timeout),
            })),
        }
    }

    async fn wait(&self, context: &Context, view: &mut View) -> Result<(), Failure> {
        let mut source = Source::new(context, view.id()).await?;
        let bar = progress::percent();
        let (mut told, mut has_begun) = (None, false);
        loop {
            let change = tokio::select! {
                change = source.next(context) => change?,
                _ = tokio::signal::ctrl_c() => {
                    return Err(Failure::Refused(format!("interrupted before the cluster was {}", self.until)));
                }
            };
            view.apply(change);
            let Some(cluster) = view.cluster() else { continue };
            if told.replace(cluster.status) != Some(cluster.status) {
                bar.suspend(|| report(cluster));
            }
            bar.set_position(percentage(cluster));
            bar.set_message(printable(view.image_build().unwrap_or(&cluster.status_info)));
            has_begun |= cluster.status == ClusterStatus::PreparingForInstallation;
            if is_over(cluster, self.until, has_begun)? {
                bar.finish_and_clear();
                return Ok(());
            }
        }
    }
}

fn percentage(cluster: &Cluster) -> u64 {
    let done = cluster.progress.as_ref().map_or(0, |progress| progress.total_percentage);
    u64::try_from(done).unwrap_or_default()
}

/// On standard error: a script that waits reads nothing.
fn report(cluster: &Cluster) {
    let text = printable(&format!("{}: {}: {}", cluster.name, cluster.status, cluster.status_info));
    let _ = writeln!(std::io::stderr(), "{} {text}", jiff::Zoned::now().strftime("%H:%M:%S"));
}
