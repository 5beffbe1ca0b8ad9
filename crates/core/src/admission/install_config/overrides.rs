//! Overrides laid over the install config (install-generation §2.6): objects member by member, lists element by element,
//! all else in place of what was there.

use serde_json::{Map, Value};

use super::document::{Document, MEMBERS};
use super::{InstallConfigError, first_value};

/// Objects that are always there: an override can't take them away.
const FIXED: [&str; 4] = ["metadata", "networking", "platform", "controlPlane"];

pub(super) fn apply(document: Document, overrides: &str) -> Result<Document, InstallConfigError> {
    let overrides = match folded(first_value(overrides)?)? {
        Value::Null => return Ok(document),
        overrides @ Value::Object(_) => overrides,
        _ => return Err(InstallConfigError::Overrides("the overrides are no object".to_owned())),
    };
    let mut merged = serde_json::to_value(document).map_err(|_| InstallConfigError::Unwritable)?;
    merge(&mut merged, overrides);
    serde_json::from_value(merged).map_err(|error| InstallConfigError::Overrides(error.to_string()))
}

/// Spells the members as they are written; clients may use any case.
pub(super) fn folded(value: Value) -> Result<Value, InstallConfigError> {
    Ok(match value {
        Value::Object(members) => {
            let mut spelled = Map::new();
            for (name, value) in members {
                let member = MEMBERS
                    .iter()
                    .find(|member| **member == name)
                    .or_else(|| MEMBERS.iter().find(|member| member.eq_ignore_ascii_case(&name)))
                    .ok_or_else(|| InstallConfigError::Overrides(format!("unknown field {name:?}")))?;
                spelled.insert((*member).to_owned(), folded(value)?);
            }
            Value::Object(spelled)
        }
        Value::Array(elements) => Value::Array(elements.into_iter().map(folded).collect::<Result<_, _>>()?),
        value => value,
    })
}

fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (name, value) in over {
                match (base.get_mut(&name), value) {
                    // Takes away what may be absent, and leaves the rest.
                    (Some(Value::Object(_) | Value::Array(_)), Value::Null) => {
                        if !FIXED.contains(&name.as_str()) {
                            base.remove(&name);
                        }
                    }
                    (_, Value::Null) => {}
                    (Some(known), value) => merge(known, value),
                    (None, value) => {
                        base.insert(name, without_nulls(value));
                    }
                }
            }
        }
        (Value::Array(base), Value::Array(over)) => {
            base.truncate(over.len());
            for (index, value) in over.into_iter().enumerate() {
                match base.get_mut(index) {
                    Some(known) => merge(known, value),
                    None => base.push(without_nulls(value)),
                }
            }
        }
        (_, Value::Null) => {}
        (base, over) => *base = without_nulls(over),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(elements) => Value::Array(elements.into_iter().map(without_nulls).collect()),
        value => value,
    }
}
