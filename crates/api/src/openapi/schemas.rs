//! Schemas of the wire types in the plain form of the contract: one type each, no null, no defaults that only say "empty".

use assisted_wire::operation::SchemaOf;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Makes schemas, and gathers the definitions that they refer to.
pub(crate) struct Schemas(SchemaGenerator);

impl Schemas {
    pub(crate) fn new() -> Self {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        Self(SchemaGenerator::new(settings))
    }

    /// The schema of a type; a reference where the type has a name.
    pub(crate) fn of(&mut self, schema: SchemaOf) -> Value {
        let mut value = Value::from(schema(&mut self.0));
        simplify(&mut value);
        value
    }

    /// The definitions so far.
    pub(crate) fn definitions(&mut self) -> Map<String, Value> {
        let mut definitions = self.0.definitions().clone();
        definitions.values_mut().for_each(simplify);
        definitions
    }
}

fn is_null_schema(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

fn simplify(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    // Null is the same as absent; where it may be sent the member says `x-nullable`.
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for word in ["anyOf", "allOf", "oneOf"] {
        let Some(Value::Array(mut parts)) = object.remove(word) else { continue };
        parts.retain(|part| !is_null_schema(part));
        match (parts.len(), parts.pop()) {
            (1, Some(Value::Object(only))) => {
                for (key, value) in only {
                    object.entry(key).or_insert(value);
                }
            }
            (_, last) => {
                parts.extend(last);
                object.insert(word.to_owned(), Value::Array(parts));
            }
        }
    }
    let says_empty = match object.get("default") {
        Some(Value::Null | Value::Array(_) | Value::Object(_)) => true,
        Some(Value::String(text)) => text.starts_with("0001-01-01"),
        _ => false,
    };
    if says_empty {
        object.remove("default");
    }
    for word in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(word) {
            simplify(inner);
        }
    }
    for word in ["anyOf", "allOf", "oneOf"] {
        if let Some(Value::Array(parts)) = object.get_mut(word) {
            parts.iter_mut().for_each(simplify);
        }
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
}
