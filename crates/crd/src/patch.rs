//! Patches that change what was changed and nothing else.
//!
//! Some kinds of others are known here in part ([crate]). An object of such a kind, read and written back as a whole, would
//! lose what is not known. So it is never written: what was read is compared with what is wanted, and the difference is
//! sent as a JSON merge patch (RFC 7386), which leaves alone whatever it does not name. Lists are replaced as a whole, as
//! merge patches do; so entries of lists are never known in part, which a test holds.

use serde::Serialize;
use serde_json::{Map, Value};

/// The merge patch that makes `after` of `before`, both of one kind; `None` when they are the same, and there is nothing to
/// write.
///
/// With `version` the server refuses the patch (409) if somebody has changed the object since that `resourceVersion`.
///
/// # Errors
/// One of them can't be written as JSON.
pub fn merge<T: Serialize>(
    before: &T,
    after: &T,
    version: Option<&str>,
) -> Result<Option<Value>, serde_json::Error> {
    let (before, after) = (serde_json::to_value(before)?, serde_json::to_value(after)?);
    let Some(mut patch) = difference(&before, &after) else { return Ok(None) };
    if let (Some(version), Value::Object(patch)) = (version, &mut patch) {
        let metadata = patch.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(metadata) = metadata {
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
    }
    Ok(Some(patch))
}

fn difference(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return Some(after.clone());
    };
    let mut patch = Map::new();
    for (name, was) in before {
        match after.get(name) {
            Some(is) => {
                if let Some(inner) = difference(was, is) {
                    patch.insert(name.clone(), inner);
                }
            }
            None => {
                patch.insert(name.clone(), Value::Null);
            }
        }
    }
    for (name, is) in after {
        if !before.contains_key(name) {
            patch.insert(name.clone(), is.clone());
        }
    }
    Some(Value::Object(patch))
}
