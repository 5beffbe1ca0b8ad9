//! Hardware addresses.

use std::fmt;
use std::str::FromStr;

/// A hardware address; its text form has lowercase digits and colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// No hardware address of six bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no MAC address")]
pub struct ParseMacError;

impl FromStr for Mac {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2).ok_or(ParseMacError)?;
            // The parser of numbers would take a sign.
            let digits = part.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = u8::from_str_radix(part, 16).ok().filter(|_| digits).ok_or(ParseMacError)?;
        }
        if parts.next().is_none() { Ok(Self(bytes)) } else { Err(ParseMacError) }
    }
}
