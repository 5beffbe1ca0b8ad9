//! An installation whose operators never come, cancelled in the end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use assisted_controller::Exit;
use assisted_wire::cluster::{ClusterStatus, FinalizingStage};
use assisted_wire::operator::OperatorStatus;
use serde_json::json;
use tokio::task::LocalSet;

use crate::installation::{Installation, moved_clock, unpacked};
use crate::world::until;

/// No stage takes longer, in seconds.
const STAGE: i64 = 75 * 60;

#[tokio::test]
async fn operators_that_never_come() {
    LocalSet::new().run_until(Box::pin(ends_badly())).await;
}

async fn ends_badly() {
    let (passed, clock) = moved_clock();
    let one = Installation::begin(json!([]), clock).await;
    let world = &one.world;
    one.can_gather();
    let hosts = one.control_plane().await;
    // Without a pool no labels are set, which keeps nobody else from anything.
    world.version("Available", "Done applying 4.20.1").await;
    world.operator("console", "Progressing", "still on its way").await;
    world.operator("dns", "Degraded", "no pods").await;
    world
        .apply(
            "metal3.io/v1alpha1",
            "Provisioning",
            "provisionings",
            None,
            json!({"metadata": {"name": "provisioning-configuration"}}),
        )
        .await;
    let annotations =
        json!({"baremetalhost.metal3.io/paused": "metal3.io/capm3", "baremetalhost.metal3.io/status": "{}"});
    world
        .bare_metal_host(
            "m",
            json!({"annotations": annotations}),
            json!({"online": true, "consumerRef": {"name": "m"}}),
        )
        .await;
    let controller = one.controller(|config| config.intervals.operators_limit = Duration::from_secs(2)).await;
    for (number, (name, address)) in hosts.iter().enumerate() {
        if number == 3 {
            one.restarted(4).await;
        }
        let own = world.join(name, *address).await;
        world.get_ready(&own, name, *address).await;
    }
    one.reaches(ClusterStatus::Finalizing).await;
    // The time for each stage of the operators passes.
    for stage in [
        // No operator has come whose objects could be applied.
        FinalizingStage::WaitingForOlmOperatorsCsvInitialization,
        FinalizingStage::WaitingForOlmOperatorsCsv,
    ] {
        until(&stage.to_string(), async || {
            (one.cluster().await?.progress?.finalizing_stage? == stage).then_some(())
        })
        .await;
        passed.fetch_add(STAGE, Ordering::SeqCst);
        one.server.lock().await.run_due();
    }
    let report = until("the report of operators", async || {
        one.events().await.into_iter().find(|message| message.starts_with("The following operators"))
    });
    assert_eq!(report.await, "The following operators are experiencing issues: dns");
    let operators = one.cluster().await.unwrap().monitored_operators.unwrap();
    for name in ["nmstate", "metallb"] {
        let operator = operators.iter().find(|operator| operator.name == name).unwrap();
        assert_eq!(operator.status, Some(OperatorStatus::Failed), "{name}");
        assert_eq!(operator.status_info, "Waiting for operator timed out", "{name}");
    }
    let host = world.get_bare_metal_host("m").await;
    assert_eq!(host["spec"]["externallyProvisioned"], true);
    assert_eq!(host["metadata"]["annotations"], json!({"baremetalhost.metal3.io/status": "{}"}));

    one.service.cancel_installation(one.id).await.unwrap();
    assert_eq!(controller.await.unwrap(), Exit::Ended(ClusterStatus::Cancelled));
    let logs = one.logs().await;
    let names: Vec<_> = logs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["must-gather.tar.gz", "assisted-installer-controller.logs"]);
    let gathered = unpacked(&logs[0].1);
    assert!(gathered.contains(&("must-gather/log".to_owned(), b"gathered\n".to_vec())), "{gathered:?}");
    one.ended().await;
}
