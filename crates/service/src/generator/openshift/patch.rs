//! Patches of manifests: lists of JSON-patch operations whose paths may also name members by what they hold
//! (install-generation §4.7).

use serde::Deserialize;
use serde_json::Value;

/// Places that the operations of a patch may stand for, all together.
const MOST_PLACES: usize = 100_000;
/// Bytes that they may add, copy and move.
const MOST_BYTES: usize = 8 << 20;
/// Levels of the manifest, below which nothing is put.
const DEEPEST: usize = 128;

/// Why a patch can't be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatchError {
    #[error("it can't be read: {0}")]
    Read(String),
    #[error("{0}")]
    Apply(String),
}

/// Applies a patch to a manifest; both are YAML. The manifest is one document.
pub(crate) fn apply(manifest: &str, patch: &str) -> Result<String, PatchError> {
    let read = |text: &str| {
        serde_yaml_ng::from_str::<Value>(text).map_err(|error| PatchError::Read(error.to_string()))
    };
    let mut document = read(manifest)?;
    let operations = match read(patch)? {
        Value::Array(operations) => operations,
        _ => return Err(PatchError::Read("it is no list of operations".to_owned())),
    };
    let mut budget = Budget { places: MOST_PLACES, bytes: MOST_BYTES };
    for mut operation in operations {
        for path in expanded(&document, &operation)? {
            budget.spend(&document, &operation, &path)?;
            operation["path"] = path.into();
            let one = json_patch::PatchOperation::deserialize(&operation)
                .map_err(|error| PatchError::Read(error.to_string()))?;
            json_patch::patch(&mut document, &[one]).map_err(|error| PatchError::Apply(error.to_string()))?;
        }
    }
    serde_yaml_ng::to_string(&document).map_err(|error| PatchError::Apply(error.to_string()))
}

/// What a patch may still do: a few operations that copy a manifest into itself would make more of it than there is memory, and
/// some that move it into itself more levels than can be written.
struct Budget {
    /// Places that operations stand for.
    places: usize,
    /// Bytes that are added, copied or moved, or thereabouts.
    bytes: usize,
}

impl Budget {
    fn spend(&mut self, document: &Value, operation: &Value, path: &str) -> Result<(), PatchError> {
        let refused = || PatchError::Apply(format!("it makes too much of the manifest at {path}"));
        let source = operation["from"].as_str().and_then(|from| document.pointer(from));
        let put = operation.get("value").into_iter().chain(source);
        let levels = DEEPEST.checked_sub(path.matches('/').count()).ok_or_else(refused)?;
        self.places = self.places.checked_sub(1).ok_or_else(refused)?;
        for value in put {
            weigh(value, levels, &mut self.bytes).ok_or_else(refused)?;
        }
        Ok(())
    }
}

/// Takes the size of a value from what is left; `None` when that, or the levels, don't suffice.
fn weigh(value: &Value, levels: usize, left: &mut usize) -> Option<()> {
    let below = |value: &Value, left: &mut usize| weigh(value, levels.checked_sub(1)?, left);
    *left = left.checked_sub(1)?;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => *left = left.checked_sub(text.len())?,
        Value::Array(items) => {
            for item in items {
                below(item, left)?;
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                *left = left.checked_sub(name.len())?;
                below(member, left)?;
            }
        }
    }
    Some(())
}

/// The plain paths that the path of an operation stands for, the last first: a removal then moves none that follows.
fn expanded(document: &Value, operation: &Value) -> Result<Vec<String>, PatchError> {
    let path =
        operation["path"].as_str().ok_or_else(|| PatchError::Read("an operation has no path".to_owned()))?;
    let mut paths = places(document, path);
    if paths.is_empty() {
        return Err(PatchError::Apply(format!("nothing is at {path}")));
    }
    paths.reverse();
    Ok(paths)
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
    fn a_patch_makes_no_more_of_a_manifest_than_there_is_room_for() {
        let larger: String = (0..60).map(|n| format!("- {{op: copy, from: '', path: /x{n}}}\n")).collect();
        let wider = format!("- {{op: add, path: /l, value: [{}]}}\n", "{k: v},".repeat(2000))
            + &format!("- {{op: add, path: /l/k=v/x, value: {}}}\n", "y".repeat(100_000));
        let deeper = "- {op: add, path: /t, value: {}}\n- {op: move, from: /spec, path: /t/a}\n\
                      - {op: move, from: /t, path: /spec}\n"
            .repeat(5000);
        let more = format!("- {{op: add, path: /l, value: [{}]}}\n", "{k: v},".repeat(2000))
            + &"- {op: test, path: /l/k=v/k, value: v}\n".repeat(100);
        for patch in [larger, wider, deeper, more] {
            let error = apply(MANIFEST, &patch).unwrap_err().to_string();
            assert!(error.starts_with("it makes too much of the manifest"), "{error}");
        }
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
