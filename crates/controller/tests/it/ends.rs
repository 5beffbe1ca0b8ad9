//! When the controller gives up, and when it does not.

use std::time::Duration;

use assisted_controller::{Config, Error, Exit, Intervals};
use assisted_service::Clock;
use assisted_simhost::plan::PULL_SECRET;
use assisted_testkit::{Fault, Proxy};
use assisted_wire::cluster::{ClusterStatus, LogsState};
use serde_json::json;
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use crate::installation::{config, params};
use crate::service::{Files, Server};
use crate::world::{World, until};

const ALWAYS: usize = usize::MAX;

fn run(config: &Config) -> JoinHandle<Result<Exit, Error>> {
    let config = config.clone();
    spawn_local(async move { assisted_controller::run(&config).await })
}

#[tokio::test]
async fn who_gives_up() {
    LocalSet::new().run_until(Box::pin(gives_up())).await;
}

async fn gives_up() {
    let world = World::start().await;
    let server = Server::start(Files::default(), Clock::default()).await;
    let service = server.client();
    let way = Proxy::start(server.address).await;
    let url = format!("http://{}", way.address);
    let dir = tempfile::tempdir().unwrap();
    let import = json!({
        "name": "day2", "api_vip_dnsname": "api.day2.example.com",
        "openshift_cluster_id": "1b7dbf10-3b7f-4a7b-8d1a-3a8c2c2f5a4e",
    });
    let later = service.import_cluster(&params(import)).await.unwrap().id;
    let brief = |settings: Config| Config {
        intervals: Intervals { summary_limit: Duration::ZERO, ..settings.intervals },
        ..settings
    };
    let joined = run(&brief(config(&world, &dir, later, &url).await));
    assert_eq!(joined.await.unwrap().unwrap(), Exit::Ended(ClusterStatus::AddingHosts));
    // What it tells at its end arrives.
    assert_eq!(service.get_cluster(later).await.unwrap().logs_info, Some(LogsState::Completed));

    let cluster = json!({"name": "lab", "openshift_version": "4.20", "pull_secret": PULL_SECRET});
    let id = service.register_cluster(&params(cluster)).await.unwrap().id;
    let mut settings = brief(config(&world, &dir, id, &url).await);
    // Nobody has a reason to wait.
    settings.intervals.operators = Duration::from_millis(50);
    settings.intervals.unknown = Duration::from_millis(20);
    let looks = || way.seen(&id.to_string()).len();

    // Two refusals are forgiven, as often as they come; an answer that is not the service's means nothing.
    let patient = run(&settings);
    for fault in [Fault::Status(401, None), Fault::Status(404, None), Fault::Status(500, None)] {
        let before = looks();
        way.spoil(&id.to_string(), 2, fault);
        until("more looks", async || (looks() > before + 20).then_some(())).await;
    }
    assert!(!patient.is_finished());
    way.spoil(&id.to_string(), ALWAYS, Fault::Status(401, None));
    assert_eq!(patient.await.unwrap().unwrap(), Exit::Refused);
    way.mend();

    let left = run(&settings);
    let before = looks();
    until("a controller at work", async || (looks() > before + 10).then_some(())).await;
    service.deregister_cluster(id).await.unwrap();
    assert_eq!(left.await.unwrap().unwrap(), Exit::Unknown);

    settings.intervals.ready_limit = Duration::from_millis(500);
    let lost = run(&settings).await.unwrap().unwrap_err();
    assert!(matches!(lost, Error::NotReady { .. }), "{lost}");
    drop(server);
}
