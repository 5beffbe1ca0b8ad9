//! People and their tokens. Nothing here is published as a change: callers are looked up at each request.

use jiff::Timestamp;
use uuid::Uuid;

use crate::error::{Error, WriteError};
use crate::statement::Statement;
use crate::store::Store;
use crate::value::{Row, Value};

/// A person.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRow {
    pub id: Uuid,
    /// Unique among all people.
    pub name: String,
    pub role: String,
    /// The organisation; empty without one.
    pub org_id: String,
    /// Empty without one.
    pub email: String,
    /// In the form of the PHC string format.
    pub password_hash: String,
    pub created_at: Timestamp,
}

/// What somebody shows to be a person.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTokenRow {
    pub id: Uuid,
    /// Nil for one that belongs to nobody yet.
    pub user_id: Uuid,
    /// What it is for.
    pub kind: String,
    /// For people who list their tokens.
    pub name: String,
    /// The token's SHA-256; unique.
    pub hash: Vec<u8>,
    /// What it is limited to, as JSON.
    pub scope: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

const USER: &str = "u.id, u.name, u.role, u.org_id, u.email, u.password_hash, u.created_at";
const TOKEN: &str = "t.id, t.user_id, t.kind, t.name, t.hash, t.scope, t.created_at, t.expires_at";
/// Columns of a person.
const USER_WIDTH: usize = 7;

impl UserRow {
    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.uuid(0)?,
            name: row.text(1)?.to_owned(),
            role: row.text(2)?.to_owned(),
            org_id: row.text(3)?.to_owned(),
            email: row.text(4)?.to_owned(),
            password_hash: row.text(5)?.to_owned(),
            created_at: time(row, 6)?,
        })
    }
}

impl UserTokenRow {
    /// Reads the columns from the one of that number on.
    fn read(row: &Row, first: usize) -> Result<Self, Error> {
        Ok(Self {
            id: row.uuid(first)?,
            user_id: row.uuid(first + 1)?,
            kind: row.text(first + 2)?.to_owned(),
            name: row.text(first + 3)?.to_owned(),
            hash: row.bytes(first + 4)?.to_vec(),
            scope: row.text(first + 5)?.to_owned(),
            created_at: time(row, first + 6)?,
            expires_at: time(row, first + 7)?,
        })
    }
}

fn time(row: &Row, index: usize) -> Result<Timestamp, Error> {
    row.time(index)?.ok_or_else(|| Error::Corrupt("a row has no time".to_owned()))
}

/// People and their tokens: a handle that reads and writes them, and nothing else.
#[derive(Clone, Debug)]
pub struct UserStore(Store);

impl Store {
    /// The people that it keeps.
    pub fn people(&self) -> UserStore {
        UserStore(self.clone())
    }
}

impl UserStore {
    /// Adds a person; false when there is one of that name.
    pub async fn insert_user(&self, user: &UserRow) -> Result<bool, WriteError> {
        let sql = "insert into users (id, name, role, org_id, email, password_hash, created_at) \
                   values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning id";
        let params = vec![
            user.id.into(),
            user.name.clone().into(),
            user.role.clone().into(),
            user.org_id.clone().into(),
            user.email.clone().into(),
            user.password_hash.clone().into(),
            user.created_at.into(),
        ];
        self.has_written(sql, params).await
    }

    /// Replaces role, organisation, e-mail address and password of a person; false when there is none of that id.
    pub async fn update_user(&self, user: &UserRow) -> Result<bool, WriteError> {
        let sql = "update users set role = $2, org_id = $3, email = $4, password_hash = $5 where id = $1 returning id";
        let params = vec![
            user.id.into(),
            user.role.clone().into(),
            user.org_id.clone().into(),
            user.email.clone().into(),
            user.password_hash.clone().into(),
        ];
        self.has_written(sql, params).await
    }

    /// Removes a person with all tokens; false when there is none of that id.
    pub async fn delete_user(&self, id: Uuid) -> Result<bool, WriteError> {
        // The tokens first: without its person none is good, whatever happens in between.
        self.delete_user_tokens_of(id, None).await?;
        self.has_written("delete from users where id = $1 returning id", vec![id.into()]).await
    }

    /// One person.
    pub async fn user(&self, name: &str) -> Result<Option<UserRow>, Error> {
        let sql =
            "select id, name, role, org_id, email, password_hash, created_at from users where name = $1";
        let row = self.0.read_one(Statement::new(sql, vec![name.to_owned().into()])).await?;
        row.as_ref().map(UserRow::read).transpose()
    }

    /// Everybody, by name.
    pub async fn users(&self) -> Result<Vec<UserRow>, Error> {
        let sql = "select id, name, role, org_id, email, password_hash, created_at from users order by name";
        self.0.read(Statement::new(sql, Vec::new())).await?.iter().map(UserRow::read).collect()
    }

    /// Adds a token.
    pub async fn insert_user_token(&self, token: &UserTokenRow) -> Result<bool, WriteError> {
        let sql = "insert into user_tokens (id, user_id, kind, name, hash, scope, created_at, expires_at) \
                   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning id";
        let params = vec![
            token.id.into(),
            token.user_id.into(),
            token.kind.clone().into(),
            token.name.clone().into(),
            token.hash.clone().into(),
            token.scope.clone().into(),
            token.created_at.into(),
            token.expires_at.into(),
        ];
        self.has_written(sql, params).await
    }

    /// The token of a hash that is good at a moment, with its person.
    pub async fn user_token(
        &self,
        hash: &[u8],
        now: Timestamp,
    ) -> Result<Option<(UserRow, UserTokenRow)>, Error> {
        let sql = format!(
            "select {USER}, {TOKEN} from user_tokens t join users u on u.id = t.user_id where t.hash = $1 and t.expires_at > $2"
        );
        let mut statement = Statement::new("", vec![hash.to_vec().into(), now.into()]);
        statement.sql = sql.into();
        let row = self.0.read_one(statement).await?;
        row.map(|row| Ok((UserRow::read(&row)?, UserTokenRow::read(&row, USER_WIDTH)?))).transpose()
    }

    /// The tokens of a kind that are good at a moment, the oldest first; of one person, or of all.
    pub async fn user_tokens(
        &self,
        kind: &str,
        of: Option<Uuid>,
        now: Timestamp,
    ) -> Result<Vec<UserTokenRow>, Error> {
        let mut sql = format!("select {TOKEN} from user_tokens t where t.kind = $1 and t.expires_at > $2");
        let mut params: Vec<Value> = vec![kind.to_owned().into(), now.into()];
        if let Some(id) = of {
            sql.push_str(" and t.user_id = $3");
            params.push(id.into());
        }
        sql.push_str(" order by t.created_at, t.id");
        let mut statement = Statement::new("", params);
        statement.sql = sql.into();
        self.0.read(statement).await?.iter().map(|row| UserTokenRow::read(row, 0)).collect()
    }

    /// Removes the token of a hash and kind that is good at a moment; whoever removes it is the one who uses it.
    pub async fn use_up_user_token(
        &self,
        hash: &[u8],
        kind: &str,
        now: Timestamp,
    ) -> Result<bool, WriteError> {
        let sql = "delete from user_tokens where hash = $1 and kind = $2 and expires_at > $3 returning id";
        let params = vec![hash.to_vec().into(), kind.to_owned().into(), now.into()];
        self.has_written(sql, params).await
    }

    /// Removes a token; false when there is none of that id.
    pub async fn delete_user_token(&self, id: Uuid) -> Result<bool, WriteError> {
        self.has_written("delete from user_tokens where id = $1 returning id", vec![id.into()]).await
    }

    /// Removes the tokens of a person, of one kind or all.
    pub async fn delete_user_tokens_of(&self, user_id: Uuid, kind: Option<&str>) -> Result<(), WriteError> {
        let (sql, params): (_, Vec<Value>) = match kind {
            Some(kind) => (
                "delete from user_tokens where user_id = $1 and kind = $2 returning id",
                vec![user_id.into(), kind.to_owned().into()],
            ),
            None => ("delete from user_tokens where user_id = $1 returning id", vec![user_id.into()]),
        };
        self.has_written(sql, params).await.map(drop)
    }

    /// Removes the tokens that are good no more.
    pub async fn delete_expired_user_tokens(&self, now: Timestamp) -> Result<(), WriteError> {
        let sql = "delete from user_tokens where expires_at <= $1 returning id";
        self.has_written(sql, vec![now.into()]).await.map(drop)
    }

    async fn has_written(&self, sql: &'static str, params: Vec<Value>) -> Result<bool, WriteError> {
        Ok(!self.0.write_one(Statement::new(sql, params)).await?.is_empty())
    }
}
