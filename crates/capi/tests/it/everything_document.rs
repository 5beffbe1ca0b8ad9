//! What `docs/capi.md` tells people to type, typed as it stands under the core of Cluster API: from manifests to a cluster, a worker that
//! comes and goes, a machine of the control plane that is replaced, and the end; and the conditions that it tells of each moment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::machine::Machine;
use assisted_simhost::topology::Topology;
use assisted_testkit::terminal::{Terminal, typed};
use serde_json::Value;

use crate::core_steps::{agent, booted, install, joins, machines};
use crate::core_world::{World, condition};
use crate::everything_shapes::{HOSTS, names};
use crate::metal3::Booted;

const DOCUMENT: &str = "docs/capi.md";
/// Where the walk begins and ends in it.
const SECTION: (&str, &str) = ("\n## A cluster\n", "\n## ");
/// How long a command may take, in seconds, whatever time it gives itself.
const LIMIT: u32 = 400;
/// How long conditions may take.
const PATIENCE: Duration = Duration::from_secs(180);

fn section() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DOCUMENT);
    let text = std::fs::read_to_string(file).unwrap();
    let (_, section) = text.split_once(SECTION.0).unwrap();
    section.split(SECTION.1).next().unwrap().to_owned()
}

/// What a row of the table tells: conditions with their status, of the Cluster and of its control plane.
fn conditions(section: &str, moment: &str) -> [Vec<(String, String)>; 2] {
    let row = section.lines().find(|line| line.starts_with(&format!("| {moment} |")));
    let row = row.unwrap_or_else(|| panic!("{DOCUMENT} tells no conditions of the moment {moment:?}"));
    let cells: Vec<_> = row.split('|').skip(2).take(2).collect();
    [cells[0], cells[1]].map(|cell| {
        let told = cell.split('`').filter_map(|word| word.split_once('='));
        let told: Vec<_> = told.map(|(kind, status)| (kind.to_owned(), status.to_owned())).collect();
        assert!(told.len() > 1, "{row}");
        told
    })
}

/// A folder with the examples and a kubeconfig.
fn open(world: &World) -> Terminal {
    let clusterctl = world.core.lock().unwrap().clusterctl().unwrap();
    let programs = [world.kube.kubectl(), clusterctl].map(|program| PathBuf::from(program.get_program()));
    let terminal = Terminal::open(&programs, LIMIT).unwrap();
    for file in ["kustomization", "registries", "cluster", "control-plane", "workers"] {
        let file = format!("cluster-api/{file}");
        terminal.write(&format!("docs/examples/{file}.yaml"), world.example(&file)).unwrap();
    }
    terminal.write("kubeconfig", std::fs::read(world.kube.kubeconfig()).unwrap()).unwrap();
    let folder = terminal.folder().display().to_string();
    terminal
        .with("KUBECONFIG", format!("{folder}/kubeconfig"))
        .with("CLUSTERCTL_DISABLE_VERSIONCHECK", "true")
        .with("XDG_CONFIG_HOME", folder)
}

/// Waits until all conditions are as the document tells them of this moment.
async fn told(world: &World, section: &str, moment: &str) {
    let expected = conditions(section, moment);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut wrong = Vec::new();
        for (kind, expected) in ["cluster", "oacp"].into_iter().zip(&expected) {
            let object = world.kubectl(&["get", kind, "demo", "--output=json"]).await;
            let object: Value = serde_json::from_str(&object).unwrap();
            for (name, status) in expected {
                let is = condition(&object, name);
                if is.0 != *status {
                    wrong.push(format!("{kind} {name} is {is:?}, not {status}"));
                }
            }
        }
        if wrong.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{moment}: {wrong:#?}\n{}", world.described().await);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// The machine that has booted since.
async fn newest(world: &World, before: &[String], count: usize) -> Booted {
    let all = booted(world, count).await;
    all.into_iter().find(|booted| !before.contains(&booted.machine)).unwrap()
}

/// A machine that has booted becomes a node.
async fn comes(world: &World, new: &Booted, role: &str) {
    joins(world, new).await;
    agent(world, &new.machine, role).await;
    world.node(&format!("sim-{}", new.index), &new.provider_id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_the_document_tells_to_type() {
    let world = World::launch().await;
    let terminal = Arc::new(open(&world));
    let section = section();
    let blocks = <[Vec<String>; 6]>::try_from(typed(&section).unwrap());
    let [first, available, more, fewer, replaced, end] = blocks
        .unwrap_or_else(|blocks| panic!("{DOCUMENT} has other blocks than this test types: {blocks:#?}"));
    // Somebody types, while machines do what they do.
    let type_in = |block: Vec<String>, machine: &str| {
        let (terminal, machine) = (Arc::clone(&terminal), machine.to_owned());
        tokio::task::spawn_blocking(move || terminal.follow(&block, "MACHINE", &machine).unwrap())
    };

    type_in(first, "").await.unwrap();
    let all = booted(&world, HOSTS).await;
    told(&world, &section, "machines boot").await;
    let typed = type_in(available, "");
    let hosts = machines(&world, Topology::Ha, &names(&all)).await;
    install(&world, &all).await;
    typed.await.unwrap();
    hosts.abort();
    let kubeconfig = std::fs::read_to_string(terminal.folder().join("demo.kubeconfig")).unwrap();
    assert!(kubeconfig.contains("clusters:"), "{kubeconfig}");
    told(&world, &section, "the cluster is there").await;

    let typed = type_in(more, "");
    let worker = newest(&world, &names(&all), HOSTS + 1).await;
    told(&world, &section, "a worker is to come").await;
    comes(&world, &worker, "worker").await;
    typed.await.unwrap();
    type_in(fewer, &worker.machine).await.unwrap();
    assert!(world.site.find::<Machine>(&worker.machine).await.is_none());

    let leaves = all.iter().find(|booted| booted.is_control_plane).unwrap().machine.clone();
    let before = names(&world.metal3.booted());
    let typed = type_in(replaced, &leaves);
    let new = newest(&world, &before, HOSTS + 2).await;
    assert!(new.is_control_plane);
    told(&world, &section, "a machine of the control plane is replaced").await;
    comes(&world, &new, "master").await;
    typed.await.unwrap();
    told(&world, &section, "the cluster is there").await;

    type_in(end, "").await.unwrap();
    assert!(world.site.find::<Cluster>("demo").await.is_none(), "the Cluster stays");
}
