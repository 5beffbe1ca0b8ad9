//! Reads a body by its schema: names in their contract form, the last of doubled members, nothing that is unknown.
//!
//! A text that is not JSON is refused before anything that is wrong with its content, as existing clients see it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::schema::{Kind, Node};

/// Why a text is no body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// There is nothing but white space.
    Empty,
    /// The reason, as it stands in the answer.
    Malformed(String),
}

/// Reads the first JSON value of a text; what follows it is ignored (service-api §1.1).
pub(crate) fn read(node: &Node, text: &[u8], reject_unknown: bool) -> Result<Value, ReadError> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty);
    }
    let mut reading = Reading { reject_unknown, wrong: None, path: Vec::new() };
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = NodeReader { node, reading: &mut reading }.deserialize(&mut json).map_err(|error| {
        ReadError::Malformed(if error.is_eof() { "unexpected EOF".to_owned() } else { error.to_string() })
    })?;
    match reading.wrong {
        Some(wrong) => Err(ReadError::Malformed(wrong)),
        None => Ok(value),
    }
}

struct Reading<'n> {
    reject_unknown: bool,
    /// The first thing that is wrong with the content.
    wrong: Option<String>,
    path: Vec<&'n str>,
}

struct NodeReader<'n, 'r> {
    node: &'n Node,
    reading: &'r mut Reading<'n>,
}

impl NodeReader<'_, '_> {
    /// Notes a wrong type, and stands for nothing.
    fn wrong_type(self, found: &str) -> Value {
        let target = self.node.kind.type_name();
        if self.reading.wrong.is_none() {
            let place = match self.reading.path.as_slice() {
                [] => "Go value".to_owned(),
                path => format!("Go struct field {}", path.join(".")),
            };
            self.reading.wrong =
                Some(format!("json: cannot unmarshal {found} into {place} of type {target}"));
        }
        Value::Null
    }
}

impl<'de, 'n> DeserializeSeed<'de> for NodeReader<'n, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'n> Visitor<'de> for NodeReader<'n, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(match self.node.kind {
            Kind::Any | Kind::Boolean => Value::Bool(value),
            _ => self.wrong_type("bool"),
        })
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(match self.node.kind {
            Kind::Any | Kind::Integer | Kind::Number => Value::Number(value.into()),
            _ => self.wrong_type("number"),
        })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(match self.node.kind {
            Kind::Any | Kind::Number => Value::Number(value.into()),
            Kind::Integer if i64::try_from(value).is_ok() => Value::Number(value.into()),
            Kind::Integer => self.wrong_type(&format!("number {value}")),
            _ => self.wrong_type("number"),
        })
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(match self.node.kind {
            Kind::Any | Kind::Number => Number::from_f64(value).map_or(Value::Null, Value::Number),
            Kind::Integer => self.wrong_type(&format!("number {value}")),
            _ => self.wrong_type("number"),
        })
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(match self.node.kind {
            Kind::Any | Kind::String => Value::String(value.to_owned()),
            _ => self.wrong_type("string"),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let node = match &self.node.kind {
            Kind::Any => self.node,
            Kind::Array(node) => node,
            _ => {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(self.wrong_type("array"));
            }
        };
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(NodeReader { node, reading: &mut *self.reading })? {
            // An absent item means nothing to anyone; free-form values are kept as they are.
            if !value.is_null() || matches!(node.kind, Kind::Any) {
                values.push(value);
            }
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        match &self.node.kind {
            Kind::Any => {
                while let Some(name) = members.next_key::<String>()? {
                    let seed = NodeReader { node: self.node, reading: &mut *self.reading };
                    values.insert(name, members.next_value_seed(seed)?);
                }
            }
            Kind::Map(node) => {
                while let Some(name) = members.next_key::<String>()? {
                    let seed = NodeReader { node, reading: &mut *self.reading };
                    values.insert(name, members.next_value_seed(seed)?);
                }
            }
            Kind::Object(object) => {
                let top = self.reading.path.is_empty();
                if top {
                    self.reading.path.push(&object.type_name);
                }
                while let Some(name) = members.next_key::<String>()? {
                    let Some(field) = object.field(&name) else {
                        members.next_value::<IgnoredAny>()?;
                        if self.reading.reject_unknown && self.reading.wrong.is_none() {
                            self.reading.wrong = Some(format!("json: unknown field {name:?}"));
                        }
                        continue;
                    };
                    self.reading.path.push(&field.name);
                    let seed = NodeReader { node: &field.node, reading: &mut *self.reading };
                    let value = members.next_value_seed(seed)?;
                    self.reading.path.pop();
                    if value.is_null() || (field.empty_is_absent && is_empty(&value)) {
                        values.remove(&field.name);
                    } else {
                        values.insert(field.name.clone(), value);
                    }
                }
                if top {
                    self.reading.path.pop();
                }
            }
            _ => {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(self.wrong_type("object"));
            }
        }
        Ok(Value::Object(values))
    }
}

/// Whether a scalar is the value that its type has when it is left out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        _ => false,
    }
}
