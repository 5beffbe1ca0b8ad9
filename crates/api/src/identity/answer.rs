//! The handlers of the routes by which people log in and manage users and tokens.

use assisted_auth::UserError;
use assisted_auth::oidc::Provider;
use assisted_auth::users::Authenticated;
use assisted_wire::identity::{
    Login, LoginMethods, LoginParams, Me, NewToken, NewUser, PasswordChange, SetUpParams, UserChange,
};
use assisted_wire::operation::BASE_PATH;
use http::header::{CACHE_CONTROL, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use uuid::Uuid;

use super::{Call, Route};
use crate::auth::COOKIE_NAME;
use crate::error::ApiError;
use crate::http::response::{Answer, empty_answer, json_answer};

impl Call<'_> {
    pub(super) fn methods(&self) -> Answer {
        let provider = self.provider.is_some_and(Provider::lets_browsers_in);
        json(StatusCode::OK, &LoginMethods { password: true, provider })
    }

    pub(super) async fn login(&self) -> Result<Answer, ApiError> {
        let body: LoginParams = self.read()?;
        let login = self.users.login(&body.name, body.password, self.asked.peer, Timestamp::now()).await;
        match &login {
            Ok(login) => {
                tracing::info!(user = login.user.name, peer = %self.asked.peer, "somebody has logged in");
            }
            Err(error) => tracing::warn!(peer = %self.asked.peer, %error, "a log-in has failed"),
        }
        Ok(self.logged_in(&login?, body.cookie))
    }

    pub(super) async fn set_up(&self) -> Result<Answer, ApiError> {
        let SetUpParams { code, name, password, cookie } = self.read()?;
        let login =
            self.users.set_up(code.expose(), &name, password, self.asked.peer, Timestamp::now()).await?;
        tracing::info!(user = login.user.name, peer = %self.asked.peer, "the first administrator was made");
        Ok(self.logged_in(&login, cookie))
    }

    pub(super) async fn of_known(&self, route: Route, who: &Authenticated) -> Result<Answer, ApiError> {
        let now = Timestamp::now();
        let users = self.users;
        Ok(match route {
            Route::Logout => {
                users.logout(who).await?;
                let mut answer = empty_answer(StatusCode::NO_CONTENT);
                self.set_cookie(&mut answer, "", 0);
                answer
            }
            Route::WhoAmI => {
                let (user, scope) = (who.user.clone(), who.scope.clone());
                json(StatusCode::OK, &Me { user, role: who.role, scope })
            }
            Route::ListUsers => json(StatusCode::OK, &users.list().await?),
            Route::AddUser => {
                let user = users.add(self.read::<NewUser>()?, now).await?;
                tracing::info!(
                    by = who.user.name,
                    user = user.name,
                    role = user.role.as_str(),
                    "a user was added"
                );
                json(StatusCode::CREATED, &user)
            }
            Route::ChangeUser => {
                let user = users.change(&self.name(), self.read::<UserChange>()?).await?;
                tracing::info!(
                    by = who.user.name,
                    user = user.name,
                    role = user.role.as_str(),
                    "a user was changed"
                );
                json(StatusCode::OK, &user)
            }
            Route::RemoveUser => {
                users.remove(&self.name()).await?;
                tracing::info!(by = who.user.name, user = self.name(), "a user was removed");
                empty_answer(StatusCode::NO_CONTENT)
            }
            Route::ChangeOwnPassword => {
                let PasswordChange { old_password, password } = self.read()?;
                // With the limit of log-ins: whoever has found a session must not guess the password.
                users.login(&who.user.name, old_password, self.asked.peer, now).await?;
                let change = UserChange { password: Some(password), ..UserChange::default() };
                json(StatusCode::OK, &users.change(&who.user.name, change).await?)
            }
            Route::ListTokens => json(StatusCode::OK, &users.tokens(who, now).await?),
            Route::CreateToken => {
                let token = users.create_token(who, self.read::<NewToken>()?, now).await?;
                tracing::info!(by = who.user.name, id = %token.id, "a token was made");
                json(StatusCode::CREATED, &token)
            }
            Route::RevokeToken => {
                let missing = || UserError::Missing(format!("token {}", self.segment));
                let id = Uuid::try_parse(self.segment).map_err(|_| missing())?;
                users.revoke_token(who, id, now).await?;
                tracing::info!(by = who.user.name, %id, "a token was revoked");
                empty_answer(StatusCode::NO_CONTENT)
            }
            Route::Methods
            | Route::Login
            | Route::SetUp
            | Route::ProviderLogin
            | Route::ProviderCallback
            | Route::DeviceLogin
            | Route::DeviceFinish => {
                return Err(ApiError::framework(404, "nobody known asks for this"));
            }
        })
    }

    /// The user in the path.
    fn name(&self) -> String {
        percent_decode_str(self.segment).decode_utf8_lossy().into_owned()
    }

    fn logged_in(&self, login: &Login, cookie: bool) -> Answer {
        let mut answer = json(StatusCode::OK, login);
        if cookie {
            let life = login.expires_at.duration_since(Timestamp::now()).as_secs();
            self.set_cookie(&mut answer, login.token.expose(), life);
        }
        answer
    }

    /// Scripts don't see it, and no page of another site has it sent.
    pub(super) fn set_cookie(&self, answer: &mut Answer, value: &str, life: i64) {
        let secure = if self.asked.secure { "; Secure" } else { "" };
        let text = format!(
            "{COOKIE_NAME}={value}; Path={BASE_PATH}; Max-Age={life}; HttpOnly; SameSite=Strict{secure}"
        );
        if let Ok(mut value) = HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            answer.headers_mut().append(SET_COOKIE, value);
        }
    }
}

/// An answer that nobody keeps.
pub(super) fn json<T: Serialize>(status: StatusCode, value: &T) -> Answer {
    let mut answer = json_answer(status, value);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
