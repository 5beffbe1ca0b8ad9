//! Requests for certificates: nodes that join ask for one as a client and for one as a server. Only what a host of the
//! inventory may ask for is approved; all else is left to the cluster's own approver, and to people, who are told.
//!
//! Each request is a row of work, due when it changes and at each resync, until somebody has decided about it.

mod inventory;
mod refused;

use std::fmt;
use std::sync::Arc;

use assisted_base::error::chain;
use assisted_client::Error as ServiceError;
use assisted_kube::csr::rules::{self, Known, Rejection};
use assisted_kube::csr::{self, is_pending};
use assisted_reconcile::{Failure, MemoryQueue, MemoryRow, Outcome, Reconciler};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::context::Context;
use crate::error::ReconcileError;
use crate::work;

use inventory::Inventories;
use refused::RejectedRequests;

/// A request, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key(String);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&refused::shown(&self.0))
    }
}

/// Decides about requests.
struct Approver {
    context: Arc<Context>,
    requests: Api<CertificateSigningRequest>,
    /// The requests as the watch has shown them: their names may be nothing that can be asked for.
    store: Store<CertificateSigningRequest>,
    inventories: Inventories,
    refused: Mutex<RejectedRequests>,
    /// Held by the one who reports refusals.
    reporting: tokio::sync::Mutex<()>,
}

/// Approves what may be approved, until it is to stop.
pub(crate) async fn approve(context: &Arc<Context>, stop: &CancellationToken) {
    if context.config.approve_all_csrs {
        warn!(
            "APPROVE_ALL_CSRS is set: every request for a certificate of a node is approved, whoever makes it"
        );
    }
    let requests = Api::<CertificateSigningRequest>::all(context.kube.clone());
    let (store, writer) = reflector::store();
    let queue = work::queue();
    let approver = Approver {
        context: Arc::clone(context),
        requests: requests.clone(),
        store: store.clone(),
        inventories: Inventories::default(),
        refused: Mutex::default(),
        reporting: tokio::sync::Mutex::default(),
    };
    let watch = async {
        let watched = watcher(requests, watcher::Config::default()).default_backoff();
        let mut events = std::pin::pin!(reflector::reflector(writer, watched));
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => mark(&queue, &store, &event),
                Err(error) => warn!(error = chain(&error), "certificate signing requests are not watched"),
            }
        }
    };
    let drive = work::drive(
        "certificate signing requests",
        Arc::clone(&queue),
        approver,
        &context.config.intervals,
        stop,
    );
    tokio::select! {
        () = drive => {}
        () = async { watch.await; std::future::pending().await } => {}
    }
}

/// Makes due what has changed.
fn mark(
    queue: &MemoryQueue<Key>,
    store: &Store<CertificateSigningRequest>,
    event: &Event<CertificateSigningRequest>,
) {
    let mark = |request: &CertificateSigningRequest| queue.mark(Key(request.name_any()), Timestamp::now());
    match event {
        Event::Apply(request) | Event::Delete(request) => mark(request),
        Event::InitDone => store.state().iter().for_each(|request| mark(request)),
        // The store has them when all have been listed.
        Event::Init | Event::InitApply(_) => {}
    }
}

impl Reconciler for Approver {
    type Row = MemoryRow<Key>;

    async fn reconcile(&self, row: &Self::Row) -> Result<Outcome, Failure> {
        self.decide(&row.key).await.map_err(|error| Failure::passing(chain(&error)))
    }
}

impl Approver {
    async fn decide(&self, Key(name): &Key) -> Result<Outcome, ReconcileError> {
        let found = self.store.get(&ObjectRef::new(name)).filter(|request| is_pending(request));
        let uid = found.as_ref().and_then(|request| request.uid());
        self.refused.lock().forget(name, uid.as_deref());
        let Some(request) = found else { return Ok(Outcome::Done) };
        if self.context.config.approve_all_csrs {
            // The controller has no right to approve for other signers.
            if rules::is_of_kubelets(&request.spec) && rules::is_plain(name) {
                self.put_approval(&request).await?;
            }
            return Ok(Outcome::Done);
        }
        let (now, intervals) = (Instant::now(), &self.context.config.intervals);
        let recently = now.checked_sub(intervals.min_interval).unwrap_or(now);
        let mut checked = self.check(&request, recently).await?;
        if checked.is_err() && !self.refused.lock().has_rejected(&request) {
            // It may have come a moment after the inventory was read.
            checked = self.check(&request, now).await?;
        }
        let Err(why) = checked else {
            self.put_approval(&request).await?;
            return Ok(Outcome::Done);
        };
        self.refused.lock().record(&request, &why, now);
        self.report_refused().await;
        Ok(work::after(intervals.resync))
    }

    /// Holds a request against the inventory as it was at a moment, or later.
    async fn check(
        &self,
        request: &CertificateSigningRequest,
        since: Instant,
    ) -> Result<Result<(), Rejection>, ReconcileError> {
        let inventory = self.inventories.read(&self.context, since).await?;
        let known = Known::new(&inventory.cluster, &inventory.hosts, &inventory.nodes);
        Ok(rules::check(&request.name_any(), &request.spec, &known))
    }

    /// Reports requests that stay refused to the service. What it doesn't take now is reported at the next resync.
    async fn report_refused(&self) {
        let Ok(_one_at_a_time) = self.reporting.try_lock() else { return };
        let grace = self.context.config.intervals.refusal_grace;
        loop {
            let due = self.refused.lock().due(Instant::now(), grace);
            let Some(notice) = due else { return };
            let event = notice.event(self.context.config.cluster_id, self.context.service.now());
            match self.context.service.event(&event).await {
                Ok(()) => {}
                Err(error @ ServiceError::Refused(_)) => {
                    warn!(
                        error = chain(&error),
                        "the service doesn't take the event of a request that is not approved"
                    );
                }
                Err(error) => {
                    warn!(error = chain(&error), "no event reports yet a request that is not approved");
                    return;
                }
            }
            self.refused.lock().reported(&notice);
        }
    }

    /// Approves the request as it was read: if it has changed since, the API refuses.
    async fn put_approval(&self, request: &CertificateSigningRequest) -> Result<(), kube::Error> {
        csr::approve(&self.requests, request, "assisted-installer-controller").await?;
        info!(request = request.name_any(), "approved");
        Ok(())
    }
}
