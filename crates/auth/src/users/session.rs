//! Logging in, being known by a token, logging out.

use std::net::IpAddr;

use assisted_store::{UserRow, UserTokenRow};
use assisted_wire::identity::{Login, Scope, User};
use assisted_wire::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::people::{response, role_of};
use super::{UserError, Users, new_token};
use crate::{Caller, Kind, PersonRole, digest, person};

/// How long a session lasts.
pub const SESSION_LIFE: SignedDuration = SignedDuration::from_hours(24);

pub(super) const SESSION: &str = "session";

const WRONG: &str = "the user name or the password is wrong";

/// A user whose token is valid.
#[derive(Clone, Debug)]
pub struct Authenticated {
    pub user: User,
    /// The person's role, or a lesser one that the token is limited to.
    pub role: PersonRole,
    pub scope: Scope,
    pub user_id: Uuid,
    pub token_id: Uuid,
    /// When the API token ends; `None`: it is a session's.
    pub api_token_ends_at: Option<Timestamp>,
}

impl Authenticated {
    /// Who it is to use cases.
    pub fn caller(&self, request_id: Uuid) -> Caller {
        let domain = self.user.email.rsplit_once('@').map_or("Unknown", |(_, domain)| domain);
        Caller {
            user_name: self.user.name.clone(),
            role: person::role(self.role),
            org_id: self.user.organisation.clone(),
            email_domain: domain.to_owned(),
            tenancy: true,
            read_only: self.role == PersonRole::Viewer,
            resource: self.scope.resource,
            kind: Kind::Person,
            peer: None,
            machine: None,
            host_key: None,
            request_id,
        }
    }

    /// Whether it is an administrator with an unlimited token.
    pub fn is_admin(&self) -> bool {
        self.role == PersonRole::Admin && self.scope.resource.is_none()
    }
}

impl Users {
    /// Lets somebody in by name and password.
    ///
    /// # Errors
    ///
    /// They are wrong, or were too often.
    pub async fn login(
        &self,
        name: &str,
        password: Secret,
        peer: IpAddr,
        now: Timestamp,
    ) -> Result<Login, UserError> {
        if let Some(wait) = self.failed.wait(name, peer, now) {
            return Err(UserError::TooMany { wait });
        }
        let row = self.store.user(name).await?;
        let hash = row.as_ref().map(|row| row.password_hash.clone());
        // Counted before it is known: many at once get no further than many in a row.
        self.failed.record(name, peer, now);
        let good = self.passwords.verify(password, hash).await;
        match row.filter(|_| good) {
            Some(row) => {
                self.failed.forgive(name, peer);
                self.begin_session(&row, now).await
            }
            None => Err(UserError::Wrong(WRONG)),
        }
    }

    pub(super) async fn begin_session(&self, row: &UserRow, now: Timestamp) -> Result<Login, UserError> {
        let (token, expires_at) = (new_token(), now.checked_add(SESSION_LIFE).unwrap_or(Timestamp::MAX));
        self.store.delete_expired_user_tokens(now).await?;
        let session = UserTokenRow {
            id: Uuid::new_v4(),
            user_id: row.id,
            kind: SESSION.to_owned(),
            name: String::new(),
            hash: digest::of(token.expose()).to_vec(),
            scope: serde_json::to_string(&Scope::default())?,
            created_at: now,
            expires_at,
        };
        self.store.insert_user_token(&session).await?;
        Ok(Login { token, expires_at, user: response(row)? })
    }

    /// Who a token stands for: a session's, or an API token.
    ///
    /// # Errors
    ///
    /// The token is not valid, or has expired.
    pub async fn authenticate(&self, token: &str, now: Timestamp) -> Result<Authenticated, UserError> {
        let found = self.store.user_token(&digest::of(token), now).await?;
        let (row, token) =
            found.ok_or(UserError::Wrong("the token is not known, or has expired; log in anew"))?;
        let scope: Scope = serde_json::from_str(&token.scope)
            .map_err(|error| assisted_store::Error::Corrupt(format!("the scope of a token: {error}")))?;
        let own = role_of(&row)?;
        Ok(Authenticated {
            user: response(&row)?,
            role: scope.role.map_or(own, |role| role.min(own)),
            scope,
            user_id: row.id,
            token_id: token.id,
            api_token_ends_at: (token.kind != SESSION).then_some(token.expires_at),
        })
    }

    /// Ends a session, or revokes the API token that was used.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn logout(&self, who: &Authenticated) -> Result<(), UserError> {
        Ok(self.store.delete_user_token(who.token_id).await.map(drop)?)
    }
}
