//! A service that gives prepared answers in turn, and hosts whose steps do what a test wants.
//!
//! Each question is answered in the order it comes; the last prepared answer of a kind is given again and again.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assisted_agent::{Agent, Config, End, Instruction, Outcome, Steps};
use assisted_client::BuildError;
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::secret::Secret;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

pub(crate) const HOST: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";
pub(crate) const INFRA_ENV: &str = "0f1e2d3c-3c08-4d97-8ec7-ea0ad7d4cadf";

/// Far longer than anything here takes: a test that waits for what never comes ends.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Register,
    Poll,
    Reply,
}

pub(crate) struct Asked {
    pub(crate) kind: Kind,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

#[derive(Clone)]
pub(crate) struct Answer {
    status: u16,
    content_type: &'static str,
    body: String,
    endless: bool,
}

/// An answer whose body goes on as long as someone reads it.
pub(crate) fn endless(status: u16) -> Answer {
    Answer { endless: true, ..json_answer(status, "[") }
}

/// An answer as the API writes it.
pub(crate) fn json_answer(status: u16, body: impl Into<String>) -> Answer {
    Answer { status, content_type: "application/json", body: body.into(), endless: false }
}

/// An answer of something before the service.
pub(crate) fn foreign(status: u16) -> Answer {
    Answer { content_type: "text/html", ..json_answer(status, "<h1>elsewhere</h1>") }
}

pub(crate) fn refusal(status: u16) -> Answer {
    json_answer(
        status,
        json!({"kind": "Error", "id": status, "href": "", "code": status.to_string(), "reason": "no"})
            .to_string(),
    )
}

pub(crate) fn infra_refusal(status: u16) -> Answer {
    json_answer(status, json!({"code": status, "message": "no"}).to_string())
}

pub(crate) fn registered() -> Answer {
    let args = json!({"infra_env_id": INFRA_ENV, "host_id": HOST, "agent_version": "image:v2"}).to_string();
    json_answer(201, json!({"kind": "Host", "next_step_runner_command": {"args": [args]}}).to_string())
}

pub(crate) fn steps(instructions: &Value, seconds: i64, action: &str) -> Answer {
    json_answer(
        200,
        json!({"instructions": instructions, "next_instruction_seconds": seconds, "post_step_action": action}).to_string(),
    )
}

pub(crate) fn quiet() -> Answer {
    steps(&Value::Null, 0, "continue")
}

#[derive(Default)]
struct Prepared {
    register: VecDeque<Answer>,
    poll: VecDeque<Answer>,
    reply: VecDeque<Answer>,
}

#[derive(Clone)]
struct Shared {
    prepared: Arc<Mutex<Prepared>>,
    asked: mpsc::UnboundedSender<Asked>,
}

pub(crate) struct Service {
    pub(crate) url: String,
    shared: Shared,
    asked: mpsc::UnboundedReceiver<Asked>,
}

impl Service {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, asked) = mpsc::unbounded_channel();
        let shared = Shared { prepared: Arc::default(), asked: sender };
        let router = Router::new().fallback(answer).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, asked }
    }

    pub(crate) fn register(&self, answer: Answer) -> &Self {
        self.shared.prepared.lock().unwrap().register.push_back(answer);
        self
    }

    pub(crate) fn poll(&self, answer: Answer) -> &Self {
        self.shared.prepared.lock().unwrap().poll.push_back(answer);
        self
    }

    pub(crate) fn reply(&self, answer: Answer) -> &Self {
        self.shared.prepared.lock().unwrap().reply.push_back(answer);
        self
    }

    /// The next question.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::time::timeout(PATIENCE, self.asked.recv()).await.expect("the agent is silent").unwrap()
    }

    /// The next question of a kind; others are passed over.
    pub(crate) async fn next_of(&mut self, kind: Kind) -> Asked {
        loop {
            let asked = self.next().await;
            if asked.kind == kind {
                return asked;
            }
        }
    }

    /// Waits for so many polls that everything sent before them has been answered and noted.
    pub(crate) async fn wait_until_handled(&mut self) {
        for _ in 0..20 {
            self.next_of(Kind::Poll).await;
        }
    }

    /// What was asked and not looked at yet.
    pub(crate) fn take_requests(&mut self) -> Vec<Kind> {
        std::iter::from_fn(|| self.asked.try_recv().ok()).map(|asked| asked.kind).collect()
    }

    pub(crate) fn config(&self) -> Config {
        let mut config = Config::new(&self.url, INFRA_ENV.parse::<InfraEnvId>().unwrap());
        config.agent_version = "image:v1".into();
        config.token = Secret::from("token");
        config.proxy_from_env = false;
        config.interval = Duration::from_millis(5);
        config.limits.pause = Duration::from_millis(5);
        config
    }

    pub(crate) fn agent<S: Steps>(&self, steps: S) -> Result<Agent<S>, BuildError> {
        Agent::new(self.config(), steps)
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap();
    let kind = match (&parts.method, parts.uri.path().ends_with("/instructions")) {
        (&Method::POST, false) => Kind::Register,
        (&Method::GET, true) => Kind::Poll,
        _ => Kind::Reply,
    };
    let answer = {
        let mut prepared = shared.prepared.lock().unwrap();
        let answers = match kind {
            Kind::Register => &mut prepared.register,
            Kind::Poll => &mut prepared.poll,
            Kind::Reply => &mut prepared.reply,
        };
        if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
    };
    let asked = Asked {
        kind,
        uri: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let _ = shared.asked.send(asked);
    let answer = answer.unwrap_or_else(|| match kind {
        Kind::Reply => json_answer(204, ""),
        Kind::Register | Kind::Poll => foreign(500),
    });
    Response::builder()
        .status(answer.status)
        .header("content-type", answer.content_type)
        .body(if answer.endless {
            let piece = move || Ok::<_, std::convert::Infallible>(answer.body.repeat(64 << 10));
            Body::from_stream(futures::stream::repeat_with(piece))
        } else {
            Body::from(answer.body)
        })
        .unwrap()
}

/// A host whose steps do what their arguments say: give an output, hang, or write a lot.
#[derive(Default)]
pub(crate) struct Pretender;

impl Steps for Pretender {
    async fn host_id(&self) -> HostId {
        HOST.parse().unwrap()
    }

    async fn run(&self, instruction: &Instruction) -> Outcome {
        match instruction.args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["hang"] => std::future::pending().await,
            ["long", length] => Outcome::done("x".repeat(length.parse().unwrap())),
            ["fail", code] => {
                Outcome { exit_code: code.parse().unwrap(), output: "o".into(), error: "e".into() }
            }
            [text] => Outcome::done(text.to_owned()),
            _ => Outcome::failed("no such thing"),
        }
    }
}

/// Runs an agent that must end by itself.
pub(crate) async fn ends(agent: Agent<Pretender>) -> End {
    tokio::time::timeout(PATIENCE, agent.run()).await.expect("the agent goes on")
}

/// Runs an agent for as long as a test looks at what it does.
pub(crate) async fn watched<T>(agent: Agent<impl Steps>, look: impl Future<Output = T>) -> T {
    tokio::select! {
        end = agent.run() => panic!("the agent ended: {end:?}"),
        seen = look => seen,
    }
}
