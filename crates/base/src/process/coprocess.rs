//! A program that answers lines, one after the other, for as long as it is wanted.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::CmdError;
use super::cmd::{Cmd, Group, limit_memory, spawn};

/// A running program that is asked by lines and answers each by one. It is killed with this value, or when it breaks a limit: what it
/// wrote last can't be told from an answer then.
#[derive(Debug)]
pub struct Coprocess {
    program: String,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    timeout: Duration,
    longest: usize,
    // Before the group: a process that is waited for is no zombie.
    _child: Child,
    _group: Group,
}

impl Cmd {
    /// Starts it, to be asked. Its time limit is that of one answer, and its limit of output that of one; what it says on its standard
    /// error is thrown away.
    ///
    /// # Errors
    /// It can't be started.
    pub async fn start(self) -> Result<Coprocess, CmdError> {
        let program = self.program_name();
        let io = |source| CmdError::Io { program: program.clone(), source };
        let (timeout, longest, memory) = self.limits();
        let (mut command, _) = self.command().map_err(io)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let spawned = spawn(&mut command).await;
        let mut child = spawned.map_err(|source| CmdError::Start { program: program.clone(), source })?;
        let group = Group::of(&child);
        if let Some((pid, limit)) = group.pid().zip(memory) {
            limit_memory(pid, limit).map_err(io)?;
        }
        let missing = || io(io::Error::other("it has no input or output"));
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Coprocess { program, input, output, timeout, longest, _child: child, _group: group })
    }
}

impl Coprocess {
    /// Asks a line, which holds no end of line itself, and waits for the line that answers it.
    ///
    /// # Errors
    /// It takes too long, its answer is too long, or it has ended: then it is of no use any more.
    pub async fn ask(&mut self, line: &str) -> Result<String, CmdError> {
        let program = || self.program.clone();
        let (limit, longest) = (self.timeout, self.longest);
        let talk = async {
            self.input.write_all(line.as_bytes()).await?;
            self.input.write_all(b"\n").await?;
            self.input.flush().await?;
            let mut answer = String::new();
            let most = u64::try_from(longest).unwrap_or(u64::MAX);
            (&mut self.output).take(most).read_line(&mut answer).await?;
            Ok::<_, io::Error>(answer)
        };
        let answer =
            timeout(limit, talk).await.map_err(|_| CmdError::Timeout { program: program(), limit })?;
        let mut answer = answer.map_err(|source| CmdError::Io { program: program(), source })?;
        if answer.pop() == Some('\n') {
            return Ok(answer);
        }
        if answer.len() + 1 >= longest {
            return Err(CmdError::TooLong { program: program(), limit: longest });
        }
        Err(CmdError::Io { program: program(), source: io::ErrorKind::UnexpectedEof.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Cmd {
        Cmd::new("sh").arg("-c").arg(script)
    }

    #[tokio::test]
    async fn lines_are_answered_by_lines() {
        let mut program = sh("while read line; do echo \"<$line>\"; done").start().await.unwrap();
        for line in ["a", "", "b c"] {
            assert_eq!(program.ask(line).await.unwrap(), format!("<{line}>"));
        }
    }

    #[tokio::test]
    async fn who_breaks_a_limit_or_ends_is_told() {
        let mut slow = sh("read line; sleep 1000").timeout(Duration::from_millis(50)).start().await.unwrap();
        assert!(matches!(slow.ask("a").await, Err(CmdError::Timeout { .. })));
        let mut long = sh("read line; yes a | tr -d '\\n'").output_limit(1000).start().await.unwrap();
        assert!(matches!(long.ask("a").await, Err(CmdError::TooLong { limit: 1000, .. })));
        let mut ended = sh("read line").start().await.unwrap();
        assert!(matches!(ended.ask("a").await, Err(CmdError::Io { .. })));
        let mut hungry = sh("read line; x=$(head -c 100000000 /dev/zero | tr '\\0' a); echo ${#x}")
            .memory(16 << 20)
            .start()
            .await
            .unwrap();
        assert!(matches!(hungry.ask("a").await, Err(CmdError::Io { .. })));
    }
}
