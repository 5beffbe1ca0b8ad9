//! The few commands that a machine takes from outside, in QEMU's machine protocol: one JSON object a line.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// More than any answer to the commands that are sent here.
const ANSWER_LIMIT: u64 = 1 << 20;

/// Sends one command without arguments and waits for its answer.
pub(super) fn execute(socket: &Path, command: &str, limit: Duration) -> Result<(), String> {
    let stream = UnixStream::connect(socket).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(limit)).map_err(|error| error.to_string())?;
    let mut answers =
        BufReader::new(stream.try_clone().map_err(|error| error.to_string())?.take(ANSWER_LIMIT));
    // The greeting comes unasked; capabilities must be settled before anything else is taken.
    read(&mut answers, |value| value.get("QMP").is_some())?;
    for execute in ["qmp_capabilities", command] {
        let line = format!("{}\n", json!({ "execute": execute }));
        (&stream).write_all(line.as_bytes()).map_err(|error| error.to_string())?;
        let answer =
            read(&mut answers, |value| value.get("return").is_some() || value.get("error").is_some())?;
        if let Some(error) = answer.get("error") {
            return Err(error["desc"].as_str().unwrap_or("refused").to_owned());
        }
    }
    Ok(())
}

/// The next object that is wanted; events in between are passed over.
fn read(answers: &mut impl BufRead, wanted: impl Fn(&Value) -> bool) -> Result<Value, String> {
    loop {
        let mut line = String::new();
        if answers.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
            return Err("the connection ended".to_owned());
        }
        let value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if wanted(&value) {
            return Ok(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    const SOON: Duration = Duration::from_secs(30);

    /// A monitor that answers each line with the next of these.
    fn monitor(answers: &'static [&'static str]) -> (tempfile::TempDir, thread::JoinHandle<Vec<String>>) {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("qmp")).unwrap();
        let asked = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            writeln!(stream, r#"{{"QMP": {{}}}}"#).unwrap();
            let mut asked = Vec::new();
            for answer in answers {
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                asked.push(line.trim().to_owned());
                writeln!(stream, "{answer}").unwrap();
            }
            asked
        });
        (dir, asked)
    }

    #[test]
    fn a_command_is_sent_after_the_handshake_and_events_are_passed_over() {
        let (dir, asked) = monitor(&[r#"{"return": {}}"#, "{\"event\": \"RESET\"}\n{\"return\": {}}"]);
        execute(&dir.path().join("qmp"), "system_reset", SOON).unwrap();
        let asked = asked.join().unwrap();
        assert_eq!(asked, [r#"{"execute":"qmp_capabilities"}"#, r#"{"execute":"system_reset"}"#]);
    }

    #[test]
    fn a_refusal_and_an_end_are_told() {
        let (dir, _) = monitor(&[r#"{"return": {}}"#, r#"{"error": {"desc": "no such command"}}"#]);
        assert_eq!(execute(&dir.path().join("qmp"), "dance", SOON), Err("no such command".to_owned()));
        let (dir, _) = monitor(&[r#"{"return": {}}"#]);
        assert!(execute(&dir.path().join("qmp"), "quit", SOON).is_err());
    }
}
