//! The subject of a write, and the notifications about it between replicas.

use std::fmt;

use assisted_core::model::host::HostKey;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use uuid::Uuid;

use crate::due_key::Due;

/// A row that a batch wrote, or whose version was another than the batch expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    Cluster(ClusterId),
    InfraEnv(InfraEnvId),
    Host(HostKey),
    /// The steps of a cluster's hosts that depend on each other.
    Members(ClusterId),
    /// A host was added, as one of a cluster.
    Joined(HostKey, ClusterId),
    /// A host is no longer one of a cluster.
    Left(HostKey, ClusterId),
    /// A host was deleted, at first softly.
    Removed(HostKey),
    Due(Due),
    /// What is to be done for a cluster.
    Actions(ClusterId),
    /// What has happened: there are new events.
    Events,
}

impl Subject {
    /// Whether it is an object that clients see: what a [`Change`] is published for.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Cluster(_) | Self::InfraEnv(_) | Self::Host(_))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(id) => write!(f, "cluster {id}"),
            Self::InfraEnv(id) => write!(f, "infra-env {id}"),
            Self::Host(key) | Self::Joined(key, _) | Self::Left(key, _) | Self::Removed(key) => {
                write!(f, "host {} of infra-env {}", key.host_id, key.infra_env_id)
            }
            Self::Members(id) => write!(f, "hosts of cluster {id}"),
            Self::Due(due) => write!(f, "due work: {due}"),
            Self::Actions(id) => write!(f, "what is to be done for cluster {id}"),
            Self::Events => f.write_str("events"),
        }
    }
}

/// A committed write: what is cached of its subject is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Written through this store.
    Here(Subject),
    /// Written by another replica.
    Elsewhere(Subject),
    /// Notifications of other replicas may have been missed: everything may have changed.
    Everything,
}

const CLUSTER: char = 'c';
const INFRA_ENV: char = 'i';
const HOST: char = 'h';
const MEMBERS: char = 'm';
const LEFT: char = 'l';
const REMOVED: char = 'r';
const DUE: char = 'd';
const ACTIONS: char = 'a';
const EVENTS: char = 'e';

/// Tables that changed, without keys: whoever is notified reads the database anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnkeyedMarks {
    pub(crate) due: bool,
    pub(crate) actions: bool,
    pub(crate) events: bool,
}

impl UnkeyedMarks {
    /// Marks a subject; false when it is one that is published with its key.
    pub(crate) fn record(&mut self, subject: Subject) -> bool {
        match subject {
            Subject::Due(_) => self.due = true,
            Subject::Actions(_) => self.actions = true,
            Subject::Events => self.events = true,
            _ => return false,
        }
        true
    }
}

/// Longest notification; PostgreSQL takes less than 8000 bytes.
const MAX_PAYLOAD: usize = 7900;

/// Writes subjects as notifications: the sender's id, then one character for the kind and the ids of each.
pub(crate) fn encode(sender: Uuid, subjects: impl IntoIterator<Item = Subject>) -> Vec<String> {
    let mut payloads: Vec<String> = Vec::new();
    let mut marks = UnkeyedMarks::default();
    for subject in subjects {
        let before = marks;
        if marks.record(subject) && marks == before {
            continue;
        }
        let item = match subject {
            Subject::Cluster(id) => format!("{CLUSTER}{}", id.0.simple()),
            Subject::InfraEnv(id) => format!("{INFRA_ENV}{}", id.0.simple()),
            Subject::Host(key) => format!("{HOST}{}", simple(key)),
            Subject::Members(id) => format!("{MEMBERS}{}", id.0.simple()),
            // What another replica knows of a host that was added it has read after this.
            Subject::Joined(..) => continue,
            Subject::Left(key, id) => format!("{LEFT}{}{}", simple(key), id.0.simple()),
            Subject::Removed(key) => format!("{REMOVED}{}", simple(key)),
            Subject::Due(_) => DUE.to_string(),
            Subject::Actions(_) => ACTIONS.to_string(),
            Subject::Events => EVENTS.to_string(),
        };
        match payloads.last_mut() {
            Some(last) if last.len() + item.len() <= MAX_PAYLOAD => last.push_str(&item),
            _ => payloads.push(format!("{}{item}", sender.simple())),
        }
    }
    payloads
}

/// The content of a notification between replicas.
#[derive(Debug, PartialEq)]
pub(crate) struct Notification {
    pub(crate) sender: Uuid,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) marks: UnkeyedMarks,
}

/// Reads a notification; `None` when it is not one of ours.
pub(crate) fn decode(payload: &str) -> Option<Notification> {
    let mut rest = payload;
    let sender = id(&mut rest)?;
    let mut subjects = Vec::new();
    let mut marks = UnkeyedMarks::default();
    while let Some(kind) = rest.chars().next() {
        rest = rest.get(kind.len_utf8()..)?;
        match kind {
            CLUSTER => subjects.push(Subject::Cluster(ClusterId(id(&mut rest)?))),
            INFRA_ENV => subjects.push(Subject::InfraEnv(InfraEnvId(id(&mut rest)?))),
            HOST => subjects.push(Subject::Host(key(&mut rest)?)),
            MEMBERS => subjects.push(Subject::Members(ClusterId(id(&mut rest)?))),
            LEFT => subjects.push(Subject::Left(key(&mut rest)?, ClusterId(id(&mut rest)?))),
            REMOVED => subjects.push(Subject::Removed(key(&mut rest)?)),
            DUE => marks.due = true,
            ACTIONS => marks.actions = true,
            EVENTS => marks.events = true,
            _ => return None,
        }
    }
    Some(Notification { sender, subjects, marks })
}

fn simple(key: HostKey) -> String {
    format!("{}{}", key.infra_env_id.0.simple(), key.host_id.0.simple())
}

fn key(rest: &mut &str) -> Option<HostKey> {
    Some(HostKey { infra_env_id: InfraEnvId(id(rest)?), host_id: HostId(id(rest)?) })
}

fn id(rest: &mut &str) -> Option<Uuid> {
    let (head, tail) = rest.split_at_checked(32)?;
    *rest = tail;
    Uuid::try_parse(head).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_survive_the_wire() {
        let sender = Uuid::new_v4();
        let host = || HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() };
        let cluster = ClusterId::random();
        let mut subjects = vec![
            Subject::Cluster(cluster),
            Subject::Due(Due::Cluster(cluster)),
            Subject::InfraEnv(InfraEnvId::random()),
            Subject::Actions(cluster),
            Subject::Actions(ClusterId::random()),
            Subject::Events,
            Subject::Events,
            Subject::Members(cluster),
            Subject::Left(host(), cluster),
            Subject::Removed(host()),
        ];
        subjects.extend((0..500).map(|_| Subject::Host(host())));
        subjects.push(Subject::Due(Due::Host(host())));

        let payloads = encode(sender, subjects.iter().copied());
        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() <= MAX_PAYLOAD));
        let read: Vec<_> = payloads.iter().map(|payload| decode(payload).unwrap()).collect();
        assert!(read.iter().all(|notification| notification.sender == sender));
        for marked in [
            |marks: UnkeyedMarks| marks.due,
            |marks: UnkeyedMarks| marks.actions,
            |marks: UnkeyedMarks| marks.events,
        ] {
            assert_eq!(read.iter().filter(|notification| marked(notification.marks)).count(), 1);
        }
        subjects.retain(|subject| !UnkeyedMarks::default().record(*subject));
        assert_eq!(
            read.into_iter().flat_map(|notification| notification.subjects).collect::<Vec<_>>(),
            subjects
        );
    }

    #[test]
    fn foreign_notifications_are_not_ours() {
        let sender = Uuid::new_v4().simple().to_string();
        for payload in [
            "",
            "hello",
            &sender[1..],
            &format!("{sender}x"),
            &format!("{sender}c12"),
            "é".repeat(40).as_str(),
        ] {
            assert_eq!(decode(payload), None, "{payload}");
        }
        assert!(decode(&sender).unwrap().subjects.is_empty());
    }
}
