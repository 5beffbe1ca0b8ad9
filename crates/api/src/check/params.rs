//! Parameters of a request: found, judged and typed by the operation's row in the table.

use std::borrow::Cow;

use assisted_wire::operation::name::Name;
use assisted_wire::operation::{Kind, Location, Operation, Param};
use http::HeaderMap;
use uuid::Uuid;

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
enum ParamValue {
    Text(String),
    Integer(i64),
    Boolean(bool),
    Uuid(Uuid),
    List(Vec<String>),
}

/// The parameters of one request, by name. Absent ones that have a default carry it.
#[derive(Debug, Default)]
pub(crate) struct Params(Vec<(&'static str, ParamValue)>);

impl Params {
    /// Reads the parameters; the error is the text of the answer.
    pub(crate) fn read(
        operation: &Operation,
        path: &[(&str, Cow<'_, str>)],
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Self, String> {
        let mut values = Vec::with_capacity(operation.params.len());
        for param in operation.params {
            let found = match param.location {
                Location::Path => from_path(path, param.name),
                Location::Query => from_query(query, param),
                Location::Header => from_header(headers, param.name),
                Location::Form => continue,
            };
            // An empty value is the same as none.
            match found.filter(|raw| !raw.is_empty()) {
                Some(raw) => values.push((param.name, value(param, raw)?)),
                None if param.required => {
                    return Err(format!("{} in {} is required", param.name, place(param.location)));
                }
                None => {
                    if let Some(default) = param.default {
                        values.push((param.name, value(param, Cow::Borrowed(default))?));
                    }
                }
            }
        }
        Ok(Self(values))
    }

    fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// A parameter of format `uuid`; of one that the path holds the id is always there.
    pub(crate) fn uuid(&self, name: Name<Uuid>) -> Option<Uuid> {
        match self.get(name.as_str()) {
            Some(ParamValue::Uuid(id)) => Some(*id),
            _ => None,
        }
    }

    /// A text parameter.
    pub(crate) fn text(&self, name: Name<String>) -> Option<&str> {
        match self.get(name.as_str()) {
            Some(ParamValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// An integer parameter.
    pub(crate) fn integer(&self, name: Name<i64>) -> Option<i64> {
        match self.get(name.as_str()) {
            Some(ParamValue::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    /// A boolean parameter; absent is false.
    pub(crate) fn flag(&self, name: Name<bool>) -> bool {
        matches!(self.get(name.as_str()), Some(ParamValue::Boolean(true)))
    }

    /// A list parameter; `None`: absent.
    pub(crate) fn list(&self, name: Name<Vec<String>>) -> Option<&[String]> {
        match self.get(name.as_str()) {
            Some(ParamValue::List(items)) => Some(items),
            _ => None,
        }
    }
}

fn from_path<'a>(path: &'a [(&str, Cow<'_, str>)], name: &str) -> Option<Cow<'a, str>> {
    path.iter().find(|(known, _)| *known == name).map(|(_, value)| Cow::Borrowed(value.as_ref()))
}

fn from_query<'a>(query: Option<&'a str>, param: &Param) -> Option<Cow<'a, str>> {
    let mut values = form_urlencoded::parse(query?.as_bytes())
        .filter(|(name, _)| name == param.name)
        .map(|(_, value)| value);
    if param.multi {
        let values: Vec<_> = values.collect();
        return (!values.is_empty()).then(|| Cow::Owned(values.join(",")));
    }
    // The last of a repeated parameter counts.
    let first = values.next()?;
    Some(values.last().unwrap_or(first))
}

fn from_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<Cow<'a, str>> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()))
}

fn value(param: &Param, raw: Cow<'_, str>) -> Result<ParamValue, String> {
    let name = param.name;
    let place = place(param.location);
    match param.kind {
        Kind::Integer => raw
            .parse()
            .map(ParamValue::Integer)
            .map_err(|_| format!("{name} in {place} must be of type int64: {raw:?}")),
        Kind::Boolean => Ok(ParamValue::Boolean(is_true(&raw))),
        Kind::Strings => {
            let items: Vec<String> =
                raw.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect();
            for (index, item) in items.iter().enumerate() {
                validate(param, item, format_args!("{name}.{index}"), place)?;
            }
            Ok(ParamValue::List(items))
        }
        Kind::String | Kind::File => {
            if param.format == Some("uuid") {
                return Uuid::try_parse(&raw)
                    .map(ParamValue::Uuid)
                    .map_err(|_| format!("{name} in {place} must be of type uuid: {raw:?}"));
            }
            validate(param, &raw, format_args!("{name}"), place)?;
            Ok(ParamValue::Text(raw.into_owned()))
        }
    }
}

fn validate(param: &Param, text: &str, name: std::fmt::Arguments<'_>, place: &str) -> Result<(), String> {
    if !param.one_of.is_empty() && !param.one_of.contains(&text) {
        return Err(format!("{name} in {place} should be one of [{}]", param.one_of.join(" ")));
    }
    let keeps_format = match param.format {
        Some("uuid") => Uuid::try_parse(text).is_ok(),
        Some("mac") => is_mac(text),
        _ => true,
    };
    if !keeps_format {
        return Err(format!(
            "{name} in {place} must be of type {}: {text:?}",
            param.format.unwrap_or_default()
        ));
    }
    Ok(())
}

fn place(location: Location) -> &'static str {
    match location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Header => "header",
        Location::Form => "formData",
    }
}

/// The words that mean yes; anything else means no, and nothing is refused.
fn is_true(text: &str) -> bool {
    const YES: [&str; 11] =
        ["true", "1", "yes", "ok", "y", "on", "selected", "checked", "t", "enabled", "enable"];
    YES.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Six or eight bytes in hexadecimal, separated by colons or hyphens.
fn is_mac(text: &str) -> bool {
    let separator = if text.contains('-') { '-' } else { ':' };
    let mut bytes = 0;
    text.split(separator).all(|byte| {
        bytes += 1;
        byte.len() == 2 && byte.bytes().all(|digit| digit.is_ascii_hexdigit())
    }) && matches!(bytes, 6 | 8)
}
