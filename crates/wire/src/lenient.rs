//! How a host's reports are read: what is odd but harmless is set aside, and the rest of the report is taken.
//!
//! The types of JSON must fit: a number where a list belongs is refused with the whole report. Values may be odd: an address
//! with a prefix length is read without it, a word that nobody knows and what is no address count as not reported, `null` is
//! what it is everywhere, nothing. [`read`] returns what was set aside.

use std::any::type_name;
use std::cell::RefCell;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

/// Notes that are kept of one report.
const MOST_NOTES: usize = 8;
/// Letters of an odd value that are quoted.
const TOLD: usize = 64;

thread_local! {
    // A deserializer gets nothing but the field: this is the only way out for a note.
    static NOTES: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Reads a report, and returns what was set aside: the first few parts, each in short.
pub fn read<T: DeserializeOwned>(text: &str) -> (serde_json::Result<T>, Vec<String>) {
    let begin = || NOTES.set(Some(Vec::new()));
    begin();
    let read = serde_json::from_str(text).or_else(|error| {
        // Hardly any report says `null` where it could leave something out: those that do pay for it.
        begin();
        let read = serde_json::from_str(text).and_then(|report| T::deserialize(without_nulls(report)));
        // The first error names the place.
        read.map_err(|_| error)
    });
    (read, NOTES.take().unwrap_or_default())
}

/// A value without members and items that are `null`. It is no deeper than what reads JSON allows.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().filter(|item| !item.is_null()).map(without_nulls).collect(),
        Value::Object(members) => {
            let told = members.into_iter().filter(|(_, value)| !value.is_null());
            told.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        value => value,
    }
}

fn record_note<T>(value: &dyn Display) {
    NOTES.with_borrow_mut(|notes| {
        if let Some(notes) = notes.as_mut().filter(|notes| notes.len() < MOST_NOTES) {
            let value: String = value.to_string().chars().take(TOLD).collect();
            let kind = type_name::<T>().rsplit("::").next().unwrap_or_default();
            notes.push(format!("{value:?} is no {kind}"));
        }
    });
}

/// One of some words, or what is written in a form of its own, as ids are. Empty: not reported.
pub(crate) fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
{
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    Ok(value(&text))
}

fn value<T: FromStr>(text: &str) -> Option<T> {
    if text.is_empty() {
        return None;
    }
    let read = text.parse().ok();
    if read.is_none() {
        record_note::<T>(&text);
    }
    read
}

/// Addresses, without those that are none.
pub(crate) fn addresses<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
{
    let texts = Option::<Vec<Option<String>>>::deserialize(deserializer)?;
    Ok(texts.map(|texts| texts.iter().flatten().filter_map(|text| value(bare(text))).collect()))
}

/// One address that must be there.
pub(crate) fn address<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    bare(&text).parse().map_err(serde::de::Error::custom)
}

/// An address without its prefix length.
fn bare(text: &str) -> &str {
    let text = text.trim();
    match text.split_once('/') {
        Some((address, length)) if length.parse::<u8>().is_ok() => address,
        _ => text,
    }
}

/// A whole number. What comes after the point counts for nothing, and what is too large is as large as can be.
pub(crate) fn integer<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Bounded,
{
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(T::of(0)) };
    if let Some(whole) = number.as_i64().filter(|whole| T::MIN <= *whole && *whole <= T::MAX) {
        return Ok(T::of(whole));
    }
    record_note::<T>(&number);
    #[expect(clippy::cast_possible_truncation, reason = "a cast from a float stops at the bounds")]
    let whole = number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64);
    Ok(T::of(whole.clamp(T::MIN, T::MAX)))
}

/// Numbers of reports.
pub(crate) trait Bounded {
    const MIN: i64;
    const MAX: i64;

    /// A number within the bounds.
    fn of(number: i64) -> Self;
}

impl Bounded for i64 {
    const MIN: i64 = i64::MIN;
    const MAX: i64 = i64::MAX;

    fn of(number: i64) -> Self {
        number
    }
}

impl Bounded for i32 {
    const MIN: i64 = i32::MIN as i64;
    const MAX: i64 = i32::MAX as i64;

    fn of(number: i64) -> Self {
        Self::try_from(number).unwrap_or_default()
    }
}

/// Takes defaults out of the schema of an object: that an absent member is read as an empty one is no part of the contract.
pub(crate) fn without_defaults(schema: &mut schemars::Schema) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(serde_json::Map::values_mut) {
        property.as_object_mut().map(|property| property.remove("default"));
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use serde_json::json;

    use super::*;
    use crate::host::MediaStatus;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Report {
        #[serde(deserialize_with = "parsed")]
        word: Option<MediaStatus>,
        #[serde(deserialize_with = "addresses")]
        v4: Option<Vec<Ipv4Addr>>,
        #[serde(deserialize_with = "addresses")]
        v6: Option<Vec<Ipv6Addr>>,
        texts: Option<Vec<String>>,
        #[serde(deserialize_with = "integer")]
        large: i64,
        #[serde(deserialize_with = "integer")]
        small: i32,
    }

    fn read_report(report: &Value) -> (Report, Vec<String>) {
        let (read, notes) = read(&report.to_string());
        (read.unwrap(), notes)
    }

    #[test]
    fn what_is_odd_is_set_aside_with_a_note() {
        for (report, expected, notes) in [
            (json!({}), Report::default(), vec![]),
            (
                json!({"word": null, "v4": null, "v6": null, "texts": null, "large": null, "small": null}),
                Report::default(),
                vec![],
            ),
            (
                json!({"word": "connected"}),
                Report { word: Some(MediaStatus::Connected), ..Report::default() },
                vec![],
            ),
            (json!({"word": "", "unknown": [1]}), Report::default(), vec![]),
            (json!({"word": "lost"}), Report::default(), vec!["\"lost\" is no MediaStatus"]),
            (
                json!({"v4": ["1.2.3.4/24", " 1.2.3.5 ", "", null, "1.2.3", "1.2.3.4/x", "::1"]}),
                Report {
                    v4: Some(vec![Ipv4Addr::new(1, 2, 3, 4), Ipv4Addr::new(1, 2, 3, 5)]),
                    ..Report::default()
                },
                vec!["\"1.2.3\" is no Ipv4Addr", "\"1.2.3.4/x\" is no Ipv4Addr", "\"::1\" is no Ipv4Addr"],
            ),
            (
                json!({"v6": ["::1/128", "fe80::1%eth0"]}),
                Report { v6: Some(vec![Ipv6Addr::LOCALHOST]), ..Report::default() },
                vec!["\"fe80::1%eth0\" is no Ipv6Addr"],
            ),
            (
                json!({"texts": ["a", null, ""]}),
                Report { texts: Some(vec!["a".to_owned(), String::new()]), ..Report::default() },
                vec![],
            ),
            (
                json!({"large": u64::MAX, "small": 4_294_967_295_u32}),
                Report { large: i64::MAX, small: i32::MAX, ..Report::default() },
                vec!["\"18446744073709551615\" is no i64", "\"4294967295\" is no i32"],
            ),
            (
                json!({"large": 12.75, "small": -1e30}),
                Report { large: 12, small: i32::MIN, ..Report::default() },
                vec!["\"12.75\" is no i64", "\"-1e+30\" is no i32"],
            ),
        ] {
            let told = read_report(&report);
            assert_eq!(told.0, expected, "{report}");
            assert_eq!(told.1, notes, "{report}");
        }
    }

    #[test]
    fn what_has_another_type_is_refused() {
        for report in [
            json!({"word": 5}),
            json!({"v4": "1.2.3.4"}),
            json!({"v4": [1]}),
            json!({"v4": [["1.2.3.4"]]}),
            json!({"texts": {}}),
            json!({"texts": [{}]}),
            json!({"large": "5"}),
            json!({"small": [5]}),
        ] {
            assert!(read::<Report>(&report.to_string()).0.is_err(), "{report}");
        }
    }

    #[test]
    fn notes_are_few_and_short() {
        let odd = vec!["x".repeat(100_000); 1000];
        let (read, notes) = read_report(&json!({"v4": odd, "texts": [null]}));
        assert_eq!((read.v4, read.texts), (Some(Vec::new()), Some(Vec::new())));
        assert_eq!(notes.len(), MOST_NOTES);
        assert!(notes.iter().all(|note| note.len() < 100), "{notes:?}");
        // Who does not ask for notes gets none, and those of another report are not among the next one's.
        assert!(serde_json::from_str::<Report>(r#"{"v4":["x"]}"#).is_ok());
        assert_eq!(read_report(&json!({})).1, Vec::<String>::new());
    }
}
