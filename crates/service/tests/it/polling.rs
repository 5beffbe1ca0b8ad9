//! When hosts poll, and what they are handed out meanwhile.

use std::time::Duration;

use assisted_wire::host::HostStatus;
use assisted_wire::step::StepType;
use futures::future::join_all;
use serde_json::json;

use crate::lab::{Database, Lab, on_both_engines};

on_both_engines![
    a_host_polls_soon_while_something_is_expected,
    each_hears_of_the_others_whoever_polls_beside_it
];

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

/// The views of all hosts of a cluster are made at once by whoever polls first: one who polls meanwhile must not be left with
/// a view of its own, in which there are no others.
async fn each_hears_of_the_others_whoever_polls_beside_it(database: Database) {
    let mut lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    // Without looks at the cluster nothing makes up for a view that is wrong.
    lab.stop_background().await;
    for round in 0..60 {
        // All views are dropped.
        let name = serde_json::from_value(json!({"host_name": format!("node-{round}")})).unwrap();
        lab.service.hosts().update(&lab.caller, ready.hosts[0], name).await.unwrap();
        let polls = (0..12u64).map(|number| {
            let (lab, host) = (&lab, ready.hosts[number as usize % 3]);
            async move {
                tokio::time::sleep(Duration::from_micros(300 * number)).await;
                lab.poll(host).await.unwrap();
            }
        });
        join_all(polls).await;
        // By then, each is told all of its steps again.
        lab.pass(61);
        for host in &ready.hosts {
            let told = lab.steps(*host).await;
            assert!(told.contains(&StepType::ConnectivityCheck), "round {round}: {told:?}");
        }
    }
    lab.stop().await;
}
