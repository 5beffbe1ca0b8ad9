//! From sending a report until the validations that it changes can be read.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use assisted_simhost::connection::Connection;
use assisted_simhost::host::SimHost;
use hyper::Method;
use serde_json::{Value, json};

use super::report::{line, ms};
use super::service::Service;

const ROUNDS: u32 = 20;
/// A change that takes longer never comes.
const LIMIT: Duration = Duration::from_secs(30);

/// What a host reports in a round: too little memory in one, enough in the next, so that a validation has to turn each time; and whether
/// it is enough.
pub fn report(host: &SimHost, round: u32) -> Result<(bool, Value)> {
    let mut inventory = host.inventory(1_000_000 + round);
    let enough = round % 2 == 1;
    if let (false, Some(memory)) = (enough, &mut inventory.memory) {
        memory.physical_bytes = 1 << 30;
        memory.usable_bytes = 1 << 30;
    }
    let output = serde_json::to_string(&inventory)?;
    Ok((enough, json!({"step_type": "inventory", "step_id": "inventory-0", "output": output})))
}

/// Measures it with a host whose memory shrinks and grows.
pub async fn run(service: &Service, host: &SimHost) -> Result<()> {
    let times = times(service, host).await?;
    line("report until its validations are visible, median", ms(times[times.len() / 2]), "< 50");
    line("  slowest of 20", ms(times[times.len() - 1]), "");
    Ok(())
}

/// How long each of several reports took, the slowest last.
pub async fn times(service: &Service, host: &SimHost) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(service.address).await?;
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let (enough, reply) = report(host, round)?;
        let started = Instant::now();
        connection.json(Method::POST, &host.instructions_path(), &reply).await?;
        loop {
            let shown = connection.json(Method::GET, &host.path(), &Value::Null).await?;
            let validations: Value =
                serde_json::from_str(shown["validations_info"].as_str().unwrap_or("null"))?;
            let memory = validations["hardware"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|entry| entry["id"] == "has-min-memory");
            if memory.is_some_and(|entry| (entry["status"] == "success") == enough) {
                break;
            }
            ensure!(started.elapsed() < LIMIT, "the validations never changed: {validations}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        times.push(started.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}
