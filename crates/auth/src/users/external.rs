//! Letting in somebody whom an identity provider knows.

use assisted_store::UserRow;
use assisted_wire::identity::Login;
use jiff::Timestamp;
use uuid::Uuid;

use super::text::{check_name, check_text};
use super::{UserError, Users};
use crate::oidc::Person;

/// How the place of a password's hash begins for somebody who has none here.
const ELSEWHERE: &str = "oidc:";

/// Whether somebody is let in by a provider, and by no password.
pub(super) fn is_external(row: &UserRow) -> bool {
    row.password_hash.starts_with(ELSEWHERE)
}

impl Users {
    /// Lets somebody in. Name, role and organisation are what the provider says now; who lost a right since loses all sessions
    /// and tokens that had it.
    ///
    /// # Errors
    ///
    /// The name can't be, or is somebody else's.
    pub async fn let_in(&self, person: &Person, now: Timestamp) -> Result<Login, UserError> {
        check_name(&person.name)?;
        check_text("organisation", &person.organisation)?;
        check_text("email", &person.email)?;
        let wanted = UserRow {
            id: Uuid::new_v4(),
            name: person.name.clone(),
            role: person.role.as_str().to_owned(),
            org_id: person.organisation.clone(),
            email: person.email.clone(),
            password_hash: person.subject.clone(),
            created_at: now,
        };
        if self.store.insert_user(&wanted).await? {
            return self.begin_session(&wanted, now).await;
        }
        let known = self.row(&person.name).await?;
        // A name that somebody had first stays theirs, whatever a provider calls others.
        if known.password_hash != person.subject {
            return Err(UserError::Taken(person.name.clone()));
        }
        let now_is = UserRow { id: known.id, created_at: known.created_at, ..wanted };
        if now_is != known {
            self.store.update_user(&now_is).await?;
            if (&now_is.role, &now_is.org_id) != (&known.role, &known.org_id) {
                self.store.delete_user_tokens_of(known.id, None).await?;
            }
        }
        self.begin_session(&now_is, now).await
    }
}
