//! Which labels of classifications an Agent is to carry, and what a classification says of its Agents (kube-api §6.8).

use std::collections::BTreeMap;

use assisted_crd::agent_install::agent::Agent;
use assisted_crd::agent_install::agent_classification::{AgentClassification, AgentClassificationStatus};
use assisted_crd::agent_install::conditions::agent_classification::{
    QUERY_ERRORS_HAS_QUERY_ERRORS, QUERY_ERRORS_NO_QUERY_ERRORS,
};
use assisted_crd::condition::set;
use assisted_crd::labels::label::CLASSIFICATION_PREFIX;
use assisted_kube::finalizer::is_deleting;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Values of labels that stand for a query that failed begin with this.
const QUERY_ERROR: &str = "QUERYERROR";

/// What a query says of an Agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryOutcome {
    Match,
    NoMatch,
    Failed,
}

/// Key of the label of a classification.
fn key(classification: &AgentClassification) -> String {
    format!("{CLASSIFICATION_PREFIX}{}", classification.spec.label_key)
}

/// Its value where the query failed.
fn error_value(classification: &AgentClassification) -> String {
    format!("{QUERY_ERROR}-{}", classification.spec.label_value)
}

/// The labels that come from classifications.
pub(in crate::controllers) fn of_classifications(agent: &Agent) -> BTreeMap<&String, &String> {
    let labels = agent.metadata.labels.iter().flatten();
    labels.filter(|(key, _)| key.starts_with(CLASSIFICATION_PREFIX)).collect()
}

/// Sets in an Agent's labels what classifications say, one after the other: of several with the same key the last wins.
pub(super) fn apply<'a>(
    labels: &mut BTreeMap<String, String>,
    answers: impl IntoIterator<Item = (&'a AgentClassification, QueryOutcome)>,
) {
    for (classification, answer) in answers {
        let (key, failed) = (key(classification), error_value(classification));
        let value = &classification.spec.label_value;
        match answer {
            QueryOutcome::Match => drop(labels.insert(key, value.clone())),
            QueryOutcome::Failed => drop(labels.insert(key, failed)),
            // A label that another classification has set stays.
            QueryOutcome::NoMatch => {
                if labels.get(&key).is_some_and(|current| current == value || *current == failed) {
                    labels.remove(&key);
                }
            }
        }
    }
}

/// How many Agents a classification is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Agents that carry its value.
    pub(super) matched: i64,
    /// Agents for which a query failed, that of any classification with this key.
    pub(super) failed: i64,
    /// Agents that carry its value, or the one that says that its query failed.
    pub(super) own: i64,
}

/// Counts the Agents of the namespace.
pub(super) fn count<'a>(
    classification: &AgentClassification,
    agents: impl IntoIterator<Item = &'a Agent>,
) -> Counts {
    let (key, failed) = (key(classification), error_value(classification));
    let mut counts = Counts::default();
    for agent in agents {
        let Some(value) = agent.metadata.labels.as_ref().and_then(|labels| labels.get(&key)) else {
            continue;
        };
        let is_match = *value == classification.spec.label_value;
        counts.matched += i64::from(is_match);
        counts.failed += i64::from(value.starts_with(QUERY_ERROR));
        counts.own += i64::from(is_match || *value == failed);
    }
    counts
}

/// Whether another classification, which stays, says the same: then Agents keep the label when this one goes.
pub(super) fn is_said_by_another(classification: &AgentClassification, other: &AgentClassification) -> bool {
    let (spec, others) = (&classification.spec, &other.spec);
    classification.metadata.uid != other.metadata.uid
        && !is_deleting(&other.metadata)
        && (&spec.label_key, &spec.label_value) == (&others.label_key, &others.label_value)
}

/// The status that says this.
pub(super) fn status(
    before: Option<&AgentClassificationStatus>,
    counts: Counts,
    now: &Time,
) -> AgentClassificationStatus {
    let mut status = before.cloned().unwrap_or_default();
    (status.matched_count, status.error_count) = (Some(counts.matched), Some(counts.failed));
    let statement = match counts.failed {
        0 => QUERY_ERRORS_NO_QUERY_ERRORS.with(&[]),
        failed => QUERY_ERRORS_HAS_QUERY_ERRORS.with(&[&failed.to_string()]),
    };
    set(&mut status.conditions, statement, now);
    status
}

#[cfg(test)]
mod tests {
    use assisted_crd::agent_install::agent_classification::AgentClassificationSpec;

    use super::*;

    fn classification(name: &str, value: &str) -> AgentClassification {
        let spec = AgentClassificationSpec {
            label_key: "size".to_owned(),
            label_value: value.to_owned(),
            query: "true".to_owned(),
        };
        let mut object = AgentClassification::new(name, spec);
        object.metadata.uid = Some(name.to_owned());
        object
    }

    fn agent(value: Option<&str>) -> Agent {
        let mut agent = Agent::default();
        let labels = agent.metadata.labels.get_or_insert_default();
        labels.insert("other".to_owned(), "x".to_owned());
        if let Some(value) = value {
            labels.insert(format!("{CLASSIFICATION_PREFIX}size"), value.to_owned());
        }
        agent
    }

    #[test]
    fn a_label_goes_with_the_answer_that_set_it_and_no_other() {
        let large = classification("a", "large");
        for (before, answer, after) in [
            (None, QueryOutcome::Match, Some("large")),
            (None, QueryOutcome::NoMatch, None),
            (None, QueryOutcome::Failed, Some("QUERYERROR-large")),
            (Some("large"), QueryOutcome::NoMatch, None),
            (Some("QUERYERROR-large"), QueryOutcome::NoMatch, None),
            (Some("QUERYERROR-large"), QueryOutcome::Match, Some("large")),
            (Some("small"), QueryOutcome::NoMatch, Some("small")),
            (Some("small"), QueryOutcome::Match, Some("large")),
        ] {
            let mut labels = agent(before).metadata.labels.unwrap();
            apply(&mut labels, [(&large, answer)]);
            assert_eq!(labels, agent(after).metadata.labels.unwrap(), "{before:?} {answer:?}");
        }
        let mut labels = agent(None).metadata.labels.unwrap();
        apply(
            &mut labels,
            [(&large, QueryOutcome::Match), (&classification("b", "small"), QueryOutcome::Match)],
        );
        assert_eq!(labels, agent(Some("small")).metadata.labels.unwrap());
    }

    #[test]
    fn agents_are_counted_by_value() {
        let values = [None, Some("large"), Some("large"), Some("small"), Some("QUERYERROR-small")];
        let agents: Vec<_> = values.into_iter().map(agent).collect();
        let counts = count(&classification("a", "large"), &agents);
        assert_eq!(counts, Counts { matched: 2, failed: 1, own: 2 });
        let counts = count(&classification("b", "small"), &agents);
        assert_eq!(counts, Counts { matched: 1, failed: 1, own: 2 });
        let status = status(None, counts, &Time(jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(status.conditions[0].message, "1 Agents failed to apply the classification");
        assert_eq!(status.conditions[0].reason, "HasQueryErrors");
        assert_eq!(of_classifications(&agents[1]).len(), 1);
        let none = super::status(None, Counts::default(), &Time(jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(none.conditions[0].reason, "NoQueryErrors");
    }

    #[test]
    fn two_that_say_the_same_share_their_label() {
        let one = classification("a", "large");
        assert!(is_said_by_another(&one, &classification("b", "large")));
        assert!(!is_said_by_another(&one, &one));
        assert!(!is_said_by_another(&one, &classification("b", "small")));
        let mut going = classification("b", "large");
        going.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        assert!(!is_said_by_another(&one, &going));
    }
}
