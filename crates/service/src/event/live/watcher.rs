//! The end of the stream that one reader has.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_store::{Deleted, HostFilter};
use assisted_wire::id::ClusterId;
use tokio::sync::watch;

use super::ring::{Frame, Live, Topic};
use super::{Change, Message, Place};
use crate::Error;
use crate::event::Events;
use crate::not_found::no_cluster;
use crate::view::event::shown_event;

/// Events that are told of a cluster that was not watched before.
const LATEST: u32 = 20;
/// Events that are told at the most of those that a watcher missed.
const MISSED: u32 = 1000;

/// Gets what is told.
pub struct Watcher {
    seat: Seat,
    /// Where to go on in the ring; `None`: nothing was told yet.
    place: Option<Place>,
    /// The numbers of the events that were told with the state, and may stand in the ring as well.
    told: HashSet<i64>,
    /// What to tell before that.
    waiting: VecDeque<Message>,
    /// Hosts to tell of after that: read one by one, so that a slow reader holds none of them.
    hosts: VecDeque<HostKey>,
    marks: watch::Receiver<u64>,
}

/// Counts as one who watches as long as it lives.
struct Seat {
    events: Events,
    topic: Topic,
}

impl Seat {
    fn live(&self) -> &Live {
        &self.events.live
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.live().leave(self.topic);
    }
}

impl Watcher {
    pub(super) async fn new(events: Events, topic: Topic, place: Option<Place>) -> Result<Self, Error> {
        let marks = events.live.join(topic).ok_or_else(|| {
            Refusal::new(RefusalKind::Unavailable, "too many are watching: close a watch, or try again later")
        })?;
        let seat = Seat { events, topic };
        seat.live().is_told().await;
        Ok(Self {
            seat,
            place,
            told: HashSet::new(),
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
            match self.place.and_then(|place| self.seat.live().after(self.seat.topic, place)) {
                None => self.begin().await?,
                Some((frames, place)) => {
                    self.place = Some(place);
                    let new =
                        |frame: &Arc<Frame>| frame.event.is_none_or(|number| !self.told.contains(&number));
                    self.waiting
                        .extend(frames.iter().filter(|frame| new(frame)).map(|frame| frame.message()));
                    if frames.is_empty() && self.marks.changed().await.is_err() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Prepares to tell the present state, and the events since the place where the watcher was.
    async fn begin(&mut self) -> Result<(), Error> {
        let store = self.seat.events.database.reader();
        let place = self.seat.live().place();
        let void = Message::new(Change::Reset, None);
        let mut waiting = VecDeque::from([void]);
        let mut hosts = VecDeque::new();
        let mut told = HashSet::new();
        if let Topic::Cluster(id) = self.seat.topic {
            let cluster = self.seat.events.told_cluster(id).await?.ok_or_else(no_cluster)?;
            waiting.push_back(Message::new(Change::Cluster(Box::new(cluster)), None));
            let (after, limit) = self.place.map_or((0, LATEST), |place| (place.event, MISSED));
            for (number, found) in store.events_after(after, Some(id), limit).await?.events {
                told.insert(number);
                waiting.push_back(Message::new(Change::Event(Box::new(shown_event(found))), None));
            }
            hosts = self.settle_hosts(id).await?;
        }
        if hosts.is_empty()
            && let Some(last) = waiting.back_mut()
        {
            last.place = Some(place);
        }
        (self.place, self.told, self.waiting, self.hosts) = (Some(place), told, waiting, hosts);
        Ok(())
    }

    async fn settle_hosts(&self, id: ClusterId) -> Result<VecDeque<HostKey>, Error> {
        let filter = HostFilter { cluster_id: Some(id), ..HostFilter::default() };
        let hosts = self.seat.events.database.reader().hosts(&filter).await?;
        let keys: VecDeque<_> = hosts.into_iter().map(|row| row.key).collect();
        for key in &keys {
            self.seat.live().settle(*key, Some(id));
        }
        Ok(keys)
    }

    /// One of the hosts that were there when the watcher began; the last one tells where to go on.
    async fn host(&self, key: HostKey) -> Result<Option<Message>, Error> {
        let events = &self.seat.events;
        let Some(row) = events.database.reader().host(key, Deleted::Shown).await? else { return Ok(None) };
        let host = events.told_host(row).await?;
        let place = self.place.filter(|_| self.hosts.len() == 1);
        Ok(Some(Message::new(Change::Host(Box::new(host)), place)))
    }
}
