//! A program that wraps keys: a key management service speaks through it.
//!
//! It is started with one argument, `wrap` or `unwrap`, and the variable `KEY` with what is to be wrapped or unwrapped; it writes the
//! answer to its standard output. Both are one word in base64. There is no shell, and no other variable of the service's
//! environment but `PATH` and `HOME`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_base::process::Cmd;
use zeroize::Zeroizing;

/// How long it may take, and how much it may write.
const LIMIT: Duration = Duration::from_secs(30);
const LONGEST: usize = 64 << 10;
/// Variables that programs of key management services are found and configured by.
const HANDED_ON: &[&str] = &["PATH", "HOME"];

/// Why the program gave no answer. What it wrote to its standard output is not quoted.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("the program that wraps keys, {program}, failed to {task}: {cause}")]
    Failed { program: String, task: &'static str, cause: String },
    #[error("the program that wraps keys, {program}, gave no word in base64 when asked to {task}")]
    Answer { program: String, task: &'static str },
}

/// A program that wraps and unwraps keys.
#[derive(Clone, Debug)]
pub struct Hook {
    program: PathBuf,
}

impl Hook {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Wraps a key.
    ///
    /// # Errors
    /// When the program fails, takes too long, or answers with something else than a word.
    pub async fn wrap(&self, key: &str) -> Result<Zeroizing<String>, HookError> {
        self.ask("wrap", key).await
    }

    /// Unwraps one.
    ///
    /// # Errors
    /// As [`Self::wrap`].
    pub async fn unwrap_key(&self, wrapped: &str) -> Result<Zeroizing<String>, HookError> {
        self.ask("unwrap", wrapped).await
    }

    async fn ask(&self, task: &'static str, word: &str) -> Result<Zeroizing<String>, HookError> {
        let program = || self.program.display().to_string();
        let failed = |cause: String| HookError::Failed { program: program(), task, cause };
        let mut cmd = Cmd::new(&self.program).arg(task).only_own_env().timeout(LIMIT).output_limit(LONGEST);
        for name in HANDED_ON {
            if let Some(value) = std::env::var_os(name) {
                cmd = cmd.env(*name, value);
            }
        }
        let output = cmd.env("KEY", word).run().await.map_err(|error| failed(error.to_string()))?;
        if !output.success() {
            return Err(failed(format!("it ended with {}", output.code())));
        }
        let answer = Zeroizing::new(output.text().trim().to_owned());
        let is_word = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
        if answer.is_empty() || !answer.chars().all(is_word) {
            return Err(HookError::Answer { program: program(), task });
        }
        Ok(answer)
    }
}
