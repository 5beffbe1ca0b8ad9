//! Step `upgrade-agent`: pulls the image of another agent (agent-protocol §2.4.13). What follows from a success is the
//! caller's: [`upgraded_to`] names the image.

use std::time::Duration;

use assisted_base::process::Tools;
use assisted_wire::probe_requests::UpgradeAgentRequest;
use assisted_wire::probe_responses::{UpgradeAgentResponse, UpgradeAgentResult};
use assisted_wire::step::StepType;
use tracing::warn;

use super::{Guard, only_arg, output};
use crate::image::is_image_reference;
use crate::instruction::Instruction;
use crate::reply::Outcome;

/// A registry that gives nothing for so long gives nothing more.
const LIMIT: Duration = Duration::from_secs(3_600);

pub(super) async fn run(args: &[String], tools: &Tools, guard: &Guard) -> Outcome {
    let UpgradeAgentRequest { agent_image } = match only_arg("upgrade agent", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    if !is_image_reference(&agent_image) {
        return Outcome::failed("upgrade agent: agent_image is no image reference");
    }
    let Ok(_held) = guard.try_lock() else {
        return output(&UpgradeAgentResponse { agent_image, result: None });
    };
    let result = match tools.cmd("podman").args(["pull", &agent_image]).timeout(LIMIT).run().await {
        Ok(done) if done.success() => UpgradeAgentResult::Success,
        Ok(done) => {
            warn!(agent_image, code = done.code(), error = done.complaint(), "image not pulled");
            UpgradeAgentResult::Failure
        }
        Err(error) => {
            warn!(agent_image, %error, "image not pulled");
            UpgradeAgentResult::Failure
        }
    };
    output(&UpgradeAgentResponse { agent_image, result: Some(result) })
}

/// The image that this host has now to go on with, where the step has brought one.
pub(crate) fn upgraded_to(instruction: &Instruction, outcome: &Outcome) -> Option<String> {
    if instruction.step_type.parse() != Ok(StepType::UpgradeAgent) || outcome.exit_code != 0 {
        return None;
    }
    let response: UpgradeAgentResponse = serde_json::from_str(&outcome.output).ok()?;
    (response.result == Some(UpgradeAgentResult::Success)).then_some(response.agent_image)
}
