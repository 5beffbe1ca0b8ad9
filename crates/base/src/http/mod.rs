//! Asking servers over HTTP: one way to set a client up, to say whom it trusts, and to read no more than is wanted.

mod addresses;
mod body;
mod get;
mod trust;

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, NoProxy, Proxy};

pub use addresses::{Addresses, Forbidden};
pub use body::{BodyError, read};
pub use get::{HttpError, client, get, web_url};
pub use trust::{Trust, TrustError, authorities, authorities_of_file, certificates, identity};

/// Limit for a connection to stand, unless a client sets its own.
const CONNECT: Duration = Duration::from_secs(30);

/// Which way requests take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Proxies {
    /// `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` of this process.
    #[default]
    FromEnvironment,
    /// Straight to the server.
    None,
    /// These; an empty text is none. What is reached without one stands in the form of `NO_PROXY`.
    Given { http: String, https: String, none_for: String },
}

/// Begins a client. It has half a minute for a connection to stand and follows no redirect, because what it sends may be
/// for that one server; other limits are its owner's to set.
///
/// # Errors
/// When a proxy's address can't be used.
pub fn builder(user_agent: &str, trust: Trust, proxies: &Proxies) -> reqwest::Result<ClientBuilder> {
    install_crypto();
    let builder = Client::builder().user_agent(user_agent).connect_timeout(CONNECT).redirect(Policy::none());
    let mut builder = trust.applied(builder);
    match proxies {
        Proxies::FromEnvironment => {}
        Proxies::None => builder = builder.no_proxy(),
        Proxies::Given { http, https, none_for } => {
            builder = builder.no_proxy();
            let around = || NoProxy::from_string(none_for);
            if !http.is_empty() {
                builder = builder.proxy(Proxy::http(http)?.no_proxy(around()));
            }
            if !https.is_empty() {
                builder = builder.proxy(Proxy::https(https)?.no_proxy(around()));
            }
        }
    }
    Ok(builder)
}

/// Chooses the cryptography of TLS for this process, unless that is done: rustls wants one provider per process, and
/// whoever comes first has chosen. Whoever builds a client by other means calls this first.
pub fn install_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_need_addresses() {
        let given = |http: &str| Proxies::Given {
            http: http.to_owned(),
            https: String::new(),
            none_for: "127.0.0.1".to_owned(),
        };
        assert!(builder("tests", Trust::Any, &given("")).unwrap().build().is_ok());
        assert!(builder("tests", Trust::Any, &given("http://proxy:3128")).unwrap().build().is_ok());
        assert!(builder("tests", Trust::Any, &given("http://[")).is_err());
    }
}
