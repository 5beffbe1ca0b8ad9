//! What a host answers to each kind of step.

use assisted_core::decide::host::reply::reply;
use assisted_core::decide::refresh::refresh;
use assisted_wire::step::{StepReply, StepType};

use crate::{facts, input};

pub fn run(bytes: &[u8]) {
    let Some(mut facts) = facts::facts() else { return };
    let (choice, output) = input::choice(bytes);
    let step_type = StepType::ALL.get(choice % 32).copied();
    let output = String::from_utf8_lossy(output).into_owned();
    let failed = choice >= 128;
    let (exit_code, error) =
        if failed { (i64::from(output.len() as u8) + 1, output.clone()) } else { (0, String::new()) };
    let said = StepReply { step_type, exit_code, output, error, ..StepReply::default() };
    let key = facts::key(0);
    let Ok(effect) = reply(&facts, key, &said) else { return };
    facts::apply(&mut facts, effect.decision);
    assert_eq!(refresh(&facts), refresh(&facts), "the same facts lead to the same decision");
}
