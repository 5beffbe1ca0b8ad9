//! Objects made from a schema: with all fields, and with no more than is required.

use serde_json::{Map, Value, json};

/// What a schema's integer or text may be written as.
fn is_int_or_string(schema: &Value) -> bool {
    schema["x-kubernetes-int-or-string"] == true
}

/// An object with all fields that the schema has. Texts that have to be something in particular come from `special`, by
/// their place.
pub fn full(schema: &Value, place: &str, special: &dyn Fn(&str) -> Option<Value>) -> Value {
    if let Some(value) = special(place) {
        return value;
    }
    if is_int_or_string(schema) {
        return json!("1");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().rfind(|value| **value != "").unwrap().clone();
    }
    match schema["type"].as_str() {
        Some("string") if schema["format"] == "date-time" => json!("2024-05-06T07:08:09Z"),
        Some("string") => json!("text"),
        Some("boolean") => json!(true),
        Some("integer") => json!(3),
        Some("number") => json!(1.5),
        Some("array") => json!([full(&schema["items"], &format!("{place}[]"), special)]),
        Some("object") if schema["additionalProperties"].is_object() => {
            json!({ "key": full(&schema["additionalProperties"], &format!("{place}.*"), special) })
        }
        Some("object") => {
            let mut object = Map::new();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let says_nothing = property["type"] == "object"
                    && property["properties"].is_null()
                    && property["additionalProperties"].is_null();
                let is_open = property["x-kubernetes-preserve-unknown-fields"] == true;
                let of_every_object = ["apiVersion", "kind", "metadata"].contains(&name.as_str());
                let is_left_out = place.is_empty() && (of_every_object || says_nothing);
                if is_open {
                    object.insert(name.clone(), json!({ "anything": [1, "two"] }));
                } else if !is_left_out {
                    let value = full(property, &format!("{place}.{name}"), special);
                    object.insert(name.clone(), value);
                }
            }
            Value::Object(object)
        }
        other => panic!("{place}: what is a {other:?}?"),
    }
}

/// An object in which every object and list of objects is there, with no more than what is required of it.
pub fn least(schema: &Value) -> Value {
    if is_int_or_string(schema) {
        return json!("1");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[0].clone();
    }
    match schema["type"].as_str() {
        Some("string") if schema["format"] == "date-time" => json!("2024-05-06T07:08:09Z"),
        Some("string") => json!(""),
        Some("boolean") => json!(false),
        Some("integer") => json!(0),
        Some("number") => json!(0.0),
        Some("array") if schema["items"]["properties"].is_object() => json!([least(&schema["items"])]),
        Some("array") => json!([]),
        Some("object") => {
            let mut object = Map::new();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let required = schema["required"]
                    .as_array()
                    .is_some_and(|names| names.iter().any(|known| known == name));
                let has_fields =
                    property["properties"].is_object() || property["items"]["properties"].is_object();
                if required || has_fields {
                    object.insert(name.clone(), least(property));
                }
            }
            Value::Object(object)
        }
        // Anything.
        None => json!({}),
        other => panic!("what is a {other:?}?"),
    }
}
