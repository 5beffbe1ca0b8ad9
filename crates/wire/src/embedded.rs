//! JSON that travels inside a string field: typed on our side, a string on the wire.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the JSON inside a field; an empty field is `None`, as it is for every client.
pub fn read<T: DeserializeOwned>(field: &str) -> Result<Option<T>, serde_json::Error> {
    if field.is_empty() { Ok(None) } else { serde_json::from_str(field).map(Some) }
}

/// Writes a value as the text of a field.
pub fn write<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(value)
}
