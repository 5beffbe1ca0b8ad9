//! One config laid over another, by the rules of Ignition itself (image-service §6.4).
//!
//! Scalars of the upper config win, structures merge member by member, lists whose items have a key merge item by item, and
//! other lists are appended.

use serde_json::{Map, Value};

use crate::config::Config;
use crate::validate::{Invalid, validate};

/// Versions that can be laid over each other.
pub const VERSIONS: &[&str] = &["3.1.0", "3.2.0"];

/// Why an override can't be laid over a config.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The text is not an Ignition config. The reason names lines and types, never values.
    #[error("the override is not an Ignition config: {0}")]
    Parse(#[source] serde_json::Error),
    #[error(
        "the override has Ignition version {0:?}; it can be laid over the discovery config in 3.1.0 and 3.2.0 only"
    )]
    Version(String),
    #[error("the discovery config with the override is not valid: {0}")]
    Invalid(#[from] Invalid),
}

/// What the key of an item is, in lists that merge.
enum Key {
    /// A member of the item.
    Member(&'static str),
    /// The item itself.
    Itself,
    /// A partition's number, or its label where the number is 0.
    Partition,
}

/// The lists whose items have a key, by the name of the member that holds them; the name is enough to tell them apart.
fn key_of(list: &str) -> Option<Key> {
    Some(match list {
        "files" | "directories" | "links" => Key::Member("path"),
        "units" | "dropins" | "users" | "raid" | "luks" | "httpHeaders" => Key::Member("name"),
        "disks" | "filesystems" => Key::Member("device"),
        "certificateAuthorities" => Key::Member("source"),
        "tang" => Key::Member("url"),
        "partitions" => Key::Partition,
        "sshAuthorizedKeys" | "groups" | "devices" => Key::Itself,
        _ => return None,
    })
}

/// Lays an override over a config; the result has the newer version of both.
///
/// # Errors
///
/// When the text is no config of a version that can be merged, or the result is one that Ignition refuses.
pub fn overlay(base: &Config, text: &str) -> Result<Config, MergeError> {
    // Read by its version first: what another version's members look like is not to be judged.
    let version: Value = serde_json::from_str(text).map_err(MergeError::Parse)?;
    let version = version["ignition"]["version"].as_str().unwrap_or_default();
    if !VERSIONS.contains(&version) {
        return Err(MergeError::Version(version.to_owned()));
    }
    let upper: Config = serde_json::from_str(text).map_err(MergeError::Parse)?;
    // By itself too: what it says twice would be one thing once merged.
    validate(&upper)?;
    let newest = base.ignition.version.as_str().max(version).to_owned();

    let value = |config: &Config| serde_json::to_value(config).map_err(MergeError::Parse);
    let (lower, upper) = (value(base)?, value(&upper)?);
    let mut merged: Config = serde_json::from_value(merge(lower, upper)).map_err(MergeError::Parse)?;
    merged.ignition.version = newest;
    validate(&merged)?;
    Ok(merged)
}

/// Merges a config into another one that it is known to fit; where both say something, the upper one counts.
pub fn merge(mut lower: Value, upper: Value) -> Value {
    make_room(&mut lower, &upper);
    merge_field("", lower, upper)
}

const NODES: [&str; 3] = ["files", "directories", "links"];

/// A path is one thing: what the override makes a link is no file any more.
fn make_room(lower: &mut Value, upper: &Value) {
    for kind in NODES {
        for path in items(&upper["storage"], kind).iter().map(|node| &node["path"]) {
            for other in NODES.iter().filter(|other| **other != kind) {
                if let Some(nodes) = lower["storage"].get_mut(other).and_then(Value::as_array_mut) {
                    nodes.retain(|node| node["path"] != *path);
                }
            }
        }
    }
}

fn items<'a>(parent: &'a Value, list: &str) -> &'a [Value] {
    parent.get(list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn merge_field(name: &str, lower: Value, upper: Value) -> Value {
    match (lower, upper) {
        (Value::Object(lower), Value::Object(upper)) => Value::Object(members(lower, upper)),
        (Value::Array(lower), Value::Array(upper)) => Value::Array(list(name, lower, upper)),
        (_, upper) => upper,
    }
}

fn members(mut lower: Map<String, Value>, upper: Map<String, Value>) -> Map<String, Value> {
    for (name, above) in upper {
        let merged = match lower.remove(&name) {
            Some(below) => merge_field(&name, below, above),
            None => above,
        };
        lower.insert(name, merged);
    }
    lower
}

fn list(name: &str, mut lower: Vec<Value>, upper: Vec<Value>) -> Vec<Value> {
    for above in upper {
        // A group of the system is a structure, a group of a user a name.
        let key = match key_of(name) {
            Some(Key::Itself) if above.is_object() => Some(Key::Member("name")),
            key => key,
        };
        let known = lower.iter_mut().find(|below| match &key {
            Some(Key::Member(member)) => below[member] == above[member],
            Some(Key::Itself) => **below == above,
            Some(Key::Partition) => same_partition(below, &above),
            None => false,
        });
        match known {
            Some(below) => *below = merge_field("", below.take(), above),
            None => lower.push(above),
        }
    }
    lower
}

fn same_partition(one: &Value, other: &Value) -> bool {
    let number = |partition: &Value| partition["number"].as_i64().unwrap_or_default();
    number(one) == number(other)
        && (number(one) != 0 || !one["label"].is_null() && one["label"] == other["label"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(value: &Value) -> Config {
        serde_json::from_value(value.clone()).unwrap()
    }

    fn merged(base: &Value, over: &Value) -> Value {
        let merged = overlay(&config(base), &over.to_string()).unwrap_or_else(|error| panic!("{error}"));
        serde_json::to_value(&merged).unwrap()
    }

    fn with(member: &str, value: Value) -> Value {
        let mut config = json!({"ignition": {"version": "3.1.0"}});
        config[member] = value;
        config
    }

    #[test]
    fn items_with_a_key_merge_and_the_others_are_appended() {
        let base = with(
            "systemd",
            json!({"units": [
                {"name": "a.service", "enabled": true, "contents": "[Service]\n", "dropins": [{"name": "1.conf", "contents": "#x"}]},
                {"name": "b.service", "enabled": true, "contents": "[Service]\n"},
            ]}),
        );
        let over = with(
            "systemd",
            json!({"units": [
                {"name": "c.service", "contents": "[Service]\n"},
                {"name": "a.service", "enabled": false, "dropins": [{"name": "2.conf"}, {"name": "1.conf", "contents": "#y"}]},
            ]}),
        );
        assert_eq!(
            merged(&base, &over)["systemd"]["units"],
            json!([
                {"name": "a.service", "enabled": false, "contents": "[Service]\n", "dropins": [
                    {"name": "1.conf", "contents": "#y"}, {"name": "2.conf"},
                ]},
                {"name": "b.service", "enabled": true, "contents": "[Service]\n"},
                {"name": "c.service", "contents": "[Service]\n"},
            ])
        );
        let base = with(
            "passwd",
            json!({"users": [{"name": "core", "groups": ["sudo"], "sshAuthorizedKeys": ["a", "b"]}]}),
        );
        let over = with(
            "passwd",
            json!({"users": [{"name": "core", "groups": ["sudo", "x"], "sshAuthorizedKeys": ["b", "c"]}],
            "groups": [{"name": "x"}]}),
        );
        assert_eq!(
            merged(&base, &over)["passwd"],
            json!({"groups": [{"name": "x"}],
                "users": [{"name": "core", "groups": ["sudo", "x"], "sshAuthorizedKeys": ["a", "b", "c"]}]})
        );
        let merge = |source: &str| json!({"ignition": {"version": "3.1.0", "config": {"merge": [{"source": source}]}}});
        assert_eq!(
            merged(&merge("http://a/"), &merge("http://a/"))["ignition"]["config"]["merge"],
            json!([{"source": "http://a/"}, {"source": "http://a/"}])
        );
    }

    #[test]
    fn a_path_is_one_thing() {
        let base = with(
            "storage",
            json!({"files": [{"path": "/a", "contents": {"source": "data:,a"}}, {"path": "/b", "mode": 420}],
                "links": [{"path": "/c", "target": "/x"}]}),
        );
        let over = with(
            "storage",
            json!({"links": [{"path": "/a", "target": "/y"}], "files": [{"path": "/c"}, {"path": "/b", "mode": 384}]}),
        );
        assert_eq!(
            merged(&base, &over)["storage"],
            json!({"files": [{"path": "/b", "mode": 384}, {"path": "/c"}], "links": [{"path": "/a", "target": "/y"}]})
        );
    }

    #[test]
    fn partitions_by_number_or_label() {
        let disk = |partitions: Value| {
            with("storage", json!({"disks": [{"device": "/dev/a", "partitions": partitions}]}))
        };
        let base = disk(json!([{"number": 1, "label": "a"}, {"label": "b", "sizeMiB": 1}]));
        let over = disk(json!([{"label": "b", "sizeMiB": 2}, {"number": 1, "sizeMiB": 3}, {"number": 2}]));
        assert_eq!(
            merged(&base, &over)["storage"]["disks"][0]["partitions"],
            json!([{"number": 1, "label": "a", "sizeMiB": 3}, {"label": "b", "sizeMiB": 2}, {"number": 2}])
        );
    }

    #[test]
    fn versions() {
        let version = |version: &str| json!({"ignition": {"version": version}});
        for (base, over, result) in
            [("3.1.0", "3.1.0", "3.1.0"), ("3.1.0", "3.2.0", "3.2.0"), ("3.2.0", "3.1.0", "3.2.0")]
        {
            assert_eq!(merged(&version(base), &version(over)), version(result));
        }
        let base = config(&version("3.1.0"));
        for over in ["2.2.0", "3.0.0", "3.3.0", "", "3.2"] {
            let refused = overlay(&base, &version(over).to_string()).err().unwrap();
            assert!(matches!(refused, MergeError::Version(given) if given == over), "{over}");
        }
        for text in ["", "[]", "{}", "{", r#"{"ignition":{"version":3}}"#] {
            assert!(overlay(&base, text).is_err(), "{text}");
        }
        let wrong = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":{"path":"/secret"}}}"#;
        let refused = overlay(&base, wrong).err().unwrap().to_string();
        assert!(!refused.contains("secret") && refused.contains("line 1"), "{refused}");
    }

    #[test]
    fn a_result_that_ignition_refuses() {
        let base = config(&json!({"ignition": {"version": "3.1.0"}}));
        let over = with("storage", json!({"files": [{"path": "relative"}]}));
        assert!(matches!(overlay(&base, &over.to_string()), Err(MergeError::Invalid(_))));
    }
}
