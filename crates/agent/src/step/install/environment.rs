//! The environment of the installer's unit, as a file that only root reads. What stands in a unit itself is shown to every
//! user who asks systemd for it; and only newer ones than RHEL 8's take a variable by its name alone.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::Builder;
use tracing::warn;

/// Below the folder of what lasts until the next start.
const NAME: &str = "assisted-installer.env";
/// The host's own, of the proxies that its programs use.
const PROXIES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];

/// A file with variables. It outlives this process, as the unit does that is restarted with it.
pub(super) struct Environment(PathBuf);

impl Environment {
    /// Writes the token, and the proxies of this process.
    pub(super) fn write(dir: &Path, token: (&str, &str)) -> io::Result<Self> {
        let proxies = PROXIES.iter().filter_map(|name| Some((*name, std::env::var(name).ok()?)));
        let mut text = line(token.0, token.1);
        text.extend(proxies.map(|(name, value)| line(name, &value)));
        // Readable to its owner only.
        let mut file = Builder::new().tempfile_in(dir)?;
        file.write_all(text.as_bytes())?;
        let path = dir.join(NAME);
        file.persist(&path).map_err(|error| error.error)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Takes it away again: the unit has ended.
    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            warn!(path = %self.0.display(), %error, "the installer's environment stays");
        }
    }
}

/// An assignment as systemd reads it, in whatever version: nothing but quotes and backslashes means anything in quotes.
fn line(name: &str, value: &str) -> String {
    let mut line = format!("{name}=\"");
    for letter in value.chars() {
        match letter {
            '"' | '\\' => line.extend(['\\', letter]),
            // It would end the line, and begin a variable of its own.
            letter if letter.is_control() => {}
            letter => line.push(letter),
        }
    }
    line.push_str("\"\n");
    line
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_value_is_one_line() {
        assert_eq!(line("A", "http://u:p%40$x@h"), "A=\"http://u:p%40$x@h\"\n");
        assert_eq!(line("A", "a\"b\\c\nB=d"), "A=\"a\\\"b\\\\cB=d\"\n");
    }

    #[test]
    fn it_is_for_root_alone_and_goes() {
        let dir = tempfile::tempdir().unwrap();
        // A second attempt takes the place of the first.
        Environment::write(dir.path(), ("TOKEN", "old")).unwrap();
        let written = Environment::write(dir.path(), ("TOKEN", "eyJ.x-y_z=")).unwrap();
        let text = std::fs::read_to_string(written.path()).unwrap();
        assert!(text.starts_with("TOKEN=\"eyJ.x-y_z=\"\n"), "{text}");
        assert_eq!(std::fs::metadata(written.path()).unwrap().permissions().mode() & 0o777, 0o600);
        written.remove();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
