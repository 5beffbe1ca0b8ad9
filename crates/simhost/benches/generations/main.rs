//! What it takes to generate many clusters at once: `cargo bench -p assisted-simhost --bench generations [-- CLUSTERS [AT_ONCE]]`.
//!
//! Simulated hosts make clusters ready, all of them are installed at the same moment, and files are generated out of a release in
//! a real registry, by an installer program that stands in for the real one. Told are the time until all have their files, the
//! CPU time of the service and of the programs, the service's peak of memory, and how many programs ran at once at the most.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "../../tests/it/service.rs"]
#[allow(dead_code, reason = "tests need more of it")]
mod service;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_config::Settings;
use assisted_service::Caller;
use assisted_service::cluster::{GetCluster, ListClusters};
use assisted_service::generator::openshift::Openshift;
use assisted_simhost::drive::{self, Target};
use assisted_simhost::plan::{Goal, Plan, Shape};
use assisted_simhost::simulation::Simulation;
use assisted_simhost::topology::Topology;
use assisted_testkit::{Access, DockerRegistry, oci};
use assisted_wire::cluster::{Cluster, InstallationPreparationStatus as Status};
use assisted_wire::id::ClusterId;
use uuid::Uuid;

use service::{Data, Otherwise, Server};

const RELEASES: &str = "quay.io/openshift-release-dev/ocp-release";
/// Simulated seconds per second, while the clusters get ready.
const SPEED: f64 = 60.0;
const LIMIT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Notes that it begins and that it ends.
const NOTING: &str = "#!/bin/sh\necho + >> PLACE/runs\n\"PLACE/installer\" \"$@\"\ncode=$?\necho - >> PLACE/runs\nexit $code\n";

fn main() {
    let numbers: Vec<u32> =
        std::env::args().skip(1).filter(|arg| arg != "--bench").map(|arg| arg.parse().unwrap()).collect();
    let default = u32::try_from(Settings::default().generation.at_once).unwrap();
    let (clusters, at_once) = match numbers.as_slice() {
        [] => (100, default),
        [clusters] => (*clusters, default),
        [clusters, at_once] => (*clusters, *at_once),
        _ => panic!("two numbers at the most: of clusters, and of those that are generated at once"),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(clusters, at_once));
}

/// Settings by which releases are read from the registry.
fn settings(place: &Path, registry: &str, at_once: u32) -> Settings {
    let conf = format!(
        "[[registry]]\nlocation = '{RELEASES}'\nblocked = true\n[[registry.mirror]]\nlocation = '{registry}/ocp/release'\n\
         insecure = true\npull-from-mirror = 'all'\n[[registry]]\nlocation = '{registry}'\ninsecure = true\n"
    );
    let path = place.join("registries.conf");
    std::fs::write(&path, conf).unwrap();
    let mut settings = Settings::default();
    settings.generation.at_once = usize::try_from(at_once).unwrap();
    settings.images.registries_conf = path.display().to_string();
    settings
}

async fn measure(clusters: u32, at_once: u32) {
    let place = tempfile::tempdir().unwrap();
    let registry = DockerRegistry::start(&place.path().join("images"), &Access::default()).unwrap();
    let chosen = settings(place.path(), &registry.name(), at_once);
    let generator = Arc::new(Openshift::open(&chosen, &place.path().join("work")).unwrap());
    let change = Box::new(move |settings: &mut Settings| settings.generation = chosen.generation);
    let otherwise = Otherwise { generator: Some(generator), settings: Some(change), ..Otherwise::default() };
    let data = Data::sqlite();
    let server = Server::with(&data, otherwise).await;
    let ids = ready(&server, clusters).await;
    push(&server, &registry, ids[0], place.path()).await;

    let caller = Caller::admin(Uuid::new_v4());
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    for id in &ids {
        server.service.clusters().install(&caller, *id).await.unwrap();
    }
    let asked = begin.elapsed();
    for id in &ids {
        loop {
            let last = cluster(&server, *id).await.last_installation_preparation.unwrap_or_default();
            match last.status {
                Some(Status::Success) => break,
                Some(Status::Failed) => panic!("{}", last.reason),
                _ => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
    let (took, [own, programs]) = (begin.elapsed(), cpu_seconds());
    let most = most_at_once(place.path());
    let mark = if most <= at_once { "" } else { "  <- too many" };
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{clusters} clusters: asked for in {:.2} s, generated in {:.1} s ({:.1} per s), {most} programs at once of {at_once}{mark}\n\
         CPU: service {:.2} s, programs {:.2} s; peak of the service with its simulated hosts {} MiB",
        asked.as_secs_f64(),
        took.as_secs_f64(),
        f64::from(clusters) / took.as_secs_f64(),
        own - cpu[0],
        programs - cpu[1],
        peak_mib(),
    )
    .unwrap();
    server.stop().await;
}

/// Clusters of three hosts each that could be installed.
async fn ready(server: &Server, clusters: u32) -> Vec<ClusterId> {
    let target = Target::new(server.address);
    let mut plan = Plan::new(Shape::of(Topology::Compact), clusters, SPEED).unwrap();
    plan.goal = Goal::Ready;
    plan.version = target.default_version().await.unwrap();
    let mut simulation = Simulation::new(plan);
    drive::run(&mut simulation, &target, LIMIT, |_, _| true).await.unwrap();
    let listed =
        server.service.clusters().list(&Caller::admin(Uuid::new_v4()), ListClusters::default()).await;
    listed.unwrap().0.into_iter().map(|cluster| cluster.id).collect()
}

/// Pushes the release that the clusters are installed from.
async fn push(server: &Server, registry: &DockerRegistry, id: ClusterId, place: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let image = cluster(server, id).await.ocp_release_image;
    let version = image.strip_prefix(RELEASES).and_then(|tag| tag.strip_prefix(':'));
    let version = version.and_then(|tag| tag.strip_suffix("-x86_64")).unwrap();
    let installer = place.join("installer");
    std::fs::write(&installer, oci::OPENSHIFT_INSTALL).unwrap();
    std::fs::set_permissions(&installer, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = NOTING.replace("PLACE", place.to_str().unwrap());
    oci::push_release(registry, version, program.as_bytes()).await.unwrap();
}

async fn cluster(server: &Server, cluster_id: ClusterId) -> Cluster {
    let query = GetCluster { cluster_id, get_unregistered_clusters: false, exclude_hosts: true };
    server.service.clusters().get(&Caller::admin(Uuid::new_v4()), query).await.unwrap()
}

fn most_at_once(place: &Path) -> u32 {
    let (mut now, mut most) = (0_u32, 0);
    for line in std::fs::read_to_string(place.join("runs")).unwrap().lines() {
        now = if line == "+" { now + 1 } else { now - 1 };
        most = most.max(now);
    }
    most
}

/// CPU time of this process, and of those that it has waited for.
fn cpu_seconds() -> [f64; 2] {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // The 14th to 17th of the line, in hundredths of a second.
    let sum = |fields: &[&str]| fields.iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0;
    [sum(&fields[11..13]), sum(&fields[13..15])]
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}
