//! Every shape of cluster is installed from the first registration to the last log, over HTTP.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use assisted_simhost::network::{Network, Platform};
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::{ClusterResult, Simulation};
use assisted_simhost::topology::Topology;
use serde_json::Value;

use crate::service::{Data, Otherwise};
use crate::travel::Travel;

/// The last versions that know all of the features.
fn version(shape: &Shape) -> String {
    if shape.network == Network::DhcpVips { "4.14" } else { "4.20" }.to_owned()
}

/// A cluster of a shape, installed.
async fn install(data: Data, shape: Shape) {
    let mut travel = Travel::start(&data, Otherwise::default()).await;
    let mut plan = Plan::new(shape, 1, 60.0).unwrap();
    plan.version = version(&shape);
    plan.look = Duration::from_secs(60);
    let mut simulation = Simulation::new(plan);
    let now = travel.run(&mut simulation).await;
    let what = format!("{shape:?}");
    assert!(simulation.refusals().is_empty(), "{what}: {:?}", simulation.refusals());
    for result in simulation.results(now) {
        let cluster = travel.get(&format!("clusters/{}", result.id.unwrap())).await;
        assert!(result.as_expected, "{what}: {result:#?} {}", cluster["validations_info"]);
        check_installed(&mut travel, &shape, &result).await;
    }
    assert_eq!(travel.warnings(), "", "{what}");
    travel.stop().await;
}

/// What everyone finds after an installation.
async fn check_installed(travel: &mut Travel, shape: &Shape, result: &ClusterResult) {
    let id = result.id.unwrap();
    let cluster = travel.get(&format!("clusters/{id}")).await;
    let grows = shape.all_hosts() != Some(shape.hosts);
    assert_eq!(cluster["status_info"], "Cluster is installed", "{cluster:#}");
    assert_eq!(cluster["status"], if grows { "adding-hosts" } else { "installed" });
    assert_eq!(cluster["progress"]["total_percentage"], 100, "{}", cluster["progress"]);
    assert_eq!(cluster["logs_info"], "completed");
    let hosts = cluster["hosts"].as_array().unwrap();
    assert_eq!(hosts.len() as u32, shape.all_hosts().unwrap());
    let mut bootstraps = 0;
    for host in hosts {
        bootstraps += u32::from(host["bootstrap"] == true);
        let day2 = host["kind"] == "AddToExistingClusterHost";
        let status = if day2 { "added-to-existing-cluster" } else { "installed" };
        assert_eq!(
            (&host["status"], &host["progress"]["installation_percentage"]),
            (&status.into(), &100.into()),
            "{host:#}"
        );
        assert_eq!(
            (&host["progress"]["current_stage"], &host["logs_info"]),
            (&"Done".into(), &"completed".into())
        );
    }
    assert_eq!(bootstraps, 1, "{hosts:#?}");
    events(travel, shape, &id.to_string(), hosts).await;
    files(travel, &id.to_string(), hosts.len()).await;
}

/// Each thing is told once, and in order.
async fn events(travel: &mut Travel, shape: &Shape, id: &str, hosts: &[Value]) {
    let events = travel.get(&format!("events?cluster_id={id}&categories=user")).await;
    let events = events.as_array().unwrap();
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let mut told: BTreeMap<(String, String, String), u32> = BTreeMap::new();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for event in events {
        assert!(matches!(event["severity"].as_str(), Some("info" | "warning")), "{event}");
        *count.entry(text(event, "name")).or_default() += 1;
        *told.entry((text(event, "name"), text(event, "host_id"), text(event, "message"))).or_default() += 1;
    }
    let all = hosts.len();
    for (name, times) in [
        ("cluster_registration_succeeded", 1),
        ("host_registration_succeeded", all),
        ("host_bootstrap_set", 1),
        ("cluster_prepare_installation_started", 1),
        ("cluster_installation_completed", 1),
        ("cluster_logs_uploaded", 1),
        ("host_logs_uploaded", all),
        ("cluster_installation_failed", 0),
        ("host_media_disconnected", 0),
    ] {
        assert_eq!(count.get(name).copied().unwrap_or_default(), times, "{name}: {count:#?}");
    }
    // Whatever is reached in an installation is reached once.
    for ((name, host, message), times) in &told {
        let once =
            matches!(name.as_str(), "host_install_progress_updated" | "cluster_finalizing_stage_updated")
                || name == "host_status_updated"
                    && [" from installing", " to installing", " to installed"]
                        .iter()
                        .any(|change| message.contains(change))
                || name == "cluster_status_updated" && message.contains("install");
        assert!(!once || *times == 1, "{times} x {name} {host} {message}");
    }
    let statuses: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "cluster_status_updated")
        .map(|event| text(event, "message").rsplit(' ').next().unwrap().to_owned())
        .collect();
    let last = ["ready", "preparing-for-installation", "installing", "finalizing", "installed"];
    assert!(statuses.ends_with(&last.map(str::to_owned)), "{statuses:?}");
    let installed = |(name, _, message): &&(String, String, String)| {
        name == "host_status_updated" && message.contains("from installing-in-progress to installed")
    };
    assert_eq!(told.keys().filter(installed).count(), shape.hosts as usize, "{told:#?}");
}

/// What can be fetched afterwards.
async fn files(travel: &mut Travel, id: &str, hosts: usize) {
    for name in ["kubeconfig", "kubeconfig-noingress", "kubeadmin-password"] {
        let content = travel.download(&format!("clusters/{id}/downloads/credentials?file_name={name}")).await;
        assert!(!content.is_empty(), "{name}");
        let with_certificate = String::from_utf8(content).unwrap().contains("certificate-authority-data");
        assert_eq!(with_certificate, name == "kubeconfig", "{name}");
    }
    let credentials = travel.get(&format!("clusters/{id}/credentials")).await;
    assert_eq!(credentials["username"], "kubeadmin", "{credentials}");
    let logs = travel.download(&format!("clusters/{id}/logs?logs_type=all")).await;
    let mut names = Vec::new();
    for entry in tar::Archive::new(logs.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        names.push(entry.path().unwrap().display().to_string());
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        assert!(!content.is_empty(), "{names:?}");
    }
    let logs = names.iter().filter(|name| name.contains(".tar") && !name.ends_with(".json")).count();
    assert_eq!(logs, hosts + 1, "{names:?}");
}

/// Shapes that CI has, and those that it leaves to others much like them.
macro_rules! shapes {
    ({ $($name:ident: $shape:expr;)+ } much_like_others { $($other:ident: $like:expr;)+ }) => {
        mod sqlite {
            use super::*;
            $(#[tokio::test]
            async fn $name() {
                install(Data::sqlite(), $shape).await;
            })+
        }
        mod everything_on_sqlite {
            use super::*;
            $(#[tokio::test]
            async fn $other() {
                install(Data::sqlite(), $like).await;
            })+
        }
        /// The shapes differ in what the service decides, which no database knows of: CI has those that differ most.
        mod everything_on_postgresql {
            use super::*;
            $(#[tokio::test]
            async fn $name() {
                install(Data::postgres(), $shape).await;
            })+
            $(#[tokio::test]
            async fn $other() {
                install(Data::postgres(), $like).await;
            })+
        }
    };
}

#[tokio::test]
async fn a_compact_cluster_and_a_larger_one_with_late_hosts_on_postgresql() {
    install(Data::postgres(), Shape::of(Topology::Compact)).await;
    let late = Shape { added_masters: 1, added_workers: 2, ..Shape::of(Topology::Ha) };
    install(Data::postgres(), late).await;
}

#[tokio::test]
async fn a_single_node_on_postgresql() {
    install(Data::postgres(), Shape::of(Topology::Sno)).await;
}

fn shape(topology: Topology, network: Network, platform: Platform) -> Shape {
    Shape { network, platform, ..Shape::of(topology) }
}

shapes! {
    {
        sno: Shape::of(Topology::Sno);
        compact: Shape::of(Topology::Compact);
        ha: Shape::of(Topology::Ha);
        ha5: Shape::of(Topology::Ha5);
        arbiter: Shape::of(Topology::Arbiter);
        tnf: Shape::of(Topology::Tnf);
        user_managed: shape(Topology::Ha, Network::UserManaged, Platform::Default);
        dhcp_vips: shape(Topology::Compact, Network::DhcpVips, Platform::Default);
        dual_stack: shape(Topology::Compact, Network::DualStack, Platform::Default);
        dual_stack_sno: shape(Topology::Sno, Network::DualStack, Platform::Default);
        platform_none: shape(Topology::Compact, Network::Vips, Platform::None);
        platform_vsphere: shape(Topology::Compact, Network::Vips, Platform::Vsphere);
        platform_nutanix: shape(Topology::Compact, Network::Vips, Platform::Nutanix);
        platform_external: shape(Topology::Compact, Network::Vips, Platform::External);
        day2_ha: Shape { added_masters: 1, added_workers: 2, ..Shape::of(Topology::Ha) };
        day2_sno: Shape { added_workers: 1, ..Shape::of(Topology::Sno) };
    }
    much_like_others {
        ha4: Shape::of(Topology::Ha4);
        many_workers: Shape { hosts: 12, ..Shape::of(Topology::Ha) };
        platform_baremetal: shape(Topology::Ha, Network::Vips, Platform::Baremetal);
        platform_oci: shape(Topology::Compact, Network::Vips, Platform::Oci);
    }
}
