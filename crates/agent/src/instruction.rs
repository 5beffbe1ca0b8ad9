//! The service's answer to a poll, read leniently and bounded.
//!
//! An unknown kind of step must be answered, not make the whole answer unreadable, so kinds are text here.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

/// Most instructions of one answer that are followed; the longest list known has eight.
const MOST_INSTRUCTIONS: usize = 64;

/// Longest pause the service can ask for: a host that doesn't call for a day is lost.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// One step that the service asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub struct Instruction {
    #[serde(default, deserialize_with = "or_default")]
    pub step_type: String,
    /// Names this run; absent in some.
    #[serde(default, deserialize_with = "or_default")]
    pub step_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub args: Vec<String>,
}

/// The answer to a poll: steps to run, and when to poll again.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct Answer {
    #[serde(default, deserialize_with = "or_default")]
    next_instruction_seconds: i64,
    #[serde(default, deserialize_with = "or_default")]
    post_step_action: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) instructions: Instructions,
}

impl Answer {
    /// Whether the host is to register anew after the pause. Anything but `exit` means to go on.
    pub(crate) fn exit(&self) -> bool {
        self.post_step_action == "exit"
    }

    /// The pause before the next poll, at least `shortest` long; or before leaving.
    pub(crate) fn pause(&self, shortest: Duration) -> Duration {
        let asked = Duration::from_secs(u64::try_from(self.next_instruction_seconds).unwrap_or_default());
        let shortest = if self.exit() { Duration::ZERO } else { shortest };
        asked.clamp(shortest, LONGEST_PAUSE)
    }
}

/// The first instructions of an answer, and how many were left out.
#[derive(Debug, Default)]
pub(crate) struct Instructions {
    pub(crate) list: Vec<Instruction>,
    pub(crate) left_out: usize,
}

impl<'de> Deserialize<'de> for Instructions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Instructions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of instructions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Instructions, A::Error> {
                let mut found = Instructions::default();
                while found.list.len() < MOST_INSTRUCTIONS {
                    match items.next_element()? {
                        Some(instruction) => found.list.push(instruction),
                        None => return Ok(found),
                    }
                }
                while items.next_element::<IgnoredAny>()?.is_some() {
                    found.left_out += 1;
                }
                Ok(found)
            }
        }

        deserializer.deserialize_seq(List)
    }
}

/// Absent, `null` and the zero value are the same thing (agent-protocol §0.1).
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn read(text: &str) -> Answer {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn absent_and_null_are_nothing() {
        for text in [
            "{}",
            r#"{"instructions": null, "next_instruction_seconds": null, "post_step_action": null}"#,
            r#"{"instructions": [], "post_step_action": ""}"#,
            r#"{"post_step_action": "dance", "next_instruction_seconds": -5, "more": {}}"#,
        ] {
            let answer = read(text);
            assert!(answer.instructions.list.is_empty() && !answer.exit());
            assert_eq!(answer.pause(SECOND), SECOND);
        }
        assert_eq!(
            read(r#"{"instructions": [{"step_type": "Step-not-exists", "args": null}]}"#).instructions.list,
            [Instruction { step_type: "Step-not-exists".into(), ..Instruction::default() }]
        );
    }

    #[test]
    fn pauses_are_bounded() {
        assert_eq!(read(r#"{"next_instruction_seconds": 60}"#).pause(SECOND), Duration::from_secs(60));
        assert_eq!(read(r#"{"next_instruction_seconds": 9223372036854775807}"#).pause(SECOND), LONGEST_PAUSE);
        assert_eq!(read(r#"{"post_step_action": "exit"}"#).pause(SECOND), Duration::ZERO);
    }

    #[test]
    fn a_million_instructions_are_counted_not_kept() {
        let many = vec!["{}"; 1_000_000].join(",");
        let answer = read(&format!(r#"{{"instructions": [{many}]}}"#));
        assert_eq!((answer.instructions.list.len(), answer.instructions.left_out), (64, 999_936));
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in ["1", "\"\"", r#"{"instructions": {}}"#, r#"{"instructions": [1]}"#, &"[".repeat(100_000)]
        {
            assert!(serde_json::from_str::<Answer>(text).is_err());
        }
    }
}
