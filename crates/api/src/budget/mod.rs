//! What all who ask may hold together, and each of them: connections, bodies, uploads, watches, events, hosts, clusters,
//! infra-envs. Who asks for more is told to come back later.

mod shares;
mod window;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_config::Limits;
use assisted_service::{Caller, Service};
use assisted_wire::id::{HostId, InfraEnvId};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;
use shares::{Share, Shares};
use window::Window;

/// Bodies are counted in pieces of so many bytes.
const PIECE: usize = 1 << 10;

/// Registrations from which on it is asked how many hosts an infra-env has: most have few.
const FEW: u64 = 100;

/// How long it is believed how many hosts an infra-env has.
const COUNTED: Duration = Duration::from_secs(10);

/// Infra-envs whose hosts are counted; past it all are counted anew.
const MOST_COUNTED: usize = 10_000;

/// The budget of a service.
pub(crate) struct Budget {
    limits: Limits,
    bodies: Arc<Semaphore>,
    bodies_of: Shares<IpAddr>,
    uploads: Arc<Semaphore>,
    uploads_of: Shares<IpAddr>,
    watches: Shares<(IpAddr, String)>,
    events: Window<(IpAddr, String)>,
    /// Registrations, or hosts and when they were counted.
    hosts: Mutex<HashMap<InfraEnvId, (u64, Option<Instant>)>>,
    connections_of: Shares<IpAddr>,
}

/// Room for a body that is held.
pub(crate) struct Reservation {
    bodies: Arc<Semaphore>,
    most: u64,
    of_peer: Share<IpAddr>,
    of_all: Option<OwnedSemaphorePermit>,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        let pieces = usize::try_from(limits.bodies.0).unwrap_or(usize::MAX) / PIECE;
        Self {
            limits: limits.clone(),
            bodies: Arc::new(Semaphore::new(pieces.clamp(1, Semaphore::MAX_PERMITS))),
            bodies_of: Shares::default(),
            uploads: Arc::new(Semaphore::new(limits.uploads.get().min(Semaphore::MAX_PERMITS))),
            uploads_of: Shares::default(),
            watches: Shares::default(),
            events: Window::new(Duration::from_secs(60)),
            hosts: Mutex::default(),
            connections_of: Shares::default(),
        }
    }

    /// Connections at a time.
    pub(crate) fn connections(&self) -> usize {
        self.limits.connections.get()
    }

    /// A place for a connection of a peer; `None`: it has too many.
    pub(crate) fn connection(&self, peer: IpAddr) -> Option<Share<IpAddr>> {
        self.connections_of.take(peer, 1, self.limits.connections_per_peer.get() as u64)
    }

    /// Room for the body of a peer, none of which is taken yet.
    pub(crate) fn reserve(&self, peer: Option<IpAddr>) -> Result<Reservation, ApiError> {
        let most = self.limits.bodies_per_peer.0;
        let of_peer = self.bodies_of.take(whose(peer), 0, most).ok_or_else(too_much)?;
        Ok(Reservation { bodies: Arc::clone(&self.bodies), most, of_peer, of_all: None })
    }

    /// A place for an upload of a peer.
    pub(crate) fn upload(
        &self,
        peer: Option<IpAddr>,
    ) -> Result<(OwnedSemaphorePermit, Share<IpAddr>), ApiError> {
        let place = Arc::clone(&self.uploads).try_acquire_owned().ok();
        let share = self.uploads_of.take(whose(peer), 1, self.limits.uploads_per_peer.get() as u64);
        place
            .zip(share)
            .ok_or_else(|| ApiError::busy(503, "too many logs are being uploaded; try again later"))
    }

    /// A place for a watch of a caller.
    pub(crate) fn watch(
        &self,
        caller: &Caller,
        peer: Option<IpAddr>,
    ) -> Result<Share<(IpAddr, String)>, ApiError> {
        let most = self.limits.watches_per_caller.get() as u64;
        let key = (whose(peer), caller.user_name.clone());
        self.watches.take(key, 1, most).ok_or_else(|| {
            ApiError::busy(503, "you watch too often at once: close a watch, or try again later")
        })
    }

    /// Lets a caller add an event.
    pub(crate) fn event(&self, caller: &Caller, peer: Option<IpAddr>) -> Result<(), ApiError> {
        let of = caller.resource.map_or_else(|| caller.user_name.clone(), |resource| format!("{resource:?}"));
        self.events.pass((whose(peer), of), self.limits.events_per_minute).map_err(|wait| ApiError::Busy {
            status: 429,
            message: "too many events are told; tell fewer".to_owned(),
            retry_after: wait,
        })
    }

    /// Lets a caller add a cluster.
    pub(crate) async fn cluster(&self, service: &Service, caller: &Caller) -> Result<(), ApiError> {
        self.object(caller, "clusters", service.access().count_clusters(caller).await?)
    }

    /// Lets a caller add an infra-env.
    pub(crate) async fn infra_env(&self, service: &Service, caller: &Caller) -> Result<(), ApiError> {
        self.object(caller, "infra-envs", service.access().count_infra_envs(caller).await?)
    }

    /// Lets a caller add one to those that there are. Of what is added at the same time none counts for the others.
    fn object(&self, caller: &Caller, kind: &str, count: Option<u64>) -> Result<(), ApiError> {
        let most = self.limits.objects_per_user.get() as u64;
        if count.is_none_or(|count| count < most) {
            return Ok(());
        }
        tracing::warn!(
            user = caller.user_name,
            kind,
            most,
            "an object is refused: its user has as many as they may"
        );
        let text =
            format!("you have {most} {kind} already; delete some, or have MAX_OBJECTS_PER_USER set higher");
        Err(ApiError::busy(429, text))
    }

    /// Lets a host register that is known, or for which its infra-env has room.
    pub(crate) async fn registration(
        &self,
        service: &Service,
        infra_env_id: InfraEnvId,
        host_id: HostId,
    ) -> Result<(), ApiError> {
        let most = self.limits.hosts_per_infra_env.get() as u64;
        let (count, at) = self.hosts.lock().get(&infra_env_id).copied().unwrap_or_default();
        let believed = at.is_some_and(|at| at.elapsed() < COUNTED);
        let count = if count < most.min(FEW) || believed {
            count
        } else {
            let count = service.access().count_hosts(infra_env_id).await?;
            self.hosts.lock().insert(infra_env_id, (count, Some(Instant::now())));
            count
        };
        if count >= most {
            if !service.access().has_host(infra_env_id, host_id).await? {
                tracing::warn!(%infra_env_id, most, "a host is refused: its infra-env has as many as it may");
                let text = format!(
                    "the infra-env has {most} hosts already; remove some, or set MAX_HOSTS_PER_INFRA_ENV higher"
                );
                return Err(ApiError::busy(429, text));
            }
            return Ok(());
        }
        let mut hosts = self.hosts.lock();
        if hosts.len() >= MOST_COUNTED {
            hosts.clear();
        }
        let entry = hosts.entry(infra_env_id).or_default();
        entry.0 = entry.0.saturating_add(1);
        Ok(())
    }
}

impl Reservation {
    /// Reserves memory until there is enough for a body of so many bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), ApiError> {
        let held = self.of_all.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.div_ceil(PIECE).saturating_sub(held);
        if more == 0 {
            return Ok(());
        }
        let pieces = u32::try_from(more).map_err(|_| too_much())?;
        let taken = Arc::clone(&self.bodies).try_acquire_many_owned(pieces).map_err(|_| too_much())?;
        // Last: what is not taken is not counted.
        if !self.of_peer.grow((more * PIECE) as u64, self.most) {
            return Err(too_much());
        }
        match &mut self.of_all {
            Some(held) => held.merge(taken),
            none => *none = Some(taken),
        }
        Ok(())
    }
}

/// Who is not known counts as one.
fn whose(peer: Option<IpAddr>) -> IpAddr {
    peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

fn too_much() -> ApiError {
    ApiError::busy(503, "too much is being sent at once; try again in a moment")
}

#[cfg(test)]
mod tests {
    use assisted_config::Size;

    use super::*;

    #[test]
    fn bodies_are_held_within_a_budget_and_a_share() {
        let limits = Limits { bodies: Size(8 << 10), bodies_per_peer: Size(6 << 10), ..Limits::default() };
        let budget = Budget::new(&limits);
        let peer = |last| Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        let mut one = budget.reserve(peer(1)).unwrap();
        one.reserve(100).unwrap();
        one.reserve(5 << 10).unwrap();
        assert!(budget.reserve(peer(1)).unwrap().reserve(2 << 10).is_err(), "the peer's share");
        let mut other = budget.reserve(peer(2)).unwrap();
        other.reserve(3 << 10).unwrap();
        assert!(other.reserve(4 << 10).is_err(), "what all may hold");
        drop(one);
        other.reserve(6 << 10).unwrap();
    }
}
