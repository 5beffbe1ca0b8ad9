//! How often nodes have been rebooted, reported to the service as an event (installer-and-controller §B11).

use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::process::Cmd;
use assisted_wire::event::{Event, EventCategory, EventSeverity};
use assisted_wire::host::Host;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::context::Context;
use crate::oc::{self, OcError};
use crate::wait::poll_until;

/// Attempts for one node.
const ATTEMPTS: usize = 10;
/// One of them.
const LIMIT: Duration = Duration::from_secs(120);

/// The queue of nodes that have joined, whose reboots are to be counted.
pub(crate) struct Reboots(Option<UnboundedSender<(String, Host)>>);

/// Counts for the nodes that were taken.
pub(crate) struct Counter(UnboundedReceiver<(String, Host)>);

/// Both ends; nothing is taken unless it is wanted.
pub(crate) fn reboots(wanted: bool) -> (Reboots, Counter) {
    let (sender, receiver) = unbounded_channel();
    (Reboots(wanted.then_some(sender)), Counter(receiver))
}

impl Reboots {
    /// Has the reboots of a node counted.
    pub(crate) fn count(&self, node: &str, host: &Host) {
        if let Some(sender) = &self.0 {
            // Nobody counts any more when everything ends.
            let _ = sender.send((node.to_owned(), host.clone()));
        }
    }
}

impl Counter {
    /// Counts until nobody asks for more.
    pub(crate) async fn run(mut self, context: &Context, stop: &CancellationToken) {
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                asked = self.0.recv() => match asked {
                    Some((node, host)) => running.push(async move { report(context, &node, &host, stop).await }),
                    None => break,
                },
                Some(()) = running.next() => {}
            }
        }
        while running.next().await.is_some() {}
    }
}

async fn report(context: &Context, node: &str, host: &Host, stop: &CancellationToken) {
    let intervals = &context.config.intervals;
    let mut attempts = 0;
    let counted = poll_until(stop, intervals.reboots, Some(intervals.reboots_limit), async || {
        attempts += 1;
        match count(context, node).await {
            Ok(count) => Some(Some(count)),
            Err(error) => {
                warn!(node, error = chain(&error), "reboots can't be counted");
                (attempts >= ATTEMPTS).then_some(None)
            }
        }
    });
    let Ok(Some(count)) = counted.await else { return };
    let event = Event {
        name: "reboots_for_node".to_owned(),
        category: Some(EventCategory::User),
        severity: EventSeverity::Info,
        message: format!("Node {node} has been rebooted {count} times before completing installation"),
        cluster_id: Some(context.config.cluster_id),
        host_id: Some(host.id),
        infra_env_id: host.infra_env_id,
        event_time: context.service.now(),
        request_id: None,
        props: String::new(),
    };
    match context.service.event(&event).await {
        Ok(()) => info!(node, count, "reboots are reported"),
        Err(error) => warn!(node, error = chain(&error), "reboots can't be reported"),
    }
}

async fn count(context: &Context, node: &str) -> Result<usize, OcError> {
    let debug = |oc: Cmd| {
        oc.timeout(LIMIT)
            .arg("debug")
            .arg(format!("node/{node}"))
            .args(["--", "chroot", "/host", "last", "reboot"])
    };
    let output = oc::run(context, debug).await?;
    Ok(output.text().lines().filter(|line| line.starts_with("reboot ")).count())
}
