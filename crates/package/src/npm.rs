//! Packages of npm that the web UI is made of, as its lock file tells them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assisted_base::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// With its scope: `@patternfly/react-core`.
    pub name: String,
    pub version: String,
    /// An expression of SPDX.
    pub license: Option<String>,
    /// SHA-512 of its archive, in hexadecimal digits.
    pub sha512: Option<String>,
}

/// What a lock file names, those apart that only build or test, in the order of their names. What the bundle leaves out again is among it.
///
/// # Errors
/// It is not what npm writes.
pub fn packages(lock: &str) -> Result<Vec<Package>> {
    let lock: Value = serde_json::from_str(lock).context("the lock file of the web UI is no JSON")?;
    let places = lock["packages"].as_object().context("the lock file of the web UI has no packages")?;
    let mut found = BTreeMap::new();
    for (place, told) in places {
        // The project itself has no such folder.
        let Some((_, name)) = place.rsplit_once("node_modules/").filter(|_| told["dev"] != true) else {
            continue;
        };
        // It has another name than its folder where it is called by that.
        let name = told["name"].as_str().unwrap_or(name);
        let version = told["version"].as_str().with_context(|| format!("npm tells no version of {name}"))?;
        let sums = told["integrity"].as_str().unwrap_or_default();
        let sha512 = sums.split_whitespace().find_map(|sum| sum.strip_prefix("sha512-"));
        let sha512 = sha512.map(|sum| STANDARD.decode(sum)).transpose();
        let sha512 = sha512.with_context(|| format!("npm's digest of {name} is none"))?;
        let package = Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: told["license"].as_str().map(str::to_owned),
            sha512: sha512.map(|sum| hex::encode(&sum)),
        };
        found.insert((name, version), package);
    }
    Ok(found.into_values().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_builds_or_tests_is_not_listed() {
        let told = json!({"version": "1.0.0", "license": "MIT", "integrity": "sha1-AA== sha512-AAH/"});
        let lock = json!({"packages": {
            "": {"name": "ours", "version": "0.1.0"},
            "node_modules/react": told,
            "node_modules/@scope/part": {"version": "2.0.0"},
            "node_modules/@scope/part/node_modules/react": told,
            "node_modules/vite": {"version": "3.0.0", "dev": true},
        }});
        let package = |name: &str, version: &str, license: Option<&str>, sha512: Option<&str>| Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: license.map(str::to_owned),
            sha512: sha512.map(str::to_owned),
        };
        let expected = [
            package("@scope/part", "2.0.0", None, None),
            package("react", "1.0.0", Some("MIT"), Some("0001ff")),
        ];
        assert_eq!(packages(&lock.to_string()).unwrap(), expected);
        assert!(packages("{}").is_err());
    }
}
