//! What a simulation looks like while it runs, and in the end.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use assisted_console::output::{line_if_read, list, printable, table};
use assisted_console::screen::Screen;
use assisted_simhost::simulation::{ClusterResult, Simulation};
use assisted_simhost::user::ClusterView;
use assisted_wire::cluster::ClusterStatus;

/// Clusters that are shown at once.
const ROWS: usize = 20;

/// Shows the clusters while they change: redrawn on a terminal, a line for each change elsewhere.
pub struct Live {
    wanted: bool,
    /// `None`: there is no terminal.
    screen: Option<Screen>,
    /// What was told of each cluster last.
    told: BTreeMap<String, ClusterView>,
}

impl Live {
    /// Shows nothing unless `wanted`.
    pub fn new(wanted: bool) -> Self {
        Self { wanted, screen: Screen::new(), told: BTreeMap::new() }
    }

    /// Shows the present state; false when nobody reads it any more.
    pub fn show(&mut self, simulation: &Simulation, now: Duration) -> bool {
        if !self.wanted {
            return true;
        }
        match &mut self.screen {
            Some(screen) => screen.draw(&picture(simulation, now)),
            None => self.report(simulation, now),
        }
    }

    fn report(&mut self, simulation: &Simulation, now: Duration) -> bool {
        for (name, look) in simulation.views() {
            if look.status.is_none() || self.told.get(&name) == Some(look) {
                continue;
            }
            let [name, status, percentage, hosts, stages] = row(&name, look);
            let line = format!("{} {name} {status} {percentage}% {hosts} {stages}", clock(now));
            if !line_if_read(printable(&line).trim_end()).unwrap_or(false) {
                return false;
            }
            self.told.insert(name, look.clone());
        }
        true
    }
}

fn picture(simulation: &Simulation, now: Duration) -> String {
    let mut looks: Vec<_> = simulation.views().collect();
    let all = looks.len();
    // What has ended makes rack for what has not.
    looks.sort_by_key(|(_, look)| has_ended(look));
    looks.truncate(ROWS);
    let rows = looks.iter().map(|(name, look)| row(name, look));
    let mut text = table(["CLUSTER", "STATUS", "%", "HOSTS", "STAGES"], rows);
    let more = all.saturating_sub(ROWS);
    let more = if more > 0 { format!("{more} more clusters, ") } else { String::new() };
    text.push_str(&format!("\n{more}{} running, {}", simulation.running(), clock(now)));
    text
}

fn has_ended(look: &ClusterView) -> bool {
    matches!(look.status, Some(ClusterStatus::Installed | ClusterStatus::Error | ClusterStatus::Cancelled))
}

fn row(name: &str, look: &ClusterView) -> [String; 5] {
    [
        name.to_owned(),
        look.status.map_or_else(|| "-".to_owned(), |status| status.to_string()),
        look.percentage.to_string(),
        counts(&look.hosts),
        counts(&look.stages),
    ]
}

fn counts<T: Display>(counted: &BTreeMap<T, u32>) -> String {
    list(counted.iter().map(|(what, count)| format!("{count} {what}")))
}

/// Simulated time, as hours, minutes and seconds.
fn clock(now: Duration) -> String {
    let seconds = now.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// How the clusters ended, and what was refused meanwhile.
pub fn summary(results: &[ClusterResult], refusals: &BTreeMap<String, u64>) -> String {
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for result in results {
        let status = result.look.status.map_or("unknown", ClusterStatus::as_str);
        *ends.entry(status.to_owned()).or_default() += 1;
    }
    let mut text = format!("{} clusters: {}", results.len(), counts(&ends));
    for result in results.iter().filter(|result| !result.as_expected).take(ROWS) {
        let status = result.look.status.map_or("unknown", ClusterStatus::as_str);
        text.push_str(&format!("\n{}: {status} instead of {}", result.name, result.expected));
        let why =
            [result.fault.as_deref(), result.trouble.as_deref(), Some(result.look.status_info.as_str())];
        for why in why.into_iter().flatten().filter(|why| !why.is_empty()) {
            text.push_str(&format!("\n  {}", printable(why)));
        }
    }
    if !refusals.is_empty() {
        text.push_str("\nrefused by the service:");
        for (what, count) in refusals {
            text.push_str(&format!("\n  {count} x {}", printable(what)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostStatus;

    use super::*;

    #[test]
    fn the_summary_tells_what_went_otherwise() {
        let result = |status, as_expected| ClusterResult {
            id: None,
            name: "sim-0".to_owned(),
            look: ClusterView {
                status: Some(status),
                status_info: "because".to_owned(),
                ..ClusterView::default()
            },
            expected: ClusterStatus::Installed,
            as_expected,
            fault: None,
            trouble: None,
            simulated_seconds: 1,
        };
        let refusals = BTreeMap::from([("installer: 409: no".to_owned(), 3)]);
        let text = summary(
            &[result(ClusterStatus::Installed, true), result(ClusterStatus::Error, false)],
            &refusals,
        );
        assert_eq!(
            text,
            "2 clusters: 1 error, 1 installed\nsim-0: error instead of installed\n  because\nrefused by the \
             service:\n  3 x installer: 409: no"
        );
    }

    #[test]
    fn hosts_are_counted_by_state() {
        let look = ClusterView {
            status: Some(ClusterStatus::Installing),
            percentage: 40,
            hosts: BTreeMap::from([(HostStatus::Installing, 2), (HostStatus::InstallingInProgress, 1)]),
            ..ClusterView::default()
        };
        assert_eq!(row("a", &look), ["a", "installing", "40", "2 installing, 1 installing-in-progress", ""]);
        assert_eq!(clock(Duration::from_secs(3725)), "01:02:05");
    }
}
