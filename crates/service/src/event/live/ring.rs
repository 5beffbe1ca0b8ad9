//! The ring of the frames that were published last, and which topics have watchers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_core::model::host::HostKey;
use assisted_wire::id::ClusterId;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::change::{Change, Shared};
use super::{Cursor, Message};

/// Bytes that the ring holds.
const MOST_BYTES: usize = 16 << 20;
/// Frames that the ring holds: small ones have a cost of their own.
const MOST_FRAMES: usize = 16 * 1024;
/// Watchers at a time.
const MOST_WATCHERS: usize = 1000;
/// How long what a watcher that went away would want is kept for its return.
const INTEREST_KEPT: Duration = Duration::from_secs(60);
/// Frames that a watcher takes at a time.
const HANDFUL: usize = 64;

/// What somebody is interested in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    All,
    /// All, and infra-envs.
    AllWithInfraEnvs,
    Cluster(ClusterId),
}

/// A change as it was published.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Besides those who watch everything, who watches these wants it.
    clusters: Vec<ClusterId>,
    shared: Arc<Shared>,
    cursor: Cursor,
    /// The number of an event.
    pub(crate) event: Option<i64>,
}

impl Frame {
    /// Who is interested.
    fn topics(&self) -> impl Iterator<Item = Topic> {
        let is_infra_env = matches!(self.shared.change(), Change::InfraEnv(_) | Change::InfraEnvDeleted(_));
        let all = (!is_infra_env).then_some(Topic::All);
        let clusters = self.clusters.iter().map(|id| Topic::Cluster(*id));
        clusters.chain(all).chain([Topic::AllWithInfraEnvs])
    }

    /// The frame as a watcher gets it.
    pub(crate) fn message(&self) -> Message {
        Message { shared: Arc::clone(&self.shared), cursor: Some(self.cursor) }
    }
}

#[derive(Debug)]
struct TopicWatchers {
    watchers: usize,
    /// When the last watcher went away.
    left: Instant,
    /// The last number that whoever is interested can't get any more.
    lost: u64,
    /// Changes with each frame.
    marks: watch::Sender<u64>,
}

/// Everything that is shared between the publisher and the watchers.
#[derive(Debug)]
pub(crate) struct Live {
    state: Mutex<State>,
    /// The run of the publisher; `None` while it rests.
    run: watch::Sender<Option<u64>>,
    joined: Notify,
}

#[derive(Debug)]
struct State {
    cursor: Cursor,
    frames: VecDeque<Arc<Frame>>,
    bytes: usize,
    interests: HashMap<Topic, TopicWatchers>,
    watchers: usize,
    /// The cluster of each host that was published: those who watch the old one want to know when it leaves.
    clusters: HashMap<HostKey, ClusterId>,
}

impl Default for Live {
    fn default() -> Self {
        let state = State {
            cursor: Cursor { run: 0, number: 0, event: 0 },
            frames: VecDeque::new(),
            bytes: 0,
            interests: HashMap::new(),
            watchers: 0,
            clusters: HashMap::new(),
        };
        Self { state: Mutex::new(state), run: watch::Sender::new(None), joined: Notify::new() }
    }
}

impl Live {
    /// Takes a watcher in; `None`: there are too many.
    pub(crate) fn join(&self, topic: Topic) -> Option<watch::Receiver<u64>> {
        let mut state = self.state.lock();
        if state.watchers >= MOST_WATCHERS {
            return None;
        }
        state.watchers += 1;
        let lost = state.cursor.number;
        let interest = state.interests.entry(topic).or_insert_with(|| TopicWatchers {
            watchers: 0,
            left: Instant::now(),
            lost,
            marks: watch::Sender::new(0),
        });
        interest.watchers += 1;
        let marks = interest.marks.subscribe();
        self.joined.notify_one();
        Some(marks)
    }

    /// Lets a watcher go.
    pub(crate) fn leave(&self, topic: Topic) {
        let mut state = self.state.lock();
        state.watchers = state.watchers.saturating_sub(1);
        if let Some(interest) = state.interests.get_mut(&topic) {
            interest.watchers = interest.watchers.saturating_sub(1);
            interest.left = Instant::now();
        }
    }

    /// Waits until the publisher is at work.
    pub(crate) async fn until_published(&self) {
        let mut run = self.run.subscribe();
        // The sender lives as long as this.
        let _ = run.wait_for(Option::is_some).await;
    }

    /// Where who begins now has to go on.
    pub(crate) fn cursor(&self) -> Cursor {
        self.state.lock().cursor
    }

    /// The frames after a cursor, at most a handful, and where to go on; `None`: some of them are lost.
    pub(crate) fn after(&self, topic: Topic, cursor: Cursor) -> Option<(Vec<Arc<Frame>>, Cursor)> {
        let state = self.state.lock();
        let interest = state.interests.get(&topic)?;
        if cursor.run != state.cursor.run || cursor.number < interest.lost {
            return None;
        }
        let known = state.frames.partition_point(|frame| frame.cursor.number <= cursor.number);
        let new = state.frames.range(known..).filter(|frame| frame.topics().any(|of| of == topic));
        let new: Vec<_> = new.take(HANDFUL).cloned().collect();
        // What is of no interest is not looked at again.
        let next = new.get(HANDFUL - 1).map_or(state.cursor, |last| last.cursor);
        Some((new, next))
    }

    /// Remembers where a host is now; returns where it was.
    pub(crate) fn set_cluster_of_host(&self, host: HostKey, cluster: Option<ClusterId>) -> Option<ClusterId> {
        let mut state = self.state.lock();
        match cluster {
            Some(id) => state.clusters.insert(host, id),
            None => state.clusters.remove(&host),
        }
    }

    /// Waits until somebody watches.
    pub(super) async fn is_watched(&self) {
        while self.state.lock().interests.is_empty() {
            self.joined.notified().await;
        }
    }

    /// The publisher begins: everything after the event of this number will be published.
    pub(super) fn open(&self, run: u64, event: i64) {
        let mut state = self.state.lock();
        state.cursor = Cursor { run, number: state.cursor.number, event };
        self.run.send_replace(Some(run));
    }

    /// The publisher ends, and with it all watchers.
    pub(super) fn close(&self) {
        self.clear(&mut self.state.lock());
    }

    /// Forgets interests that nobody has had for a while; false, and the publisher may rest, when none is left.
    pub(super) fn sweep(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.interests.retain(|_, interest| {
            interest.watchers > 0 || now.saturating_duration_since(interest.left) < INTEREST_KEPT
        });
        if state.interests.is_empty() {
            self.clear(&mut state);
            return false;
        }
        true
    }

    fn clear(&self, state: &mut State) {
        self.run.send_replace(None);
        state.interests.clear();
        state.frames.clear();
        state.clusters.clear();
        (state.bytes, state.cursor.run) = (0, 0);
    }

    /// Whether anybody wants what is about these clusters.
    pub(super) fn is_wanted(&self, clusters: &[ClusterId]) -> bool {
        let interests = &self.state.lock().interests;
        let wanted = |topic| interests.contains_key(&topic);
        wanted(Topic::All)
            || wanted(Topic::AllWithInfraEnvs)
            || clusters.iter().any(|id| wanted(Topic::Cluster(*id)))
    }

    /// Whether anybody wants to know of infra-envs.
    pub(super) fn wants_infra_envs(&self) -> bool {
        self.state.lock().interests.contains_key(&Topic::AllWithInfraEnvs)
    }

    /// Puts something into the ring, and wakes who is interested in it.
    pub(super) fn push(&self, change: Change, clusters: Vec<ClusterId>, event: Option<i64>) {
        let mut state = self.state.lock();
        state.cursor.number += 1;
        state.cursor.event = state.cursor.event.max(event.unwrap_or_default());
        let frame = Arc::new(Frame { clusters, shared: Shared::new(change), cursor: state.cursor, event });
        frame.topics().for_each(|topic| state.notify(topic));
        state.bytes += frame.shared.weight();
        state.frames.push_back(frame);
        while state.bytes > MOST_BYTES || state.frames.len() > MOST_FRAMES {
            state.drop_oldest();
        }
    }

    /// Tells that something was missed: nobody can go on from where it is.
    pub(super) fn miss(&self) {
        let mut state = self.state.lock();
        state.cursor.number += 1;
        let number = state.cursor.number;
        for interest in state.interests.values_mut() {
            interest.lost = number;
            interest.notify();
        }
        state.frames.clear();
        state.bytes = 0;
    }
}

impl TopicWatchers {
    fn notify(&self) {
        self.marks.send_modify(|marks| *marks = marks.wrapping_add(1));
    }
}

impl State {
    fn notify(&self, topic: Topic) {
        if let Some(interest) = self.interests.get(&topic) {
            interest.notify();
        }
    }

    fn drop_oldest(&mut self) {
        let Some(frame) = self.frames.pop_front() else { return };
        self.bytes -= frame.shared.weight();
        for topic in frame.topics() {
            if let Some(interest) = self.interests.get_mut(&topic) {
                interest.lost = interest.lost.max(frame.cursor.number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::event::Event;
    use assisted_wire::id::InfraEnvId;

    use super::*;

    fn live(topics: &[Topic]) -> Live {
        let live = Live::default();
        live.open(7, 0);
        for topic in topics {
            live.join(*topic).unwrap();
        }
        live
    }

    fn push(live: &Live, cluster: ClusterId, text: &str) {
        let event = serde_json::json!({"name": "", "severity": "info", "message": text, "event_time": "2000-01-01T00:00:00Z"});
        let event: Event = serde_json::from_value(event).unwrap();
        live.push(Change::Event(Box::new(event)), vec![cluster], None);
    }

    fn published(live: &Live, topic: Topic, cursor: Cursor) -> Option<Vec<String>> {
        let text = |frame: &Arc<Frame>| match frame.message().change() {
            Change::Event(event) => event.message.clone(),
            other => format!("{other:?}"),
        };
        live.after(topic, cursor).map(|(frames, _)| frames.iter().map(text).collect())
    }

    #[test]
    fn each_topic_has_its_own() {
        let (here, there) = (ClusterId::random(), ClusterId::random());
        let live = live(&[Topic::All, Topic::Cluster(here), Topic::Cluster(there)]);
        let cursor = live.cursor();
        push(&live, here, "a");
        let between = live.cursor();
        push(&live, there, "b");
        push(&live, here, "c");
        let published = |topic, cursor| published(&live, topic, cursor).unwrap();
        assert_eq!(published(Topic::All, cursor), ["a", "b", "c"]);
        assert_eq!(published(Topic::Cluster(here), cursor), ["a", "c"]);
        assert_eq!(published(Topic::Cluster(here), between), ["c"]);
        assert_eq!(published(Topic::Cluster(there), between), ["b"]);
        assert!(published(Topic::All, live.cursor()).is_empty());
    }

    #[test]
    fn infra_envs_are_for_those_who_asked() {
        let live = live(&[Topic::All]);
        assert!(!live.wants_infra_envs());
        live.join(Topic::AllWithInfraEnvs).unwrap();
        assert!(live.wants_infra_envs());
        let cursor = live.cursor();
        let gone = Change::InfraEnvDeleted(InfraEnvId::random());
        live.push(gone.clone(), Vec::new(), None);
        assert_eq!(published(&live, Topic::All, cursor).unwrap(), [""; 0]);
        assert_eq!(published(&live, Topic::AllWithInfraEnvs, cursor).unwrap(), [format!("{gone:?}")]);
    }

    #[test]
    fn a_slow_reader_loses_what_the_ring_has_gone_past_and_no_other_reader_does() {
        let (busy, quiet) = (ClusterId::random(), ClusterId::random());
        let live = live(&[Topic::All, Topic::Cluster(busy), Topic::Cluster(quiet)]);
        let cursor = live.cursor();
        let megabyte = "x".repeat(1 << 20);
        (0..100).for_each(|_| push(&live, busy, &megabyte));
        assert_eq!(published(&live, Topic::Cluster(busy), cursor), None);
        assert_eq!(published(&live, Topic::All, cursor), None);
        assert_eq!(published(&live, Topic::Cluster(quiet), cursor), Some(Vec::new()));
        push(&live, quiet, "at last");
        assert_eq!(published(&live, Topic::Cluster(quiet), cursor).unwrap(), ["at last"]);
        assert!(live.state.lock().bytes <= MOST_BYTES);
        for _ in 0..2 * MOST_FRAMES {
            push(&live, busy, "");
        }
        assert!(live.state.lock().frames.len() <= MOST_FRAMES);
    }

    #[test]
    fn nobody_goes_on_from_before_something_was_missed_or_in_another_run() {
        let live = live(&[Topic::All]);
        let cursor = live.cursor();
        live.miss();
        assert_eq!(published(&live, Topic::All, cursor), None);
        assert_eq!(published(&live, Topic::All, live.cursor()), Some(Vec::new()));
        assert_eq!(published(&live, Topic::All, Cursor { run: 8, ..live.cursor() }), None);
        // What nobody has wanted so far was not kept.
        let late = Topic::Cluster(ClusterId::random());
        assert_eq!(published(&live, late, live.cursor()), None);
        push(&live, ClusterId::random(), "a");
        live.join(late).unwrap();
        assert_eq!(published(&live, late, cursor), None);
    }

    #[test]
    fn an_interest_outlives_its_watcher_for_a_while() {
        let cluster = ClusterId::random();
        let live = live(&[Topic::Cluster(cluster)]);
        assert!(live.is_wanted(&[cluster]) && !live.is_wanted(&[ClusterId::random()]));
        live.leave(Topic::Cluster(cluster));
        assert!(live.sweep(Instant::now()) && live.is_wanted(&[cluster]));
        assert!(!live.sweep(Instant::now() + INTEREST_KEPT) && !live.is_wanted(&[cluster]));
        assert_eq!(live.cursor().run, 0);
    }

    #[test]
    fn much_is_told_a_handful_at_a_time() {
        let cluster = ClusterId::random();
        let live = live(&[Topic::Cluster(cluster)]);
        let mut cursor = live.cursor();
        (0..=2 * HANDFUL).for_each(|number| push(&live, cluster, &number.to_string()));
        let mut sizes = Vec::new();
        loop {
            let (frames, next) = live.after(Topic::Cluster(cluster), cursor).unwrap();
            cursor = next;
            sizes.push(frames.len());
            if frames.is_empty() {
                break;
            }
        }
        assert_eq!(sizes, [HANDFUL, HANDFUL, 1, 0]);
    }

    #[test]
    fn watchers_are_bounded() {
        let live = live(&[]);
        assert!((0..MOST_WATCHERS).all(|_| live.join(Topic::All).is_some()));
        assert!(live.join(Topic::All).is_none());
        live.leave(Topic::All);
        assert!(live.join(Topic::All).is_some());
    }
}
