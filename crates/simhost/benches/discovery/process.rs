//! What processes used, from `/proc`.

use std::path::Path;

use anyhow::{Context, Result};

/// Clock ticks per second of `/proc/PID/stat`; fixed on Linux for user space.
const TICKS: f64 = 100.0;

/// CPU seconds of a process and of its children that have ended.
pub fn cpu(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("the process is gone")?;
    // The name in brackets may hold blanks: fields are counted after it, from the third on.
    let fields: Vec<&str> = stat.rsplit_once(')').context("no name in stat")?.1.split_whitespace().collect();
    let ticks = fields[11..15].iter().map(|field| field.parse::<f64>()).sum::<Result<f64, _>>()?;
    Ok(ticks / TICKS)
}

/// Resident memory of a process in MB.
pub fn memory(pid: u32) -> Result<f64> {
    status_mb(&Path::new("/proc").join(pid.to_string()).join("status"), "VmRSS:")
}

/// Largest resident memory that any ended child had, in MB.
pub fn peak_memory_of_children() -> Result<f64> {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?;
    Ok(usage.max_rss() as f64 * 1024.0 / 1e6)
}

fn status_mb(path: &Path, key: &str) -> Result<f64> {
    let status = std::fs::read_to_string(path)?;
    let line = status.lines().find_map(|line| line.strip_prefix(key)).with_context(|| format!("no {key}"))?;
    let kib: f64 = line.split_whitespace().next().context("no number")?.parse()?;
    Ok(kib * 1024.0 / 1e6)
}
