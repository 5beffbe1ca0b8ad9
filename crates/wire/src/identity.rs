//! People: what is asked and answered below `/auth`, beside the contract.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{ClusterId, InfraEnvId};
use crate::secret::Secret;

/// Role of a person, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PersonRole {
    /// Sees what its organisation has, without what opens anything.
    Viewer,
    /// Makes objects, changes its own, sees those of its organisation.
    Editor,
    /// Sees and changes everything, users included.
    Admin,
}

impl PersonRole {
    /// Every role, from the least to the most.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Editor, Self::Admin];

    /// The role's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Admin => "admin",
        }
    }

    /// The role of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// The resource that a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenResource {
    InfraEnv(InfraEnvId),
    Cluster(ClusterId),
}

/// A person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub name: String,
    pub role: PersonRole,
    /// The organisation; empty without one.
    #[serde(default)]
    pub organisation: String,
    /// Empty without one.
    #[serde(default)]
    pub email: String,
    pub created_at: Timestamp,
}

/// A person to be added: `POST users`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    pub name: String,
    pub password: Secret,
    pub role: PersonRole,
    #[serde(default)]
    pub organisation: String,
    #[serde(default)]
    pub email: String,
}

/// A change of a person, `PATCH users/{name}`; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<PersonRole>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organisation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// Another password of one's own: `POST password`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasswordChange {
    pub old_password: Secret,
    pub password: Secret,
}

/// How people log in here: `GET methods`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginMethods {
    /// By name and password.
    pub password: bool,
    /// By an identity provider, which a browser is sent to: `GET oidc/login`.
    pub provider: bool,
}

/// Name and password: `POST login`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginParams {
    pub name: String,
    pub password: Secret,
    /// Whether a browser is to keep the token as a cookie.
    #[serde(default)]
    pub cookie: bool,
}

/// The first administrator: `POST setup`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUpParams {
    /// As the service has printed it.
    pub code: Secret,
    pub name: String,
    pub password: Secret,
    /// Whether a browser is to keep the token as a cookie.
    #[serde(default)]
    pub cookie: bool,
}

/// A log-in by an identity provider that a program has begun, and a person ends in any browser: `POST oidc/device`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceLogin {
    /// What the program asks with.
    pub device_code: Secret,
    /// What the person types in the browser.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// Where nothing is to be typed, if there is such a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_uri_complete: Option<String>,
    /// Seconds.
    pub expires_in: u64,
    /// Seconds between two questions.
    pub interval: u64,
}

/// Whether the person has agreed: `POST oidc/device/token`, answered by a [`Login`], or by [`DevicePending`] with status 202.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceCode {
    pub device_code: Secret,
}

/// Not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePending {
    /// Seconds more than before to wait between two questions.
    pub slower: u64,
}

/// What somebody who has logged in gets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Login {
    /// Goes into `Authorization: Bearer …`.
    pub token: Secret,
    pub expires_at: Timestamp,
    pub user: User,
}

/// Who asks, and what the token lets it be: `GET me`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Me {
    pub user: User,
    pub role: PersonRole,
    pub scope: Scope,
}

/// What a token is limited to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The most that it may do; never more than its person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<PersonRole>,
    /// The one cluster or infra-env that it opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<TokenResource>,
}

/// A token to be made: `POST tokens`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// By which it is recognised in a list.
    pub name: String,
    /// Seconds.
    pub expires_in: u64,
    #[serde(default)]
    pub scope: Scope,
}

/// A token, as its person sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiToken {
    pub id: Uuid,
    pub name: String,
    pub user: String,
    pub scope: Scope,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// Shown once, when it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_roles() {
        for role in PersonRole::ALL {
            assert_eq!(PersonRole::parse(role.as_str()), Some(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
        }
        assert_eq!(PersonRole::parse("root"), None);
        assert!(PersonRole::ALL.is_sorted());
    }
}
