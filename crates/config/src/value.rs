//! Kinds of values that a variable may take.

use std::num::NonZeroUsize;
use std::time::Duration;

use assisted_base::boolean;
use assisted_wire::infra_env::ImageType;
use assisted_wire::secret::Secret;
use ipnet::{Ipv4Net, Ipv6Net};

use crate::duration::{format_duration, parse_duration};

/// A value that can be read from an environment variable.
pub(crate) trait Value: Sized {
    /// What to give, for people.
    const KIND: &'static str;

    /// Reads a text that is not empty; the error says what is wrong.
    fn parse(text: &str) -> Result<Self, String>;

    /// Writes the value as it would be given.
    fn show(&self) -> String;

    /// What an empty text means, if it means something.
    fn empty() -> Option<Self> {
        None
    }
}

/// The beginning of a value, for an error: lists in JSON can be long.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl Value for String {
    const KIND: &'static str = "a text";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }

    fn empty() -> Option<Self> {
        Some(Self::new())
    }
}

impl Value for Secret {
    const KIND: &'static str = "a secret text";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }

    fn show(&self) -> String {
        String::new()
    }

    fn empty() -> Option<Self> {
        Some(Self::default())
    }
}

impl Value for bool {
    const KIND: &'static str = "true or false";

    fn parse(text: &str) -> Result<Self, String> {
        boolean::parse(text).ok_or_else(|| format!("{text:?} is neither true nor false"))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for Duration {
    const KIND: &'static str = "a duration such as 90s or 1h30m";

    fn parse(text: &str) -> Result<Self, String> {
        parse_duration(text)
    }

    fn show(&self) -> String {
        format_duration(*self)
    }
}

impl Value for Vec<String> {
    const KIND: &'static str = "a list separated by commas";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect())
    }

    fn show(&self) -> String {
        self.join(",")
    }

    fn empty() -> Option<Self> {
        Some(Self::new())
    }
}

/// A value that is one of some names.
macro_rules! choice {
    ($type:ty, $kind:literal, $($name:literal => $value:expr),+ $(,)?) => {
        impl $crate::value::Value for $type {
            const KIND: &'static str = $kind;

            fn parse(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok($value),)+
                    _ => Err(format!("{text:?} is not {}", Self::KIND)),
                }
            }

            fn show(&self) -> String {
                let names = [$(($name, $value)),+];
                names.iter().find(|(_, value)| value == self).map_or_else(String::new, |(name, _)| (*name).to_owned())
            }
        }
    };
}

pub(crate) use choice;

macro_rules! from_str {
    ($($type:ty: $kind:literal;)+) => {
        $(impl Value for $type {
            const KIND: &'static str = $kind;

            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("{text:?} is not {}", Self::KIND))
            }

            fn show(&self) -> String {
                self.to_string()
            }
        })+
    };
}

from_str! {
    u16: "a whole number up to 65535";
    u32: "a whole number";
    u64: "a whole number";
    i64: "a whole number";
    usize: "a whole number";
    NonZeroUsize: "a whole number above 0";
    Ipv4Net: "an IPv4 network such as 10.128.0.0/14";
    Ipv6Net: "an IPv6 network such as fd01::/48";
    ImageType: "full-iso, minimal-iso or disconnected-iso";
}
