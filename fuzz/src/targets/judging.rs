//! A host's inventory as the service takes it, and all that is judged of the cluster then.

use assisted_core::decide::host::reply::reply;
use assisted_core::decide::refresh::refresh;
use assisted_wire::step::{StepReply, StepType};

use crate::{facts, input};

pub fn run(bytes: &[u8]) {
    let Some(mut facts) = facts::facts() else { return };
    for (number, part) in input::parts(bytes).take(3).enumerate() {
        let key = facts::key(number as u128);
        let said = StepReply {
            step_type: Some(StepType::Inventory),
            output: String::from_utf8_lossy(part).into_owned(),
            ..StepReply::default()
        };
        let Ok(effect) = reply(&facts, key, &said) else { continue };
        facts::apply(&mut facts, effect.decision);
    }
    assert_eq!(refresh(&facts), refresh(&facts), "the same facts lead to the same decision");
}
