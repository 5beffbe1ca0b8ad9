//! `assisted cluster watch`: a cluster and its hosts as they change.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use assisted_client::{Change, Changes, Error, EventFilter, Order};
use assisted_console::Failure;
use assisted_console::output::{Format, line_if_read, printable, rendered};
use assisted_console::screen::Screen;
use assisted_wire::cluster::{Cluster, ClusterStatus, InstallationPreparationStatus};
use assisted_wire::event::Event;
use assisted_wire::host::Host;
use assisted_wire::id::{ClusterId, HostId};
use assisted_wire::time::DateTime;
use clap::Args;
use jiff::Timestamp;

use super::cluster_view::View;
use super::common::Context;
use super::watch::report;

/// Between two attempts to reach the service, and two looks at one that has no live view.
const INTERVAL: Duration = Duration::from_secs(1);

/// Between two pictures, however much changes.
const FRAME: Duration = Duration::from_millis(100);

/// Events that are read at a look.
const LATEST: u64 = 20;

#[derive(Args, Debug)]
pub struct Watch {
    /// Id, beginning of an id, or name
    cluster: String,
    /// End as soon as the cluster has this status; exit code 1 if it is deleted, or ends with another
    #[arg(long, value_name = "STATUS")]
    until: Option<ClusterStatus>,
}

impl Watch {
    /// Shows the cluster until it is interrupted, nobody reads it, or the end is reached.
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let id = context.cluster(&self.cluster).await?.id;
        let mut source = Source::new(context, id).await?;
        let mut view = View::new(id);
        let mut screen = if context.format == Format::Table { Screen::new() } else { None };
        let mut frames = tokio::time::interval(FRAME);
        let mut has_begun = false;
        loop {
            let mut next = std::pin::pin!(source.next(context));
            let change = loop {
                tokio::select! {
                    change = &mut next => break change?,
                    _ = frames.tick(), if screen.is_some() => {}
                    _ = tokio::signal::ctrl_c() => return self.interrupted(),
                }
                if !draw(&mut screen, &view) {
                    return Ok(());
                }
            };
            if screen.is_some() {
                view.apply(change);
            } else if !report_change(context.format, change, &mut view)? {
                return Ok(());
            }
            let over = match (self.until, view.cluster()) {
                (Some(until), Some(cluster)) => {
                    has_begun |= cluster.status == ClusterStatus::PreparingForInstallation;
                    is_over(cluster, until, has_begun)
                }
                _ => Ok(false),
            };
            if !matches!(over, Ok(false)) {
                draw(&mut screen, &view);
                return over.map(drop);
            }
        }
    }

    fn interrupted(&self) -> Result<(), Failure> {
        match self.until {
            None => Ok(()),
            Some(until) => Err(Failure::Refused(format!("interrupted before the cluster was {until}"))),
        }
    }
}

/// Draws the present state, if there is a screen; false when nobody sees it.
fn draw(screen: &mut Option<Screen>, view: &View) -> bool {
    screen.as_mut().is_none_or(|screen| screen.draw(&view.picture(Timestamp::now())))
}

/// Tells a change as a line, or as an object; false when nobody reads it.
fn report_change(format: Format, change: Change, view: &mut View) -> Result<bool, Failure> {
    let text = match format {
        Format::Table => {
            let Some(line) = view.apply(change) else { return Ok(true) };
            printable(&format!("{}  {line}", jiff::Zoned::now().strftime("%H:%M:%S")))
        }
        Format::Json => {
            let text = serde_json::to_string(&change).map_err(|error| Failure::Refused(error.to_string()))?;
            view.apply(change);
            text
        }
        Format::Yaml => {
            let text = format!("---\n{}", rendered(format, &change, |_| String::new())?);
            view.apply(change);
            text
        }
    };
    line_if_read(&text)
}

/// Whether a cluster is where it should be; a failure when it will not get there by itself, its installation having begun.
pub(super) fn is_over(cluster: &Cluster, until: ClusterStatus, has_begun: bool) -> Result<bool, Failure> {
    use ClusterStatus::{Finalizing, Installed, Installing, PreparingForInstallation};
    let because = |what: &str, why: &str| {
        Failure::Refused(format!("cluster {} {what} instead of being {until}: {why}", cluster.name))
    };
    let never = |what: &str| because(what, &cluster.status_info);
    if cluster.deleted_at.is_some() {
        return Err(never("was deleted"));
    }
    match cluster.status {
        status if status == until => Ok(true),
        ClusterStatus::Error => Err(never("failed")),
        ClusterStatus::Cancelled => Err(never("was cancelled")),
        // An installation that can't be prepared leaves the cluster as it was; somebody must begin it again.
        ClusterStatus::Ready | ClusterStatus::Insufficient
            if matches!(until, PreparingForInstallation | Installing | Finalizing | Installed) =>
        {
            let last = cluster.last_installation_preparation.as_ref();
            match last.filter(|last| last.status == Some(InstallationPreparationStatus::Failed)) {
                Some(failed) => Err(because("could not be prepared", &failed.reason)),
                // A host that can't be prepared is no failed preparation, to the cluster.
                None if has_begun => Err(because(
                    "could not be prepared",
                    "`assisted event list --cluster` tells which host, and why",
                )),
                None => Ok(false),
            }
        }
        _ => Ok(false),
    }
}

/// Where changes come from.
pub(super) struct Source {
    id: ClusterId,
    /// `None`: the service has no live view.
    live: Option<Live>,
    polled: Polled,
}

#[derive(Default)]
struct Live {
    stream: Option<Changes>,
    place: Option<String>,
    /// Whether it was told that the service is away.
    is_away: bool,
}

impl Source {
    pub async fn new(context: &Context, id: ClusterId) -> Result<Self, Failure> {
        let live = match context.client.watch(Some(id), None).await {
            Ok(stream) => Some(Live { stream: Some(stream), ..Live::default() }),
            Err(error @ Error::Unreachable { .. }) => return Err(error.into()),
            Err(error) if matches!(error.status(), Some(401 | 403)) => return Err(error.into()),
            // An older service, or one that many others watch.
            Err(_) => None,
        };
        Ok(Self { id, live, polled: Polled::default() })
    }

    /// The next change.
    pub async fn next(&mut self, context: &Context) -> Result<Change, Failure> {
        match &mut self.live {
            Some(live) => live.next(context, self.id).await,
            None => self.polled.next(context, self.id).await,
        }
    }
}

impl Live {
    async fn next(&mut self, context: &Context, id: ClusterId) -> Result<Change, Failure> {
        loop {
            if let Some(stream) = &mut self.stream {
                let change = stream.next().await;
                self.place = stream.cursor().map(str::to_owned);
                match change {
                    Ok(Some(change)) => {
                        self.is_away = false;
                        return Ok(change);
                    }
                    Ok(None) | Err(Error::Unreachable { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
                self.stream = None;
                tokio::time::sleep(INTERVAL).await;
            }
            match context.client.watch(Some(id), self.place.as_deref()).await {
                Ok(stream) => self.stream = Some(stream),
                Err(Error::Refused(refusal)) if refusal.status < 500 => {
                    return Err(Error::Refused(refusal).into());
                }
                Err(error) => {
                    if !std::mem::replace(&mut self.is_away, true) {
                        report(&error.to_string());
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
            }
        }
    }
}

/// What a service without a live view told last.
#[derive(Default)]
struct Polled {
    is_known: bool,
    cluster: Option<Cluster>,
    hosts: BTreeMap<HostId, Host>,
    events: HashSet<String>,
    waiting: VecDeque<Change>,
}

impl Polled {
    async fn next(&mut self, context: &Context, id: ClusterId) -> Result<Change, Failure> {
        loop {
            if let Some(change) = self.waiting.pop_front() {
                return Ok(change);
            }
            if self.is_known {
                tokio::time::sleep(INTERVAL).await;
            }
            match fetch(context, id).await {
                Ok((cluster, events)) => self.compare(cluster, events),
                Err(Error::Unreachable { .. }) if self.is_known => {}
                Err(error) if error.status() == Some(404) && self.cluster.is_some() => {
                    let gone =
                        self.cluster.take().map(|cluster| Cluster { deleted_at: Some(now()), ..cluster });
                    self.waiting.extend(gone.map(|gone| Change::Cluster(Box::new(gone))));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn compare(&mut self, mut cluster: Cluster, events: Vec<Event>) {
        if !std::mem::replace(&mut self.is_known, true) {
            self.waiting.push_back(Change::Reset {});
        }
        let hosts = cluster.hosts.take().unwrap_or_default();
        if self.cluster.as_ref() != Some(&cluster) {
            self.waiting.push_back(Change::Cluster(Box::new(cluster.clone())));
            self.cluster = Some(cluster);
        }
        let mut gone = std::mem::take(&mut self.hosts);
        for host in hosts.into_iter().map(without_reports) {
            if gone.remove(&host.id).as_ref() != Some(&host) {
                self.waiting.push_back(Change::Host(Box::new(host.clone())));
            }
            self.hosts.insert(host.id, host);
        }
        for host in gone.into_values() {
            let gone = Host { deleted_at: Some(now()), updated_at: now(), ..host };
            self.waiting.push_back(Change::Host(Box::new(gone)));
        }
        // Events have no id.
        let texts: Vec<_> =
            events.iter().map(|event| serde_json::to_string(event).unwrap_or_default()).collect();
        for (event, text) in events.into_iter().zip(&texts) {
            if !self.events.contains(text) {
                self.waiting.push_back(Change::Event(Box::new(event)));
            }
        }
        self.events = texts.into_iter().collect();
    }
}

async fn fetch(context: &Context, id: ClusterId) -> Result<(Cluster, Vec<Event>), Error> {
    let cluster = context.client.get_cluster(id).await?;
    let filter = EventFilter {
        cluster_id: Some(id),
        order: Order::Descending,
        limit: Some(LATEST),
        ..EventFilter::default()
    };
    let mut events = context.client.list_events(&filter).await?.events;
    events.reverse();
    Ok((cluster, events))
}

/// A host as the live view tells it; signs of life are no change.
fn without_reports(host: Host) -> Host {
    Host {
        checked_in_at: DateTime::ZERO,
        timestamp: 0,
        connectivity: String::new(),
        api_vip_connectivity: String::new(),
        tang_connectivity: String::new(),
        inventory: String::new(),
        ntp_sources: String::new(),
        disks_info: String::new(),
        images_status: String::new(),
        domain_name_resolutions: String::new(),
        ..host
    }
}

fn now() -> DateTime {
    DateTime(Timestamp::now())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "11111111-2222-4333-8444-555555555555";

    fn cluster(status: &str, hosts: &[&str]) -> Cluster {
        let hosts: Vec<_> = hosts
            .iter()
            .map(|status| {
                json!({"kind": "Host", "id": ID, "href": "", "status": status, "status_info": "", "inventory": "{}",
                    "checked_in_at": Timestamp::now()})
            })
            .collect();
        let cluster = json!({
            "kind": "Cluster", "id": ID, "href": "", "name": "demo", "image_info": {}, "status": status,
            "status_info": "because", "hosts": hosts,
        });
        serde_json::from_value(cluster).unwrap()
    }

    #[test]
    fn an_end_is_the_right_one_or_a_failure() {
        use ClusterStatus::{Installed, Ready};
        let is_over_yet = |cluster: &_, until| is_over(cluster, until, false);
        assert!(is_over_yet(&cluster("installed", &[]), Installed).unwrap());
        assert!(!is_over_yet(&cluster("installing", &[]), Installed).unwrap());
        assert!(is_over_yet(&cluster("error", &[]), ClusterStatus::Error).unwrap());
        for (status, why) in [("error", "failed"), ("cancelled", "was cancelled")] {
            let failure = is_over_yet(&cluster(status, &[]), Ready).unwrap_err().to_string();
            assert_eq!(failure, format!("cluster demo {why} instead of being ready: because"));
        }
        let gone = Cluster { deleted_at: Some(now()), ..cluster("ready", &[]) };
        assert!(is_over_yet(&gone, Ready).is_err());
        let last = json!({"status": "failed", "reason": "no image"});
        let last = Some(serde_json::from_value(last).unwrap());
        let unprepared = Cluster { last_installation_preparation: last, ..cluster("ready", &[]) };
        assert!(is_over_yet(&unprepared, Ready).unwrap());
        let failure = is_over_yet(&unprepared, Installed).unwrap_err().to_string();
        assert_eq!(failure, "cluster demo could not be prepared instead of being installed: no image");
        assert!(!is_over_yet(&cluster("ready", &[]), Installed).unwrap());
        let failure = is_over(&cluster("ready", &[]), Installed, true).unwrap_err().to_string();
        assert!(
            failure.starts_with(
                "cluster demo could not be prepared instead of being installed: `assisted event list"
            ),
            "{failure}"
        );
    }

    #[test]
    fn a_look_tells_what_differs_from_the_last() {
        let mut polled = Polled::default();
        let mut told = |cluster: Cluster| {
            polled.compare(cluster, Vec::new());
            let kinds = polled.waiting.drain(..).map(|change| match change {
                Change::Reset {} => "reset".to_owned(),
                Change::Cluster(cluster) => cluster.status.to_string(),
                Change::Host(host) if host.deleted_at.is_some() => "gone".to_owned(),
                Change::Host(host) => format!("host {}", host.status),
                Change::Event(event) => event.message.clone(),
            });
            kinds.collect::<Vec<_>>()
        };
        assert_eq!(told(cluster("ready", &["known"])), ["reset", "ready", "host known"]);
        assert!(told(cluster("ready", &["known"])).is_empty());
        assert_eq!(told(cluster("ready", &["installing"])), ["host installing"]);
        assert_eq!(told(cluster("installing", &[])), ["installing", "gone"]);
    }
}
