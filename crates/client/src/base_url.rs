//! The address of a service, in any of the spellings people use.

use std::fmt;
use std::str::FromStr;

use assisted_wire::operation::BASE_PATH;
use reqwest::Url;

use crate::build_error::BuildError;

/// Address below which the operations live: scheme, host, an optional prefix, and the base path of the API.
///
/// Read from `http://host:8090`, `http://host:8090/`, `https://host/prefix` or an address that already ends in the base
/// path (with or without `/v2`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// The address of an operation: the template's parameters are replaced by `values`, each of them one path segment.
    /// `None` names the parameter whose value is missing or can't be a segment.
    pub(crate) fn join(&self, template: &str, values: &[(&'static str, String)]) -> Result<Url, String> {
        let mut url = self.0.clone();
        // A base address that can't hold segments is refused when it is read.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            for part in template.split('/').filter(|part| !part.is_empty()) {
                let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else {
                    segments.push(part);
                    continue;
                };
                let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
                match value {
                    None | Some("" | "." | "..") => return Err(name.to_owned()),
                    Some(value) => segments.push(value),
                };
            }
        }
        Ok(url)
    }

    /// Host and port, for messages.
    pub(crate) fn authority(&self) -> &str {
        self.0.authority()
    }
}

impl FromStr for BaseUrl {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let refuse = |reason: &str| BuildError::BaseUrl { reason: reason.to_owned() };
        let mut url = Url::parse(text.trim()).map_err(|error| refuse(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("only http:// and https:// are spoken"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("it holds a user name or password; give a token instead"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("it holds a query or a fragment"));
        }
        let mut segments: Vec<_> = url.path().split('/').filter(|part| !part.is_empty()).collect();
        let base: Vec<_> = BASE_PATH.split('/').filter(|part| !part.is_empty()).collect();
        if segments.last() == Some(&"v2") && segments[..segments.len() - 1].ends_with(&base) {
            segments.pop();
        }
        if !segments.ends_with(&base) {
            segments.extend(base);
        }
        let path = segments.join("/");
        url.set_path(&path);
        Ok(Self(url))
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address() {
        for text in [
            "http://host:8090",
            "http://host:8090/",
            "http://host:8090//api/assisted-install/",
            "http://host:8090/api/assisted-install/v2",
        ] {
            assert_eq!(text.parse::<BaseUrl>().unwrap().to_string(), "http://host:8090/api/assisted-install");
        }
        assert_eq!(
            "https://host/hub/".parse::<BaseUrl>().unwrap().to_string(),
            "https://host/hub/api/assisted-install"
        );
    }

    #[test]
    fn addresses_that_are_refused() {
        for text in ["", "host:8090", "ftp://host", "http://u:p@host", "http://host?x=1", "http://"] {
            assert!(text.parse::<BaseUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn values_stay_one_segment() {
        let base: BaseUrl = "http://host".parse().unwrap();
        let join =
            |value: &str| base.join("/v2/clusters/{cluster_id}/hosts", &[("cluster_id", value.into())]);
        assert_eq!(
            join("a/../b?c#d").unwrap().as_str(),
            "http://host/api/assisted-install/v2/clusters/a%2F..%2Fb%3Fc%23d/hosts"
        );
        for value in ["", ".", ".."] {
            assert_eq!(join(value).unwrap_err(), "cluster_id");
        }
        assert_eq!(base.join("/v2/clusters/{cluster_id}", &[]).unwrap_err(), "cluster_id");
    }
}
