//! Values that go into and come out of a database, the same for both engines.

use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::error::Error;
use crate::unsealed::Unsealed;

/// A parameter or a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Uuid(Uuid),
    Text(String),
    Static(&'static str),
    Shared(Arc<str>),
    Bytes(Vec<u8>),
    /// A document; it is sealed before it reaches an engine.
    Unsealed(Box<Unsealed>),
    /// Of one type; PostgreSQL only.
    List(Vec<Value>),
}

impl Value {
    /// The text of a textual value.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Static(text) => Some(text),
            Self::Shared(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of what may be long.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            text => text.as_str().map_or(0, str::len),
        }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<Uuid> for Value {
    fn from(value: Uuid) -> Self {
        Self::Uuid(value)
    }
}

impl From<Option<Uuid>> for Value {
    fn from(value: Option<Uuid>) -> Self {
        value.map_or(Self::Null, Self::Uuid)
    }
}

impl From<&'static str> for Value {
    fn from(value: &'static str) -> Self {
        Self::Static(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        // PostgreSQL can't hold the character 0 in a text; hosts can send it.
        Self::Text(if value.contains('\0') { value.replace('\0', "\u{fffd}") } else { value })
    }
}

impl From<Option<String>> for Value {
    fn from(value: Option<String>) -> Self {
        value.map_or(Self::Null, Self::Text)
    }
}

impl From<Arc<str>> for Value {
    fn from(value: Arc<str>) -> Self {
        if value.contains('\0') { Self::Text(value.replace('\0', "\u{fffd}")) } else { Self::Shared(value) }
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

/// A moment as a column: nanoseconds since 1970, `null` for what does not fit (year 1 stands for "never").
impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        i64::try_from(at.as_nanosecond()).map_or(Self::Null, Self::Int)
    }
}

impl From<Option<Timestamp>> for Value {
    fn from(at: Option<Timestamp>) -> Self {
        at.map_or(Self::Null, Self::from)
    }
}

/// The columns of one row, in the order of the query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    fn wrong(&self, index: usize, wanted: &str) -> Error {
        // Tells the column, not its content: that may be a secret.
        Error::Corrupt(format!("column {index} of {} is not {wanted}", self.0.len()))
    }

    pub(crate) fn int(&self, index: usize) -> Result<i64, Error> {
        match self.0.get(index) {
            Some(Value::Int(value)) => Ok(*value),
            _ => Err(self.wrong(index, "an integer")),
        }
    }

    pub(crate) fn optional_int(&self, index: usize) -> Result<Option<i64>, Error> {
        match self.0.get(index) {
            Some(Value::Null) => Ok(None),
            _ => self.int(index).map(Some),
        }
    }

    pub(crate) fn uuid(&self, index: usize) -> Result<Uuid, Error> {
        match self.0.get(index) {
            Some(Value::Uuid(value)) => Ok(*value),
            Some(Value::Bytes(bytes)) => Uuid::from_slice(bytes).map_err(|_| self.wrong(index, "a UUID")),
            _ => Err(self.wrong(index, "a UUID")),
        }
    }

    pub(crate) fn optional_uuid(&self, index: usize) -> Result<Option<Uuid>, Error> {
        match self.0.get(index) {
            Some(Value::Null) => Ok(None),
            _ => self.uuid(index).map(Some),
        }
    }

    pub(crate) fn text(&self, index: usize) -> Result<&str, Error> {
        self.0.get(index).and_then(Value::as_str).ok_or_else(|| self.wrong(index, "a text"))
    }

    pub(crate) fn optional_text(&self, index: usize) -> Result<Option<&str>, Error> {
        match self.0.get(index) {
            Some(Value::Null) => Ok(None),
            _ => self.text(index).map(Some),
        }
    }

    /// Moves a text out of the row.
    pub(crate) fn take_text(&mut self, index: usize) -> Result<String, Error> {
        match self.0.get_mut(index) {
            Some(Value::Text(text)) => Ok(std::mem::take(text)),
            _ => Err(self.wrong(index, "a text")),
        }
    }

    /// A text that many hold.
    pub(crate) fn shared_text(&self, index: usize) -> Result<Arc<str>, Error> {
        match self.0.get(index) {
            Some(Value::Shared(text)) => Ok(Arc::clone(text)),
            _ => self.text(index).map(Arc::from),
        }
    }

    pub(crate) fn bytes(&self, index: usize) -> Result<&[u8], Error> {
        match self.0.get(index) {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(self.wrong(index, "bytes")),
        }
    }

    pub(crate) fn time(&self, index: usize) -> Result<Option<Timestamp>, Error> {
        Ok(self.optional_int(index)?.and_then(|at| Timestamp::from_nanosecond(i128::from(at)).ok()))
    }

    pub(crate) fn document<T: serde::de::DeserializeOwned>(&self, index: usize) -> Result<T, Error> {
        serde_json::from_str(self.text(index)?)
            .map_err(|error| Error::Corrupt(format!("a stored document can't be read: {error}")))
    }
}

/// A time that can be compared; what nanoseconds can't reach is the edge of what they can.
pub(crate) fn nanoseconds(at: Timestamp) -> Value {
    let at = at.as_nanosecond().clamp(1, i128::from(i64::MAX));
    Value::Int(i64::try_from(at).unwrap_or(i64::MAX))
}
