//! Encryption of disks.

use assisted_wire::cluster::{DiskEncryption, DiskEncryptionMode};
use assisted_wire::cluster_params::RoleSet;
use serde_json::{Map, Value};

use super::Invalidity;
use super::web::{self, UrlError};

/// Checks what is asked for. `supported`: whether disks can be encrypted at all.
pub fn check(encryption: &DiskEncryption, supported: bool) -> Result<(), Invalidity> {
    let enabled = encryption.enable_on.is_some_and(|roles| roles != RoleSet::None);
    if !supported && (enabled || encryption.mode.is_some() || !encryption.tang_servers.is_empty()) {
        return Err(
            "Disk encryption support is not enabled. Cannot apply configurations to the cluster".to_owned()
        );
    }
    if encryption.mode == Some(DiskEncryptionMode::Tang) {
        if encryption.tang_servers.is_empty() {
            return Err("Setting Tang mode but tang_servers isn't set".to_owned());
        }
        tang_servers(&encryption.tang_servers)?;
    }
    Ok(())
}

/// A server that unlocks disks on its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TangServer {
    pub url: String,
    pub thumbprint: String,
}

/// The servers in a JSON list.
pub fn tang_servers(text: &str) -> Result<Vec<TangServer>, Invalidity> {
    let servers: Vec<Map<String, Value>> =
        serde_json::from_str(text).map_err(|error| format!("Unable to unmarshal tang_servers: {error}"))?;
    let read = |server: &Map<String, Value>| {
        let url = member(server, "url")?;
        web::check(url, &["http", "https"]).map_err(|wrong| match wrong {
            UrlError::Format(why) => format!("Tang URL isn't valid: {why}: '{url}'"),
            UrlError::Scheme => {
                format!(
                    "Tang URL isn't valid: The URL scheme must be http(s) and specified in the URL: '{url}'"
                )
            }
        })?;
        let thumbprint = member(server, "thumbprint")?;
        if thumbprint.is_empty() {
            return Err("Tang thumbprint isn't set".to_owned());
        }
        Ok(TangServer { url: url.to_owned(), thumbprint: thumbprint.to_owned() })
    };
    servers.iter().map(read).collect()
}

/// Keys are matched whatever their case, as existing clients expect.
fn member<'a>(server: &'a Map<String, Value>, key: &str) -> Result<&'a str, Invalidity> {
    match server.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)) {
        None | Some((_, Value::Null)) => Ok(""),
        Some((_, Value::String(text))) => Ok(text),
        Some(_) => Err(format!("Unable to unmarshal tang_servers: {key} is not a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tang(servers: &str) -> DiskEncryption {
        DiskEncryption {
            enable_on: Some(RoleSet::All),
            mode: Some(DiskEncryptionMode::Tang),
            tang_servers: servers.to_owned(),
        }
    }

    #[test]
    fn settings() {
        assert_eq!(check(&DiskEncryption::default(), false), Ok(()));
        let none = DiskEncryption { enable_on: Some(RoleSet::None), ..DiskEncryption::default() };
        assert_eq!(check(&none, false), Ok(()));
        assert_eq!(
            check(&tang("[]"), false),
            Err("Disk encryption support is not enabled. Cannot apply configurations to the cluster"
                .to_owned())
        );
        assert_eq!(
            check(&tang(r#"[{"URL":"http://tang.example.com:7500","Thumbprint":"x"}]"#), true),
            Ok(())
        );
    }

    #[test]
    fn refusals() {
        for (servers, start) in [
            ("", "Setting Tang mode but tang_servers isn't set"),
            ("{}", "Unable to unmarshal tang_servers: "),
            (r#"[{"url":1}]"#, "Unable to unmarshal tang_servers: "),
            (r#"[{"thumbprint":"x"}]"#, "Tang URL isn't valid: "),
            (r#"[{"url":"tang.example.com","thumbprint":"x"}]"#, "Tang URL isn't valid: The URL scheme"),
            (r#"[{"url":"http://tang.example.com"}]"#, "Tang thumbprint isn't set"),
        ] {
            let problem = check(&tang(servers), true).unwrap_err();
            assert!(problem.starts_with(start), "{servers}: {problem}");
        }
    }
}
