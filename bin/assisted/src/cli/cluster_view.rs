//! What is known of a cluster that is watched, as people see it.

use std::collections::{BTreeMap, VecDeque};

use assisted_client::Change;
use assisted_console::output::{printable, table};
use assisted_wire::cluster::{Cluster, ClusterStatus, FinalizingStage};
use assisted_wire::event::Event;
use assisted_wire::host::{Host, HostStatus};
use assisted_wire::id::{ClusterId, HostId};
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use super::common::{host_name, role};

/// Events that are shown at once.
const EVENTS: usize = 6;

/// Hosts that are shown at once.
const HOSTS: usize = 30;

/// Letters of a bar.
const BAR: i64 = 20;

/// The present state.
pub struct View {
    id: ClusterId,
    cluster: Option<Cluster>,
    hosts: BTreeMap<HostId, Host>,
    events: VecDeque<Event>,
}

impl View {
    /// Nothing is known yet.
    pub fn new(id: ClusterId) -> Self {
        Self { id, cluster: None, hosts: BTreeMap::new(), events: VecDeque::new() }
    }

    pub fn id(&self) -> ClusterId {
        self.id
    }

    pub fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// What is built of the images of nodes right now, as the host that builds tells it.
    pub fn image_build(&self) -> Option<&str> {
        let told = self.hosts.values().filter_map(|host| host.progress.as_ref());
        let mut told = told.map(|progress| progress.progress_info.as_str());
        told.find(|info| info.starts_with("Building OS image "))
    }

    /// Updates the view by a change; the line to print about it, if it is worth one.
    pub fn apply(&mut self, change: Change) -> Option<String> {
        match change {
            // What follows replaces the rest; hosts that have gone meanwhile do not come again.
            Change::Reset {} => {
                self.hosts.clear();
                None
            }
            Change::Cluster(cluster) => {
                if self.cluster.as_ref().is_some_and(|known| is_older(cluster.updated_at, known.updated_at)) {
                    return None;
                }
                let (before, now) = (self.cluster.as_ref().map(cluster_line), cluster_line(&cluster));
                self.cluster = Some(*cluster);
                (before.as_ref() != Some(&now)).then_some(now)
            }
            Change::Host(host) => {
                let known = self.hosts.get(&host.id);
                if known.is_some_and(|known| is_older(host.updated_at, known.updated_at)) {
                    return None;
                }
                if host.deleted_at.is_some() || host.cluster_id != Some(self.id) {
                    return self
                        .hosts
                        .remove(&host.id)
                        .map(|gone| format!("host {} is gone", host_name(&gone)));
                }
                let (before, now) = (known.map(host_line), host_line(&host));
                self.hosts.insert(host.id, *host);
                (before.as_ref() != Some(&now)).then_some(now)
            }
            Change::Event(event) => {
                let line = format!("event {}: {}", event.severity, event.message);
                self.events.push_back(*event);
                if self.events.len() > EVENTS {
                    self.events.pop_front();
                }
                Some(line)
            }
        }
    }

    /// Everything at once.
    pub fn picture(&self, now: Timestamp) -> String {
        let Some(cluster) = &self.cluster else { return "waiting for the service".to_owned() };
        let percentage = cluster.progress.as_ref().map_or(0, |progress| progress.total_percentage);
        let mut text = printable(&format!(
            "{}  {}  {}  for {}\n{}",
            cluster.name,
            cluster.status,
            bar(percentage),
            since(cluster.status_updated_at, now),
            cluster.status_info
        ));
        if let Some(stage) = finalizing_stage(cluster) {
            text.push_str(&format!("\nfinalizing: {stage}"));
        }
        if !self.hosts.is_empty() {
            let mut hosts: Vec<_> = self.hosts.values().map(|host| (host_name(host), host)).collect();
            // What has ended makes room for what has not.
            hosts.sort_by_key(|(name, host)| (host.status == HostStatus::Installed, name.clone()));
            let rows = hosts.iter().take(HOSTS).map(|(name, host)| row(name, host, now));
            text.push_str("\n\n");
            text.push_str(&table(["HOST", "ROLE", "STATE", "STAGE", "PROGRESS", "FOR"], rows));
            let more = hosts.len().saturating_sub(HOSTS);
            if more > 0 {
                text.push_str(&format!("\nand {more} more hosts"));
            }
        }
        if !self.events.is_empty() {
            let rows = self
                .events
                .iter()
                .map(|event| [clock(event.event_time), event.severity.to_string(), event.message.clone()]);
            text.push_str("\n\n");
            text.push_str(&table(["TIME", "SEVERITY", "WHAT HAPPENED"], rows));
        }
        text
    }
}

/// Whether an object was read before the one that is known: changes may be told late.
fn is_older(found: DateTime, known: DateTime) -> bool {
    found.0 < known.0
}

fn row(name: &str, host: &Host, now: Timestamp) -> [String; 6] {
    let (stage, begun) = stage(host);
    let percentage = host.progress.as_ref().map_or(0, |progress| progress.installation_percentage);
    let progress = if stage.is_empty() { String::new() } else { bar(percentage) };
    [name.to_owned(), role(host), host.status.to_string(), stage, progress, since(begun, now)]
}

/// The stage that a host is in, as people read it, and since when; without one, since when it has its state.
fn stage(host: &Host) -> (String, DateTime) {
    let Some((progress, stage)) =
        host.progress.as_ref().and_then(|progress| Some((progress, progress.current_stage?)))
    else {
        return (String::new(), host.status_updated_at);
    };
    let stages = host.progress_stages.as_deref().unwrap_or_default();
    let place = stages.iter().position(|one| *one == stage);
    let place = place.map_or(String::new(), |place| format!("{}/{} ", place + 1, stages.len()));
    let info = if progress.progress_info.is_empty() {
        String::new()
    } else {
        format!(" ({})", progress.progress_info)
    };
    (format!("{place}{stage}{info}"), progress.stage_started_at)
}

/// The stage of an installation's end; a cluster that is installed still shows the last one.
fn finalizing_stage(cluster: &Cluster) -> Option<FinalizingStage> {
    let progress = cluster.progress.as_ref().filter(|_| cluster.status == ClusterStatus::Finalizing);
    progress.and_then(|progress| progress.finalizing_stage)
}

fn cluster_line(cluster: &Cluster) -> String {
    if cluster.deleted_at.is_some() {
        return format!("cluster {} is deleted", cluster.name);
    }
    let mut line = format!("cluster {}: {}", cluster.name, cluster.status);
    if let Some(progress) = &cluster.progress {
        line.push_str(&format!(" {}%", progress.total_percentage));
    }
    if let Some(stage) = finalizing_stage(cluster) {
        line.push_str(&format!(" {stage}"));
    }
    line + ": " + &cluster.status_info
}

fn host_line(host: &Host) -> String {
    let mut line = format!("host {}: {} {}", host_name(host), role(host), host.status);
    let (stage, _) = stage(host);
    if !stage.is_empty() {
        let percentage = host.progress.as_ref().map_or(0, |progress| progress.installation_percentage);
        line.push_str(&format!(" {percentage}% {stage}"));
    }
    // Often it only repeats the stage.
    if stage.contains(&host.status_info) { line } else { line + ": " + &host.status_info }
}

/// A bar with its percentage.
fn bar(percentage: i64) -> String {
    let percentage = percentage.clamp(0, 100);
    let full = percentage * BAR / 100;
    let letters = (0..BAR).map(|letter| if letter < full { '█' } else { '░' });
    format!("{} {percentage:3}%", letters.collect::<String>())
}

/// Time of the day, in the time zone of the machine.
fn clock(at: DateTime) -> String {
    at.0.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// How long something has been so; empty when it never was.
fn since(at: DateTime, now: Timestamp) -> String {
    if at == DateTime::ZERO {
        return String::new();
    }
    let seconds = now.as_second().saturating_sub(at.0.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "11111111-2222-4333-8444-555555555555";
    const NOW: &str = "2026-01-01T00:10:00Z";

    fn cluster(status: &str, percentage: i64) -> Change {
        let cluster = json!({
            "kind": "Cluster", "id": ID, "href": "", "name": "demo", "image_info": {}, "status": status,
            "status_info": "because", "status_updated_at": "2026-01-01T00:08:30Z",
            "progress": {"total_percentage": percentage, "finalizing_stage": "Adding router ca"},
        });
        Change::Cluster(serde_json::from_value(cluster).unwrap())
    }

    fn host(cluster: Option<&str>, updated_at: &str, percentage: i64) -> Change {
        let host = json!({
            "kind": "Host", "id": ID, "href": "", "cluster_id": cluster, "requested_hostname": "m\u{1b}[0m",
            "status": "installing-in-progress", "status_info": "", "role": "master", "updated_at": updated_at,
            "progress_stages": ["Starting installation", "Writing image to disk"],
            "progress": {"current_stage": "Writing image to disk", "installation_percentage": percentage,
                "progress_info": "45%", "stage_started_at": "2026-01-01T00:09:48Z"},
        });
        Change::Host(serde_json::from_value(host).unwrap())
    }

    #[test]
    fn the_picture_shows_stages_and_bars() {
        let mut view = View::new(ID.parse().unwrap());
        view.apply(cluster("finalizing", 52));
        view.apply(host(Some(ID), NOW, 60));
        let picture = view.picture(NOW.parse().unwrap());
        let lines: Vec<_> = picture.lines().collect();
        assert_eq!(lines[0], "demo  finalizing  ██████████░░░░░░░░░░  52%  for 1m30s");
        assert_eq!(&lines[1..3], ["because", "finalizing: Adding router ca"]);
        let host = lines[5].split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            host,
            "m\u{fffd}[0m master installing-in-progress 2/2 Writing image to disk (45%) ████████████░░░░░░░░ 60% 12s"
        );
    }

    #[test]
    fn the_build_of_an_image_is_told_by_its_host() {
        let mut view = View::new(ID.parse().unwrap());
        view.apply(host(Some(ID), NOW, 60));
        assert_eq!(view.image_build(), None);
        let Change::Host(mut builder) = host(Some(ID), NOW, 60) else { panic!("no host") };
        let told = "Building OS image for pool master: STEP 7/12 (58%)";
        builder.progress.as_mut().unwrap().progress_info = told.to_owned();
        view.apply(Change::Host(builder));
        assert_eq!(view.image_build(), Some(told));
    }

    #[test]
    fn only_what_people_see_is_worth_a_line() {
        let mut view = View::new(ID.parse().unwrap());
        assert_eq!(view.apply(cluster("installing", 1)).unwrap(), "cluster demo: installing 1%: because");
        assert_eq!(view.apply(cluster("installing", 1)), None);
        assert!(view.apply(cluster("installing", 2)).is_some());
        assert!(
            view.apply(host(Some(ID), "2026-01-01T00:00:01Z", 60))
                .unwrap()
                .ends_with("60% 2/2 Writing image to disk (45%)")
        );
        assert_eq!(view.apply(host(Some(ID), "2026-01-01T00:00:02Z", 60)), None);
        // Told late.
        assert_eq!(view.apply(host(Some(ID), "2026-01-01T00:00:01Z", 40)), None);
        assert!(view.apply(host(None, "2026-01-01T00:00:03Z", 60)).unwrap().ends_with("is gone"));
        assert!(!view.picture(NOW.parse().unwrap()).contains("HOST"));
    }

    #[test]
    fn times_and_bars() {
        let now: Timestamp = NOW.parse().unwrap();
        let at = |seconds: i64| DateTime(Timestamp::from_second(now.as_second() - seconds).unwrap());
        assert_eq!(
            [0, 59, 61, 3700, -5].map(|seconds| since(at(seconds), now)),
            ["0s", "59s", "1m01s", "1h01m", "0s"]
        );
        assert_eq!(since(DateTime::ZERO, now), "");
        assert_eq!(bar(-3), format!("{}   0%", "░".repeat(20)));
        assert_eq!(bar(200), format!("{} 100%", "█".repeat(20)));
    }
}
