//! Patches of manifests: lists of JSON-patch operations whose paths may also name members by what they hold
//! (install-generation §4.7).

use serde_json::Value;

/// Why a patch can't be applied.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatchError {
    #[error("it can't be read: {0}")]
    Read(String),
    #[error("{0}")]
    Apply(String),
}

/// Applies a patch to a manifest; both are YAML. The manifest is one document.
pub(super) fn apply(manifest: &str, patch: &str) -> Result<String, PatchError> {
    let read = |text: &str| {
        serde_yaml_ng::from_str::<Value>(text).map_err(|error| PatchError::Read(error.to_string()))
    };
    let mut document = read(manifest)?;
    let operations = match read(patch)? {
        Value::Array(operations) => operations,
        _ => return Err(PatchError::Read("it is no list of operations".to_owned())),
    };
    for operation in operations {
        for operation in expanded(&document, &operation)? {
            let one: json_patch::PatchOperation =
                serde_json::from_value(operation).map_err(|error| PatchError::Read(error.to_string()))?;
            json_patch::patch(&mut document, &[one]).map_err(|error| PatchError::Apply(error.to_string()))?;
        }
    }
    serde_yaml_ng::to_string(&document).map_err(|error| PatchError::Apply(error.to_string()))
}

/// The operation once for each place that its path stands for, the last first: a removal then moves none that follows.
fn expanded(document: &Value, operation: &Value) -> Result<Vec<Value>, PatchError> {
    let path =
        operation["path"].as_str().ok_or_else(|| PatchError::Read("an operation has no path".to_owned()))?;
    let paths = places(document, path);
    if paths.is_empty() {
        return Err(PatchError::Apply(format!("nothing is at {path}")));
    }
    let one = |path: String| {
        let mut operation = operation.clone();
        operation["path"] = path.into();
        operation
    };
    Ok(paths.into_iter().rev().map(one).collect())
}

/// The plain paths that a path stands for: a part `key=value` is each member of a list or object that has the pair.
fn places(document: &Value, path: &str) -> Vec<String> {
    let mut found = vec![(String::new(), Some(document))];
    for part in path.split('/').skip(1) {
        found = found
            .into_iter()
            .flat_map(|(place, value)| match (part.split_once('='), value) {
                (Some((key, wanted)), Some(value)) => members(value)
                    .into_iter()
                    .filter(|(_, member)| holds(&member[key], wanted))
                    .map(|(name, member)| (format!("{place}/{name}"), Some(member)))
                    .collect(),
                (Some(_), None) => Vec::new(),
                (None, value) => {
                    let name = part.replace("~1", "/").replace("~0", "~");
                    let below = value.and_then(|value| match value {
                        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
                        value => value.get(&name),
                    });
                    vec![(format!("{place}/{part}"), below)]
                }
            })
            .collect();
    }
    found.into_iter().map(|(place, _)| place).collect()
}

fn members(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        Value::Object(members) => {
            let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
            members.iter().map(|(name, value)| (escaped(name), value)).collect()
        }
        _ => Vec::new(),
    }
}

fn holds(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted,
        // Only a plain value can stand in a path.
        Value::Bool(_) | Value::Number(_) => {
            serde_json::from_str::<Value>(wanted).is_ok_and(|wanted| wanted == *value)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "spec:\n  mastersSchedulable: false\n  pools:\n  - {name: a, size: 1}\n  - {name: b, size: 1}\n  - {name: c, size: 2}\n";

    fn patched(patch: &str) -> Result<Value, PatchError> {
        apply(MANIFEST, patch).map(|text| serde_yaml_ng::from_str(&text).unwrap())
    }

    #[test]
    fn plain_operations() {
        let document = patched("- {op: replace, path: /spec/mastersSchedulable, value: true}\n- {op: add, path: /spec/x, value: [1]}\n- {op: copy, from: /spec/x, path: /spec/y}\n- {op: test, path: /spec/y/0, value: 1}\n- {op: add, path: /spec/x/-, value: 2}\n").unwrap();
        assert_eq!(document["spec"]["mastersSchedulable"], true);
        assert_eq!(document["spec"]["x"], serde_json::json!([1, 2]));
    }

    #[test]
    fn members_by_what_they_hold() {
        let document = patched("- {op: replace, path: /spec/pools/size=1/name, value: z}\n").unwrap();
        let names: Vec<_> =
            document["spec"]["pools"].as_array().unwrap().iter().map(|pool| &pool["name"]).collect();
        assert_eq!(names, ["z", "z", "c"]);
        let document = patched("- {op: remove, path: /spec/pools/size=1}\n").unwrap();
        assert_eq!(document["spec"]["pools"], serde_json::json!([{"name": "c", "size": 2}]));
    }

    #[test]
    fn what_can_t_be_applied() {
        for patch in [
            "{op: add}",
            "- {op: add}",
            "- {op: what, path: /spec}",
            "- {op: remove, path: /spec/none}",
            "- {op: replace, path: /spec/pools/size=9/name, value: z}",
            "- {op: test, path: /spec/mastersSchedulable, value: true}",
            "- [",
        ] {
            assert!(apply(MANIFEST, patch).is_err(), "{patch}");
        }
    }
}
