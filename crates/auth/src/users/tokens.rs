//! API tokens: for programs, limited in time, and if wanted in what they open.

use assisted_store::UserTokenRow;
use assisted_wire::identity::{ApiToken, NewToken, Scope};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{Authenticated, UserError, Users, new_token};
use crate::digest;

/// The longest life of a token.
pub const LONGEST_LIFE: SignedDuration = SignedDuration::from_hours(366 * 24);

/// Tokens of one person.
const MOST: usize = 100;

/// Longest name, in bytes.
const LONGEST_NAME: usize = 128;

const API: &str = "api";

impl Users {
    /// Makes a token for the caller, which opens no more than the caller's own. One that is made by an API token does not outlive that.
    ///
    /// # Errors
    ///
    /// What is asked for can't be, or is more than the caller has.
    pub async fn create_token(
        &self,
        who: &Authenticated,
        new: NewToken,
        now: Timestamp,
    ) -> Result<ApiToken, UserError> {
        if !(1..=LONGEST_NAME).contains(&new.name.len()) || new.name.chars().any(char::is_control) {
            return Err(UserError::Invalid(format!("a token's name has 1 to {LONGEST_NAME} bytes")));
        }
        let life =
            i64::try_from(new.expires_in).map(SignedDuration::from_secs).unwrap_or(SignedDuration::MAX);
        if life.is_zero() || life > LONGEST_LIFE {
            let most = LONGEST_LIFE.as_hours() / 24;
            return Err(UserError::Invalid(format!("a token lives for 1 second to {most} days")));
        }
        let expires_at = now.checked_add(life).unwrap_or(Timestamp::MAX);
        if who.api_token_ends_at.is_some_and(|end| expires_at > end) {
            return Err(UserError::Forbidden(
                "a token can't make one that outlives it: give it less time, or log in",
            ));
        }
        let mut scope = new.scope;
        let role = scope.role.unwrap_or(who.role);
        if role > who.role {
            return Err(UserError::Forbidden(
                "a token has no higher role than the one who makes it: give your own, or a lower one",
            ));
        }
        scope.role = Some(role);
        match (who.scope.resource, scope.resource) {
            (Some(own), None) => scope.resource = Some(own),
            (Some(own), Some(other)) if own != other => {
                return Err(UserError::Forbidden("a token can't make one that opens something else"));
            }
            _ => {}
        }
        if self.store.user_tokens(API, Some(who.user_id), now).await?.len() >= MOST {
            return Err(UserError::Invalid(format!("nobody has more than {MOST} tokens; revoke some")));
        }
        self.store.delete_expired_user_tokens(now).await?;
        let token = new_token();
        let row = UserTokenRow {
            id: Uuid::new_v4(),
            user_id: who.user_id,
            kind: API.to_owned(),
            name: new.name,
            hash: digest::of(token.expose()).to_vec(),
            scope: serde_json::to_string(&scope)?,
            created_at: now,
            expires_at,
        };
        self.store.insert_user_token(&row).await?;
        Ok(ApiToken { token: Some(token), ..response(row, &who.user.name)? })
    }

    /// The caller's tokens, but for those that open more than the caller's own; an administrator's list has everybody's.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn tokens(&self, who: &Authenticated, now: Timestamp) -> Result<Vec<ApiToken>, UserError> {
        let of = (!who.is_admin()).then_some(who.user_id);
        let people = self.store.users().await?;
        let name = |id: Uuid| people.iter().find(|user| user.id == id).map(|user| user.name.as_str());
        let rows = self.store.user_tokens(API, of, now).await?;
        let known = rows.into_iter().filter_map(|row| name(row.user_id).map(|name| response(row, name)));
        let mut tokens = known.collect::<Result<Vec<_>, _>>()?;
        tokens.retain(|token| opens_no_more(&token.scope, who));
        Ok(tokens)
    }

    /// Revokes a token: one that the caller may see.
    ///
    /// # Errors
    ///
    /// There is none of that id that the caller may see.
    pub async fn revoke_token(&self, who: &Authenticated, id: Uuid, now: Timestamp) -> Result<(), UserError> {
        let tokens = self.tokens(who, now).await?;
        if tokens.iter().any(|token| token.id == id) && self.store.delete_user_token(id).await? {
            return Ok(());
        }
        Err(UserError::Missing(format!("token {id}")))
    }
}

/// Whether a token opens no more than the one that somebody shows: a limited one is no way to the others of its person.
fn opens_no_more(scope: &Scope, who: &Authenticated) -> bool {
    let is_of_resource = who.scope.resource.is_none() || who.scope.resource == scope.resource;
    who.is_admin() || is_of_resource && scope.role.unwrap_or(who.user.role) <= who.role
}

fn response(row: UserTokenRow, user: &str) -> Result<ApiToken, UserError> {
    let scope = serde_json::from_str(&row.scope)
        .map_err(|error| assisted_store::Error::Corrupt(format!("the scope of a token: {error}")))?;
    Ok(ApiToken {
        id: row.id,
        name: row.name,
        user: user.to_owned(),
        scope,
        created_at: row.created_at,
        expires_at: row.expires_at,
        token: None,
    })
}
