//! Takes secrets out of what the installer says, before anybody reads it: it quotes values that it does not like.

use assisted_wire::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// What stands in the place of a secret.
const HIDDEN: &str = "<hidden>";

/// Shorter texts are no secrets worth hiding, and would make what is said unreadable.
const SHORTEST: usize = 4;

/// The secrets of one run of the installer.
#[derive(Debug, Default)]
pub(super) struct Redactor(Vec<Secret>);

impl Redactor {
    /// Hides the secrets of a document that the installer reads: pull secrets with all that is in them, passwords, and the
    /// credentials of proxies. The document as a whole is one, too, JSON or not.
    pub(super) fn of(documents: &[&Secret]) -> Self {
        let mut found = Vec::new();
        for document in documents {
            found.push(document.expose().to_owned());
            if let Ok(value) = serde_json::from_str::<Value>(document.expose()) {
                collect(&value, false, &mut found);
            }
        }
        // As Go quotes them.
        let quoted: Vec<_> =
            found.iter().map(|text| text.replace('\\', "\\\\").replace('"', "\\\"")).collect();
        found.extend(quoted);
        found.retain(|text| text.len() >= SHORTEST);
        // The longest first: a part of a secret must not spoil the whole.
        found.sort_by_key(|text| std::cmp::Reverse(text.len()));
        found.dedup();
        Self(found.into_iter().map(Secret::from).collect())
    }

    /// The text without any of the secrets.
    pub(super) fn clean(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            if text.contains(secret.expose()) { text.replace(secret.expose(), HIDDEN) } else { text }
        })
    }
}

/// Collects the secrets of a value; within a secret every text is one.
fn collect(value: &Value, secret: bool, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                collect(member, secret || is_secret(name), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, secret, found)),
        Value::String(text) => {
            if secret {
                found.push(text.clone());
                // Name and password of a registry.
                let decoded =
                    BASE64_STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                if let Some(decoded) = decoded {
                    found.extend(decoded.split_once(':').map(|(_, password)| password.to_owned()));
                    found.push(decoded);
                }
                // A pull secret is a document in a text.
                if let Ok(inner @ Value::Object(_)) = serde_json::from_str(text) {
                    collect(&inner, true, found);
                }
            } else {
                found.extend(credentials_of_url(text));
            }
        }
        _ => {}
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "auth" | "auths")
        || ["password", "pullsecret", "token", "secret", "privatekey"].iter().any(|word| name.contains(word))
}

/// User and password of a URL, and the password alone.
fn credentials_of_url(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.split_once("://") else { return Vec::new() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((credentials, _)) = authority.rsplit_once('@') else { return Vec::new() };
    let password = credentials.split_once(':').map(|(_, password)| password.to_owned());
    password.into_iter().chain([credentials.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_secret_is_quoted() {
        let auth = BASE64_STANDARD.encode("robot:registry-word");
        let pull_secret =
            json!({"auths": {"quay.io": {"auth": auth, "email": "me@example.com"}}}).to_string();
        let config = json!({
            "pullSecret": pull_secret,
            "platform": {"baremetal": {"hosts": [{"bmc": {"address": "redfish://1.2.3.4", "password": "bmc-\"word"}}]}},
            "proxy": {"httpProxy": "http://someone:proxy-word@proxy.example.com:3128"},
            "metadata": {"name": "compact"},
        });
        let scrub = Redactor::of(&[&config.to_string().into()]);
        let quoted = serde_json::to_string(&pull_secret).unwrap();
        for said in [
            format!("pullSecret: Invalid value: {quoted}: no"),
            format!("pullSecret: Invalid value: {pull_secret}: no"),
            format!("auth {auth} of robot:registry-word"),
            "password registry-word".to_owned(),
            r#"bmc: Invalid value: "bmc-\"word""#.to_owned(),
            "proxy http://someone:proxy-word@proxy.example.com:3128 and proxy-word".to_owned(),
        ] {
            let cleaned = scrub.clean(&said);
            for secret in ["registry-word", "bmc-", "proxy-word", &auth] {
                assert!(!cleaned.contains(secret), "{cleaned}");
            }
            assert!(cleaned.contains(HIDDEN), "{cleaned}");
        }
        let harmless = "metadata.name: Invalid value: \"compact\" at redfish://1.2.3.4";
        assert_eq!(scrub.clean(harmless), harmless);
        assert!(!format!("{scrub:?}").contains("word"));
    }

    #[test]
    fn what_is_no_document_is_a_secret_as_a_whole() {
        let scrub = Redactor::of(&[&"not JSON, but secret".into()]);
        assert_eq!(scrub.clean("not JSON, but secret: bad"), "<hidden>: bad");
    }
}
