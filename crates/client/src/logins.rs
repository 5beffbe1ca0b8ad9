//! Where a person's tokens are kept between commands: one file in the user's configuration folder, which only the user reads.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use assisted_wire::secret::Secret;
use serde::{Deserialize, Serialize};

use crate::BaseUrl;

/// Larger files are none of ours, in bytes.
const LARGEST: u64 = 1 << 20;

/// Why the kept tokens can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LoginsError {
    #[error("there is no home folder to keep a token in; set XDG_CONFIG_HOME")]
    NoHome,
    #[error("{path} can be read by others, and there are tokens in it: chmod 600 {path}")]
    Open { path: String },
    #[error("{path} can't be used: {cause}")]
    File { path: String, cause: String },
}

/// The kept tokens.
#[derive(Clone, Debug)]
pub struct Logins(PathBuf);

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
    pub fn of_user() -> Result<Self, LoginsError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
        Ok(Self(config.ok_or(LoginsError::NoHome)?.join("assisted/logins.json")))
    }

    /// Those in a file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The token for a service.
    ///
    /// # Errors
    ///
    /// The file can't be read, or others can read it.
    pub fn get(&self, service: &BaseUrl) -> Result<Option<StoredToken>, LoginsError> {
        Ok(self.read()?.remove(&service.to_string()))
    }

    /// Keeps the token for a service.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn keep(&self, service: &BaseUrl, kept: StoredToken) -> Result<(), LoginsError> {
        let mut all = self.read()?;
        all.insert(service.to_string(), kept);
        self.write(&all)
    }

    /// Forgets the token for a service.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn forget(&self, service: &BaseUrl) -> Result<(), LoginsError> {
        let mut all = self.read()?;
        if all.remove(&service.to_string()).is_some() { self.write(&all) } else { Ok(()) }
    }

    fn read(&self) -> Result<TokensByService, LoginsError> {
        let file = match File::open(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(TokensByService::new()),
            file => file.map_err(|error| self.fault(&error))?,
        };
        let mode = file.metadata().map_err(|error| self.fault(&error))?.mode();
        if mode & 0o077 != 0 {
            return Err(LoginsError::Open { path: self.0.display().to_string() });
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text).map_err(|error| self.fault(&error))?;
        serde_json::from_str(&text).map_err(|error| self.fault(&error))
    }

    /// The file is whole at each moment, whoever else writes it.
    fn write(&self, all: &TokensByService) -> Result<(), LoginsError> {
        let text = serde_json::to_string_pretty(all).map_err(|error| self.fault(&error))?;
        let fresh = self.0.with_extension(format!("{}.new", std::process::id()));
        let written = || -> std::io::Result<()> {
            std::fs::create_dir_all(self.0.parent().unwrap_or(Path::new(".")))?;
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&fresh, &self.0)
        };
        written().map_err(|error| self.fault(&error))
    }

    fn fault(&self, cause: &dyn std::fmt::Display) -> LoginsError {
        LoginsError::File { path: self.0.display().to_string(), cause: cause.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
        assert!(matches!(logins.get(&other), Err(LoginsError::Open { .. })));
    }
}
