//! What of an object another version can't say, as a JSON merge patch (RFC 7386) of spec and status.

use serde_json::{Map, Value};

const PARTS: [&str; 2] = ["spec", "status"];

/// Spec and status of an object.
pub(super) fn spec_and_status(object: &Value) -> Value {
    let parts = PARTS.iter().filter_map(|part| Some(((*part).to_owned(), object.get(part)?.clone())));
    Value::Object(parts.collect())
}

/// Puts spec and status into an object.
pub(super) fn replace(object: &mut Value, said: &Value) {
    let Some(object) = object.as_object_mut() else { return };
    for part in PARTS {
        match said.get(part) {
            Some(value) => drop(object.insert(part.to_owned(), value.clone())),
            None => drop(object.remove(part)),
        }
    }
}

/// The patch that makes `said` of `words`; none when they say the same. What is empty says nothing.
pub(super) fn difference(words: &Value, said: &Value) -> Option<Value> {
    let (words, said) = (without_empty(words), without_empty(said));
    between(&words, &said)
}

fn between(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return Some(after.clone()) };
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, after) in after {
        let difference = before.get(name).map_or_else(|| Some(after.clone()), |was| between(was, after));
        if let Some(difference) = difference {
            patch.insert(name.clone(), difference);
        }
    }
    Some(Value::Object(patch))
}

fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), without_empty(value)));
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Restores those fields of a patch that are still good.
pub(super) fn restore(said: &mut Value, kept: &Value, is_good: impl Fn(&Value) -> bool) {
    let mut leaves = Vec::new();
    for part in PARTS {
        if let Some(value) = kept.get(part) {
            leaf(&mut vec![part.to_owned()], value, &mut leaves);
        }
    }
    for (path, value) in leaves {
        let mut candidate = said.clone();
        put(&mut candidate, &path, value);
        if is_good(&candidate) {
            *said = candidate;
        }
    }
}

fn leaf<'a>(path: &mut Vec<String>, value: &'a Value, found: &mut Vec<(Vec<String>, &'a Value)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                path.push(name.clone());
                leaf(path, value, found);
                path.pop();
            }
        }
        value => found.push((path.clone(), value)),
    }
}

fn put(value: &mut Value, path: &[String], leaf: &Value) {
    let Some((name, rest)) = path.split_first() else {
        *value = leaf.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Some(fields) = value.as_object_mut() else { return };
    if rest.is_empty() && leaf.is_null() {
        fields.remove(name);
        return;
    }
    put(fields.entry(name.clone()).or_insert(Value::Null), rest, leaf);
}
