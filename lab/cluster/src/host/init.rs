//! The first program of the machine: it starts the units that Ignition has enabled, starts and stops others when it is asked,
//! and ends, and the machine with it, when the machine is to restart.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::unit::{Line, Restart, Unit, enabled};
use super::{journal, partitions, words};

/// The socket on which `systemctl` asks it.
pub const SOCKET: &str = "/run/lab-init.sock";
/// Longest request, in bytes: an installer's arguments are the longest.
const LONGEST: u64 = 1 << 20;
/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    Start {
        units: Vec<String>,
        wait: bool,
    },
    Restart {
        units: Vec<String>,
    },
    Stop {
        units: Vec<String>,
    },
    /// Runs a program as a unit that has no file.
    Run {
        unit: String,
        properties: Vec<(String, String)>,
        words: Vec<String>,
        wait: bool,
    },
    State {
        unit: String,
    },
    List,
    Reboot {
        after: Duration,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Response {
    /// What a program that asked has to end with.
    pub code: i32,
    pub text: String,
}

/// In the words of systemd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Inactive,
    Activating,
    Active,
    Failed,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Activating => "activating",
            Self::Active => "active",
            Self::Failed => "failed",
        }
    }

    fn is_over(self) -> bool {
        matches!(self, Self::Inactive | Self::Failed)
    }
}

/// A unit that was started once.
struct Started {
    state: watch::Receiver<(State, i32)>,
    stop: watch::Sender<bool>,
}

#[derive(Default)]
struct Init {
    units: Mutex<BTreeMap<String, Started>>,
    reboot: watch::Sender<Option<Duration>>,
}

/// Runs the machine until it is to restart.
pub async fn run() -> Result<i32> {
    for path in ["/run/systemd/journal", journal::FOLDER] {
        std::fs::create_dir_all(path).with_context(|| format!("can't make {path}"))?;
    }
    let _ = std::fs::remove_file(SOCKET);
    let listener = UnixListener::bind(SOCKET).context("nobody could ask this system for anything")?;
    journal::collect()?;
    partitions::control_groups().await?;
    let init = Arc::new(Init::default());
    info!(machine = crate::cluster::hostname(), "starts");
    let serving = Arc::clone(&init);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let init = Arc::clone(&serving);
            tokio::spawn(async move {
                if let Err(error) = init.answer(stream).await {
                    warn!(error = format!("{error:#}"), "nothing was answered");
                }
            });
        }
    });
    let mut reboot = init.reboot.subscribe();
    let starting = async {
        for unit in enabled() {
            init.start(unit, true).await;
        }
        std::future::pending::<()>().await;
    };
    let asked = async {
        let after = loop {
            if let Some(after) = *reboot.borrow_and_update() {
                break after;
            }
            if reboot.changed().await.is_err() {
                break Duration::ZERO;
            }
        };
        info!(seconds = after.as_secs(), "the machine restarts");
        sleep(after).await;
    };
    tokio::select! {
        () = starting => {}
        () = asked => {}
    }
    Ok(0)
}

/// Asks the machine's first program.
pub async fn ask(request: &Request) -> Result<Response> {
    let mut stream =
        UnixStream::connect(SOCKET).await.context("this system's first program does not listen")?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    serde_json::from_slice(&answer).context("no answer of this system's first program")
}

impl Init {
    async fn answer(self: &Arc<Self>, mut stream: UnixStream) -> Result<()> {
        let mut line = String::new();
        BufReader::new((&mut stream).take(LONGEST)).read_line(&mut line).await?;
        let answer = match self.done(serde_json::from_str(&line)?).await {
            Ok(answer) => answer,
            Err(error) => Response { code: 5, text: format!("{error:#}") },
        };
        Ok(stream.write_all(&serde_json::to_vec(&answer)?).await?)
    }

    async fn done(self: &Arc<Self>, request: Request) -> Result<Response> {
        match request {
            Request::Start { units, wait } => {
                for name in units {
                    if !self.state(&name).await.0.is_over() {
                        continue;
                    }
                    if let (_, code @ 1..) = self.start(Unit::find(&name)?, wait).await {
                        return Ok(Response {
                            code: 1,
                            text: format!("Job for {name} failed: exit status {code}"),
                        });
                    }
                }
            }
            Request::Restart { units } => {
                for name in units {
                    self.stop(&name).await;
                    self.start(Unit::find(&name)?, true).await;
                }
            }
            Request::Stop { units } => {
                for name in units {
                    self.stop(&name).await;
                }
            }
            Request::Run { unit, properties, words, wait } => {
                if !self.state(&unit).await.0.is_over() {
                    bail!("Unit {unit} already exists.");
                }
                let mut spec = Unit::new(&unit);
                for (name, value) in properties {
                    spec.set(&name, &value)?;
                }
                spec.start.push(Line { words, may_fail: false });
                self.start(spec, false).await;
                if wait {
                    let (_, code) = self.over(&unit).await;
                    return Ok(Response { code, text: String::new() });
                }
            }
            Request::State { unit } => {
                let (state, _) = self.state(&unit).await;
                return Ok(Response {
                    code: i32::from(state != State::Active) * 3,
                    text: state.name().to_owned(),
                });
            }
            Request::List => {
                let units = self.units.lock().await;
                let line = |(name, unit): (&String, &Started)| {
                    let state = unit.state.borrow().0.name();
                    format!("{name} loaded {state} {state} {name}\n")
                };
                return Ok(Response { code: 0, text: units.iter().map(line).collect() });
            }
            Request::Reboot { after } => drop(self.reboot.send(Some(after))),
        }
        Ok(Response::default())
    }

    async fn state(&self, name: &str) -> (State, i32) {
        self.units.lock().await.get(name).map(|unit| *unit.state.borrow()).unwrap_or_default()
    }

    /// Waits until a unit is over.
    async fn over(&self, name: &str) -> (State, i32) {
        self.reached(name, State::is_over).await
    }

    async fn reached(&self, name: &str, is_it: impl Fn(State) -> bool) -> (State, i32) {
        let Some(mut state) = self.units.lock().await.get(name).map(|unit| unit.state.clone()) else {
            return Default::default();
        };
        state.wait_for(|(state, _)| is_it(*state)).await.map(|found| *found).unwrap_or_default()
    }

    /// Starts a unit, and waits until it has started, if that is wanted.
    async fn start(&self, unit: Unit, wait: bool) -> (State, i32) {
        let name = unit.name.clone();
        let (tell, state) = watch::channel((State::Activating, 0));
        let (stop, stopped) = watch::channel(false);
        self.units.lock().await.insert(name.clone(), Started { state, stop });
        tokio::spawn(async move { RunningUnit { unit, tell, stopped }.live().await });
        if wait {
            self.reached(&name, |state| state != State::Activating).await
        } else {
            (State::Activating, 0)
        }
    }

    async fn stop(&self, name: &str) {
        if let Some(unit) = self.units.lock().await.get(name) {
            let _ = unit.stop.send(true);
        }
        self.over(name).await;
    }
}

/// A unit from its start until it is over.
struct RunningUnit {
    unit: Unit,
    tell: watch::Sender<(State, i32)>,
    stopped: watch::Receiver<bool>,
}

/// The exit status with which a command of a unit ended.
enum End {
    Well,
    Stopped,
    Badly { code: i32, abnormal: bool },
}

impl RunningUnit {
    async fn live(mut self) {
        let name = self.unit.name.clone();
        if !self.unit.holds() {
            info!(unit = name, "left out: its conditions do not hold");
            return self.is(State::Inactive, 0);
        }
        loop {
            let ended = match self.once().await {
                Ok(ended) => ended,
                Err(error) => {
                    warn!(unit = name, error = format!("{error:#}"), "can't be run");
                    End::Badly { code: 203, abnormal: false }
                }
            };
            let (state, code, again) = match ended {
                End::Stopped => (State::Inactive, 0, false),
                End::Well => (State::Inactive, 0, self.unit.restart == Restart::Always),
                End::Badly { code, abnormal } => {
                    let again = match self.unit.restart {
                        Restart::No => false,
                        Restart::Always | Restart::OnFailure => true,
                        Restart::OnAbnormal => abnormal,
                    };
                    (State::Failed, code, again)
                }
            };
            info!(unit = name, state = state.name(), code, again, "ended");
            if !again {
                return self.is(state, code);
            }
            self.is(State::Activating, code);
            let pause = self.unit.restart_after;
            if timeout(pause, stop(&mut self.stopped)).await.is_ok() {
                return self.is(State::Inactive, 0);
            }
        }
    }

    fn is(&self, state: State, code: i32) {
        let _ = self.tell.send((state, code));
    }

    async fn once(&mut self) -> Result<End> {
        info!(unit = self.unit.name, "starts");
        for line in self.unit.pre.clone() {
            let ended = self.command(&line).await?;
            if !matches!(ended, End::Well) {
                return Ok(ended);
            }
        }
        if !self.unit.oneshot {
            self.is(State::Active, 0);
        }
        for line in self.unit.start.clone() {
            let ended = self.command(&line).await?;
            if !matches!(ended, End::Well) {
                return Ok(ended);
            }
        }
        if self.unit.remains {
            self.is(State::Active, 0);
            stop(&mut self.stopped).await;
            return Ok(End::Stopped);
        }
        Ok(End::Well)
    }

    async fn command(&mut self, line: &Line) -> Result<End> {
        let mut child = match self.spawn(line) {
            Err(_) if line.may_fail => return Ok(End::Well),
            child => child?,
        };
        let status = tokio::select! {
            status = child.wait() => status?,
            () = stop(&mut self.stopped) => {
                end(&mut child).await;
                return Ok(End::Stopped);
            }
        };
        Ok(if status.success() || line.may_fail { End::Well } else { badly(status) })
    }

    fn spawn(&self, line: &Line) -> Result<Child> {
        let variables = self.unit.environment()?;
        let words: Vec<_> = line.words.iter().map(|word| words::filled(word, &variables)).collect();
        let (program, arguments) = words.split_first().context("no program")?;
        let log =
            std::fs::File::options().create(true).append(true).open(journal::of_unit(&self.unit.name))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(variables)
            .current_dir(self.unit.folder.as_deref().unwrap_or("/"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        command.spawn().with_context(|| format!("{program} can't be started"))
    }
}

/// Waits until the unit is to stop.
async fn stop(asked: &mut watch::Receiver<bool>) {
    let _ = asked.wait_for(|asked| *asked).await;
}

fn badly(status: ExitStatus) -> End {
    match status.code() {
        Some(code) => End::Badly { code, abnormal: false },
        None => End::Badly { code: 128 + status.signal().unwrap_or_default(), abnormal: true },
    }
}

/// Ends a program and what it has started: first by asking.
async fn end(child: &mut Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    for signal in [Signal::TERM, Signal::KILL] {
        // Fails when they have just ended by themselves.
        let _ = group.map(|group| kill_process_group(group, signal));
        if timeout(GRACE, child.wait()).await.is_ok() {
            return;
        }
    }
}
