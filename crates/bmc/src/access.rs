//! How a management controller is reached.

use assisted_base::http::Trust;
use assisted_wire::secret::Secret;

/// Address of a machine at its management controller, and the account to use there.
#[derive(Clone, Debug)]
pub struct Access {
    /// The machine's resource, such as `https://192.0.2.1/redfish/v1/Systems/1`.
    pub system: String,
    pub user: String,
    pub password: Secret,
    /// Whose certificates are taken. Most controllers sign their own.
    pub trust: Trust,
}

impl Access {
    /// Origin and path of the machine's resource.
    pub(crate) fn split(&self) -> Result<(String, String), String> {
        let url = url::Url::parse(&self.system).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.path().trim_matches('/').is_empty() {
            return Err("it is not the address of a system, such as https://192.0.2.1/redfish/v1/Systems/1"
                .to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("user and password have settings of their own".to_owned());
        }
        Ok((url.origin().ascii_serialization(), url.path().trim_end_matches('/').to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(system: &str) -> Result<(String, String), String> {
        let (user, password) = ("root".to_owned(), Secret::from("secret"));
        Access { system: system.to_owned(), user, password, trust: Trust::System }.split()
    }

    #[test]
    fn the_address_of_a_system_is_taken_apart() {
        let (origin, path) = split("https://192.0.2.1:8443/redfish/v1/Systems/1/").unwrap();
        assert_eq!((origin.as_str(), path.as_str()), ("https://192.0.2.1:8443", "/redfish/v1/Systems/1"));
        for wrong in ["", "192.0.2.1", "ftp://192.0.2.1/x", "https://192.0.2.1/", "https://a:b@192.0.2.1/x"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }
}
