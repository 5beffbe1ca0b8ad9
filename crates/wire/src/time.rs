//! Times on the wire: RFC 3339, UTC.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Seconds from `0001-01-01T00:00:00Z` to the Unix epoch.
const YEAR_ONE: i64 = -62_135_596_800;

/// A moment, written with milliseconds and `Z`. [`DateTime::ZERO`] stands for "never".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DateTime(pub Timestamp);

impl DateTime {
    /// `0001-01-01T00:00:00.000Z`, which clients read as "never".
    pub const ZERO: Self = Self(Timestamp::constant(YEAR_ONE, 0));

    /// Whether this stands for "never".
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

impl Default for DateTime {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<Timestamp> for DateTime {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl FromStr for DateTime {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl Serialize for DateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DateTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<Cow<'de, str>>::deserialize(deserializer)? {
            Some(text) if !text.is_empty() => text.parse().map_err(de::Error::custom),
            _ => Ok(Self::ZERO),
        }
    }
}

impl JsonSchema for DateTime {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "date-time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

/// For the times of creation and change: up to nanoseconds, trailing zeros trimmed (service-api §1.4).
pub(crate) mod precise {
    use super::{DateTime, Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(at: &DateTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&at.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime, D::Error> {
        DateTime::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_and_z() {
        let at: DateTime = "2026-08-21T03:54:08.1239+02:00".parse().unwrap();
        assert_eq!(serde_json::to_string(&at).unwrap(), r#""2026-08-21T01:54:08.123Z""#);
        assert_eq!(DateTime::ZERO.to_string(), "0001-01-01T00:00:00.000Z");
    }

    #[test]
    fn absent_times_are_zero() {
        for text in ["null", "\"\"", "\"0001-01-01T00:00:00.000Z\""] {
            assert!(serde_json::from_str::<DateTime>(text).unwrap().is_zero(), "{text}");
        }
        assert!(serde_json::from_str::<DateTime>("\"yesterday\"").is_err());
    }
}
