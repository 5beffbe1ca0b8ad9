//! A machine's serial console: kept in a file, and searched while it grows.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::stop::Stop;

/// What is kept in memory; the file keeps everything.
const KEPT: usize = 8 << 20;

/// How long what a machine wrote may be on its way after the machine stopped.
const LATE: Duration = Duration::from_millis(500);

/// Lines of a console that an error shows.
const TAIL: usize = 40;

/// After one of these nothing else comes.
const FATAL: &[&str] =
    &["Kernel panic - not syncing", "You are in emergency mode", "Entering emergency mode"];

/// What a serial console has shown. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Console {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct State {
    text: String,
    ended: bool,
    stopped: Option<Stop>,
}

/// How a wait for a line on the console ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Line(String),
    /// The machine has given up, says this line.
    Fatal(String),
    /// QEMU holds the machine.
    Stopped(Stop),
    /// The machine is gone.
    End,
    /// Time is up.
    Nothing,
}

impl Console {
    /// Reads a console to its end, in a thread of its own, into a file, behind what an earlier process has left in it.
    pub(super) fn read(mut serial: impl Read + Send + 'static, log: &Path) -> io::Result<Self> {
        let mut log = File::options().create(true).append(true).open(log)?;
        let shared = Arc::new(Shared::default());
        let console = Self { shared: Arc::clone(&shared) };
        thread::Builder::new().name("console".to_owned()).spawn(move || {
            let mut buffer = [0; 4096];
            // What the file does not take is still searched.
            while let Ok(count @ 1..) = serial.read(&mut buffer) {
                let _ = log.write_all(&buffer[..count]);
                shared.lock().push(&buffer[..count]);
                shared.grown.notify_all();
            }
            shared.lock().ended = true;
            shared.grown.notify_all();
        })?;
        Ok(console)
    }

    /// Everything so far, at most the last 8 MiB.
    pub fn text(&self) -> String {
        self.shared.lock().text.clone()
    }

    /// The last lines.
    pub fn tail(&self) -> String {
        let state = self.shared.lock();
        let lines: Vec<_> = state.text.lines().collect();
        lines[lines.len().saturating_sub(TAIL)..].join("\n")
    }

    pub(super) fn wait_for(&self, text: &str, deadline: Instant) -> Found {
        self.wait(deadline, |state| {
            if let Some(line) = line_with(&state.text, text) {
                return Some(Found::Line(line.to_owned()));
            }
            state.failure()
        })
        .unwrap_or(Found::Nothing)
    }

    /// The line with a text that a machine wrote before it stopped or ended, although it was read only afterwards: monitor and
    /// console are two ways, and neither waits for the other.
    pub(super) fn late(&self, text: &str) -> Option<String> {
        self.wait(Instant::now() + LATE, |state| line_with(&state.text, text).map(str::to_owned))
    }

    /// Nothing more will come: QEMU holds the machine.
    pub(super) fn stop(&self, stop: Stop) {
        self.shared.lock().stopped.get_or_insert(stop);
        self.shared.grown.notify_all();
    }

    /// What else than silence there is: [`Found::Stopped`], [`Found::Fatal`] or [`Found::End`].
    pub(super) fn failure(&self) -> Option<Found> {
        self.shared.lock().failure()
    }

    /// Whether the console ended before the deadline.
    pub(super) fn wait_for_end(&self, deadline: Instant) -> bool {
        self.wait(deadline, |state| state.ended.then_some(())).is_some()
    }

    fn wait<T>(&self, deadline: Instant, mut look: impl FnMut(&State) -> Option<T>) -> Option<T> {
        let mut state = self.shared.lock();
        loop {
            if let Some(found) = look(&state) {
                return Some(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return None;
            }
            let waited = self.shared.grown.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn failure(&self) -> Option<Found> {
        if let Some(stop) = self.stopped {
            return Some(Found::Stopped(stop));
        }
        let fatal = FATAL.iter().find_map(|fatal| line_with(&self.text, fatal));
        fatal.map(|line| Found::Fatal(line.to_owned())).or_else(|| self.ended.then_some(Found::End))
    }

    fn push(&mut self, bytes: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(bytes).replace('\r', ""));
        if self.text.len() > KEPT {
            let half = self.text.ceil_char_boundary(KEPT / 2);
            self.text.drain(..half);
        }
    }
}

/// The line in which a text stands first.
fn line_with<'a>(all: &'a str, text: &str) -> Option<&'a str> {
    let at = all.find(text)?;
    let start = all[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = all[at..].find('\n').map_or(all.len(), |newline| at + newline);
    Some(&all[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn a_line_is_found_when_it_comes_and_the_end_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("console.log");
        let (reader, mut writer) = io::pipe().unwrap();
        let console = Console::read(reader, &log).unwrap();
        let waiting = console.clone();
        let waiter = thread::spawn(move || waiting.wait_for("login:", soon()));
        writer.write_all(b"first\r\nlab log").unwrap();
        writer.write_all(b"in: \r\nafter").unwrap();
        assert_eq!(waiter.join().unwrap(), Found::Line("lab login: ".to_owned()));
        assert_eq!(console.wait_for("never", Instant::now()), Found::Nothing);
        drop(writer);
        assert_eq!(console.wait_for("never", soon()), Found::End);
        assert!(console.wait_for_end(soon()));
        assert_eq!(console.text(), "first\nlab login: \nafter");
        assert_eq!(std::fs::read(&log).unwrap(), b"first\r\nlab login: \r\nafter");
    }

    #[test]
    fn a_panic_ends_the_wait() {
        let dir = tempfile::tempdir().unwrap();
        let bytes: &[u8] = b"ok\n[1.0] Kernel panic - not syncing: no init\n";
        let console = Console::read(bytes, &dir.path().join("log")).unwrap();
        let line = "[1.0] Kernel panic - not syncing: no init".to_owned();
        assert_eq!(console.wait_for("ready", soon()), Found::Fatal(line));
    }

    #[test]
    fn memory_is_bounded() {
        let mut state = State::default();
        for _ in 0..3 {
            state.push("é".repeat(KEPT / 4 + 1).as_bytes());
        }
        assert!(state.text.len() <= KEPT && state.text.ends_with('é'));
    }
}
