//! What an operator of the cluster says of itself, as the service understands it (installer-and-controller §B6.1).

use assisted_wire::operator::OperatorStatus;
use kube::api::DynamicObject;
use serde_json::Value;

use super::text;

/// The state of an operator, fit for the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperatorState {
    pub(crate) status: OperatorStatus,
    pub(crate) message: String,
    pub(crate) version: String,
}

/// The first condition that tells counts, in the order in which they stand.
fn of_conditions(data: &Value) -> (OperatorStatus, String) {
    let conditions = data.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    for condition in conditions {
        let status = match (text(condition, "/type"), text(condition, "/status")) {
            ("Available", "True") => OperatorStatus::Available,
            ("Progressing", "True") => OperatorStatus::Progressing,
            ("Degraded", "True") | ("Available", "False") => OperatorStatus::Failed,
            _ => continue,
        };
        return (status, text(condition, "/message").to_owned());
    }
    (OperatorStatus::Progressing, String::new())
}

/// The state of a ClusterOperator.
pub(crate) fn operator_state(object: &DynamicObject) -> OperatorState {
    let (status, message) = of_conditions(&object.data);
    OperatorState { status, message, version: text(&object.data, "/status/versions/0/version").to_owned() }
}

/// The state of the ClusterVersion.
pub(crate) fn cluster_version(object: &DynamicObject) -> OperatorState {
    let (status, message) = of_conditions(&object.data);
    OperatorState { status, message, version: text(&object.data, "/status/desired/version").to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_condition_that_tells_counts() {
        use OperatorStatus::{Available, Failed, Progressing};
        for (conditions, expected) in [
            (&[][..], Progressing),
            (&[("Upgradeable", "True"), ("Degraded", "False")], Progressing),
            (&[("Degraded", "True"), ("Available", "True")], Failed),
            (&[("Available", "True"), ("Degraded", "True")], Available),
            (&[("Progressing", "True"), ("Available", "False")], Progressing),
            (&[("Progressing", "False"), ("Available", "False")], Failed),
            (&[("Available", "Unknown")], Progressing),
        ] {
            let conditions: Vec<_> =
                conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status})).collect();
            assert_eq!(of_conditions(&json!({"status": {"conditions": conditions}})).0, expected);
        }
        for strange in
            [json!(null), json!({"status": {"conditions": "none"}}), json!({"status": {"conditions": [7]}})]
        {
            assert_eq!(of_conditions(&strange), (Progressing, String::new()));
        }
    }
}
