//! Accounts of an external service (AUTH_TYPE=rhsso): users show its tokens, agents the pull secret of somebody who has an
//! account there (service-api §14.2, running §7).

mod claims;
mod ocm;
mod subscription;

use std::sync::Arc;
use std::time::Duration;

use assisted_base::http::Trust;
use assisted_config::Settings;
use assisted_wire::operation::Role;
use assisted_wire::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::Algorithm;
use uuid::Uuid;

use crate::fetch::{self, FetchError};
use crate::jwks::{KeySetError, Keys, SignatureError};
use crate::known::Known;
use crate::{Caller, Kind};
use claims::Claims;
use ocm::Ocm;
pub use ocm::{AskError, Observer};
pub use subscription::SubscriptionChange;

/// How long an answer of the account service holds.
const KNOWN_FOR: SignedDuration = SignedDuration::from_mins(10);

/// Between two times that an unknown key has the keys fetched anew: anybody can name one.
const KEYS_PAUSE: Duration = Duration::from_secs(60);

/// The capability of those who may look at everything.
const READS_ALL: &str = "bare_metal_installer_admin";

/// What an organisation may be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Time limits of installations that only warn.
    SoftTimeouts,
    /// Validations that are ignored.
    IgnoreValidations,
}

impl Capability {
    /// As the account service calls it.
    const fn name(self) -> &'static str {
        match self {
            Self::SoftTimeouts => "bare_metal_installer_soft_timeouts",
            Self::IgnoreValidations => "ignore_validations",
        }
    }
}

/// Settings with which no account can be known.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    #[error(
        "AUTH_TYPE=rhsso asks the account service for rights: set OCM_SERVICE_CLIENT_ID and OCM_SERVICE_CLIENT_SECRET"
    )]
    NoClient,
    #[error("JWKS_CERT can't be used")]
    Given(#[source] KeySetError),
    #[error("the keys at JWKS_URL can't be used")]
    Fetched(#[source] Arc<KeySetError>),
    #[error("{variable} can't be used")]
    Url { variable: &'static str, source: FetchError },
    #[error(transparent)]
    Client(#[from] FetchError),
}

/// Why nobody is known by what was shown.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// It is not good.
    #[error("{0}")]
    Unknown(String),
    /// The account service can't tell.
    #[error("the account service can't be asked")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<FetchError> for AccountError {
    fn from(error: FetchError) -> Self {
        Self::Unavailable(error.into())
    }
}

/// An account of the external service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub user_name: String,
    /// Empty for agents, whose account tells none.
    pub org_id: String,
    pub email: String,
    pub role: Role,
}

/// Finds accounts by tokens and pull secrets, and remembers them for a while.
pub struct Accounts {
    keys: Keys,
    ocm: Ocm,
    admins: Vec<String>,
    tenancy: bool,
    /// Whether organisations have only the capabilities that the account service tells of.
    feature_gates: bool,
    /// By user name.
    roles: Known<Role>,
    /// By user name.
    rights: Known<bool>,
    /// By pull secret.
    agents: Known<Account>,
}

impl Accounts {
    /// # Errors
    ///
    /// The settings can't be used.
    pub fn new(settings: &Settings) -> Result<Self, AccountsError> {
        let given = &settings.accounts;
        if given.ocm_service_client_id.is_empty() || given.ocm_service_client_secret.is_empty() {
            return Err(AccountsError::NoClient);
        }
        let client = fetch::client(Trust::System)?;
        let url = |variable, text: &str| {
            fetch::safe_url(text).map_err(|source| AccountsError::Url { variable, source })
        };
        let keys = if given.jwks_cert.is_empty() {
            Keys::at(client.clone(), url("JWKS_URL", &given.jwks_url)?, KEYS_PAUSE)
        } else {
            Keys::given(&given.jwks_cert).map_err(AccountsError::Given)?
        };
        let base = match settings.versions.updates_url.as_str() {
            "" => "https://api.openshift.com",
            set => set,
        };
        let ocm = Ocm::new(
            client,
            url("OCM_BASE_URL", base)?,
            url("OCM_TOKEN_URL", &given.ocm_token_url)?,
            given.ocm_service_client_id.clone(),
            given.ocm_service_client_secret.clone(),
        );
        Ok(Self {
            keys,
            ocm,
            admins: given.admin_users.clone(),
            tenancy: given.org_tenancy,
            feature_gates: given.org_feature_gates,
            roles: Known::default(),
            rights: Known::default(),
            agents: Known::default(),
        })
    }

    /// The same, and somebody hears how long each question to the account service took.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.ocm.observer = Some(observer);
        self
    }

    /// Makes sure that there are keys.
    ///
    /// # Errors
    ///
    /// They can't be had.
    pub async fn start(&self, now: Timestamp) -> Result<(), AccountsError> {
        self.keys.start(now).await.map_err(AccountsError::Fetched)
    }

    /// Who a user's token stands for.
    ///
    /// # Errors
    ///
    /// It is not good, or nobody can say what its user may do.
    pub async fn user(&self, token: &str, now: Timestamp) -> Result<Account, AccountError> {
        let unknown = |text: &str| AccountError::Unknown(text.to_owned());
        let claims = self.keys.claims::<Claims>(token, &[Algorithm::RS256], now).await;
        let claims = claims.map_err(|error| match error {
            SignatureError::Algorithm => {
                unknown("Error validating token algorithm: Expected RS256 signing method")
            }
            SignatureError::Keys(_) => AccountError::Unavailable(error.into()),
            _ => unknown("Error parsing token or token is invalid"),
        })?;
        if !claims.are_current(now) {
            return Err(unknown("Error parsing token or token is invalid"));
        }
        let user_name = claims.user_name().ok_or_else(|| unknown("Missing username in token"))?.to_owned();
        let role = self.role(&user_name, now).await?;
        let (org_id, email) = (claims.org_id.unwrap_or_default(), claims.email.unwrap_or_default());
        Ok(Account { user_name, org_id, email, role })
    }

    /// Whose pull secret an agent shows.
    ///
    /// # Errors
    ///
    /// The pull secret is of no account, or the account service does not answer.
    pub async fn agent(&self, pull_secret: &Secret, now: Timestamp) -> Result<Account, AccountError> {
        if let Some(account) = self.agents.get(pull_secret.expose(), now) {
            return Ok(account);
        }
        let (user_name, email) = self.ocm.whose(pull_secret, now).await?;
        let role = self.role(&user_name, now).await?;
        let account = Account { user_name, org_id: String::new(), email, role };
        self.agents.keep(pull_secret.expose(), account.clone(), until(now));
        Ok(account)
    }

    /// Whether somebody may use this service at all.
    ///
    /// # Errors
    ///
    /// Nobody can say.
    pub async fn may_use(&self, user_name: &str, now: Timestamp) -> Result<bool, AccountError> {
        if let Some(allowed) = self.rights.get(user_name, now) {
            return Ok(allowed);
        }
        let allowed = self.ocm.may_create(user_name, now).await?;
        // Kept from the first answer on: a right that was taken away ends, however often it is used.
        self.rights.keep(user_name, allowed, until(now));
        Ok(allowed)
    }

    /// Whether somebody who does not own a cluster may change it, by a right to its subscription. There are such rights where
    /// organisations share what they have (service-api §14.4).
    ///
    /// # Errors
    ///
    /// Nobody can say.
    pub async fn may_update(
        &self,
        user_name: &str,
        subscription: &str,
        now: Timestamp,
    ) -> Result<bool, AccountError> {
        if !self.tenancy {
            return Ok(false);
        }
        self.ocm.may_update(user_name, subscription, now).await
    }

    /// Whether the organisation of an account has a capability: each has, unless the settings leave it to the account service.
    ///
    /// # Errors
    ///
    /// Nobody can say.
    pub async fn has_capability(
        &self,
        user_name: &str,
        capability: Capability,
        now: Timestamp,
    ) -> Result<bool, AccountError> {
        if !self.feature_gates {
            return Ok(true);
        }
        self.ocm.is_organisation_capable(user_name, capability.name(), now).await
    }

    async fn role(&self, user_name: &str, now: Timestamp) -> Result<Role, AccountError> {
        if self.admins.iter().any(|admin| admin == user_name) {
            return Ok(Role::Admin);
        }
        if let Some(role) = self.roles.get(user_name, now) {
            return Ok(role);
        }
        let reads_all = self.ocm.is_capable(user_name, READS_ALL, now).await?;
        let role = if reads_all { Role::ReadOnlyAdmin } else { Role::User };
        self.roles.keep(user_name, role, until(now));
        Ok(role)
    }

    /// Who an account is to use cases.
    pub fn caller(&self, account: Account, kind: Kind, request_id: Uuid) -> Caller {
        let domain = account.email.rsplit_once('@').map_or("Unknown", |(_, domain)| domain).to_owned();
        Caller {
            user_name: account.user_name,
            role: account.role,
            org_id: account.org_id,
            email_domain: domain,
            // An agent has no organisation: it sees what its account owns.
            tenancy: self.tenancy && kind == Kind::Person,
            read_only: account.role == Role::ReadOnlyAdmin,
            kind,
            ..Caller::admin(request_id)
        }
    }
}

fn until(now: Timestamp) -> Timestamp {
    now.checked_add(KNOWN_FOR).unwrap_or(Timestamp::MAX)
}
