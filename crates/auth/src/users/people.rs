//! Adding, listing, changing and removing people.

use assisted_store::UserRow;
use assisted_wire::identity::{NewUser, User, UserChange};
use assisted_wire::secret::Secret;
use jiff::Timestamp;
use uuid::Uuid;

use super::external::is_external;
use super::text::{check_name, check_text};
use super::{UserError, Users};
use crate::PersonRole;
use crate::password::{LONGEST, SHORTEST};

impl Users {
    /// Everybody, by name.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list(&self) -> Result<Vec<User>, UserError> {
        self.store.users().await?.iter().map(response).collect()
    }

    /// Adds a person.
    ///
    /// # Errors
    ///
    /// A name or password that can't be, or a name that is taken.
    pub async fn add(&self, new: NewUser, now: Timestamp) -> Result<User, UserError> {
        check_name(&new.name)?;
        check_text("organisation", &new.organisation)?;
        check_text("email", &new.email)?;
        check_password(&new.password)?;
        let row = UserRow {
            id: Uuid::new_v4(),
            name: new.name,
            role: new.role.as_str().to_owned(),
            org_id: new.organisation,
            email: new.email,
            password_hash: self.passwords.hash(new.password).await?,
            created_at: now,
        };
        if !self.store.insert_user(&row).await? {
            return Err(UserError::Taken(row.name));
        }
        response(&row)
    }

    /// Changes a person. Whoever loses a password, a right or an organisation loses all sessions with it; who gets another
    /// password, or another role, all API tokens, too.
    ///
    /// # Errors
    ///
    /// There is none of that name, or the change can't be.
    pub async fn change(&self, name: &str, change: UserChange) -> Result<User, UserError> {
        let mut row = self.row(name).await?;
        let before = row.clone();
        if let Some(role) = change.role {
            self.keep_an_admin(&row, role).await?;
            row.role = role.as_str().to_owned();
        }
        if let Some(organisation) = change.organisation {
            check_text("organisation", &organisation)?;
            row.org_id = organisation;
        }
        if let Some(email) = change.email {
            check_text("email", &email)?;
            row.email = email;
        }
        if let Some(password) = change.password {
            check_password(&password)?;
            if is_external(&row) {
                return Err(UserError::Invalid(format!(
                    "{name:?} logs in by the identity provider, and has no password here"
                )));
            }
            row.password_hash = self.passwords.hash(password).await?;
        }
        if !self.store.update_user(&row).await? {
            return Err(missing(name));
        }
        if (&row.role, &row.org_id, &row.password_hash)
            != (&before.role, &before.org_id, &before.password_hash)
        {
            self.store.delete_user_tokens_of(row.id, None).await?;
        }
        response(&row)
    }

    /// Whether a password is somebody's.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn verify_password(&self, name: &str, password: Secret) -> Result<bool, UserError> {
        let hash = self.store.user(name).await?.map(|row| row.password_hash);
        Ok(self.passwords.verify(password, hash).await)
    }

    /// Removes a person with all sessions and tokens. What the person owns stays.
    ///
    /// # Errors
    ///
    /// There is none of that name, or it is the last administrator.
    pub async fn remove(&self, name: &str) -> Result<(), UserError> {
        let row = self.row(name).await?;
        self.keep_an_admin(&row, PersonRole::Viewer).await?;
        if self.store.delete_user(row.id).await? { Ok(()) } else { Err(missing(name)) }
    }

    pub(super) async fn row(&self, name: &str) -> Result<UserRow, UserError> {
        self.store.user(name).await?.ok_or_else(|| missing(name))
    }

    /// Somebody has to be able to let others in.
    async fn keep_an_admin(&self, row: &UserRow, role: PersonRole) -> Result<(), UserError> {
        if row.role != PersonRole::Admin.as_str() || role == PersonRole::Admin {
            return Ok(());
        }
        let others = self.store.users().await?;
        if others.iter().any(|other| other.id != row.id && other.role == PersonRole::Admin.as_str()) {
            return Ok(());
        }
        Err(UserError::Forbidden("the last administrator stays one: make another one first"))
    }
}

fn missing(name: &str) -> UserError {
    UserError::Missing(format!("user {name:?}"))
}

pub(super) fn response(row: &UserRow) -> Result<User, UserError> {
    Ok(User {
        name: row.name.clone(),
        role: role_of(row)?,
        organisation: row.org_id.clone(),
        email: row.email.clone(),
        created_at: row.created_at,
    })
}

pub(super) fn role_of(row: &UserRow) -> Result<PersonRole, UserError> {
    PersonRole::parse(&row.role)
        .ok_or_else(|| assisted_store::Error::Corrupt(format!("user {:?} has no role", row.name)).into())
}

fn check_password(password: &Secret) -> Result<(), UserError> {
    let text = password.expose();
    if text.chars().count() >= SHORTEST && text.len() <= LONGEST {
        return Ok(());
    }
    Err(UserError::Invalid(format!(
        "a password has at least {SHORTEST} characters and at most {LONGEST} bytes"
    )))
}
