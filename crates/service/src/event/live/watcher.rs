//! A subscription to the stream of changes.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_store::{Deleted, HostFilter};
use assisted_wire::id::ClusterId;
use tokio::sync::watch;

use super::ring::{Frame, Live, Topic};
use super::{Change, Cursor, Message};
use crate::Error;
use crate::event::Events;
use crate::not_found::no_cluster;
use crate::view::event::render_event;

/// Events that a watcher gets first of a cluster that it did not watch before.
const LATEST: u32 = 20;
/// Events that a watcher gets at the most of those that it missed.
const MISSED: u32 = 1000;

/// A subscription to the stream of changes: gives out messages in order.
pub struct Watcher {
    subscription: SubscriberGuard,
    /// Where to go on in the ring; `None`: nothing was sent yet.
    cursor: Option<Cursor>,
    /// The numbers of the events that were sent with the state, and may stand in the ring as well.
    seen: HashSet<i64>,
    /// What to send before that.
    waiting: VecDeque<Message>,
    /// Hosts to send after that: read one by one, so that a slow reader holds none of them.
    hosts: VecDeque<HostKey>,
    marks: watch::Receiver<u64>,
}

/// Counts as one subscriber as long as it lives.
struct SubscriberGuard {
    events: Events,
    topic: Topic,
}

impl SubscriberGuard {
    fn live(&self) -> &Live {
        &self.events.live
    }
}

impl Drop for SubscriberGuard {
    fn drop(&mut self) {
        self.live().leave(self.topic);
    }
}

impl Watcher {
    pub(super) async fn new(events: Events, topic: Topic, cursor: Option<Cursor>) -> Result<Self, Error> {
        let marks = events.live.join(topic).ok_or_else(|| {
            Refusal::new(RefusalKind::Unavailable, "too many are watching: close a watch, or try again later")
        })?;
        let subscription = SubscriberGuard { events, topic };
        subscription.live().until_published().await;
        Ok(Self {
            subscription,
            cursor,
            seen: HashSet::new(),
            waiting: VecDeque::new(),
            hosts: VecDeque::new(),
            marks,
        })
    }

    /// The next message, as soon as there is one; `None`: the service stops, or something broke, and it is best to come
    /// back later. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Message> {
        match self.try_next().await {
            Ok(message) => message,
            Err(error) => {
                tracing::debug!(%error, "a watcher is sent away");
                None
            }
        }
    }

    async fn try_next(&mut self) -> Result<Option<Message>, Error> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Ok(Some(message));
            }
            if let Some(key) = self.hosts.front() {
                let message = self.host(*key).await?;
                self.hosts.pop_front();
                if message.is_some() {
                    return Ok(message);
                }
                continue;
            }
            // An error: the publisher has ended, and with it the watch.
            if self.marks.has_changed().is_err() {
                return Ok(None);
            }
            self.marks.mark_unchanged();
            match self
                .cursor
                .and_then(|cursor| self.subscription.live().after(self.subscription.topic, cursor))
            {
                None => self.begin().await?,
                Some((frames, cursor)) => {
                    self.cursor = Some(cursor);
                    let new =
                        |frame: &Arc<Frame>| frame.event.is_none_or(|number| !self.seen.contains(&number));
                    self.waiting
                        .extend(frames.iter().filter(|frame| new(frame)).map(|frame| frame.message()));
                    if frames.is_empty() && self.marks.changed().await.is_err() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Prepares to send the present state, and the events since the cursor of the watcher.
    async fn begin(&mut self) -> Result<(), Error> {
        let store = self.subscription.events.database.reader();
        let cursor = self.subscription.live().cursor();
        let void = Message::new(Change::Reset, None);
        let mut waiting = VecDeque::from([void]);
        let mut hosts = VecDeque::new();
        let mut seen = HashSet::new();
        if let Topic::Cluster(id) = self.subscription.topic {
            let cluster = self.subscription.events.watched_cluster(id).await?.ok_or_else(no_cluster)?;
            waiting.push_back(Message::new(Change::Cluster(Box::new(cluster)), None));
            let (after, limit) = self.cursor.map_or((0, LATEST), |cursor| (cursor.event, MISSED));
            for (number, found) in store.events_after(after, Some(id), limit).await?.events {
                seen.insert(number);
                waiting.push_back(Message::new(Change::Event(Box::new(render_event(found))), None));
            }
            hosts = self.place_hosts(id).await?;
        }
        if hosts.is_empty()
            && let Some(last) = waiting.back_mut()
        {
            last.cursor = Some(cursor);
        }
        (self.cursor, self.seen, self.waiting, self.hosts) = (Some(cursor), seen, waiting, hosts);
        Ok(())
    }

    async fn place_hosts(&self, id: ClusterId) -> Result<VecDeque<HostKey>, Error> {
        let filter = HostFilter { cluster_id: Some(id), ..HostFilter::default() };
        let hosts = self.subscription.events.database.reader().hosts(&filter).await?;
        let keys: VecDeque<_> = hosts.into_iter().map(|row| row.key).collect();
        for key in &keys {
            self.subscription.live().set_cluster_of_host(*key, Some(id));
        }
        Ok(keys)
    }

    /// One of the hosts that were there when the watcher began; the last message has the cursor.
    async fn host(&self, key: HostKey) -> Result<Option<Message>, Error> {
        let events = &self.subscription.events;
        let Some(row) = events.database.reader().host(key, Deleted::Shown).await? else { return Ok(None) };
        let host = events.watched_host(row).await?;
        let cursor = self.cursor.filter(|_| self.hosts.len() == 1);
        Ok(Some(Message::new(Change::Host(Box::new(host)), cursor)))
    }
}
