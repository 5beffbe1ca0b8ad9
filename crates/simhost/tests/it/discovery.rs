//! Hosts are discovered in real time, over several connections, by a service that may go away for a while.

use std::time::Duration;

use assisted_simhost::drive::{self, Target};
use assisted_simhost::plan::{Goal, Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;

use crate::service::{Data, Otherwise, Server};

/// No simulation here takes longer than seconds; one that hangs must end.
const LIMIT: Duration = Duration::from_secs(120);
const SPEED: f64 = 600.0;

async fn plan(target: &Target, clusters: u32) -> Plan {
    let mut plan = Plan::new(Shape::of(Topology::Compact), clusters, SPEED).unwrap();
    plan.goal = Goal::Ready;
    plan.version = target.default_version().await.unwrap();
    plan
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_become_ready() {
    let data = Data::sqlite();
    let server = Server::start(&data).await;
    let target = Target::new(server.address);
    let mut simulation = Simulation::new(plan(&target, 5).await);
    let now = drive::run(&mut simulation, &target, LIMIT, |_, _| true).await.unwrap();
    assert!(simulation.refusals().is_empty(), "{:?}", simulation.refusals());
    for result in simulation.results(now) {
        assert!(result.as_expected, "{result:#?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_service_is_waited_for() {
    let data = Data::sqlite();
    let server = Server::start(&data).await;
    let address = server.address;
    let target = Target::new(address);
    let mut simulation = Simulation::new(plan(&target, 1).await);
    let (registered, first_host) = tokio::sync::oneshot::channel();
    let mut registered = Some(registered);
    let restart = async {
        first_host.await.unwrap();
        server.stop().await;
        Server::with(&data, Otherwise { address: Some(address), ..Otherwise::default() }).await
    };
    let run = drive::run(&mut simulation, &target, LIMIT, |simulation, _| {
        if simulation.views().any(|(_, look)| !look.hosts.is_empty())
            && let Some(registered) = registered.take()
        {
            registered.send(()).unwrap();
        }
        true
    });
    let (now, server) = tokio::join!(run, restart);
    let results = simulation.results(now.unwrap());
    assert!(results[0].as_expected, "{results:#?} {:?}", simulation.refusals());
    server.stop().await;
}
