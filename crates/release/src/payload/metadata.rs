//! `release-metadata`: a release's place among releases.

use serde::Deserialize;

use crate::error::RegistryError;

const KIND: &str = "cincinnati-metadata-v0";

/// What a release says of its place among releases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Its version.
    pub version: String,
    /// Versions from which one can upgrade to it.
    pub previous: Vec<String>,
    /// Where its errata are published; empty when it does not say.
    pub url: String,
}

#[derive(Deserialize)]
struct Document {
    kind: String,
    version: String,
    #[serde(default)]
    previous: Option<Vec<String>>,
    #[serde(default)]
    metadata: Option<More>,
}

#[derive(Deserialize)]
struct More {
    #[serde(default)]
    url: String,
}

impl Metadata {
    pub(crate) fn read(text: &[u8]) -> Result<Self, RegistryError> {
        let failed =
            |cause: String| RegistryError::Malformed(format!("its release-metadata can't be read, {cause}"));
        let read: Document = serde_json::from_slice(text).map_err(|error| failed(error.to_string()))?;
        if read.kind != KIND {
            return Err(failed(format!("it is of kind {:?} and not {KIND}", read.kind)));
        }
        let url = read.metadata.map(|more| more.url).unwrap_or_default();
        Ok(Self { version: read.version, previous: read.previous.unwrap_or_default(), url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let text = br#"{"kind":"cincinnati-metadata-v0","version":"4.22.9","previous":["4.22.8"],"metadata":{"url":"https://e"}}"#;
        let read = Metadata::read(text).unwrap();
        assert_eq!(
            read,
            Metadata { version: "4.22.9".into(), previous: vec!["4.22.8".into()], url: "https://e".into() }
        );
        assert!(
            Metadata::read(
                br#"{"kind":"cincinnati-metadata-v0","version":"1","metadata":null,"previous":null}"#
            )
            .is_ok()
        );
        for text in ["", "{}", r#"{"kind":"cincinnati-metadata-v1","version":"1"}"#] {
            assert!(matches!(Metadata::read(text.as_bytes()), Err(RegistryError::Malformed(_))), "{text}");
        }
    }
}
