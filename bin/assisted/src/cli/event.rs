//! `assisted event …`

use std::collections::HashSet;

use assisted_client::{EventFilter, Order};
use assisted_console::Failure;
use assisted_console::output::{Format, line_if_read, printable, rendered, show, table};
use assisted_wire::event::{Event, EventSeverity};
use clap::{Args, Subcommand};

use super::common::Context;
use super::watch;

#[derive(Subcommand, Debug)]
pub enum Command {
    /// List events, oldest first
    List(Filter),
    /// Follow events
    Watch(Filter),
}

/// Which events.
#[derive(Args, Debug)]
pub struct Filter {
    /// Of a cluster and its hosts (id, beginning of an id, or name)
    #[arg(long)]
    cluster: Option<String>,
    /// Of an infra-env and its hosts (id, beginning of an id, or name)
    #[arg(long)]
    infra_env: Option<String>,
    /// Of a host (id, beginning of an id, or host name)
    #[arg(long)]
    host: Option<String>,
    /// Of a severity; may be given several times
    #[arg(long = "severity", value_name = "SEVERITY")]
    severities: Vec<EventSeverity>,
    /// Whose text contains this
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// The newest N only
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List(filter) => {
                show(context.format, &filter.events(context).await?, |events| overview(events))
            }
            Self::Watch(filter) => {
                let filter = &filter;
                let mut known = HashSet::new();
                watch::each_look(&mut || filter.events(context), |events| {
                    news(context.format, events, &mut known)
                })
                .await
            }
        }
    }
}

impl Filter {
    async fn events(&self, context: &Context) -> Result<Vec<Event>, Failure> {
        let mut filter = EventFilter {
            severities: self.severities.clone(),
            message: self.message.clone(),
            order: Order::Descending,
            limit: self.limit.map(u64::from),
            ..EventFilter::default()
        };
        if let Some(cluster) = &self.cluster {
            filter.cluster_id = Some(context.cluster(cluster).await?.id);
        }
        if let Some(infra_env) = &self.infra_env {
            filter.infra_env_id = Some(context.infra_env(infra_env).await?.id);
        }
        if let Some(host) = &self.host {
            filter.host_ids = vec![context.host(host).await?.id];
        }
        let mut events = context.client.list_events(&filter).await?.events;
        events.reverse();
        Ok(events)
    }
}

/// Shows the events that were not shown before; false when nobody reads them.
fn news(format: Format, events: Vec<Event>, known: &mut HashSet<String>) -> Result<bool, Failure> {
    for event in events {
        // Events have no id.
        let text = serde_json::to_string(&event).map_err(|error| Failure::Refused(error.to_string()))?;
        if known.contains(&text) {
            continue;
        }
        let read = match format {
            Format::Table => {
                let Event { event_time, severity, message, .. } = &event;
                line_if_read(&printable(&format!("{event_time}  {severity:8}  {message}")))
            }
            Format::Json => line_if_read(&text),
            Format::Yaml => line_if_read(&format!("---\n{}", rendered(format, &event, |_| String::new())?)),
        };
        if !read? {
            return Ok(false);
        }
        known.insert(text);
    }
    Ok(true)
}

fn overview(events: &[Event]) -> String {
    table(
        ["TIME", "SEVERITY", "WHAT HAPPENED"],
        events
            .iter()
            .map(|event| [event.event_time.to_string(), event.severity.to_string(), event.message.clone()]),
    )
}
