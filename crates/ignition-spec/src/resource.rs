//! Contents of a file: where they come from, and what proves them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::members::members;

members! {
    /// Contents, by their URL.
    Resource {
        compression: Option<String>,
        http_headers: Vec<Header>,
        source: Option<String>,
        verification: Verification,
    }

    Header {
        name: String,
        value: Option<String>,
    }

    Verification {
        hash: Option<String>,
    }
}

/// What must not stand in a data URL as it is.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

impl Resource {
    /// Text inside the config, so that people can read it there.
    pub fn text(text: &str) -> Self {
        Self::at(format!("data:,{}", utf8_percent_encode(text, ESCAPED)))
    }

    /// Bytes inside the config.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self::at(format!("data:text/plain;charset=utf-8;base64,{}", BASE64_STANDARD.encode(bytes)))
    }

    /// Contents that Ignition fetches, and refuses unless they have this hash: 128 hexadecimal digits.
    pub fn fetched(url: &str, sha512: &str) -> Self {
        let verification = Verification { hash: Some(format!("sha512-{sha512}")) };
        Self { verification, ..Self::at(url.to_owned()) }
    }

    fn at(source: String) -> Self {
        Self { source: Some(source), ..Self::default() }
    }

    /// What a data URL holds; `None` when there is no such URL or it can't be read.
    pub fn data(&self) -> Option<Vec<u8>> {
        data(self.source.as_deref()?)
    }
}

/// What a data URL holds; `None` when it is none or can't be read.
pub(crate) fn data(url: &str) -> Option<Vec<u8>> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
    let bytes = data.as_bytes();
    let escapes = |at: &usize| {
        let digits = bytes.get(at + 1..at + 3);
        bytes[*at] != b'%' || digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let data: Vec<u8> =
        (0..bytes.len()).all(|at| escapes(&at)).then(|| percent_decode_str(data).collect())?;
    if kind.ends_with(";base64") { BASE64_STANDARD.decode(data).ok() } else { Some(data) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_comes_back() {
        for text in ["", "a b\n\"c\" 100% #? \u{fc}{}|\\^`", "x\0y"] {
            assert_eq!(Resource::text(text).data().as_deref(), Some(text.as_bytes()), "{text:?}");
            assert_eq!(Resource::bytes(text).data().as_deref(), Some(text.as_bytes()), "{text:?}");
        }
        assert_eq!(Resource::text("a b").source.as_deref(), Some("data:,a%20b"));
    }

    #[test]
    fn broken_data() {
        for source in ["data:", "data:;base64,%%", "data:,%4", "data:,%zz", "http://a/b"] {
            assert_eq!(Resource::at(source.to_owned()).data(), None, "{source}");
        }
    }
}
