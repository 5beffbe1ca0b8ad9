//! Credentials of registries, as `auth.json` files have them: one entry per registry, or per part of one.

use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::BTreeMap;

use crate::reference::Repository;

/// Docker Hub goes by two names.
const DOCKER: &str = "docker.io";
const DOCKER_ENTRIES: [&str; 2] = ["https://index.docker.io/v1/", "index.docker.io"];

/// Why a pull secret can't be read. Nothing of it is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PullSecretError {
    #[error("the pull secret is not the JSON that is needed")]
    Malformed,
}

/// The credentials of registries. None at all is a pull secret too.
#[derive(Clone, Debug, Default)]
pub struct PullSecret {
    entries: BTreeMap<String, Credentials>,
}

/// A user of a registry.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub user: String,
    pub password: Secret,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    auth: Option<Secret>,
}

impl PullSecret {
    /// Reads a pull secret; an empty text holds no credentials. Entries without a user are left out.
    ///
    /// # Errors
    ///
    /// See [`PullSecretError`].
    pub fn parse(text: &Secret) -> Result<Self, PullSecretError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let document: Document =
            serde_json::from_str(text.expose()).map_err(|_| PullSecretError::Malformed)?;
        let read = |(name, entry): (String, Entry)| {
            let decoded = STANDARD.decode(entry.auth?.expose()).ok()?;
            let (user, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
            let credentials = Credentials { user: user.to_owned(), password: password.into() };
            Some((name, credentials))
        };
        Ok(Self { entries: document.auths.into_iter().filter_map(read).collect() })
    }

    /// The entry that says most about a repository, with its name.
    pub fn find(&self, repository: &Repository) -> Option<(&str, &Credentials)> {
        let whole = repository.to_string();
        let covered = |entry: &str| match whole.strip_prefix(plain(entry)) {
            Some(rest) => rest.is_empty() || rest.starts_with('/'),
            None => false,
        };
        let covering = self.entries.iter().filter(|(name, _)| covered(name));
        let most = covering.max_by_key(|(name, _)| plain(name).len());
        most.map(|(name, credentials)| (name.as_str(), credentials))
    }
}

/// An entry's name without what old programs put around it.
fn plain(entry: &str) -> &str {
    if DOCKER_ENTRIES.contains(&entry) {
        return DOCKER;
    }
    let entry = entry.strip_prefix("https://").or_else(|| entry.strip_prefix("http://")).unwrap_or(entry);
    entry.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Reference;

    fn found(entries: &[(&str, &str)], image: &str) -> Option<String> {
        let auths: serde_json::Map<_, _> = entries
            .iter()
            .map(|(name, auth)| {
                ((*name).to_owned(), serde_json::json!({"auth": STANDARD.encode(auth), "email": "x"}))
            })
            .collect();
        let secret = PullSecret::parse(&serde_json::json!({"auths": auths}).to_string().into()).unwrap();
        let reference: Reference = image.parse().unwrap();
        secret
            .find(&reference.repository)
            .map(|(_, found)| format!("{}:{}", found.user, found.password.expose()))
    }

    #[test]
    fn the_entry_that_says_most() {
        let entries = [
            ("quay.io", "all:1"),
            ("quay.io/a", "a:2"),
            ("quay.io/a/b", "b:3:4"),
            ("mirror:5000/", "m:5"),
            ("https://old.io", "o:6"),
        ];
        for (image, expected) in [
            ("quay.io/x", Some("all:1")),
            ("quay.io/a/c", Some("a:2")),
            ("quay.io/a/b", Some("b:3:4")),
            ("quay.io/ab", Some("all:1")),
            ("mirror:5000/x", Some("m:5")),
            ("mirror:500/x", None),
            ("old.io/x", Some("o:6")),
            ("other.io/x", None),
        ] {
            assert_eq!(found(&entries, image).as_deref(), expected, "{image}");
        }
        assert_eq!(
            found(&[("https://index.docker.io/v1/", "d:1")], "docker.io/library/x").as_deref(),
            Some("d:1")
        );
    }

    #[test]
    fn what_has_no_user_is_left_out() {
        for auth in [r#""""#, r#""!""#, r#""bm9jb2xvbg==""#, "null"] {
            let text = format!(r#"{{"auths":{{"quay.io":{{"auth":{auth}}},"a.io":{{}}}}}}"#);
            assert!(PullSecret::parse(&text.as_str().into()).unwrap().entries.is_empty(), "{auth}");
        }
        assert!(PullSecret::parse(&"".into()).unwrap().entries.is_empty());
        assert_eq!(PullSecret::parse(&"{".into()).unwrap_err(), PullSecretError::Malformed);
    }

    #[test]
    fn nothing_is_shown() {
        let text = format!(r#"{{"auths":{{"quay.io":{{"auth":"{}"}}}}}}"#, STANDARD.encode("user:hunter2"));
        assert!(!format!("{:?}", PullSecret::parse(&text.as_str().into()).unwrap()).contains("hunter2"));
    }
}
