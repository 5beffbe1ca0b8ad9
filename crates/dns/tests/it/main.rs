//! Both providers against real servers: moto for Route 53, BIND for dynamic updates.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

mod rfc2136;
mod route53;

use assisted_dns::{Change, Record};

fn record(name: &str, address: &str) -> Record {
    Record { name: name.to_owned(), address: address.parse().unwrap() }
}

fn change(record: &Record, replaces: bool) -> Change {
    Change { record: record.clone(), replaces }
}

fn names(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| record.name.clone()).collect()
}
