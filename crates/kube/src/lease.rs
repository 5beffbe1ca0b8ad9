//! The lease by which one of several replicas leads.
//!
//! Own code: no crate for this goes with the release of `kube` that is used here. A replica holds a Lease of
//! `coordination.k8s.io` by renewing it; whoever sees it unchanged for its duration, by the own clock, takes it over. Writes
//! carry the version that was read, so that of two who try one succeeds.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::error::{is_conflict, optional};

/// Where a lease stands, and how this replica keeps it.
#[derive(Clone, Debug)]
pub struct Settings {
    pub namespace: String,
    /// Who holds it: the name of this replica, unlike any other's.
    pub identity: String,
    /// How long others wait after the last renewal before they take it over; whole seconds.
    pub duration: Duration,
    /// How long the holder tries to renew it before it gives up; shorter than `duration`.
    pub deadline: Duration,
    /// Between two tries.
    pub retry: Duration,
}

/// A lease that may be held.
pub struct Leadership {
    api: Api<Lease>,
    name: &'static str,
    settings: Settings,
    /// What was last seen of another holder, and when.
    seen: Option<(Option<String>, Instant)>,
}

impl Leadership {
    /// A lease that nobody has tried to get yet.
    pub fn new(client: Client, name: &'static str, settings: Settings) -> Self {
        Self { api: Api::namespaced(client, &settings.namespace), name, settings, seen: None }
    }

    /// Waits until this replica leads; false when `stop` came first. Failures of the API server are logged, and tried again.
    pub async fn acquire(&mut self, stop: &CancellationToken) -> bool {
        loop {
            let deadline = self.settings.deadline;
            tokio::select! {
                () = stop.cancelled() => return false,
                got = timeout(deadline, self.attempt()) => match got {
                    Ok(Ok(true)) => return true,
                    Ok(Ok(false)) => {}
                    Ok(Err(error)) => tracing::warn!(lease = self.name, %error, "the lease can't be asked for"),
                    Err(_) => tracing::warn!(lease = self.name, "nobody answers who is asked for the lease"),
                },
            }
            tokio::select! {
                () = stop.cancelled() => return false,
                () = sleep(self.settings.retry) => {}
            }
        }
    }

    /// Renews the lease until it is lost, or `stop` comes; true: it was lost, and whoever leads must stop at once.
    pub async fn keep(&mut self, stop: &CancellationToken) -> bool {
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                () = stop.cancelled() => return false,
                () = sleep(self.settings.retry) => {}
            }
            match timeout_at(renewed + self.settings.deadline, self.attempt()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) | Err(_) => return true,
                Ok(Err(error)) => {
                    tracing::warn!(lease = self.name, %error, "the lease can't be renewed");
                    if renewed.elapsed() >= self.settings.deadline {
                        return true;
                    }
                }
            }
        }
    }

    /// Gives the lease back, so that the next need not wait for its end.
    ///
    /// # Errors
    /// The API server's.
    pub async fn release(&mut self) -> Result<(), kube::Error> {
        let Some(mut lease) = optional(self.api.get(self.name).await)? else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.settings.identity) {
            return Ok(());
        }
        // As the tools of Kubernetes release one: no holder, and a duration that is over at once.
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(now());
        self.write(&lease).await.map(drop)
    }

    /// Takes or renews the lease; whether it is held.
    async fn attempt(&mut self) -> Result<bool, kube::Error> {
        let Some(mut lease) = optional(self.api.get(self.name).await)? else {
            return self.create().await;
        };
        let version = lease.metadata.resource_version.clone();
        let spec = lease.spec.get_or_insert_default();
        let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty());
        let own = holder == Some(&self.settings.identity);
        if !own && holder.is_some() {
            let duration = Duration::from_secs(
                spec.lease_duration_seconds.and_then(|seconds| seconds.try_into().ok()).unwrap_or_default(),
            );
            match &self.seen {
                Some((seen, since)) if *seen == version && since.elapsed() >= duration => {}
                Some((seen, _)) if *seen == version => return Ok(false),
                _ => {
                    self.seen = Some((version, Instant::now()));
                    return Ok(false);
                }
            }
        }
        self.hold(spec, !own);
        self.write(&lease).await
    }

    async fn create(&self) -> Result<bool, kube::Error> {
        let mut lease = Lease::default();
        lease.metadata.name = Some(self.name.to_owned());
        let spec = lease.spec.get_or_insert_default();
        self.hold(spec, true);
        spec.lease_transitions = Some(0);
        settled(self.api.create(&PostParams::default(), &lease).await)
    }

    fn hold(&self, spec: &mut LeaseSpec, is_new: bool) {
        spec.holder_identity = Some(self.settings.identity.clone());
        spec.lease_duration_seconds =
            Some(i32::try_from(self.settings.duration.as_secs()).unwrap_or(i32::MAX));
        spec.renew_time = Some(now());
        if is_new {
            spec.acquire_time = Some(now());
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or_default().saturating_add(1));
        }
    }

    async fn write(&self, lease: &Lease) -> Result<bool, kube::Error> {
        settled(self.api.replace(self.name, &PostParams::default(), lease).await)
    }
}

/// Whether a write succeeded; false when somebody else was faster.
fn settled(written: Result<Lease, kube::Error>) -> Result<bool, kube::Error> {
    match written {
        Ok(_) => Ok(true),
        Err(error) if is_conflict(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What became of work that only the leader does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Led<T> {
    /// It was stopped before this replica led.
    Never,
    /// The work ended by itself.
    Ended(T),
    /// It was stopped.
    Stopped,
    /// Another replica leads: what this one knows counts no more.
    Lost,
}

/// Does something as soon as this replica leads, and as long as it does; the lease is given back at the end. Where it was lost, nothing of
/// the work goes on: whoever wants to lead once more begins anew.
pub async fn lead<F: Future>(
    client: Client,
    name: &'static str,
    settings: Settings,
    stop: &CancellationToken,
    work: impl FnOnce() -> F,
) -> Led<F::Output> {
    let mut leadership = Leadership::new(client, name, settings);
    if !leadership.acquire(stop).await {
        return Led::Never;
    }
    tracing::info!(lease = leadership.name, "this replica leads");
    let ended = tokio::select! {
        ended = work() => Led::Ended(ended),
        lost = leadership.keep(stop) => if lost { Led::Lost } else { Led::Stopped },
    };
    if !matches!(ended, Led::Lost) {
        // Who stops does not wait for an API server that says nothing.
        match timeout(leadership.settings.deadline, leadership.release()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the lease is not given back; it runs out"),
            Err(_) => tracing::debug!("nobody takes the lease back; it runs out"),
        }
    }
    ended
}

fn now() -> MicroTime {
    MicroTime(Timestamp::now())
}
