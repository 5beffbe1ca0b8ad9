//! Bodies of requests, read and judged by the schema of their operation.

use assisted_api::fuzz;
use assisted_wire::cluster_params::ClusterCreateParams;
use assisted_wire::infra_env::InfraEnvCreateParams;
use assisted_wire::step::StepReply;

use crate::input;

pub fn run(bytes: &[u8]) {
    let (choice, text) = input::choice(bytes);
    let operations = &*fuzz::WITH_BODY;
    let Some(operation) = operations.get(choice % operations.len().max(1)) else { return };
    let Some(read) = fuzz::body(*operation, text) else { return };
    let again = serde_json::to_vec(&read).unwrap_or_default();
    assert_eq!(fuzz::body(*operation, &again), Some(read.clone()), "what is read is written and read again");
    // Whichever of them it is: a value that fits no type is an error and nothing else.
    let _ = serde_json::from_value::<ClusterCreateParams>(read.clone());
    let _ = serde_json::from_value::<InfraEnvCreateParams>(read.clone());
    let _ = serde_json::from_value::<StepReply>(read);
}
