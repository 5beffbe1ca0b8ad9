//! Waiting for a cluster's hosts, and starting its installation.

use std::io::Write;
use std::time::{Duration, Instant};

use assisted_console::Failure;
use assisted_console::output::printable;
use assisted_wire::cluster::{Cluster, ClusterKind, ClusterStatus};
use assisted_wire::host::HostStatus;

use super::hosts::Hosts;
use super::plan::PlannedCluster;
use super::report::{Action, Mode};
use crate::cli::common::Context;
use crate::cli::progress;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(2);
/// Between two words on what is waited for.
const TELL: Duration = Duration::from_secs(30);

/// Gives hosts that register what their objects say, and starts the installation once as many hosts as the manifests ask for are known and the cluster is ready.
///
/// # Errors
/// [`Failure::Refused`] when that does not come in time, or the cluster can't get there.
pub async fn when_ready(
    context: &Context,
    planned: &PlannedCluster<'_>,
    cluster: &Option<Cluster>,
    named: &Hosts<'_>,
    limit: Duration,
) -> Result<(), Failure> {
    let Some(cluster) = cluster.as_ref().filter(|cluster| cluster.kind == ClusterKind::Cluster) else {
        return Ok(());
    };
    if planned.spec.held() {
        return report(&format!(
            "{}: its installation is held; `assisted cluster install {}` starts it",
            planned.object, cluster.id
        ));
    }
    let wanted = planned.spec.hosts();
    let begin = Instant::now();
    let mut told: Option<Instant> = None;
    let bar = progress::waiting();
    let ended = loop {
        for applied in
            named.apply(context, Mode::Do).await?.iter().filter(|one| one.action == Action::Changed)
        {
            bar.suspend(|| report(&format!("{}: {}", applied.object, applied.details.join(", "))))?;
        }
        let now = context.client.get_cluster(cluster.id).await?;
        let hosts = now.hosts.as_deref().unwrap_or_default();
        let known = hosts.iter().filter(|host| host.status == HostStatus::Known).count();
        match now.status {
            ClusterStatus::Ready if i64::try_from(known) == Ok(wanted) => {
                context.client.install_cluster(cluster.id).await?;
                break format!(
                    "{}: the installation has begun; `assisted cluster watch {}` follows it",
                    planned.object, cluster.id
                );
            }
            ClusterStatus::Ready | ClusterStatus::Insufficient | ClusterStatus::PendingForInput => {}
            other => break format!("{}: the cluster is {other} already", planned.object),
        }
        let state = format!(
            "{} of {wanted} hosts are known; the cluster is {}: {}",
            known, now.status, now.status_info
        );
        if begin.elapsed() >= limit {
            return Err(Failure::Refused(format!(
                "{}: after {} minutes {state}. `assisted cluster show {}` tells what is missing",
                planned.object,
                limit.as_secs() / 60,
                cluster.id
            )));
        }
        // Where there is no terminal, a line now and then has to do.
        if bar.is_hidden() && told.is_none_or(|told| told.elapsed() >= TELL) {
            report(&format!(
                "{}: waiting since {} s, {} s at most: {state}",
                planned.object,
                begin.elapsed().as_secs(),
                limit.as_secs()
            ))?;
            told = Some(Instant::now());
        }
        bar.set_message(printable(&state));
        tokio::time::sleep(INTERVAL).await;
    };
    bar.finish_and_clear();
    report(&ended)
}

/// On standard error: the answer itself has been shown.
fn report(text: &str) -> Result<(), Failure> {
    let _ = writeln!(std::io::stderr(), "{text}");
    Ok(())
}
