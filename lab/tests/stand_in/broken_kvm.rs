//! QEMU as it is on a computer whose KVM fails in the middle: it looks like the real one, and emulates what it is asked to run
//! by KVM up to a point. Then it holds the machine and reports what QEMU reports of an instruction that KVM can't run.
//!
//! It is called by a link with a name of its own; where it fails stands in a file of that name that ends in `.at`, and for a machine
//! that fails elsewhere in one that ends in `.MACHINE.at`.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

const QEMU: &str = "qemu-system-x86_64";

const KVM: [&str; 4] = ["-accel", "kvm", "-cpu", "host"];
const EMULATION: [&str; 4] = ["-accel", "tcg,thread=multi", "-cpu", "Nehalem"];

/// What comes before the path of the monitor's socket.
const MONITOR: &str = "unix:";

/// How long QEMU may take until it connects to its monitor.
const CONNECT: Duration = Duration::from_secs(60);

/// How long an emulator may take to be gone.
const GONE: Duration = Duration::from_secs(10);

/// Marks the command that holds the machine: its answer is nobody else's.
const HOLD: &str = "hold";

/// Where the machine fails.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum At {
    /// Nowhere.
    Never,
    /// When this stands on the console.
    Console(String),
    /// When its first disk takes so many bytes.
    Disk(u64),
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "broken-kvm: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<ExitCode> {
    let mut words = std::env::args_os();
    let own = PathBuf::from(words.next().unwrap_or_default());
    let mut words: Vec<_> = words.collect();
    let machine = name_of(&words);
    let pid = own.with_extension(format!("{machine}.pid"));
    await_end(&pid);
    let Some(kvm) = words.windows(KVM.len()).position(|four| four == KVM) else {
        return Err(Command::new(QEMU).args(words).exec());
    };
    words.splice(kvm..kvm + KVM.len(), EMULATION.map(OsString::from));
    let mut at = own.with_extension(format!("{machine}.at"));
    if !at.exists() {
        at = own.with_extension("at");
    }
    let at: At = serde_json::from_slice(&std::fs::read(at)?)?;
    let monitor = Monitor::between(&mut words)?;
    let disk = file_of(&words, "id=disk0,");
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--", QEMU])
        .args(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn()?;
    std::fs::write(pid, child.id().to_string())?;
    let link = monitor.connect(&mut child)?;
    if let (At::Disk(bytes), Some(disk)) = (&at, disk) {
        let (bytes, link) = (*bytes, link.clone());
        thread::spawn(move || {
            while std::fs::metadata(&disk).is_ok_and(|disk| disk.blocks() * 512 < bytes) {
                thread::sleep(Duration::from_millis(50));
            }
            link.fail();
        });
    }
    if let Some(serial) = child.stdout.take() {
        pass_console(serial, &at, &link)?;
    }
    let status = child.wait()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Waits until the emulator that this program had started for the same machine is gone: where this program is killed, that one is a
/// little later, and until then its card of the network and its disk are taken.
fn await_end(pid: &Path) {
    let Ok(pid) = std::fs::read_to_string(pid) else { return };
    let deadline = Instant::now() + GONE;
    while Path::new("/proc").join(&pid).exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
}

/// The name of the machine.
fn name_of(words: &[OsString]) -> String {
    let mut words = words.iter().skip_while(|word| *word != "-name").skip(1);
    words.next().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Passes on what the machine writes, and fails where that says so.
fn pass_console(mut serial: impl Read, at: &At, link: &Link) -> io::Result<()> {
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    let mut out = io::stdout();
    loop {
        let count = serial.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        out.write_all(&piece[..count])?;
        out.flush()?;
        if let At::Console(text) = at {
            seen.extend_from_slice(&piece[..count]);
            if seen.windows(text.len()).any(|window| window == text.as_bytes()) {
                link.fail();
            }
            // A text may stand in two pieces.
            let keep = seen.len().min(text.len());
            seen.drain(..seen.len() - keep);
        }
    }
}

/// The file of the drive whose options begin so or have such a part.
fn file_of(words: &[OsString], part: &str) -> Option<PathBuf> {
    let options = words.iter().filter_map(|word| word.to_str()).find(|word| word.contains(part))?;
    options.split_once("file=").map(|(_, file)| PathBuf::from(file))
}

/// Both ends of a monitor that this program stands between.
struct Monitor {
    asker: UnixStream,
    own: UnixListener,
}

/// The two connections.
#[derive(Clone)]
struct Link {
    asker: Arc<Mutex<UnixStream>>,
    qemu: Arc<Mutex<UnixStream>>,
    failed: Arc<AtomicBool>,
}

impl Monitor {
    /// Connects to whoever asks, in place of QEMU, which is told to connect to this program.
    fn between(words: &mut [OsString]) -> io::Result<Self> {
        let monitor =
            words.iter_mut().find(|word| word.to_str().is_some_and(|word| word.starts_with(MONITOR)));
        let monitor = monitor.ok_or_else(|| io::Error::other("there is no monitor"))?;
        let path = monitor.to_string_lossy().replacen(MONITOR, "", 1);
        let own = format!("{path}-qemu");
        *monitor = format!("{MONITOR}{own}").into();
        let asker = UnixStream::connect(path)?;
        if Path::new(&own).exists() {
            std::fs::remove_file(&own)?;
        }
        let own = UnixListener::bind(own)?;
        own.set_nonblocking(true)?;
        Ok(Self { asker, own })
    }

    fn connect(self, child: &mut Child) -> io::Result<Link> {
        let deadline = Instant::now() + CONNECT;
        let qemu = loop {
            match self.own.accept() {
                Ok((qemu, _)) => break qemu,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(error) if child.try_wait()?.is_some() || Instant::now() >= deadline => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        };
        qemu.set_nonblocking(false)?;
        let (from_asker, from_qemu) = (self.asker.try_clone()?, qemu.try_clone()?);
        let shared = |stream| Arc::new(Mutex::new(stream));
        let link = Link { asker: shared(self.asker), qemu: shared(qemu), failed: Arc::default() };
        let (there, back) = (link.clone(), link.clone());
        thread::spawn(move || there.pass_commands(from_asker));
        thread::spawn(move || back.pass_answers(from_qemu));
        Ok(link)
    }
}

impl Link {
    /// Holds the machine, once.
    fn fail(&self) {
        if !self.failed.swap(true, Ordering::SeqCst) {
            let _ = writeln!(io::stderr(), "KVM internal error. Suberror: 1\nemulation failure");
            tell(&self.qemu, &format!(r#"{{"execute": "stop", "id": "{HOLD}"}}"#));
        }
    }

    /// To QEMU, but for the question how the machine is.
    fn pass_commands(&self, from: UnixStream) {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let command: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if command["execute"] == "query-status" && self.failed.load(Ordering::SeqCst) {
                let status =
                    serde_json::json!({ "status": "internal-error", "singlestep": false, "running": false });
                tell(&self.asker, &serde_json::json!({ "return": status, "id": command["id"] }).to_string());
            } else {
                tell(&self.qemu, &line);
            }
        }
    }

    fn pass_answers(&self, from: UnixStream) {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let answer: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] != HOLD {
                tell(&self.asker, &line);
            }
        }
        // QEMU is gone.
        let _ = lock(&self.asker).shutdown(std::net::Shutdown::Both);
    }
}

fn tell(stream: &Mutex<UnixStream>, line: &str) {
    // Whoever is gone hears nothing.
    let _ = lock(stream).write_all(format!("{line}\n").as_bytes());
}

fn lock(stream: &Mutex<UnixStream>) -> std::sync::MutexGuard<'_, UnixStream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}
