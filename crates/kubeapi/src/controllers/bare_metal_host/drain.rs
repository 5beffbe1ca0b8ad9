//! The node of a machine that goes with its Agent is drained first, for as long as the machine says (kube-api §6.6.11).

use assisted_config::parse_duration;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::labels::annotation;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use crate::controllers::agent::hostname;
use crate::controllers::hub::Hub;
use crate::controllers::relations::bound_to;
use crate::controllers::spoke::{SpokeError, drain as drain_node};

const DONE: &str = "drain succeeded";
const TIMED_OUT: &str = "drain timed out";
const UNDER_WAY: &str = "draining in progress";
/// When a node that is not empty yet is looked at again (kube-api §12).
const AGAIN: SignedDuration = SignedDuration::from_secs(20);

/// How a pass ends; what is said of it stands in the annotations of the machine.
pub(super) enum Drained {
    /// The machine may go.
    Yes,
    /// It is to be looked at again then.
    Later(Timestamp),
    /// Somebody has to mend the machine's annotations.
    Never,
    Failed(SpokeError),
}

/// Drains the node of a machine, and says so in the machine's annotations.
pub(super) async fn drain(hub: &Hub, host: &mut BareMetalHost, agent: &Agent, now: Timestamp) -> Drained {
    let Some(cluster) = bound_to(agent) else { return Drained::Yes };
    match next(host, now) {
        Next::Proceed => return Drained::Yes,
        Next::Refuse => return Drained::Never,
        Next::Drain => {}
    }
    let node = hostname(agent).to_owned();
    if node.is_empty() {
        set_drain_status(host, DONE);
        return Drained::Yes;
    }
    match hub.in_spoke(&cluster, |client| async move { drain_node(&client, &node).await }).await {
        Ok(true) => {
            set_drain_status(host, DONE);
            Drained::Yes
        }
        Ok(false) => {
            set_drain_status(host, UNDER_WAY);
            Drained::Later(now.checked_add(AGAIN).unwrap_or(Timestamp::MAX))
        }
        Err(error) => {
            set_drain_status(host, &format!("failed to drain node: {error}"));
            Drained::Failed(error)
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Drain,
    Proceed,
    Refuse,
}

/// What is to be done by the annotations of the machine, which tell since when it is drained.
fn next(host: &mut BareMetalHost, now: Timestamp) -> Next {
    let value = |host: &BareMetalHost, name: &str| host.annotations().get(name).cloned();
    if value(host, annotation::BMAC_DRAIN_STATUS).is_some_and(|status| status == DONE || status == TIMED_OUT)
    {
        return Next::Proceed;
    }
    let annotations = host.metadata.annotations.get_or_insert_default();
    let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let started =
        annotations.entry(annotation::BMAC_DRAIN_STARTED.to_owned()).or_insert_with(|| whole.to_string());
    let started = started.parse::<Timestamp>().map_err(|error| error.to_string());
    let limit = value(host, annotation::BMAC_DRAIN_TIMEOUT).map(|text| parse_duration(&text)).transpose();
    match (started, limit) {
        (Err(error), _) | (_, Err(error)) => {
            set_drain_status(host, &format!("failed to check node drain timeout: {error}"));
            Next::Refuse
        }
        (Ok(started), Ok(Some(limit)))
            if now.duration_since(started).unsigned_abs() >= limit && now >= started =>
        {
            set_drain_status(host, TIMED_OUT);
            Next::Proceed
        }
        (Ok(_), Ok(_)) => Next::Drain,
    }
}

fn set_drain_status(host: &mut BareMetalHost, status: &str) {
    let annotations = host.metadata.annotations.get_or_insert_default();
    annotations.insert(annotation::BMAC_DRAIN_STATUS.to_owned(), status.to_owned());
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn machine(annotations: &Value) -> BareMetalHost {
        serde_json::from_value(json!({"metadata": {"name": "node-0", "annotations": annotations}})).unwrap()
    }

    #[test]
    fn a_node_is_drained_until_its_time_is_over() {
        let now: Timestamp = "2024-01-01T01:00:00.5Z".parse().unwrap();
        let (started, limit, status) =
            (annotation::BMAC_DRAIN_STARTED, annotation::BMAC_DRAIN_TIMEOUT, annotation::BMAC_DRAIN_STATUS);
        let since = "2024-01-01T00:00:00Z";
        for (annotations, expected, said) in [
            (json!({}), Next::Drain, None),
            (json!({(started): since}), Next::Drain, None),
            (json!({(started): since, (limit): "2h"}), Next::Drain, None),
            (json!({(started): since, (limit): "30m"}), Next::Proceed, Some(TIMED_OUT)),
            (json!({(status): DONE}), Next::Proceed, Some(DONE)),
            (json!({(status): UNDER_WAY}), Next::Drain, Some(UNDER_WAY)),
            (json!({(limit): "soon"}), Next::Refuse, None),
            (json!({(started): "soon"}), Next::Refuse, None),
        ] {
            let mut machine = machine(&annotations);
            assert_eq!(next(&mut machine, now), expected, "{annotations}");
            let told = machine.annotations().get(status).map(String::as_str);
            if expected == Next::Refuse {
                assert!(told.unwrap().starts_with("failed to check node drain timeout: "));
            } else {
                assert_eq!(told, said, "{annotations}");
            }
        }
        let mut fresh = machine(&json!({}));
        next(&mut fresh, now);
        assert_eq!(fresh.annotations()[started], "2024-01-01T01:00:00Z");
    }
}
