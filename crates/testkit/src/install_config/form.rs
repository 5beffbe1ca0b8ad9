//! What texts and numbers of an install config must look like.

use std::net::IpAddr;
use std::str::FromStr;

use serde_json::Value;

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Object,
    List,
    Flag,
    Count,
    /// Length of a network's prefix.
    Prefix,
    Port,
    Text,
    /// A text that is not empty and has no blanks around it.
    Name,
    /// One of some words.
    Word,
    Domain,
    Url,
    Address,
    Network,
    Mac,
    Device,
    Path,
    Image,
    /// A text that is JSON.
    Json,
    Pem,
    /// A feature gate that is on or off.
    Gate,
    /// A set of capabilities that a cluster begins with.
    Baseline,
}

impl FromStr for Form {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "object" => Self::Object,
            "list" => Self::List,
            "flag" => Self::Flag,
            "count" => Self::Count,
            "prefix" => Self::Prefix,
            "port" => Self::Port,
            "text" => Self::Text,
            "name" => Self::Name,
            "word" => Self::Word,
            "domain" => Self::Domain,
            "url" => Self::Url,
            "address" => Self::Address,
            "network" => Self::Network,
            "mac" => Self::Mac,
            "device" => Self::Device,
            "path" => Self::Path,
            "image" => Self::Image,
            "json" => Self::Json,
            "pem" => Self::Pem,
            "gate" => Self::Gate,
            "baseline" => Self::Baseline,
            _ => return Err(()),
        })
    }
}

impl Form {
    /// Whether a value has the form.
    pub fn fits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Object, Value::Object(_))
            | (Self::List, Value::Array(_))
            | (Self::Flag, Value::Bool(_)) => true,
            (Self::Count, Value::Number(number)) => number.is_u64(),
            (Self::Prefix, Value::Number(number)) => {
                number.as_u64().is_some_and(|bits| (1..=128).contains(&bits))
            }
            (Self::Port, Value::Number(number)) => {
                number.as_u64().is_some_and(|port| (1..=65_535).contains(&port))
            }
            (form, Value::String(text)) => form.takes(text),
            _ => false,
        }
    }

    fn takes(self, text: &str) -> bool {
        match self {
            Self::Text | Self::Word => true,
            Self::Name => !text.is_empty() && text.trim() == text,
            Self::Domain => !text.is_empty() && text.split('.').all(is_label),
            Self::Url => {
                text.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty())
            }
            Self::Address => text.parse::<IpAddr>().is_ok(),
            Self::Network => network(text).is_some_and(Network::is_first_address),
            Self::Mac => text.split(':').count() == 6 && text.split(':').all(|part| is_hex(part, 2)),
            Self::Device => text.starts_with("/dev/"),
            Self::Path => text.starts_with('/') && !text.ends_with('/') && !text.contains("//"),
            Self::Image => !text.is_empty() && !text.contains("://") && !text.contains(char::is_whitespace),
            Self::Json => serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()),
            Self::Pem => is_pem(text),
            Self::Gate => {
                text.split_once('=').is_some_and(|(name, on)| is_word(name) && matches!(on, "true" | "false"))
            }
            Self::Baseline => {
                let minor = text.strip_prefix("v4.").map(str::parse::<u32>);
                matches!(text, "None" | "vCurrent") || matches!(minor, Some(Ok(_)))
            }
            Self::Object | Self::List | Self::Flag | Self::Count | Self::Prefix | Self::Port => false,
        }
    }

    /// The empty value of the form: what a new element of a list has where nobody says anything.
    pub fn empty(self) -> Value {
        match self {
            Self::Object => Value::Object(serde_json::Map::new()),
            Self::List => Value::Array(Vec::new()),
            Self::Flag => Value::Bool(false),
            Self::Count | Self::Prefix | Self::Port => 0.into(),
            _ => String::new().into(),
        }
    }
}

/// A network of either family as a number, with the bits that its addresses have in common.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub is_v6: bool,
    bits: u128,
    prefix: u32,
}

impl Network {
    fn mask(self) -> u128 {
        u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0)
    }

    fn is_first_address(self) -> bool {
        self.bits & !self.mask() == 0
    }

    /// Whether one lies in the other.
    pub fn overlaps(self, other: Self) -> bool {
        let wider = if self.prefix < other.prefix { self } else { other };
        self.is_v6 == other.is_v6 && (self.bits ^ other.bits) & wider.mask() == 0
    }

    /// The text of the network that an address with a prefix is in.
    pub fn text(self) -> String {
        let first = self.bits & self.mask();
        if self.is_v6 {
            return format!("{}/{}", std::net::Ipv6Addr::from(first), self.prefix);
        }
        format!("{}/{}", std::net::Ipv4Addr::from((first >> 96) as u32), self.prefix)
    }
}

/// An address with a prefix.
pub fn network(text: &str) -> Option<Network> {
    let (address, prefix) = text.split_once('/')?;
    let prefix: u32 = prefix.parse().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(v4) if prefix <= 32 => {
            Some(Network { is_v6: false, bits: u128::from(v4.to_bits()) << 96, prefix })
        }
        IpAddr::V6(v6) if prefix <= 128 => Some(Network { is_v6: true, bits: v6.to_bits(), prefix }),
        _ => None,
    }
}

fn is_label(label: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !label.is_empty()
        && label.len() < 64
        && label.chars().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric())
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// Certificates one after the other, with nothing around them.
fn is_pem(text: &str) -> bool {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----\n";
    const END: &str = "\n-----END CERTIFICATE-----";
    let mut rest = text;
    loop {
        let Some((body, after)) = rest.strip_prefix(BEGIN).and_then(|body| body.split_once(END)) else {
            return false;
        };
        let base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\n');
        if body.is_empty() || !body.chars().all(base64) {
            return false;
        }
        if after.is_empty() {
            return true;
        }
        rest = after.trim_start_matches('\n');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms() {
        for (form, good, bad) in [
            (Form::Network, json!("10.0.0.0/8"), json!("10.0.0.1/8")),
            (Form::Network, json!("fd01::/48"), json!("fd01::/129")),
            (Form::Network, json!("0.0.0.0/0"), json!("0.0.0.0")),
            (Form::Prefix, json!(64), json!(0)),
            (Form::Port, json!(9440), json!(65_536)),
            (Form::Count, json!(0), json!(-1)),
            (Form::Address, json!("fd10::5"), json!("fd10::5/64")),
            (Form::Mac, json!("52:54:00:aa:00:01"), json!("52-54-00-aa-00-01")),
            (Form::Domain, json!("example.com"), json!("example..com")),
            (Form::Url, json!("http://p:1"), json!("p:1")),
            (Form::Device, json!("/dev/sda"), json!("sda")),
            (Form::Path, json!("/a/vm/b"), json!("/a//b")),
            (Form::Image, json!("m:5000/a"), json!("https://m/a")),
            (Form::Json, json!("{}"), json!("{")),
            (Form::Gate, json!("A=true"), json!("A")),
            (Form::Baseline, json!("v4.12"), json!("v5")),
            (Form::Name, json!("a b"), json!(" a")),
            (Form::Flag, json!(false), json!("false")),
            (Form::Text, json!(""), json!(null)),
            (Form::Pem, json!("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----"), json!("AA==")),
        ] {
            assert!(form.fits(&good), "{form:?} {good}");
            assert!(!form.fits(&bad), "{form:?} {bad}");
        }
    }

    #[test]
    fn networks() {
        let overlap = |one: &str, other: &str| network(one).unwrap().overlaps(network(other).unwrap());
        assert!(overlap("10.0.0.7/24", "10.0.0.0/16") && overlap("10.0.0.0/16", "10.0.9.1/24"));
        assert!(!overlap("10.0.0.0/24", "10.0.1.0/24") && !overlap("::/0", "0.0.0.0/0"));
        assert_eq!(network("fd10::21/64").unwrap().text(), "fd10::/64");
        assert_eq!(network("192.168.10.20/24").unwrap().text(), "192.168.10.0/24");
        assert_eq!(network("10.1.2.3/0").unwrap().text(), "0.0.0.0/0");
    }
}
