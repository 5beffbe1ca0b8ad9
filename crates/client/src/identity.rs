//! People: logging in and out, users, tokens. It stands beside the contract; another service answers 404.

use assisted_wire::identity::{
    ApiToken, DeviceCode, DeviceLogin, DevicePending, Login, LoginParams, Me, NewToken, NewUser,
    PasswordChange, SetUpParams, User, UserChange,
};
use assisted_wire::operation::Scheme;
use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::call::{Body, Target, attempt, whole};
use crate::{Client, Error};

/// The answer to a poll of a log-in by a device code.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum DeviceAnswer {
    In(Box<Login>),
    Pending(DevicePending),
}

/// No request has a body.
const NOTHING: Option<&()> = None;

impl Client {
    /// Lets a person in.
    pub async fn login(&self, params: &LoginParams) -> Result<Login, Error> {
        self.request("login", Method::POST, "/auth/login", &[], Some(params)).await
    }

    /// Begins a log-in by the service's identity provider, which a person ends in any browser.
    pub async fn device_login(&self) -> Result<DeviceLogin, Error> {
        self.request("oidc", Method::POST, "/auth/oidc/device", &[], NOTHING).await
    }

    /// Whether the person has agreed: who it is, or how much longer to wait between two questions.
    pub async fn device_finish(&self, code: &DeviceCode) -> Result<DeviceAnswer, Error> {
        self.request("oidc", Method::POST, "/auth/oidc/device/token", &[], Some(code)).await
    }

    /// Makes the first administrator, by the code that the service has printed.
    pub async fn set_up(&self, params: &SetUpParams) -> Result<Login, Error> {
        self.request("setup", Method::POST, "/auth/setup", &[], Some(params)).await
    }

    /// Ends the session, or revokes the token, that the client has.
    pub async fn logout(&self) -> Result<(), Error> {
        self.request_empty("logout", Method::POST, "/auth/logout", &[], NOTHING).await
    }

    /// Who the client's token stands for.
    pub async fn me(&self) -> Result<Me, Error> {
        self.request("me", Method::GET, "/auth/me", &[], NOTHING).await
    }

    /// Another password of one's own; all sessions and tokens end.
    pub async fn change_own_password(&self, change: &PasswordChange) -> Result<User, Error> {
        self.request("password", Method::POST, "/auth/password", &[], Some(change)).await
    }

    /// Everybody, by name.
    pub async fn list_users(&self) -> Result<Vec<User>, Error> {
        self.request("users", Method::GET, "/auth/users", &[], NOTHING).await
    }

    /// Adds a person.
    pub async fn add_user(&self, user: &NewUser) -> Result<User, Error> {
        self.request("users", Method::POST, "/auth/users", &[], Some(user)).await
    }

    /// Changes a person.
    pub async fn change_user(&self, name: &str, change: &UserChange) -> Result<User, Error> {
        self.request("users", Method::PATCH, "/auth/users/{name}", &[("name", name.to_owned())], Some(change))
            .await
    }

    /// Removes a person with all sessions and tokens.
    pub async fn remove_user(&self, name: &str) -> Result<(), Error> {
        let path = [("name", name.to_owned())];
        self.request_empty("users", Method::DELETE, "/auth/users/{name}", &path, NOTHING).await
    }

    /// One's own API tokens; an administrator sees everybody's.
    pub async fn list_tokens(&self) -> Result<Vec<ApiToken>, Error> {
        self.request("tokens", Method::GET, "/auth/tokens", &[], NOTHING).await
    }

    /// Makes an API token; the answer is the only place where it is shown.
    pub async fn create_token(&self, token: &NewToken) -> Result<ApiToken, Error> {
        self.request("tokens", Method::POST, "/auth/tokens", &[], Some(token)).await
    }

    /// Revokes an API token.
    pub async fn revoke_token(&self, id: Uuid) -> Result<(), Error> {
        let path = [("id", id.to_string())];
        self.request_empty("tokens", Method::DELETE, "/auth/tokens/{id}", &path, NOTHING).await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        name: &'static str,
        method: Method,
        path: &str,
        values: &[(&'static str, String)],
        body: Option<&impl Serialize>,
    ) -> Result<T, Error> {
        let answer = self.send(name, method, path, values, body).await?;
        serde_json::from_slice(&answer).map_err(|source| Error::Malformed { operation: name, source })
    }

    async fn request_empty(
        &self,
        name: &'static str,
        method: Method,
        path: &str,
        values: &[(&'static str, String)],
        body: Option<&impl Serialize>,
    ) -> Result<(), Error> {
        self.send(name, method, path, values, body).await.map(drop)
    }

    /// Sends a request once: what it does may not be done twice.
    async fn send(
        &self,
        name: &'static str,
        method: Method,
        path: &str,
        values: &[(&'static str, String)],
        body: Option<&impl Serialize>,
    ) -> Result<Vec<u8>, Error> {
        let fault = |reason: String| Error::Request { operation: name, reason };
        let argument = |parameter| Error::Argument { operation: name, parameter };
        let url = self.shared.base.join(path, values).map_err(argument)?;
        let mut headers = HeaderMap::new();
        let known = self.shared.credentials.iter().find(|(scheme, _)| *scheme == Scheme::User);
        if let Some((_, token)) = known {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
            let mut value = value.map_err(|_| fault("token".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let body = match body {
            Some(body) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                let json = serde_json::to_vec(body).map_err(|error| fault(error.to_string()))?;
                Some(Body::Json(Bytes::from(json)))
            }
            None => None,
        };
        let target = Target { name, method, url };
        let mut response = attempt(self, &target, &headers, &body, true, Uuid::new_v4()).await?;
        whole(&mut response, self.shared.longest_answer, name, self.shared.base.authority()).await
    }
}
