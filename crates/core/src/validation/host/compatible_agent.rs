//! `compatible-agent`: the agent is the one that this service wants.

use super::View;
use crate::model::outcome::Outcome;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let images = &view.facts.policy.images;
    let version = &view.record().discovery_agent_version;
    // Without an image to upgrade to, any agent will do.
    if !images.enable_upgrade_agent || images.agent.is_empty() {
        Outcome::success("Host agent compatibility checking is disabled")
    } else if *version == images.agent {
        Outcome::success("Host agent is compatible with the service")
    } else {
        Outcome::failure(
            "This host's agent is in the process of being upgraded to a compatible version. This might take a few \
             minutes",
        )
        .measured(version.clone())
        .required(images.agent.clone())
        .remedy("Wait; or set ENABLE_UPGRADE_AGENT to false to accept any agent.")
    }
}
