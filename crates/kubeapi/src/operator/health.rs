//! Whether what was applied runs.

use kube::core::DynamicObject;
use serde_json::Value;

use super::conditions::Health;

/// The first thing that does not run, of objects as the API server gave them back.
pub(super) fn of<'a>(objects: impl IntoIterator<Item = &'a DynamicObject>) -> Health {
    for object in objects {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let kind = object.types.as_ref().map(|types| types.kind.as_str()).unwrap_or_default();
        // What a status tells before its controller has seen a change is about what ran before.
        let seen = object.data["status"]["observedGeneration"].as_i64();
        let is_stale = object.metadata.generation.is_some_and(|wanted| seen.is_none_or(|seen| seen < wanted));
        let wrong = match kind {
            "Deployment" => deployment(name, &object.data, is_stale),
            "StatefulSet" => stateful_set(name, &object.data, is_stale),
            _ => None,
        };
        if let Some(text) = wrong {
            return Health::Unhealthy(text);
        }
    }
    Health::Healthy
}

fn deployment(name: &str, data: &Value, is_stale: bool) -> Option<String> {
    let status = &data["status"];
    let is = |r#type: &str, wanted: &str| {
        let conditions = status["conditions"].as_array();
        let condition = conditions.into_iter().flatten().find(|condition| condition["type"] == r#type);
        condition.is_some_and(|condition| condition["status"] == wanted)
    };
    if !is("Available", "True") {
        return Some(format!("Deployment {name} is not available"));
    }
    if is("Progressing", "False") {
        return Some(format!("Deployment {name} is not progressing"));
    }
    let (wanted, updated) = (&data["spec"]["replicas"], &status["updatedReplicas"]);
    let is_behind = is_stale || updated.as_i64().unwrap_or(0) < wanted.as_i64().unwrap_or(1);
    is_behind.then(|| format!("Deployment {name} updated replicas does not match desired replicas"))
}

fn stateful_set(name: &str, data: &Value, is_stale: bool) -> Option<String> {
    let wanted = data["spec"]["replicas"].as_i64().unwrap_or(1);
    let counts = [
        ("created", "replicas"),
        ("ready", "readyReplicas"),
        ("current", "currentReplicas"),
        ("updated", "updatedReplicas"),
    ];
    let wrong = counts.iter().find(|(word, member)| {
        data["status"][*member].as_i64().unwrap_or(0) != wanted || (*word == "updated" && is_stale)
    })?;
    Some(format!("StatefulSet {name} {} replicas does not match desired replicas", wrong.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn health_of(object: Value) -> Health {
        of([&serde_json::from_value(object).unwrap()])
    }

    #[test]
    fn deployments() {
        let with = |available: &str, progressing: &str| {
            health_of(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
                       "status": {"updatedReplicas": 1, "conditions": [
                {"type": "Available", "status": available}, {"type": "Progressing", "status": progressing}]}}))
        };
        let unhealthy = |text: &str| Health::Unhealthy(text.to_owned());
        assert_eq!(with("True", "True"), Health::Healthy);
        assert_eq!(with("False", "True"), unhealthy("Deployment a is not available"));
        assert_eq!(with("True", "False"), unhealthy("Deployment a is not progressing"));
        let new = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}});
        assert_eq!(health_of(new), unhealthy("Deployment a is not available"));
        assert_eq!(
            health_of(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}})),
            Health::Healthy
        );
    }

    #[test]
    fn stateful_sets() {
        let with = |status: Value| {
            health_of(
                json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}, "spec": {"replicas": 1},
                        "status": status}),
            )
        };
        let mut status = json!({});
        for (member, word) in [
            ("replicas", "created"),
            ("readyReplicas", "ready"),
            ("currentReplicas", "current"),
            ("updatedReplicas", "updated"),
        ] {
            let text = format!("StatefulSet a {word} replicas does not match desired replicas");
            assert_eq!(with(status.clone()), Health::Unhealthy(text));
            status[member] = 1.into();
        }
        assert_eq!(with(status), Health::Healthy);
    }

    #[test]
    fn what_is_told_of_another_version_is_not_taken_for_this_one() {
        let health = |kind: &str, seen: i64, updated: i64| {
            let status = json!({"observedGeneration": seen, "replicas": 2, "readyReplicas": 2, "currentReplicas": 2,
                                "updatedReplicas": updated, "conditions": [{"type": "Available", "status": "True"}]});
            health_of(
                json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a", "generation": 3},
                             "spec": {"replicas": 2}, "status": status}),
            )
        };
        for kind in ["Deployment", "StatefulSet"] {
            assert_eq!(health(kind, 3, 2), Health::Healthy);
            let text = format!("{kind} a updated replicas does not match desired replicas");
            for (seen, updated) in [(2, 2), (3, 1)] {
                assert_eq!(health(kind, seen, updated), Health::Unhealthy(text.clone()));
            }
        }
    }
}
