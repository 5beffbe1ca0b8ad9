//! Where a person's tokens are kept between commands.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assisted_wire::secret::Secret;
use serde::{Deserialize, Serialize};

use crate::{BaseUrl, PrivateFile, PrivateFileError};

/// The kept tokens.
#[derive(Clone, Debug)]
pub struct Logins(PrivateFile);

/// A kept token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredToken {
    pub user: String,
    pub token: Secret,
    /// When the token ends, in RFC 3339 form.
    pub expires_at: String,
}

type TokensByService = BTreeMap<String, StoredToken>;

impl Logins {
    /// Those of the user: `$XDG_CONFIG_HOME/assisted/logins.json`, else below `~/.config`.
    ///
    /// # Errors
    ///
    /// There is no home folder.
    pub fn of_user() -> Result<Self, PrivateFileError> {
        PrivateFile::of_user("logins.json").map(Self)
    }

    /// The log-ins in a file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(PrivateFile::at(path))
    }

    /// The token for a service.
    ///
    /// # Errors
    ///
    /// The file can't be read, or others can read it.
    pub fn get(&self, service: &BaseUrl) -> Result<Option<StoredToken>, PrivateFileError> {
        Ok(self.0.read::<TokensByService>()?.remove(&service.to_string()))
    }

    /// Keeps the token for a service.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn keep(&self, service: &BaseUrl, kept: StoredToken) -> Result<(), PrivateFileError> {
        let mut all: TokensByService = self.0.read()?;
        all.insert(service.to_string(), kept);
        self.0.write(&all)
    }

    /// Forgets the token for a service.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn forget(&self, service: &BaseUrl) -> Result<(), PrivateFileError> {
        let mut all: TokensByService = self.0.read()?;
        if all.remove(&service.to_string()).is_some() { self.0.write(&all) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    #[test]
    fn tokens_are_kept_by_service_for_their_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("assisted/logins.json");
        let logins = Logins::at(&path);
        let [one, other]: [BaseUrl; 2] = ["http://one:8090", "http://other"].map(|url| url.parse().unwrap());
        let kept =
            |token: &str| StoredToken { user: "ann".into(), token: token.into(), expires_at: String::new() };
        assert!(logins.get(&one).unwrap().is_none());
        logins.keep(&one, kept("first")).unwrap();
        logins.keep(&other, kept("second")).unwrap();
        // However the address is spelled.
        let spelled = "http://one:8090/api/assisted-install/v2".parse().unwrap();
        assert_eq!(logins.get(&spelled).unwrap().unwrap().token.expose(), "first");
        logins.forget(&one).unwrap();
        assert!(logins.get(&one).unwrap().is_none() && logins.get(&other).unwrap().is_some());

        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions();
        assert_eq!(mode(&path).mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(logins.get(&other), Err(PrivateFileError::Open { .. })));
    }
}
