//! As whom data about a cluster is sent: the account in its pull secret.

use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// The registry whose login stands for the account.
const ACCOUNT: &str = "cloud.openshift.com";

/// An account.
#[derive(Debug)]
pub(super) struct Identity {
    /// What is shown to the other side.
    pub(super) token: Secret,
    /// Empty: it is not known.
    pub(super) user_name: String,
    /// What follows the `@` of its address; empty: it is not known.
    pub(super) email_domain: String,
}

#[derive(Deserialize)]
struct PullSecret {
    auths: std::collections::HashMap<String, Login>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Login {
    auth: Secret,
    email: String,
}

impl Identity {
    /// That of a pull secret, if it has one.
    pub(super) fn of(pull_secret: &Secret) -> Option<Self> {
        let mut read: PullSecret = serde_json::from_str(pull_secret.expose()).ok()?;
        let login = read.auths.remove(ACCOUNT).filter(|login| !login.auth.is_empty())?;
        let decoded =
            STANDARD.decode(login.auth.expose()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let user_name =
            decoded.as_deref().and_then(|pair| pair.split_once(':')).map(|(name, _)| name.to_owned());
        let email_domain = login.email.rsplit_once('@').map(|(_, domain)| domain.to_owned());
        Some(Self {
            token: login.auth,
            user_name: user_name.unwrap_or_default(),
            email_domain: email_domain.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_that_of_the_pull_secret() {
        let secret = r#"{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNz","email":"a@example.com"},"quay.io":{"auth":"eDp5"}}}"#;
        let found = Identity::of(&secret.into()).unwrap();
        assert_eq!((found.token.expose(), found.user_name.as_str()), ("dXNlcjpwYXNz", "user"));
        assert_eq!(found.email_domain, "example.com");
        for none in
            ["", "{}", r#"{"auths":{"quay.io":{"auth":"eDp5"}}}"#, r#"{"auths":{"cloud.openshift.com":{}}}"#]
        {
            assert!(Identity::of(&none.into()).is_none(), "{none}");
        }
    }
}
