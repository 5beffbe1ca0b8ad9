//! The first administrator: made by whoever started the service, with a code that is good once.

use std::net::IpAddr;

use assisted_store::UserTokenRow;
use assisted_wire::identity::{Login, NewUser};
use assisted_wire::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{UserError, Users, new_token};
use crate::{PersonRole, digest};

/// How long a code is good.
pub const SETUP_LIFE: SignedDuration = SignedDuration::from_hours(24);

const SETUP: &str = "setup";

/// Stands for all codes where failures are counted: no name can be spelled like it.
const NOBODY: &str = "(set-up)";

impl Users {
    /// A code by which the first administrator is made; `None` when there is one. A code that was given out before is
    /// worthless then.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn setup_code(&self, now: Timestamp) -> Result<Option<Secret>, UserError> {
        let everybody = self.store.users().await?;
        if everybody.iter().any(|row| row.role == PersonRole::Admin.as_str()) {
            return Ok(None);
        }
        self.store.delete_user_tokens_of(Uuid::nil(), Some(SETUP)).await?;
        let code = new_token();
        let row = UserTokenRow {
            id: Uuid::new_v4(),
            user_id: Uuid::nil(),
            kind: SETUP.to_owned(),
            name: String::new(),
            hash: digest::of(code.expose()).to_vec(),
            scope: "{}".to_owned(),
            created_at: now,
            expires_at: now.checked_add(SETUP_LIFE).unwrap_or(Timestamp::MAX),
        };
        self.store.insert_user_token(&row).await?;
        Ok(Some(code))
    }

    /// Makes the first administrator, and lets it in.
    ///
    /// # Errors
    ///
    /// The code is not good, or name or password can't be; then the code stays good.
    pub async fn set_up(
        &self,
        code: &str,
        name: &str,
        password: Secret,
        peer: IpAddr,
        now: Timestamp,
    ) -> Result<Login, UserError> {
        if let Some(wait) = self.failed.wait(NOBODY, peer, now) {
            return Err(UserError::TooMany { wait });
        }
        let hash = digest::of(code);
        let codes = self.store.user_tokens(SETUP, None, now).await?;
        if !codes.iter().any(|row| row.hash == hash) {
            self.failed.record(NOBODY, peer, now);
            return Err(UserError::Wrong(
                "the code is not good, or no more; a new one is printed when the service starts without an administrator",
            ));
        }
        let new = NewUser {
            name: name.to_owned(),
            password,
            role: PersonRole::Admin,
            organisation: String::new(),
            email: String::new(),
        };
        let name = self.add(new, now).await?.name;
        if !self.store.use_up_user_token(&hash, SETUP, now).await? {
            // Somebody else was quicker.
            let row = self.row(&name).await?;
            self.store.delete_user(row.id).await?;
            return Err(UserError::Wrong("the code was used meanwhile"));
        }
        let row = self.row(&name).await?;
        self.begin_session(&row, now).await
    }
}
