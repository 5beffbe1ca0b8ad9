//! Reads rows of hosts of the replaced service, with their reports.

use std::net::IpAddr;

use assisted_core::model::host::{HostKey, HostRecord};
use assisted_core::model::report::ReportKind;
use assisted_wire::host::Host;
use assisted_wire::secret::Secret;
use ipnet::IpNet;
use serde_json::Value;

use crate::row::{API, Row};

/// A host with its reports.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) key: HostKey,
    pub(crate) record: HostRecord,
    pub(crate) reports: Vec<(ReportKind, String)>,
}

pub(crate) fn read(mut row: Row) -> Result<Imported, String> {
    let token = row.text("ignition_endpoint_token").to_owned();
    let headers = row.text("ignition_endpoint_http_headers").to_owned();
    let clock = row.number("timestamp").filter(|seconds| *seconds > 0);
    row.take("timestamp");
    let approved = row.take("approved") == Some(Value::Bool(true));
    row.nest("progress_", "progress");
    let href = format!("{API}/infra-envs/{}/hosts/{}", row.text("infra_env_id"), row.text("id"));
    row.or("status_info", "").or("href", href);
    let mut host: Host = row.read()?;
    let infra_env_id = host.infra_env_id.ok_or("it has no infra-env")?;
    let reports = ReportKind::ALL
        .iter()
        .map(|kind| (*kind, std::mem::take(kind.field(&mut host))))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let checked_in_at = host.checked_in_at;
    let key = HostKey { infra_env_id, host_id: host.id };
    let record = HostRecord {
        ignition_endpoint_token: Secret::from(token.as_str()),
        ignition_endpoint_http_headers: headers,
        clock_ahead_seconds: clock
            .filter(|_| !checked_in_at.is_zero())
            .map(|seconds| seconds - checked_in_at.0.as_second()),
        machine: None,
        agent_key: None,
        registered_from: None,
        machine_released: false,
        approved,
        host,
    };
    Ok(Imported { key, record, reports })
}

/// The addresses in the inventory of a row's host.
pub(crate) fn addresses(row: &Row) -> Vec<IpAddr> {
    let inventory: Value = serde_json::from_str(row.text("inventory")).unwrap_or_default();
    let interfaces = inventory.get("interfaces").and_then(Value::as_array).into_iter().flatten();
    let told = interfaces.flat_map(|interface| {
        ["ipv4_addresses", "ipv6_addresses"]
            .into_iter()
            .filter_map(|family| interface.get(family)?.as_array())
            .flatten()
    });
    told.filter_map(Value::as_str)
        .filter_map(|text| text.parse::<IpNet>().map(|network| network.addr()).or_else(|_| text.parse()).ok())
        .collect()
}
