//! From sending a report until the validations that it changes can be read.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use assisted_simhost::connection::Connection;
use assisted_simhost::host::SimHost;
use hyper::Method;
use serde_json::{Value, json};

use crate::report::{line, ms};
use crate::service::Service;

const ROUNDS: u32 = 20;
/// A change that takes longer never comes.
const LIMIT: Duration = Duration::from_secs(30);

/// Measures it with a host whose memory shrinks and grows.
pub async fn run(service: &Service, host: &SimHost) -> Result<()> {
    let mut connection = Connection::open(service.address).await?;
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let mut inventory = host.inventory(1_000_000 + round);
        // Too little memory in one round, enough in the next: the validation has to turn each time.
        let enough = round % 2 == 1;
        if let (false, Some(memory)) = (enough, &mut inventory.memory) {
            memory.physical_bytes = 1 << 30;
            memory.usable_bytes = 1 << 30;
        }
        let reply = json!({"step_type": "inventory", "step_id": "inventory-0", "output": serde_json::to_string(&inventory)?});
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
    line("report until its validations are visible, median", ms(times[times.len() / 2]), "< 50");
    line("  slowest of 20", ms(times[times.len() - 1]), "");
    Ok(())
}
