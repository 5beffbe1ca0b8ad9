//! QEMU's machine protocol, one JSON object a line, on a connection that stays open as long as the machine is there: commands
//! go out, and events tell what becomes of the machine.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::console::Console;
use super::stop::Stop;

/// More than any line that comes for the commands that are sent here.
const LINE_LIMIT: u64 = 1 << 20;

/// The answer to the question which state a machine is in.
const STATE: &str = "state";

/// Where QEMU connects to when it starts.
pub(super) struct MonitorSocket {
    listener: UnixListener,
    path: PathBuf,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Monitor {
    stream: UnixStream,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the protocol's handshake is done.
    ready: bool,
    ended: bool,
    sent: u64,
    /// The answer to the command that was sent last.
    answer: Option<(u64, Value)>,
}

impl MonitorSocket {
    /// Waits for QEMU at a socket in the file system.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    /// The connection, if QEMU has made it.
    pub(super) fn accept(&self) -> io::Result<Option<UnixStream>> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                Ok(Some(stream))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for MonitorSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Monitor {
    /// Follows a connection, in a thread of its own, to its end: all that comes goes into the file `log`, and the machine's
    /// console learns when the machine has stopped.
    pub(super) fn follow(stream: UnixStream, console: Console, log: &Path) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut follower = Follower {
            stream: stream.try_clone()?,
            shared: Arc::clone(&shared),
            console,
            log: File::options().create(true).append(true).open(log)?,
        };
        thread::Builder::new().name("monitor".to_owned()).spawn(move || follower.run())?;
        Ok(Self { stream, shared })
    }

    /// Sends a command without arguments, and waits for its answer.
    pub(super) fn execute(&self, command: &str, limit: Duration) -> Result<(), String> {
        let deadline = Instant::now() + limit;
        let gone = || "the connection ended".to_owned();
        self.shared.wait(deadline, |state| state.ready.then_some(())).ok_or_else(gone)?;
        let number = {
            let mut state = self.shared.lock();
            state.sent += 1;
            state.sent
        };
        send(&self.stream, &json!({ "execute": command, "id": number }))
            .map_err(|error| error.to_string())?;
        let answer = self.shared.wait(deadline, |state| match &mut state.answer {
            Some((answered, _)) if *answered == number => state.answer.take().map(|(_, answer)| answer),
            _ => None,
        });
        match answer.ok_or_else(gone)?.get("error") {
            Some(error) => Err(error["desc"].as_str().unwrap_or("refused").to_owned()),
            None => Ok(()),
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is looked for, unless the connection or the time ends before.
    fn wait<T>(&self, deadline: Instant, mut look: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return Some(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.ended || left == Duration::ZERO {
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The thread that reads QEMU's events.
struct Follower {
    stream: UnixStream,
    shared: Arc<Shared>,
    console: Console,
    log: File,
}

impl Follower {
    fn run(&mut self) {
        if let Ok(stream) = self.stream.try_clone() {
            let mut reader = BufReader::new(stream);
            while let Some(line) = line(&mut reader) {
                // What the file does not take is still followed.
                let _ = writeln!(self.log, "{}", line.trim_end());
                let Ok(value) = serde_json::from_str(&line) else { break };
                if self.take(value).is_err() {
                    break;
                }
            }
        }
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }

    fn take(&mut self, value: Value) -> io::Result<()> {
        if value.get("QMP").is_some() {
            // Capabilities must be settled before anything else is taken.
            return send(&self.stream, &json!({ "execute": "qmp_capabilities", "id": 0 }));
        }
        match value["event"].as_str() {
            // Why it stopped, if it is a failure, is known to its state alone.
            Some("STOP") => return send(&self.stream, &json!({ "execute": "query-status", "id": STATE })),
            Some("GUEST_PANICKED") => self.console.stop(Stop::Panicked),
            Some(_) => {}
            None if value["id"] == STATE => {
                let stop = value["return"]["status"].as_str().and_then(Stop::of_run_state);
                stop.into_iter().for_each(|stop| self.console.stop(stop));
            }
            None => {
                let mut state = self.shared.lock();
                match value["id"].as_u64() {
                    Some(0) => state.ready = true,
                    Some(number) => state.answer = Some((number, value)),
                    None => {}
                }
                self.shared.changed.notify_all();
            }
        }
        Ok(())
    }
}

fn send(mut stream: &UnixStream, command: &Value) -> io::Result<()> {
    stream.write_all(format!("{command}\n").as_bytes())
}

/// The next line; none when the connection ends, or is none of this protocol.
fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match reader.take(LINE_LIMIT).read_line(&mut line) {
        Ok(1..) if line.ends_with('\n') => Some(line),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::console::Found;
    use super::*;

    const SOON: Duration = Duration::from_secs(30);

    /// A machine's side of a connection, with what follows it.
    struct Qemu {
        dir: tempfile::TempDir,
        stream: BufReader<UnixStream>,
    }

    fn connected() -> (Qemu, Monitor, Console, io::PipeWriter) {
        let dir = tempfile::tempdir().unwrap();
        let socket = MonitorSocket::open(dir.path().join("qmp")).unwrap();
        assert!(socket.accept().unwrap().is_none());
        let stream = UnixStream::connect(dir.path().join("qmp")).unwrap();
        let (serial, machine) = io::pipe().unwrap();
        let console = Console::read(serial, &dir.path().join("console.log")).unwrap();
        let accepted = socket.accept().unwrap().unwrap();
        let monitor = Monitor::follow(accepted, console.clone(), &dir.path().join("qmp.log")).unwrap();
        let mut qemu = Qemu { dir, stream: BufReader::new(stream) };
        qemu.says(r#"{"QMP": {}}"#);
        qemu.is_asked(r#"{"execute":"qmp_capabilities","id":0}"#);
        qemu.says(r#"{"return": {}, "id": 0}"#);
        (qemu, monitor, console, machine)
    }

    impl Qemu {
        fn says(&mut self, line: &str) {
            writeln!(self.stream.get_mut(), "{line}").unwrap();
        }

        fn is_asked(&mut self, wanted: &str) {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), wanted);
        }
    }

    #[test]
    fn commands_are_answered_and_events_in_between_are_kept() {
        let (mut qemu, monitor, _, _machine) = connected();
        let asked =
            thread::spawn(move || (monitor.execute("system_reset", SOON), monitor.execute("dance", SOON)));
        qemu.is_asked(r#"{"execute":"system_reset","id":1}"#);
        qemu.says("{\"event\": \"RESET\"}\n{\"return\": {}, \"id\": 1}");
        qemu.is_asked(r#"{"execute":"dance","id":2}"#);
        qemu.says(r#"{"error": {"desc": "no such command"}, "id": 2}"#);
        assert_eq!(asked.join().unwrap(), (Ok(()), Err("no such command".to_owned())));
        let log = std::fs::read_to_string(qemu.dir.path().join("qmp.log")).unwrap();
        assert!(log.contains("RESET"), "{log}");
    }

    #[test]
    fn an_end_is_told() {
        let (qemu, monitor, _, _machine) = connected();
        drop(qemu);
        assert!(monitor.execute("quit", SOON).is_err());
    }

    #[test]
    fn a_panic_is_told_and_a_machine_that_goes_off_has_not_failed() {
        let (mut qemu, _monitor, console, _machine) = connected();
        qemu.says(r#"{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-shutdown"}}"#);
        qemu.says(r#"{"event": "GUEST_PANICKED", "data": {"action": "pause"}}"#);
        // The first failure would stay.
        assert_eq!(console.wait_for("ready", Instant::now() + SOON), Found::Stopped(Stop::Panicked));
    }

    #[test]
    fn a_stop_is_told_with_its_reason_and_a_pause_is_none() {
        for (state, stop) in [
            ("internal-error", Some(Stop::InternalError)),
            ("io-error", Some(Stop::Io)),
            ("guest-panicked", Some(Stop::Panicked)),
            ("watchdog", Some(Stop::Watchdog)),
            ("paused", None),
        ] {
            let (mut qemu, monitor, console, _machine) = connected();
            qemu.says(r#"{"event": "STOP"}"#);
            qemu.is_asked(r#"{"execute":"query-status","id":"state"}"#);
            qemu.says(&format!(r#"{{"return": {{"status": "{state}"}}, "id": "state"}}"#));
            match stop {
                Some(stop) => {
                    assert_eq!(console.wait_for("ready", Instant::now() + SOON), Found::Stopped(stop));
                }
                None => {
                    // The answer to a later command comes after it.
                    let asked = thread::spawn(move || monitor.execute("cont", SOON));
                    qemu.is_asked(r#"{"execute":"cont","id":1}"#);
                    qemu.says(r#"{"return": {}, "id": 1}"#);
                    asked.join().unwrap().unwrap();
                    assert_eq!(console.failure(), None);
                }
            }
        }
    }
}
