//! Schemas out of the short form in which `kinds.yaml` has them.

use serde_json::{Map, Value, json};

/// A field that has no known type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} has no known type: {found}")]
pub struct SchemaError {
    field: String,
    found: String,
}

/// The OpenAPI schema of fields: an object of names and types, a list of one type, or the name of a type.
///
/// # Errors
/// A type is unknown.
pub fn schema(fields: &Value) -> Result<Value, SchemaError> {
    of("", fields)
}

fn of(field: &str, fields: &Value) -> Result<Value, SchemaError> {
    let unknown = || SchemaError { field: field.to_owned(), found: fields.to_string() };
    match fields {
        Value::Object(fields) => object(field, fields),
        Value::Array(items) => match items.as_slice() {
            [item] => Ok(json!({"type": "array", "items": of(field, item)?})),
            _ => Err(unknown()),
        },
        Value::String(name) => named(name).ok_or_else(unknown),
        _ => Err(unknown()),
    }
}

fn object(field: &str, fields: &Map<String, Value>) -> Result<Value, SchemaError> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (key, fields) in fields {
        let name = key.strip_suffix(['!', '?']).unwrap_or(key);
        if key.ends_with('!') {
            required.push(name);
        }
        let mut property = of(&format!("{field}.{name}"), fields)?;
        if key.ends_with('?') {
            property["nullable"] = true.into();
        }
        properties.insert(name.to_owned(), property);
    }
    let mut schema = json!({"type": "object"});
    if !properties.is_empty() {
        schema["properties"] = properties.into();
    }
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    Ok(schema)
}

fn named(name: &str) -> Option<Value> {
    if let Some(name) = name.strip_suffix('?') {
        let mut schema = named(name)?;
        schema["nullable"] = true.into();
        return Some(schema);
    }
    if let Some(item) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        return Some(json!({"type": "array", "items": named(item)?}));
    }
    Some(match name {
        "string" | "boolean" | "integer" | "number" => json!({"type": name}),
        "quantity" => json!({"x-kubernetes-int-or-string": true}),
        "time" => json!({"type": "string", "format": "date-time"}),
        "map" => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        "any" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_is_expanded() {
        let fields = json!({"spec!": {"paused": "boolean", "names!": ["string"], "at": "time?", "size": "quantity", "place?": {}, "free": "any"}});
        let expected = json!({
            "type": "object", "required": ["spec"],
            "properties": {"spec": {
                "type": "object", "required": ["names"],
                "properties": {
                    "paused": {"type": "boolean"},
                    "names": {"type": "array", "items": {"type": "string"}},
                    "at": {"type": "string", "format": "date-time", "nullable": true},
                    "size": {"x-kubernetes-int-or-string": true}, "place": {"type": "object", "nullable": true},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            }},
        });
        assert_eq!(schema(&fields).unwrap(), expected);
    }

    #[test]
    fn an_unknown_type_is_told() {
        for (fields, field) in [
            (json!({"a": {"b": "text"}}), ".a.b"),
            (json!({"a": 1}), ".a"),
            (json!({"a": ["string", "string"]}), ".a"),
        ] {
            assert_eq!(schema(&fields).unwrap_err().field, field);
        }
    }
}
