//! What opens an infra-env to those who boot its image: a token in the image for its agent, and a signature in each address
//! (service-api §5.6, §14.3).

use std::collections::BTreeMap;

use assisted_auth::image_token;
use assisted_config::AuthType;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_wire::id::InfraEnvId;
use assisted_wire::secret::Secret;
use assisted_wire::time::DateTime;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::access::Access;

/// Registry whose entry in a pull secret says whose it is.
const ACCOUNT_REGISTRY: &str = "cloud.openshift.com";

/// Signatures end at full minutes: who asks twice gets the same address.
const STEP: i64 = 60;

/// What an address carries.
#[derive(Clone, Debug)]
pub(crate) enum Signature {
    /// Nothing: nobody is authenticated by it.
    Open,
    /// A token that is good as long as the agent's.
    Token(String),
    /// A signature that is good for hours.
    Signed { token: String, until: Timestamp },
}

impl Signature {
    /// The beginning of an image's path.
    pub(crate) fn path(&self, id: InfraEnvId) -> String {
        match self {
            Self::Open => format!("byid/{id}"),
            Self::Token(token) => format!("byapikey/{token}"),
            Self::Signed { token, .. } => format!("bytoken/{token}"),
        }
    }

    /// The parameter of another address.
    pub(crate) fn parameter(self) -> Option<(&'static str, String)> {
        match self {
            Self::Open => None,
            Self::Token(token) => Some(("api_key", token)),
            Self::Signed { token, .. } => Some(("image_token", token)),
        }
    }

    /// When it ends; zero: that is not known.
    pub(crate) fn expires_at(&self) -> DateTime {
        match self {
            Self::Signed { until, .. } => DateTime(*until),
            Self::Open | Self::Token(_) => DateTime::ZERO,
        }
    }
}

#[derive(Deserialize)]
struct PullSecret {
    auths: BTreeMap<String, Registry>,
}

#[derive(Deserialize)]
struct Registry {
    #[serde(default)]
    auth: Secret,
}

impl Access {
    /// What an address of an infra-env's image carries.
    pub(crate) fn signature(&self, record: &InfraEnvRecord) -> Signature {
        let settings = self.settings();
        let signed = matches!(settings.auth_type, AuthType::Users | AuthType::Rhsso);
        if !signed {
            return self.token_of(record).map_or(Signature::Open, Signature::Token);
        }
        let life = SignedDuration::try_from(settings.image_expiration_time).unwrap_or(SignedDuration::MAX);
        let until = self.now().checked_add(life).unwrap_or(Timestamp::MAX).as_second();
        let until = until.div_euclid(STEP).saturating_add(1).saturating_mul(STEP);
        let until = Timestamp::from_second(until).unwrap_or(Timestamp::MAX);
        let token = image_token::sign(&record.image_token_key, record.infra_env.id, until);
        token.map_or(Signature::Open, |token| Signature::Signed { token, until })
    }

    /// What the agent in an image shows; `None` where nobody asks for it.
    pub(crate) fn agent_token(&self, record: &InfraEnvRecord) -> Option<Secret> {
        if self.settings().auth_type != AuthType::Rhsso {
            return self.token_of(record).map(Secret::from);
        }
        let pull_secret: PullSecret = serde_json::from_str(record.pull_secret.expose()).ok()?;
        pull_secret.auths.into_iter().find(|(name, _)| name == ACCOUNT_REGISTRY).map(|(_, entry)| entry.auth)
    }
}
