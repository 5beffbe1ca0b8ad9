//! The lean form of a body's schema, made once at start: what a request is read and judged by.

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Map, Value};

/// A member, item or whole of a body, with what is required of its value.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) rules: Rules,
}

/// What may stand at a place.
#[derive(Debug)]
pub(crate) enum Kind {
    Any,
    String,
    Integer,
    Number,
    Boolean,
    Array(Box<Node>),
    Map(Box<Node>),
    Object(Object),
}

impl Kind {
    /// The name that texts about a wrong type show.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::Any => "interface {}",
            Self::String => "string",
            Self::Integer => "int64",
            Self::Number => "float64",
            Self::Boolean => "bool",
            Self::Array(_) => "[]object",
            Self::Map(_) => "map[string]interface {}",
            Self::Object(object) => &object.type_name,
        }
    }
}

/// Bounds of a scalar.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) pattern: Option<Regex>,
    pub(crate) one_of: Vec<String>,
    pub(crate) uuid: bool,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) minimum: Option<i64>,
    pub(crate) maximum: Option<i64>,
}

/// An object with known members, in order of their names.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) type_name: String,
    pub(crate) fields: Vec<Field>,
}

impl Object {
    /// The member of a name; the case of letters does not matter (service-api §1.1).
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        match self.fields.binary_search_by(|field| field.name.as_str().cmp(name)) {
            Ok(index) => self.fields.get(index),
            Err(_) => self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)),
        }
    }
}

/// A member of an object.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) required: bool,
    /// Whether an empty value is the same as none; it is then not judged by the rules.
    pub(crate) empty_is_absent: bool,
    pub(crate) node: Node,
}

/// A schema that the checker has no form for: a mistake in our own types, found when the service starts.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("{place}: the reference {reference} leads nowhere")]
    Reference { place: String, reference: String },
    #[error("{place}: the pattern is no regular expression")]
    Pattern {
        place: String,
        #[source]
        source: Box<regex::Error>,
    },
    #[error("{place}: the type {found} has no check")]
    Type { place: String, found: String },
    #[error("{place}: nested too deep")]
    Depth { place: String },
}

/// Deeper than any body of the contract; only a schema that contains itself gets here.
const MAX_DEPTH: usize = 32;

/// Compiles schemas; `definitions` are those that they refer to.
pub(crate) struct Compiler<'a> {
    definitions: &'a Map<String, Value>,
    /// Patterns are few, used in many places, and slow to compile.
    patterns: HashMap<String, Regex>,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(definitions: &'a Map<String, Value>) -> Self {
        Self { definitions, patterns: HashMap::new() }
    }

    /// Compiles the schema of one body.
    pub(crate) fn compile(&mut self, name: &str, schema: &Value) -> Result<Node, SchemaError> {
        self.node(name, schema, 0)
    }

    fn node(&mut self, place: &str, schema: &Value, depth: usize) -> Result<Node, SchemaError> {
        if depth > MAX_DEPTH {
            return Err(SchemaError::Depth { place: place.to_owned() });
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let target = self.definitions.get(name).ok_or_else(|| SchemaError::Reference {
                place: place.to_owned(),
                reference: reference.to_owned(),
            })?;
            return self.node(name, target, depth + 1);
        }
        Ok(Node { kind: self.kind(place, schema, depth)?, rules: self.rules(place, schema)? })
    }

    fn kind(&mut self, place: &str, schema: &Value, depth: usize) -> Result<Kind, SchemaError> {
        let Some(kind) = schema.get("type").and_then(Value::as_str) else { return Ok(Kind::Any) };
        Ok(match kind {
            "string" => Kind::String,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Boolean,
            "array" => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                Kind::Array(Box::new(self.node(place, items, depth + 1)?))
            }
            "object" => match (schema.get("properties"), schema.get("additionalProperties")) {
                (Some(Value::Object(properties)), _) => self.object(place, schema, properties, depth)?,
                (_, Some(values)) => Kind::Map(Box::new(self.node(place, values, depth + 1)?)),
                _ => Kind::Any,
            },
            found => {
                return Err(SchemaError::Type { place: place.to_owned(), found: found.to_owned() });
            }
        })
    }

    fn object(
        &mut self,
        place: &str,
        schema: &Value,
        properties: &Map<String, Value>,
        depth: usize,
    ) -> Result<Kind, SchemaError> {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut fields = Vec::with_capacity(properties.len());
        for (name, property) in properties {
            let required = required.contains(&name.as_str());
            let nullable = property.get("x-nullable").and_then(Value::as_bool);
            let kept = required || nullable.unwrap_or_else(|| property.get("default").is_some());
            fields.push(Field {
                name: name.clone(),
                required,
                empty_is_absent: !kept,
                node: self.node(name, property, depth + 1)?,
            });
        }
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Kind::Object(Object { type_name: type_name(place), fields }))
    }

    fn rules(&mut self, place: &str, schema: &Value) -> Result<Rules, SchemaError> {
        let pattern = match schema.get("pattern").and_then(Value::as_str) {
            Some(pattern) => Some(self.pattern(place, pattern)?),
            None => None,
        };
        Ok(Rules {
            pattern,
            one_of: schema
                .get("enum")
                .and_then(Value::as_array)
                .map(|values| values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default(),
            uuid: schema.get("format").and_then(Value::as_str) == Some("uuid"),
            min_length: schema.get("minLength").and_then(Value::as_u64),
            max_length: schema.get("maxLength").and_then(Value::as_u64),
            minimum: schema.get("minimum").and_then(Value::as_i64),
            maximum: schema.get("maximum").and_then(Value::as_i64),
        })
    }

    fn pattern(&mut self, place: &str, pattern: &str) -> Result<Regex, SchemaError> {
        if let Some(known) = self.patterns.get(pattern) {
            return Ok(known.clone());
        }
        let compiled = Regex::new(pattern)
            .map_err(|source| SchemaError::Pattern { place: place.to_owned(), source: Box::new(source) })?;
        self.patterns.insert(pattern.to_owned(), compiled.clone());
        Ok(compiled)
    }
}

/// `cluster-create-params` as the texts of existing clients show it: `ClusterCreateParams`.
pub(crate) fn type_name(definition: &str) -> String {
    let mut name = String::with_capacity(definition.len());
    for word in definition.split(['-', '_']) {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}
