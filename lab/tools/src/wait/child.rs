//! Programs that are waited for, and ended when they take too long.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::Duration;

use super::{Late, Wait};

/// Between two looks whether a program has ended: short at first, for those that end at once, and then a fourth longer each time, so that nobody waits
/// a quarter longer than the program takes.
const LOOKS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(100)];

/// Why a program did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    #[error(transparent)]
    Late(#[from] Late),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs a program to its end.
///
/// # Errors
/// When it can't be started, or takes too long: then it is killed.
pub fn status(command: &mut Command, wait: &mut Wait) -> Result<ExitStatus, ChildError> {
    finish(&mut command.spawn()?, wait, || {})
}

/// Runs a program to its end, and gives what it wrote.
///
/// # Errors
/// When it can't be started, or takes too long: then it is killed.
pub fn output(command: &mut Command, wait: &mut Wait) -> Result<Output, ChildError> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = finish(&mut child, wait, || {})?;
    Ok(Output { status, stdout: stdout.wait(wait)?, stderr: stderr.wait(wait)? })
}

/// Waits for the end of a program that runs, and does something else `meanwhile`, again and again.
///
/// # Errors
/// When it takes too long: then it is killed.
pub fn finish(
    child: &mut Child,
    wait: &mut Wait,
    mut meanwhile: impl FnMut(),
) -> Result<ExitStatus, ChildError> {
    let mut looks = LOOKS[0];
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        meanwhile();
        if let Err(late) = wait.pause(looks) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(late.into());
        }
        looks = (looks * 5 / 4).min(LOOKS[1]);
    }
}

/// What a program writes, read by a thread of its own.
struct Collected(Option<thread::JoinHandle<io::Result<Vec<u8>>>>);

fn collect(pipe: Option<impl Read + Send + 'static>) -> Collected {
    let read = |mut pipe: Box<dyn Read + Send>| {
        let mut all = Vec::new();
        pipe.read_to_end(&mut all).map(|_| all)
    };
    Collected(pipe.map(|pipe| thread::spawn(move || read(Box::new(pipe)))))
}

impl Collected {
    /// All of it: what the program has started may hold the pipe longer than it lived itself.
    fn wait(self, wait: &mut Wait) -> Result<Vec<u8>, ChildError> {
        let Some(thread) = self.0 else { return Ok(Vec::new()) };
        while !thread.is_finished() {
            wait.pause(LOOKS[0])?;
        }
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Result<Output, ChildError> {
        output(Command::new("sh").args(["-c", script]), &mut Wait::new("the end", "nowhere", limit))
    }

    #[test]
    fn what_a_program_writes_is_given_however_much_it_is() {
        let long = Duration::from_secs(60);
        let output = sh("head -c 300000 /dev/zero; echo no >&2; exit 3", long).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 300_000));
        assert_eq!(output.stderr, b"no\n");
        assert!(matches!(
            status(&mut Command::new("/no/such/program"), &mut Wait::new("it", "nowhere", long)),
            Err(ChildError::Io(_))
        ));
    }

    #[test]
    fn who_takes_too_long_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let script = format!("echo $$ >{}; exec sleep 600", pid.display());
        let error = sh(&script, Duration::from_secs(2)).unwrap_err();
        assert_eq!(error.to_string(), "the end did not come within 2 s; its traces are in nowhere");
        let pid = std::fs::read_to_string(pid).unwrap();
        assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
        // Nor is whoever leaves its output to something that goes on.
        assert!(matches!(sh("sleep 10 &", Duration::from_secs(2)), Err(ChildError::Late(_))));
    }
}
