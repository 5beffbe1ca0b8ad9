//! The config of a host that joins an installed cluster: it points at the cluster (install-generation §12).

use std::collections::BTreeMap;

use assisted_base::pem;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::edit::{EditError, Tree};
use super::host::Host;

const VERSION: &str = "3.2.0";

/// Where a host finds its cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterEndpoint<'a> {
    /// Name or address of the cluster's API.
    pub api: &'a str,
    /// The pool whose config the host gets.
    pub pool: &'a str,
    /// Where configs are in the place of the cluster's own server; empty: there.
    pub endpoint: &'a str,
    /// Base64 of the authority of that place, in PEM form; empty: none.
    pub authority: &'a str,
    /// What the place wants to be shown; empty: nothing.
    pub token: &'a str,
    /// JSON map of further headers; empty: none.
    pub headers: &'a str,
}

impl ClusterEndpoint<'_> {
    /// The config of a host.
    ///
    /// # Errors
    ///
    /// See [`EditError`].
    pub fn config(&self, host: &Host<'_>) -> Result<Tree, EditError> {
        let authority = self.authorities(host.overrides);
        let mut source = json!({"source": self.url(!authority.is_empty())});
        let headers = self.headers();
        if !headers.is_empty() {
            source["httpHeaders"] =
                headers.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        }
        let mut ignition = json!({"version": VERSION, "config": {"merge": [source]}});
        if !authority.is_empty() {
            let source = format!("data:text/plain;base64,{authority}");
            ignition["security"] = json!({"tls": {"certificateAuthorities": [{"source": source}]}});
        }
        let pointer = Tree::read(json!({"ignition": ignition}).to_string().as_bytes())?;
        host.edit(&pointer)
    }

    fn url(&self, trusted: bool) -> String {
        if !self.endpoint.is_empty() {
            let (place, query) = self.endpoint.split_once('?').unwrap_or((self.endpoint, ""));
            let mark = if query.is_empty() { "" } else { "?" };
            return format!("{}/{}{mark}{query}", place.trim_end_matches('/'), self.pool);
        }
        let host = |name: &str| if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
        if !trusted {
            return format!("http://{}:22624/config/{}", host(self.api), self.pool);
        }
        // The name that the cluster's certificate is for.
        let inside = self.api.strip_prefix("api.").map(|rest| format!("api-int.{rest}"));
        format!("https://{}:22623/config/{}", host(&inside.unwrap_or_else(|| self.api.to_owned())), self.pool)
    }

    /// The user's authority and that in the host's own config, each once, as base64.
    fn authorities(&self, overrides: &str) -> String {
        let text =
            |encoded: &str| STANDARD.decode(encoded).ok().and_then(|text| String::from_utf8(text).ok());
        let of_host = || {
            let overrides: Value = serde_json::from_str(overrides).ok()?;
            let list = overrides["ignition"]["security"]["tls"]["certificateAuthorities"].as_array()?;
            let found =
                list.iter().filter_map(super::edit::data).filter_map(|text| String::from_utf8(text).ok());
            found.into_iter().find(|text| !text.trim().is_empty())
        };
        let all = [text(self.authority), of_host()];
        let mut found: Vec<String> = Vec::new();
        for text in all.into_iter().flatten().map(|text| pem::plain(&text).trim().to_owned()) {
            if !text.is_empty() && !found.contains(&text) {
                found.push(text);
            }
        }
        if found.is_empty() { String::new() } else { STANDARD.encode(format!("{}\n", found.join("\n"))) }
    }

    /// By name; a header that the user gives stands before the token.
    fn headers(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        if !self.token.is_empty() {
            all.insert("Authorization".to_owned(), format!("Bearer {}", self.token));
        }
        let given: BTreeMap<String, String> = serde_json::from_str(self.headers).unwrap_or_default();
        all.extend(given);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(joining: &ClusterEndpoint<'_>, overrides: &str) -> Value {
        let host = Host { name: "node", overrides, ..Host::default() };
        serde_json::from_slice(&joining.config(&host).unwrap().write()).unwrap()
    }

    const API: ClusterEndpoint<'_> = ClusterEndpoint {
        api: "api.lab.example.com",
        pool: "worker",
        endpoint: "",
        authority: "",
        token: "",
        headers: "",
    };

    fn source(joining: &ClusterEndpoint<'_>) -> String {
        made(joining, "")["ignition"]["config"]["merge"][0]["source"].as_str().unwrap().to_owned()
    }

    #[test]
    fn places() {
        let ca = STANDARD.encode("PEM");
        assert_eq!(source(&API), "http://api.lab.example.com:22624/config/worker");
        assert_eq!(
            source(&ClusterEndpoint { authority: &ca, ..API }),
            "https://api-int.lab.example.com:22623/config/worker"
        );
        assert_eq!(
            source(&ClusterEndpoint { api: "fd00::1", ..API }),
            "http://[fd00::1]:22624/config/worker"
        );
        let endpoint =
            ClusterEndpoint { endpoint: "https://e:1/ignition/?a=b", pool: "infra", authority: &ca, ..API };
        assert_eq!(source(&endpoint), "https://e:1/ignition/infra?a=b");
    }

    #[test]
    fn authorities_and_headers() {
        let own = format!("data:text/plain;base64,{}", STANDARD.encode("OWN"));
        let over = json!({"ignition": {"version": "3.2.0", "security": {"tls": {"certificateAuthorities": [{"source": "data:,"}, {"source": own}]}}}});
        let ca = STANDARD.encode("PEM\n");
        let headers = r#"{"X-A":"b","Authorization":"Basic x"}"#;
        let config = made(&ClusterEndpoint { authority: &ca, token: "t", headers, ..API }, &over.to_string());
        let sent = &config["ignition"]["config"]["merge"][0]["httpHeaders"];
        assert_eq!(
            *sent,
            json!([{"name": "Authorization", "value": "Basic x"}, {"name": "X-A", "value": "b"}])
        );
        let trusted =
            config["ignition"]["security"]["tls"]["certificateAuthorities"][0]["source"].as_str().unwrap();
        assert_eq!(trusted, format!("data:text/plain;base64,{}", STANDARD.encode("PEM\nOWN\n")));
        let bearer = made(&ClusterEndpoint { token: "t", ..API }, "");
        assert_eq!(bearer["ignition"]["config"]["merge"][0]["httpHeaders"][0]["value"], "Bearer t");
        assert!(bearer["ignition"].get("security").is_none());
    }
}
