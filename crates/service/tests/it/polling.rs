//! When hosts poll, and what they are handed out meanwhile.

use assisted_wire::host::HostStatus;
use assisted_wire::step::StepType;

use crate::lab::{Database, Lab, on_both_engines};

on_both_engines![a_host_polls_soon_while_something_is_expected];

async fn a_host_polls_soon_while_something_is_expected(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    let told = lab.poll(host).await.unwrap();
    assert_eq!(told.next_instruction_seconds, 1, "its inventory is expected");
    let kinds = |steps: Option<Vec<assisted_wire::step::Step>>| -> Vec<StepType> {
        steps.unwrap().into_iter().filter_map(|step| step.step_type).collect()
    };
    assert_eq!(kinds(told.instructions), [StepType::Inventory]);
    let again = lab.poll(host).await.unwrap();
    assert_eq!(
        (again.next_instruction_seconds, again.instructions.unwrap().len()),
        (1, 0),
        "handed out already"
    );

    // An agent that was started anew has lost what it was handed out.
    lab.register(infra_env.id, host.host_id).await.unwrap();
    assert_eq!(lab.steps(host).await, [StepType::Inventory]);

    // What a new state calls for is handed out at the next poll, not a minute later.
    lab.report_all(host, 1).await;
    lab.until_host(host, "judged", |host| host.status != HostStatus::Discovering).await;
    let next = lab.poll(host).await.unwrap();
    assert_eq!(next.next_instruction_seconds, 1);
    assert!(kinds(next.instructions).contains(&StepType::NtpSynchronizer));

    // Nothing has happened for a while: a minute between polls, and all steps with each.
    for _ in 0..7 {
        lab.poll(host).await.unwrap();
        lab.pass(60);
    }
    let quiet = lab.poll(host).await.unwrap();
    assert_eq!(quiet.next_instruction_seconds, 60);
    assert_eq!(kinds(quiet.instructions), kinds(lab.poll(host).await.unwrap().instructions));
    lab.stop().await;
}
