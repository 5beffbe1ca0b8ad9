//! The body of an answer to a poll, made once and sent many times.

use assisted_wire::step::Steps;
use bytes::Bytes;

/// Text before the id of a step. Inside a string each quote is escaped, so it stands for a member and nothing else.
const MEMBER: &[u8] = br#""step_id":""#;
/// Hexadecimal digits at the end of a step's id.
const DIGITS: usize = 8;

/// A body in which only the random ends of the step ids change.
#[derive(Debug)]
pub(crate) struct PollBody {
    body: Box<[u8]>,
    /// Where each id's random digits begin.
    random: Box<[usize]>,
}

impl PollBody {
    /// Lays out the body for these steps.
    pub(crate) fn new(steps: &Steps) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_vec(steps)?.into_boxed_slice();
        let mut random = Vec::new();
        let mut from = 0;
        while let Some(found) = body[from..].windows(MEMBER.len()).position(|window| window == MEMBER) {
            let id = from + found + MEMBER.len();
            let end = id + body[id..].iter().position(|byte| *byte == b'"').unwrap_or_default();
            // An id without the digits, whatever made it, is left as it is.
            if end - id > DIGITS && body[end - DIGITS..end].iter().all(u8::is_ascii_hexdigit) {
                random.push(end - DIGITS);
            }
            from = end;
        }
        Ok(Self { body, random: random.into_boxed_slice() })
    }

    /// Length of the body, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.body.len()
    }

    /// The body with new step ids.
    pub(crate) fn render(&self, mut next: impl FnMut() -> u32) -> Bytes {
        if self.random.is_empty() {
            return Bytes::copy_from_slice(&self.body);
        }
        let mut body = self.body.to_vec();
        for at in &self.random {
            let number = next();
            for (place, digit) in body[*at..*at + DIGITS].iter_mut().enumerate() {
                let nibble = (number >> (28 - 4 * place)) & 0xf;
                *digit = b"0123456789abcdef"[nibble as usize];
            }
        }
        body.into()
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::step::{Step, StepType};

    use super::*;

    fn step(id: &str, arg: &str) -> Step {
        Step {
            step_type: Some(StepType::Inventory),
            step_id: id.to_owned(),
            args: Some(vec![arg.to_owned()]),
        }
    }

    #[test]
    fn only_step_ids_change() {
        let trap = r#"{"step_id":"inventory-00000000"}"#;
        let steps = Steps {
            next_instruction_seconds: 60,
            post_step_action: None,
            instructions: Some(vec![
                step("inventory-00000000", trap),
                step("", "x"),
                step("ntp-synchronizer-0123abcd", trap),
            ]),
        };
        let mut next = 0xdead_beee;
        let body = PollBody::new(&steps).unwrap().render(|| {
            next += 1;
            next
        });
        let mut read: Steps = serde_json::from_slice(&body).unwrap();
        let instructions = read.instructions.as_mut().unwrap();
        assert_eq!(instructions[0].step_id, "inventory-deadbeef");
        assert_eq!(instructions[2].step_id, "ntp-synchronizer-deadbef0");
        instructions[0].step_id = "inventory-00000000".to_owned();
        instructions[2].step_id = "ntp-synchronizer-0123abcd".to_owned();
        assert_eq!(read, steps);
    }
}
