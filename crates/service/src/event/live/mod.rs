//! The stream of changes: whoever watches a cluster, or all of them, gets each change as it happens.
//!
//! While somebody watches, one task ([`publish`]) follows the news of the store. It reads what changed once, however many
//! watch, and puts it into a ring that all watchers share ([`ring`]); each watcher ([`watcher`]) has a cursor in
//! it. A slow reader holds nobody up and takes no memory: once the ring has gone past its cursor, it is told the present
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

use crate::attempt::final_error;
use crate::event::Events;
use crate::not_found::no_cluster;
use crate::{Caller, Error};
use ring::Topic;

/// What a caller wants to watch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    /// `None`: all clusters and hosts.
    pub cluster_id: Option<ClusterId>,
    /// Infra-envs too, where all clusters are watched.
    pub infra_envs: bool,
    /// Where the caller was cut off.
    pub cursor: Option<Cursor>,
}

/// A message to a watcher.
#[derive(Clone, Debug)]
pub struct Message {
    shared: Arc<Shared>,
    /// Where to go on after this message; `None`: it belongs together with those that follow.
    pub cursor: Option<Cursor>,
}

impl Message {
    /// A message to one watcher only.
    fn new(change: Change, cursor: Option<Cursor>) -> Self {
        Self { shared: Shared::new(change), cursor }
    }

    /// What changed.
    pub fn change(&self) -> &Change {
        self.shared.change()
    }

    /// The change as a front end sends it, made once for all who watch; the one who renders must be the same for all.
    ///
    /// # Errors
    ///
    /// Those of `render`.
    pub fn rendered<E>(&self, render: impl FnOnce(&Change) -> Result<Bytes, E>) -> Result<Bytes, E> {
        self.shared.rendered(render)
    }
}

/// A position in the stream. A client gives it back as it got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Of one process, for as long as somebody watches.
    run: u64,
    number: u64,
    /// The newest event that was sent, by its number in the store: good in any process.
    event: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{}", self.run, self.number, self.event)
    }
}

impl FromStr for Cursor {
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
                let stored =
                    self.database.cached_cluster(id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
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
        Watcher::new(self.clone(), topic, watch.cursor).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let cursor = Cursor { run: u64::MAX, number: 7, event: -1 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "-", "1-2", "x-1-1", "1-x-1", "1-1-x", "1-1-1-1", "1--1-1"] {
            assert_eq!(text.parse::<Cursor>(), Err(()), "{text}");
        }
    }
}
