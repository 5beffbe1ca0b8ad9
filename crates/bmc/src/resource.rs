//! Reading resources: their links, their actions, and what a controller says is wrong.

use serde_json::Value;

/// Longest complaint of a controller that is passed on, in characters.
const LONGEST: usize = 500;

/// The path that a link names.
pub(crate) fn link(value: &Value) -> Option<&str> {
    path(&value["@odata.id"])
}

/// The paths that the links of a list name.
pub(crate) fn links(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(link)
}

/// The path at which an action of a resource is requested.
pub(crate) fn action<'a>(resource: &'a Value, name: &str) -> Option<&'a str> {
    path(&resource["Actions"][format!("#{name}")]["target"])
}

/// A path on the controller itself: behind its name anything else would lead elsewhere, and the password with it.
fn path(value: &Value) -> Option<&str> {
    value.as_str().filter(|path| path.starts_with('/'))
}

/// The error text in a controller's answer.
pub(crate) fn complaint(answer: &Value) -> String {
    let error = &answer["error"];
    let more = error["@Message.ExtendedInfo"][0]["Message"].as_str();
    more.or(error["message"].as_str()).unwrap_or("no reason given").chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_controller_leads_nowhere_else() {
        let resource = |target: &str| json!({"@odata.id": target, "Actions": {"#A.B": {"target": target}}});
        assert_eq!(action(&resource("/redfish/v1/x"), "A.B"), Some("/redfish/v1/x"));
        for elsewhere in ["@192.0.2.9/x", ".example.com/x", "http://192.0.2.9/x", ""] {
            assert_eq!(link(&resource(elsewhere)), None);
            assert_eq!(action(&resource(elsewhere), "A.B"), None);
        }
    }

    #[test]
    fn what_is_wrong_is_the_most_that_is_said() {
        let answer =
            json!({"error": {"message": "general", "@Message.ExtendedInfo": [{"Message": "no medium"}]}});
        assert_eq!(complaint(&answer), "no medium");
        assert_eq!(complaint(&json!({"error": {"message": "general"}})), "general");
        assert_eq!(complaint(&Value::Null), "no reason given");
    }
}
