//! Running the programs that make an image: each says into one log what it does.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::wait::child::{self, ChildError};

use super::ImageError;

/// How long a program may take: the longest fetches Debian's packages and unpacks them.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// How much of the log an error shows, in bytes.
const TAIL: u64 = 3000;

/// Runs programs in a working folder, with the dates of what they write fixed, and logs what they say.
pub(super) struct Tools {
    work: PathBuf,
    log: PathBuf,
}

impl Tools {
    /// Programs run in `work` and log into the file `log`, which is emptied.
    pub(super) fn new(work: &Path, log: &Path) -> Result<Self, ImageError> {
        File::create(log).map_err(|error| ImageError::io(log, error))?;
        Ok(Self { work: work.to_owned(), log: log.to_owned() })
    }

    /// A program with nothing to read; what it writes goes into the log.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Result<Command, ImageError> {
        let mut command = Command::new(program);
        command
            .current_dir(&self.work)
            .env("SOURCE_DATE_EPOCH", super::recipe::EPOCH.to_string())
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(self.append()?)
            .stderr(self.append()?);
        Ok(command)
    }

    /// Runs a program with arguments to its end.
    pub(super) fn run<I>(&self, program: impl AsRef<OsStr>, arguments: I) -> Result<(), ImageError>
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        let mut command = self.command(program)?;
        command.args(arguments);
        self.finish(&mut command)
    }

    /// Runs a command to its end; it must succeed. Gives what it writes, without the last newline.
    pub(super) fn output(&self, command: &mut Command) -> Result<String, ImageError> {
        let said = self.work.join("output");
        let file = File::create(&said).map_err(|error| ImageError::io(&said, error))?;
        self.finish(command.stdout(file))?;
        let text = std::fs::read_to_string(&said).map_err(|error| ImageError::io(&said, error))?;
        Ok(text.trim_end().to_owned())
    }

    /// Runs a command to its end; it must succeed.
    pub(super) fn finish(&self, command: &mut Command) -> Result<(), ImageError> {
        let program = Path::new(command.get_program());
        let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut log = self.append()?;
        writeln!(log, "--- {program}").map_err(|error| ImageError::io(&self.log, error))?;
        let mut wait = Wait::new(&program, self.log.display(), LIMIT);
        let status = child::status(command, &mut wait).map_err(|error| match error {
            ChildError::Late(late) => ImageError::Late(late),
            ChildError::Io(source) if source.kind() == std::io::ErrorKind::NotFound => {
                ImageError::Tool { program: program.clone() }
            }
            ChildError::Io(source) => ImageError::io(Path::new(&program), source),
        })?;
        if status.success() {
            return Ok(());
        }
        Err(ImageError::Failed { program, status, log: self.log.clone(), tail: self.tail() })
    }

    fn append(&self) -> Result<File, ImageError> {
        File::options().append(true).open(&self.log).map_err(|error| ImageError::io(&self.log, error))
    }

    fn tail(&self) -> String {
        let read = || {
            let mut file = File::open(&self.log)?;
            let from = file.metadata()?.len().saturating_sub(TAIL);
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(TAIL).read_to_end(&mut bytes).map(|_| bytes)
        };
        String::from_utf8_lossy(&read().unwrap_or_default()).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_what_the_program_said() {
        let dir = tempfile::tempdir().unwrap();
        let tools = Tools::new(dir.path(), &dir.path().join("log")).unwrap();
        tools.run("ls", ["."]).unwrap();
        let error = tools.run("ls", ["/nowhere"]).unwrap_err().to_string();
        assert!(error.contains("ls failed") && error.contains("/nowhere"), "{error}");
        let error = tools.run("no-such-program", ["."]).unwrap_err().to_string();
        assert!(error.contains("no-such-program") && error.contains("cargo xtask setup"), "{error}");
    }
}
