//! Events that a change brings about.

pub mod catalogue;

use std::fmt::{Display, Write};

use assisted_wire::event::{EventCategory, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};

use crate::model::facts::HostFacts;

/// Longest text of an event, in bytes (service-api §11.1).
const LONGEST_MESSAGE: usize = 4096;

/// An event before it is stored: the store adds its number, the caller its time and request id.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Name in the event catalogue.
    pub name: &'static str,
    pub severity: EventSeverity,
    pub category: EventCategory,
    pub cluster_id: Option<ClusterId>,
    pub host_id: Option<HostId>,
    pub infra_env_id: Option<InfraEnvId>,
    /// Text for people; never holds a secret.
    pub message: String,
    /// Further facts, a JSON object.
    pub props: Option<serde_json::Value>,
}

/// A kind of event in the [`catalogue`]. All are for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    pub name: &'static str,
    pub subject: Subject,
    pub severity: EventSeverity,
    /// The values that the event has besides the ids of its subject, and a host's name.
    pub tells: &'static [&'static str],
    /// Text with `{name}` where a value goes.
    pub text: &'static str,
}

/// What an event is about: it carries the object's id, and those of the objects that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Cluster,
    Host,
    InfraEnv,
}

/// Values for the places of a text, by name.
pub type Values<'a> = &'a [(&'a str, &'a dyn Display)];

impl Spec {
    /// The event of a cluster. `cluster_id` need not be among the values.
    pub fn of_cluster(&self, cluster_id: ClusterId, values: Values<'_>) -> NewEvent {
        let id: (&str, &dyn Display) = ("cluster_id", &cluster_id);
        NewEvent { cluster_id: Some(cluster_id), ..self.event(&[values, &[id]].concat()) }
    }

    /// The event of a host, with the ids that it belongs to. Its name and ids need not be among the values.
    pub fn of_host(&self, host: &HostFacts, values: Values<'_>) -> NewEvent {
        let (key, name) = (host.key(), host.name());
        let cluster_id = host.record.host.cluster_id;
        let cluster: &dyn Display = match &cluster_id {
            Some(id) => id,
            None => &"<nil>",
        };
        let own: Values<'_> = &[
            ("host_name", &name),
            ("host_id", &key.host_id),
            ("infra_env_id", &key.infra_env_id),
            ("cluster_id", cluster),
        ];
        NewEvent {
            cluster_id,
            host_id: Some(key.host_id),
            infra_env_id: Some(key.infra_env_id),
            ..self.event(&[values, own].concat())
        }
    }

    /// The event of an infra-env.
    pub fn of_infra_env(
        &self,
        infra_env_id: InfraEnvId,
        cluster_id: Option<ClusterId>,
        values: Values<'_>,
    ) -> NewEvent {
        NewEvent { infra_env_id: Some(infra_env_id), cluster_id, ..self.event(values) }
    }

    fn event(&self, values: Values<'_>) -> NewEvent {
        NewEvent {
            name: self.name,
            severity: self.severity,
            category: EventCategory::User,
            cluster_id: None,
            host_id: None,
            infra_env_id: None,
            message: fill(self.text, values),
            props: None,
        }
    }
}

/// Puts values into the places of a text, in one pass: a value that looks like a place stays as it is.
pub(crate) fn fill(text: &str, values: Values<'_>) -> String {
    let mut filled = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((place, tail)) = after.split_once('}') else {
            rest = after;
            break;
        };
        match values.iter().find(|(name, _)| *name == place) {
            Some((_, value)) => {
                let _ = write!(filled, "{value}");
            }
            None => {
                let _ = write!(filled, "{{{place}}}");
            }
        }
        rest = tail;
    }
    filled.push_str(rest);
    cut(&filled, LONGEST_MESSAGE).to_owned()
}

/// The longest start of a text that fits and ends between two characters.
pub(crate) fn cut(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn values_are_not_read_as_places() {
        let values: Values<'_> = &[("a", &"{b}"), ("b", &"x")];
        assert_eq!(fill("{a} and {b}, {c}", values), "{b} and x, {c}");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "ü".repeat(LONGEST_MESSAGE);
        assert_eq!(fill(" {a}", &[("a", &long)]).len(), LONGEST_MESSAGE - 1);
        assert_eq!([cut("aüb", 2), cut("aüb", 3), cut("aüb", 9)], ["a", "aü", "aüb"]);
    }

    /// What follows from an event's subject without being listed.
    const OF_ITSELF: &[&str] = &["cluster_id", "host_id", "infra_env_id", "host_name"];

    fn places(text: &str) -> impl Iterator<Item = &str> {
        text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(place, _)| place))
    }

    #[test]
    fn none_is_forgotten_and_none_is_made_up() {
        let listed: BTreeSet<&str> = include_str!("../../../tests/data/events.txt")
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        let pause = |spec: &Spec| {
            let found = catalogue::PAUSES.iter().find(|(paused, _)| paused == spec);
            found.map_or(0, |(_, pause)| pause.as_secs())
        };
        let about = |spec: &Spec| match spec.subject {
            Subject::Cluster => "cluster",
            Subject::Host => "host",
            Subject::InfraEnv => "infra-env",
        };
        let known: BTreeSet<String> = catalogue::ALL
            .iter()
            .map(|spec| {
                let Spec { name, severity, tells, text, .. } = spec;
                format!(
                    "{name} | {} | {severity} | {} | {} | {text}",
                    about(spec),
                    pause(spec),
                    tells.join(", ")
                )
            })
            .collect();
        let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
        assert_eq!(known.len(), catalogue::ALL.len(), "each once");
        assert_eq!(listed.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new(), "forgotten");
        assert_eq!(known.difference(&listed).collect::<Vec<_>>(), Vec::<&&str>::new(), "made up");
    }

    #[test]
    fn texts_say_what_events_tell() {
        for spec in catalogue::ALL {
            for place in places(spec.text) {
                assert!(spec.tells.contains(&place) || OF_ITSELF.contains(&place), "{}: {place}", spec.name);
            }
        }
    }
}
