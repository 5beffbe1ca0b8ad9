//! People: logging in and out, users and their tokens.
//!
//! This stands beside the contract, below `/auth`: nothing of it is in the operations that existing clients know. A row of
//! [`ROUTES`] says who may ask; like the table of operations it has no default.

mod answer;
mod provider;

use std::net::IpAddr;

use assisted_auth::Users;
use assisted_auth::oidc::Provider;
use assisted_auth::users::Authenticated;
use assisted_wire::operation::BASE_PATH;
use http::{HeaderMap, Method};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use crate::Timeouts;
pub use crate::auth::IDENTITY_PATH as PATH;
use crate::auth::{Auth, CALLBACK, unauthenticated};
use crate::budget::Budget;
use crate::error::ApiError;
use crate::http::body;
use crate::http::response::Answer;

/// Largest body, in bytes.
const LARGEST: usize = 16 << 10;

/// Who may send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Everybody: here it is found out who it is.
    Anyone,
    /// Whoever has logged in.
    Known,
    /// Administrators, with a token that is not limited to one resource.
    Admin,
}

/// The requests about identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Methods,
    Login,
    SetUp,
    Logout,
    WhoAmI,
    ListUsers,
    AddUser,
    ChangeUser,
    RemoveUser,
    ChangeOwnPassword,
    ListTokens,
    CreateToken,
    RevokeToken,
    ProviderLogin,
    ProviderCallback,
    DeviceLogin,
    DeviceFinish,
}

/// Method, path below [`PATH`] (`{}` stands for one segment), and who may ask.
pub const ROUTES: &[(Route, Method, &str, Who)] = &[
    (Route::Methods, Method::GET, "methods", Who::Anyone),
    (Route::Login, Method::POST, "login", Who::Anyone),
    (Route::SetUp, Method::POST, "setup", Who::Anyone),
    (Route::ProviderLogin, Method::GET, "oidc/login", Who::Anyone),
    (Route::ProviderCallback, Method::GET, CALLBACK, Who::Anyone),
    (Route::DeviceLogin, Method::POST, "oidc/device", Who::Anyone),
    (Route::DeviceFinish, Method::POST, "oidc/device/token", Who::Anyone),
    (Route::Logout, Method::POST, "logout", Who::Known),
    (Route::WhoAmI, Method::GET, "me", Who::Known),
    (Route::ChangeOwnPassword, Method::POST, "password", Who::Known),
    (Route::ListUsers, Method::GET, "users", Who::Admin),
    (Route::AddUser, Method::POST, "users", Who::Admin),
    (Route::ChangeUser, Method::PATCH, "users/{}", Who::Admin),
    (Route::RemoveUser, Method::DELETE, "users/{}", Who::Admin),
    (Route::ListTokens, Method::GET, "tokens", Who::Known),
    (Route::CreateToken, Method::POST, "tokens", Who::Known),
    (Route::RevokeToken, Method::DELETE, "tokens/{}", Who::Known),
];

/// A request on its way to an answer.
pub(crate) struct IdentityRequest<'a> {
    pub(crate) method: &'a Method,
    /// Folded, with that of the API.
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) peer: IpAddr,
    pub(crate) timeouts: &'a Timeouts,
    pub(crate) budget: &'a Budget,
    /// Whether browsers reach the service by TLS.
    pub(crate) secure: bool,
}

/// What an answer is made from.
struct Call<'a> {
    asked: &'a IdentityRequest<'a>,
    users: &'a Users,
    provider: Option<&'a Provider>,
    /// The segment of the path that `{}` stands for.
    segment: &'a str,
    body: bytes::Bytes,
}

/// The path below [`PATH`], if it is one.
pub(crate) fn below(path: &str) -> Option<&str> {
    path.strip_prefix(BASE_PATH)?.strip_prefix(PATH)
}

/// Answers a request whose path is below [`PATH`].
pub(crate) async fn answer(
    auth: &Auth,
    asked: &IdentityRequest<'_>,
    body: Incoming,
) -> Result<Answer, ApiError> {
    let users = auth.users().ok_or_else(|| {
        ApiError::framework(404, "nobody logs in here: the service was not started with AUTH_TYPE=users")
    })?;
    let path = below(asked.path).unwrap_or_default();
    let (route, who, segment) = find(asked.method, path)?;
    let known = match who {
        Who::Anyone => None,
        Who::Known | Who::Admin => Some(auth.authenticated(asked.headers).await?),
    };
    if who == Who::Admin && !known.as_ref().is_some_and(Authenticated::is_admin) {
        return Err(ApiError::framework(403, "only administrators do this"));
    }
    let reservation = asked.budget.reserve(Some(asked.peer));
    let held = body::read(asked.headers, body, LARGEST, asked.timeouts, reservation).await?;
    let call = Call { asked, users, provider: auth.provider(), segment, body: held.bytes.clone() };
    match (route, known) {
        (Route::Methods, _) => Ok(call.methods()),
        (Route::Login, _) => call.login().await,
        (Route::SetUp, _) => call.set_up().await,
        (Route::ProviderLogin, _) => call.provider_login().await,
        (Route::ProviderCallback, _) => call.provider_callback().await,
        (Route::DeviceLogin, _) => call.device_login().await,
        (Route::DeviceFinish, _) => call.device_finish().await,
        (route, Some(known)) => call.of_known(route, &known).await,
        (_, None) => Err(unauthenticated()),
    }
}

fn find<'p>(method: &Method, path: &'p str) -> Result<(Route, Who, &'p str), ApiError> {
    let matching = |pattern: &str| match pattern.strip_suffix("{}") {
        Some(head) => path.strip_prefix(head).filter(|rest| !rest.is_empty() && !rest.contains('/')),
        None => (pattern == path).then_some(""),
    };
    let mut found = false;
    for (route, wanted, pattern, who) in ROUTES {
        if let Some(segment) = matching(pattern) {
            if wanted == method {
                return Ok((*route, *who, segment));
            }
            found = true;
        }
    }
    let (status, what) = if found { (405, "is not allowed") } else { (404, "was not found") };
    Err(ApiError::framework(status, format!("{method} {BASE_PATH}{PATH}{path} {what}")))
}

impl Call<'_> {
    /// The body, which has to be JSON of this form. Its values are not quoted: there are passwords among them.
    fn read<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let json = self.asked.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let json = json.map(|kind| kind.split(';').next().unwrap_or_default().trim());
        if !json.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            return Err(ApiError::framework(415, "the body has to be application/json"));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            ApiError::framework(400, format!("the body is not of the form that is wanted here ({place})"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes() {
        for (route, method, pattern, who) in ROUTES {
            let path = pattern.replace("{}", "x");
            let found = find(method, &path).unwrap();
            assert_eq!(found, (*route, *who, if pattern.ends_with("{}") { "x" } else { "" }));
        }
        let refused = |method, path| find(&method, path).unwrap_err().to_string();
        assert!(refused(Method::GET, "login").contains("not allowed"));
        for path in ["", "x", "users/", "users/a/b", "tokens/a/b"] {
            assert!(refused(Method::DELETE, path).contains("not found"), "{path}");
        }
    }
}
