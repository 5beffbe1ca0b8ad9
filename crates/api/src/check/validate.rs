//! Checks a body that has been read: what is required is there, and each value keeps to its bounds.
//!
//! Only the first breach is reported, in order of the members' names (service-api §1.3).

use std::fmt::{self, Display};

use serde_json::Value;
use uuid::Uuid;

use super::schema::{Kind, Node, Rules};

/// Checks a body; the error is the text of the answer.
pub(crate) fn validate(node: &Node, value: &Value) -> Result<(), String> {
    at(node, value, None)
}

/// Where in a body something stands: `api_vips.0.ip`.
#[derive(Clone, Copy)]
struct FieldPath<'a> {
    parent: Option<&'a FieldPath<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

impl Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}.")?;
        }
        match self.step {
            Step::Member(name) => f.write_str(name),
            Step::Item(index) => write!(f, "{index}"),
        }
    }
}

fn at(node: &Node, value: &Value, place: Option<&FieldPath<'_>>) -> Result<(), String> {
    match (&node.kind, value) {
        (Kind::Object(object), Value::Object(members)) => {
            for field in &object.fields {
                let place = FieldPath { parent: place, step: Step::Member(&field.name) };
                match members.get(&field.name) {
                    Some(value) => at(&field.node, value, Some(&place))?,
                    None if field.required => return Err(format!("{place} in body is required")),
                    None => {}
                }
            }
            Ok(())
        }
        (Kind::Array(items), Value::Array(values)) => {
            for (index, value) in values.iter().enumerate() {
                at(items, value, Some(&FieldPath { parent: place, step: Step::Item(index) }))?;
            }
            Ok(())
        }
        (Kind::String, Value::String(text)) => scalar_text(&node.rules, text, place),
        (Kind::Integer, Value::Number(number)) => match number.as_i64() {
            Some(number) => scalar_number(&node.rules, number, place),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn scalar_text(rules: &Rules, text: &str, place: Option<&FieldPath<'_>>) -> Result<(), String> {
    let place: &dyn Display = place.map_or(&"" as &dyn Display, |place| place);
    if rules.min_length.is_some() || rules.max_length.is_some() {
        let length = text.chars().count() as u64;
        if let Some(least) = rules.min_length.filter(|least| length < *least) {
            return Err(format!("{place} in body should be at least {least} chars long"));
        }
        if let Some(most) = rules.max_length.filter(|most| length > *most) {
            return Err(format!("{place} in body should be at most {most} chars long"));
        }
    }
    if let Some(pattern) = rules.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
        return Err(format!("{place} in body should match '{pattern}'"));
    }
    if !rules.one_of.is_empty() && !rules.one_of.iter().any(|value| value == text) {
        return Err(format!("{place} in body should be one of [{}]", rules.one_of.join(" ")));
    }
    if rules.uuid && Uuid::try_parse(text).is_err() {
        return Err(format!("{place} in body must be of type uuid: {text:?}"));
    }
    Ok(())
}

fn scalar_number(rules: &Rules, number: i64, place: Option<&FieldPath<'_>>) -> Result<(), String> {
    let place: &dyn Display = place.map_or(&"" as &dyn Display, |place| place);
    if let Some(least) = rules.minimum.filter(|least| number < *least) {
        return Err(format!("{place} in body should be greater than or equal to {least}"));
    }
    if let Some(most) = rules.maximum.filter(|most| number > *most) {
        return Err(format!("{place} in body should be less than or equal to {most}"));
    }
    Ok(())
}
