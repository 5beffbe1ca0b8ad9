//! What simulated machines want done for them: requests sent, and to be woken. They do no I/O and know no clock.

use std::time::Duration;

use assisted_wire::step::StepType;
use bytes::Bytes;
use hyper::Method;
use serde::Serialize;

/// Who sent a request, and so gets its answer. Each process but [`Process::Step`] has one request under way at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Process {
    /// Whoever wants the cluster: creates it, sets it up, has it installed, looks how it goes.
    User(u32),
    /// The agent of a host: registers and polls.
    Agent(u32),
    /// A step that the agent runs.
    Step(u32, StepType),
    /// The installer on a host.
    Installer(u32),
    /// The controller in a cluster.
    Controller(u32),
}

/// What kind of body a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Json,
    /// `multipart/form-data` with [`BOUNDARY`].
    Form,
}

/// Between the parts of a form.
pub const BOUNDARY: &str = "simulated-hosts-7f3a9c";

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    pub from: Process,
    /// The index of the host that it reports on, where another than that host may be who sends it.
    pub about: Option<u32>,
    pub method: Method,
    pub path: String,
    pub content: Content,
    pub body: Bytes,
}

impl Call {
    /// A request without a body.
    pub fn get(from: Process, path: String) -> Self {
        Self { from, about: None, method: Method::GET, path, content: Content::Json, body: Bytes::new() }
    }

    /// A request with a JSON body.
    pub fn json<T: Serialize>(from: Process, method: Method, path: String, body: &T) -> Self {
        // Can't fail: the bodies are of the wire types, whose keys are text.
        let body = serde_json::to_vec(body).unwrap_or_default().into();
        Self { from, about: None, method, path, content: Content::Json, body }
    }

    /// The upload of a file.
    pub fn upload(from: Process, path: String, name: &str, file: &[u8]) -> Self {
        let mut body = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"upfile\"; filename=\"{name}\"\r\n\
             content-type: application/octet-stream\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(file);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        Self { from, about: None, method: Method::POST, path, content: Content::Form, body: body.into() }
    }

    /// The same, as a report on a host.
    pub fn about(self, index: u32) -> Self {
        Self { about: Some(index), ..self }
    }
}

/// What the service answered.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub body: Bytes,
    /// The request was sent more than once: perhaps an answer was lost, and this is to one that came again.
    pub repeated: bool,
}

impl Response {
    /// Whether the request was carried out.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether what can be done but once has been done: who asks for it once more is refused.
    pub fn is_done(&self) -> bool {
        self.is_success() || self.repeated && self.status == 409
    }
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    Send(Call),
    Wake(Process),
}

/// When a process wants to be woken next. A wake-up that comes before is an old one: a process that changed its mind can't
/// take back what it asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer(Option<Duration>);

impl Timer {
    /// Wants the process woken after a pause, and not before.
    pub fn set(&mut self, pause: Duration, process: Process, out: &mut ActionSink) {
        self.0 = Some(out.now + pause);
        out.wake_after(pause, process);
    }

    /// Wants no wake-up any more.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Whether a wake-up is awaited.
    pub fn is_set(self) -> bool {
        self.0.is_some()
    }

    /// Whether the wake-up that comes now is the awaited one, which is awaited no more then.
    pub fn rings(&mut self, now: Duration) -> bool {
        let rings = self.0.is_some_and(|due| due <= now);
        if rings {
            self.0 = None;
        }
        rings
    }
}

/// How long who looks from time to time waits for the next look: whoever has seen nothing new for long looks less often.
pub fn patience(least: Duration, quiet: Duration) -> Duration {
    least.max((quiet / 16).min(least * 20))
}

/// What machines want done, and the time at which they want it.
#[derive(Debug)]
pub struct ActionSink {
    /// Simulated time since the start.
    pub now: Duration,
    /// Seconds of the real clock: what a right clock shows.
    pub unix: i64,
    pub(crate) effects: Vec<(Duration, Effect)>,
}

impl ActionSink {
    /// An empty one.
    pub fn new(now: Duration, unix: i64) -> Self {
        Self { now, unix, effects: Vec::new() }
    }

    /// Sends a request now.
    pub fn send(&mut self, call: Call) {
        self.send_after(Duration::ZERO, call);
    }

    /// Sends a request after a while.
    pub fn send_after(&mut self, delay: Duration, call: Call) {
        self.effects.push((delay, Effect::Send(call)));
    }

    /// Wakes a process after a while; see [`Timer`].
    fn wake_after(&mut self, delay: Duration, process: Process) {
        self.effects.push((delay, Effect::Wake(process)));
    }

    /// What is to be done, in order, each after how long.
    pub fn take(&mut self) -> Vec<(Duration, Effect)> {
        std::mem::take(&mut self.effects)
    }
}
