//! Whether what was applied runs.

use kube::core::DynamicObject;
use serde_json::Value;

use super::conditions::Health;

/// The first thing that does not run, of objects as the API server gave them back.
pub(super) fn of<'a>(objects: impl IntoIterator<Item = &'a DynamicObject>) -> Health {
    for object in objects {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let kind = object.types.as_ref().map(|types| types.kind.as_str()).unwrap_or_default();
        let wrong = match kind {
            "Deployment" => deployment(name, &object.data["status"]),
            "StatefulSet" => stateful_set(name, &object.data),
            _ => None,
        };
        if let Some(text) = wrong {
            return Health::Unhealthy(text);
        }
    }
    Health::Healthy
}

fn deployment(name: &str, status: &Value) -> Option<String> {
    let is = |r#type: &str, wanted: &str| {
        let conditions = status["conditions"].as_array();
        let condition = conditions.into_iter().flatten().find(|condition| condition["type"] == r#type);
        condition.is_some_and(|condition| condition["status"] == wanted)
    };
    if !is("Available", "True") {
        return Some(format!("Deployment {name} is not available"));
    }
    is("Progressing", "False").then(|| format!("Deployment {name} is not progressing"))
}

fn stateful_set(name: &str, data: &Value) -> Option<String> {
    let wanted = data["spec"]["replicas"].as_i64().unwrap_or(1);
    let counts = [
        ("created", "replicas"),
        ("ready", "readyReplicas"),
        ("current", "currentReplicas"),
        ("updated", "updatedReplicas"),
    ];
    let wrong = counts.iter().find(|(_, member)| data["status"][*member].as_i64().unwrap_or(0) != wanted)?;
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
            health_of(
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "status": {"conditions": [
                {"type": "Available", "status": available}, {"type": "Progressing", "status": progressing}]}}),
            )
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
}
