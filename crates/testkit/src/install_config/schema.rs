//! A config held against the table of fields.

use serde_json::{Map, Value};

use super::form::Form;
use super::input::Input;
use super::table::{Row, TABLE, When};

/// What of a config is not as the table says. What overrides name may be where it else is not.
pub fn complaints(config: &Value, input: &Input, overrides: &Value) -> Vec<String> {
    let mut found: Vec<_> =
        TABLE.unread.iter().map(|line| format!("the table has a line that says nothing: {line}")).collect();
    let Value::Object(members) = config else { return vec!["the config is no object".to_owned()] };
    object("", "", members, &SchemaCheck { input, overrides: Some(overrides) }, &mut found);
    if let Some(platforms) = config["platform"].as_object()
        && platforms.len() != 1
    {
        found.push(format!("there are {} platforms", platforms.len()));
    }
    found
}

/// The cluster, and what the overrides say of the place that is looked at; `None`: nothing.
#[derive(Clone, Copy)]
struct SchemaCheck<'a> {
    input: &'a Input,
    overrides: Option<&'a Value>,
}

impl SchemaCheck<'_> {
    fn member(self, name: &str) -> Self {
        Self { overrides: self.overrides.and_then(|value| value.get(name)), ..self }
    }

    fn element(self, index: usize) -> Self {
        Self { overrides: self.overrides.and_then(|value| value.get(index)), ..self }
    }
}

/// `place` has the numbers of elements, `path` has `[]` for each, as the table has.
fn object(
    path: &str,
    place: &str,
    members: &Map<String, Value>,
    look: &SchemaCheck<'_>,
    found: &mut Vec<String>,
) {
    let dot = if path.is_empty() { "" } else { "." };
    for (name, value) in members {
        let (path, place, look) =
            (format!("{path}{dot}{name}"), format!("{place}{dot}{name}"), look.member(name));
        let Some(row) = TABLE.row(&path) else {
            found.push(format!("{place}: nobody knows such a field"));
            continue;
        };
        if look.overrides.is_none() {
            if row.when == When::Asked {
                found.push(format!("{place}: it is there, and no override asks for it"));
            }
            if look.input.is_of(&row.place) != Some(true) {
                found.push(format!("{place}: it is there, but the cluster is not one of {:?}", row.place));
            }
        }
        // What holds nothing wherever it is (a platform that is none) is told by being there.
        let holds = row.form != Form::Object || TABLE.members(&path).next().is_some();
        if row.when != When::Always && holds && is_empty(value) {
            found.push(format!("{place}: it is empty, and is left out then"));
        }
        valued(row, &place, value, &look, found);
    }
    for (name, row) in TABLE.members(path) {
        if row.when == When::Always && !members.contains_key(name) {
            found.push(format!("{place}{dot}{name}: it is missing"));
        }
    }
}

fn valued(row: &Row, place: &str, value: &Value, look: &SchemaCheck<'_>, found: &mut Vec<String>) {
    if row.nullable && value.is_null() {
        return;
    }
    if !row.form.fits(value) {
        found.push(format!("{place}: {value} is no {:?}", row.form));
    } else if !row.words.is_empty() && !row.words.iter().any(|word| value == word.as_str()) {
        found.push(format!("{place}: {value} is none of {:?}", row.words));
    }
    match value {
        Value::Object(members) => object(&row.path, place, members, look, found),
        Value::Array(elements) => {
            let Some(element) = TABLE.row(&format!("{}[]", row.path)) else { return };
            for (index, value) in elements.iter().enumerate() {
                valued(element, &format!("{place}[{index}]"), value, &look.element(index), found);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
