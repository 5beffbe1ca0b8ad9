//! Registration, and what follows from each answer (agent-protocol §1.6).

use std::time::Duration;

use assisted_client::{Error, RetryPolicy};
use assisted_wire::id::{HostId, InfraEnvId};
use serde::Deserialize;
use tracing::{error, warn};

use crate::image::is_image_reference;
use crate::instruction::or_default;

/// Pause after an answer that can't be used, unless the service says. Existing agents wait an hour; a machine that
/// someone waits for should not.
const UNUSABLE_PAUSE: Duration = Duration::from_secs(300);

/// Longest pause the service can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// Longest pause that a refusal can ask for: longer than an agent has to wait whose machine was started again.
const LONGEST_ASKED: Duration = Duration::from_secs(180);

/// The part of the answer that says how to go on. The host itself is read past: an agent must not fail over a property
/// that it doesn't need.
#[derive(Debug, Deserialize)]
pub(crate) struct Registered {
    #[serde(default)]
    next_step_runner_command: Option<RunnerCommand>,
}

#[derive(Debug, Deserialize)]
struct RunnerCommand {
    #[serde(default, deserialize_with = "or_default")]
    args: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    retry_seconds: i64,
}

/// Whom the service takes this host for, and what it calls the agent from now on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Session {
    pub(crate) infra_env_id: InfraEnvId,
    pub(crate) host_id: HostId,
    pub(crate) agent_version: String,
}

/// What the agent does after an attempt to register.
#[derive(Debug)]
pub(crate) enum NextAction {
    Poll(Session),
    Wait(Duration),
    /// The service will not have this host: only a restart can change that.
    Freeze(Error),
}

/// What follows from the answer to a registration. Only a refusal by the API itself freezes the agent; a router's 404
/// says nothing about the host.
pub(crate) fn react(answer: Result<Registered, Error>, interval: Duration) -> NextAction {
    match answer {
        Ok(Registered { next_step_runner_command: Some(command) }) => match session(&command.args) {
            Ok(session) => NextAction::Poll(session),
            Err(reason) => {
                error!(reason, "the service's command can't be used");
                NextAction::Wait(unusable_pause(command.retry_seconds))
            }
        },
        Ok(Registered { next_step_runner_command: None }) => {
            error!("incompatible server version: the answer holds no command");
            NextAction::Wait(UNUSABLE_PAUSE)
        }
        Err(refused) if is_final(&refused) => NextAction::Freeze(refused),
        Err(passing) => {
            let pause = asked_pause(&passing).unwrap_or(interval);
            warn!(error = %passing, remedy = passing.remedy(), ?pause, "registration failed");
            NextAction::Wait(pause)
        }
    }
}

fn is_final(error: &Error) -> bool {
    matches!(error, Error::Refused(refusal)
        if matches!(refusal.status, 401 | 403 | 404 | 409) && refusal.is_of_the_api())
}

/// The pause that a refusal asks for, unless it is so short that the client has kept to it already, several times, and in vain.
fn asked_pause(error: &Error) -> Option<Duration> {
    let Error::Refused(refusal) = error else { return None };
    let asked = refusal.retry_after.filter(|asked| *asked > RetryPolicy::default().longest_pause)?;
    Some(asked.min(LONGEST_ASKED))
}

fn unusable_pause(retry_seconds: i64) -> Duration {
    match u64::try_from(retry_seconds) {
        Ok(0) | Err(_) => UNUSABLE_PAUSE,
        Ok(seconds) => Duration::from_secs(seconds).min(LONGEST_PAUSE),
    }
}

fn session(args: &[String]) -> Result<Session, String> {
    let [text] = args else {
        return Err(format!("{} arguments instead of one", args.len()));
    };
    let session: Session = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if !is_image_reference(&session.agent_version) {
        return Err("agent_version is no image reference".to_owned());
    }
    Ok(session)
}

#[cfg(test)]
mod tests {
    use assisted_client::{ErrorBody, ErrorResponse};

    use super::*;

    const ID: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";

    fn registered(args: &[&str], retry_seconds: i64) -> NextAction {
        let command = serde_json::json!({"args": args, "retry_seconds": retry_seconds});
        let body = serde_json::json!({"kind": "Dragon", "next_step_runner_command": command});
        react(Ok(serde_json::from_value(body).unwrap()), Duration::from_secs(60))
    }

    #[test]
    fn a_good_command_is_followed() {
        let args =
            format!(r#"{{"infra_env_id":"{ID}","host_id":"{ID}","agent_version":"quay.io/a/b:v1","x":1}}"#);
        let NextAction::Poll(session) = registered(&[&args], 0) else { panic!("polls") };
        assert_eq!(session.agent_version, "quay.io/a/b:v1");
        assert_eq!(session.host_id.to_string(), ID);
    }

    #[test]
    fn a_bad_command_makes_the_agent_wait() {
        let bad_id = r#"{"infra_env_id":"x","host_id":"y","agent_version":"a:b"}"#;
        let bad_image = format!(r#"{{"infra_env_id":"{ID}","host_id":"{ID}","agent_version":"rm -rf /"}}"#);
        for args in [&[][..], &["", ""], &["{"], &[bad_id], &[&bad_image]] {
            for (asked, pause) in [(0, 300), (-1, 300), (5, 5), (i64::MAX, 3_600)] {
                let NextAction::Wait(waits) = registered(args, asked) else { panic!("waits") };
                assert_eq!(waits, Duration::from_secs(pause));
            }
        }
        let NextAction::Wait(waits) = react(Ok(serde_json::from_str("{}").unwrap()), Duration::ZERO) else {
            panic!("waits")
        };
        assert_eq!(waits, UNUSABLE_PAUSE);
    }

    #[test]
    fn the_pause_that_a_refusal_asks_for_is_kept_to_within_bounds() {
        for (asked, pause) in
            [(None, 60), (Some(4), 60), (Some(51), 51), (Some(151), 151), (Some(86_400), 180)]
        {
            let refusal = ErrorResponse {
                operation: "v2RegisterHost",
                status: 503,
                body: ErrorBody::Error { code: "503".into(), id: 503, reason: "no".into() },
                request_id: uuid::Uuid::nil(),
                location: None,
                retry_after: asked.map(Duration::from_secs),
                section: None,
            };
            let refused = Err(Error::Refused(Box::new(refusal)));
            let NextAction::Wait(waits) = react(refused, Duration::from_secs(60)) else { panic!("waits") };
            assert_eq!(waits, Duration::from_secs(pause), "{asked:?}");
        }
    }

    #[test]
    fn each_refusal_has_its_reaction() {
        let api = |status: u16| match status {
            401 | 403 => ErrorBody::InfraError { code: status.into(), message: "no".into() },
            _ => ErrorBody::Error { code: status.to_string(), id: status.into(), reason: "no".into() },
        };
        let react = |status: u16, body: ErrorBody| {
            let refusal = ErrorResponse {
                operation: "v2RegisterHost",
                status,
                body,
                request_id: uuid::Uuid::nil(),
                location: None,
                retry_after: None,
                section: None,
            };
            react(Err(Error::Refused(Box::new(refusal))), Duration::from_secs(7))
        };
        for status in 300..=599 {
            let is_final = [401, 403, 404, 409].contains(&status);
            for (body, freezes) in [
                (api(status), is_final),
                (ErrorBody::Empty, is_final),
                (ErrorBody::Foreign { excerpt: "<html>".into() }, false),
                // The shape that belongs to other statuses.
                (api(if matches!(status, 401 | 403) { 404 } else { 403 }), false),
            ] {
                match react(status, body.clone()) {
                    NextAction::Freeze(error) => {
                        assert!(freezes && error.status() == Some(status), "{status} {body:?}");
                    }
                    NextAction::Wait(pause) => {
                        assert!(!freezes && pause == Duration::from_secs(7), "{status} {body:?}");
                    }
                    NextAction::Poll(_) => panic!("{status} {body:?}"),
                }
            }
        }
    }
}
