//! A row of the replaced service: every column by its name, and nothing where it says nothing (running §8.1).

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Where objects are found, for a row that does not say it.
pub(crate) const API: &str = "/api/assisted-install/v2";

/// How times begin that say "never".
const NEVER: &str = "0001-01-01";

/// A row, without what says nothing: NULL, an empty text, and a time in the year 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row(Map<String, Value>);

impl Row {
    pub(crate) fn new(value: Value) -> Self {
        let Value::Object(columns) = value else { return Self(Map::new()) };
        let says_something = |value: &Value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty() && !text.starts_with(NEVER),
            _ => true,
        };
        Self(columns.into_iter().filter(|(_, value)| says_something(value)).collect())
    }

    /// A text; empty when there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.0.get(name).and_then(Value::as_i64)
    }

    /// A column as what it is in JSON.
    pub(crate) fn parsed<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_value(self.0.get(name)?.clone()).ok()
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Puts a value where there is none.
    pub(crate) fn or(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.entry(name).or_insert_with(|| value.into());
        self
    }

    /// Makes one object of the columns with a prefix: that is how the service keeps the members of embedded ones.
    pub(crate) fn nest(&mut self, prefix: &str, name: &str) -> &mut Self {
        let names: Vec<String> = self.0.keys().filter(|column| column.starts_with(prefix)).cloned().collect();
        let mut inner = Map::new();
        for column in names {
            if let (Some(value), Some(member)) = (self.0.remove(&column), column.strip_prefix(prefix)) {
                inner.insert(member.to_owned(), value);
            }
        }
        if !inner.is_empty() {
            self.0.insert(name.to_owned(), Value::Object(inner));
        }
        self
    }

    /// The object that the row says.
    pub(crate) fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        // No value is quoted: it may be a secret.
        serde_json::from_value(Value::Object(self.0)).map_err(|error| {
            let told = error.to_string();
            let quoted = told.find("`").or_else(|| told.find('"')).filter(|_| !told.starts_with("missing"));
            told.get(..quoted.unwrap_or(told.len())).unwrap_or_default().trim().to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_says_nothing_is_not_there() {
        let mut row = Row::new(json!({
            "a": null, "b": "", "c": "0001-01-01T00:00:00+00:00", "d": 0, "e": false, "f": "x",
            "progress_total_percentage": 3, "progress_finalizing_stage": "",
        }));
        row.nest("progress_", "progress").nest("platform_", "platform");
        let value: Value = row.read().unwrap();
        assert_eq!(value, json!({"d": 0, "e": false, "f": "x", "progress": {"total_percentage": 3}}));
        assert!(Row::new(json!("no row")).text("a").is_empty());
    }

    #[test]
    fn errors_quote_no_value() {
        #[derive(Debug, serde::Deserialize)]
        struct Typed {
            #[serde(rename = "a")]
            _a: u8,
        }
        let error = Row::new(json!({"a": "hunter2"})).read::<Typed>().unwrap_err();
        assert!(!error.contains("hunter2") && error.contains("invalid type"), "{error}");
        assert!(Row::new(json!({})).read::<Typed>().unwrap_err().contains("missing field"));
    }
}
