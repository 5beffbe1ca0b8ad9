//! The live view: who watches a cluster, or all of them, is told what changes as it happens.
//!
//! While somebody watches, one task ([`publish`]) follows the news of the store. It reads what changed once, however many
//! watch, and puts it into a ring that all watchers share ([`ring`]); each watcher ([`watcher`]) has a place in
//! it. A slow reader holds nobody up and takes no memory: once the ring has gone past its place, it is told the present
//! state instead of what it missed. While nobody watches, nothing is read.

mod change;
mod publish;
pub(crate) mod ring;
mod watcher;

use std::fmt;
use std::str::FromStr;

use assisted_core::model::refusal::RefusalKind;
use assisted_wire::id::ClusterId;
use bytes::Bytes;

pub use change::Change;
pub(crate) use publish::Publisher;
pub use watcher::Watcher;

use std::sync::Arc;

use change::Shared;

use crate::event::Events;
use crate::fault::broken;
use crate::not_found::no_cluster;
use crate::{Caller, Error};
use ring::Topic;

/// What a caller wants to be told of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    /// `None`: all clusters and hosts.
    pub cluster_id: Option<ClusterId>,
    /// Infra-envs too, where all clusters are watched.
    pub infra_envs: bool,
    /// Where the caller was cut off.
    pub place: Option<Place>,
}

/// A message to a watcher.
#[derive(Clone, Debug)]
pub struct Message {
    shared: Arc<Shared>,
    /// Where to go on after this message; `None`: it belongs together with those that follow.
    pub place: Option<Place>,
}

impl Message {
    /// A message that only one is told.
    fn new(change: Change, place: Option<Place>) -> Self {
        Self { shared: Shared::new(change), place }
    }

    /// What changed.
    pub fn change(&self) -> &Change {
        self.shared.change()
    }

    /// The change as a front end sends it, made once for all who are told; the one who renders must be the same for all.
    ///
    /// # Errors
    ///
    /// Those of `render`.
    pub fn rendered<E>(&self, render: impl FnOnce(&Change) -> Result<Bytes, E>) -> Result<Bytes, E> {
        self.shared.rendered(render)
    }
}

/// A place in what is told. A client gives it back as it got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of one process, for as long as somebody watches.
    run: u64,
    number: u64,
    /// The newest event that was told, by its number in the store: good in any process.
    event: i64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{}", self.run, self.number, self.event)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, '-');
        let mut next = || parts.next().ok_or(());
        Ok(Self {
            run: u64::from_str_radix(next()?, 16).map_err(drop)?,
            number: next()?.parse().map_err(drop)?,
            event: next()?.parse().map_err(drop)?,
        })
    }
}

impl Events {
    /// Tells what changes from now on, or since the caller was cut off.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, or the caller's token is for something else; 403 when others than
    /// administrators watch everything; 503 when too many watch.
    pub async fn watch(&self, caller: &Caller, watch: Watch) -> Result<Watcher, Error> {
        self.may_see(caller, watch.cluster_id, None, &[]).await?;
        let topic = match watch.cluster_id {
            Some(id) => {
                let stored = self.database.known_cluster(id).await.map_err(broken)?.ok_or_else(no_cluster)?;
                let cluster = &stored.record.cluster;
                if !caller.may_see(&cluster.user_name, &cluster.org_id) {
                    return Err(no_cluster().into());
                }
                Topic::Cluster(id)
            }
            None if caller.is_admin() && watch.infra_envs => Topic::AllWithInfraEnvs,
            None if caller.is_admin() => Topic::All,
            None => {
                let message = "only admin users are allowed to watch all clusters".to_owned();
                return Err(Error::Infra { kind: RefusalKind::Forbidden, message });
            }
        };
        Watcher::new(self.clone(), topic, watch.place).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let place = Place { run: u64::MAX, number: 7, event: -1 };
        assert_eq!(place.to_string().parse(), Ok(place));
        for text in ["", "-", "1-2", "x-1-1", "1-x-1", "1-1-x", "1-1-1-1", "1--1-1"] {
            assert_eq!(text.parse::<Place>(), Err(()), "{text}");
        }
    }
}
