//! What processes used, from `/proc`.

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};

/// Clock ticks per second of `/proc/PID/stat`; fixed on Linux for user space.
const TICKS: f64 = 100.0;

/// Ends this process when `cargo` ends.
pub fn die_with_parent() -> Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
}

/// Each client is a file; the limit that shells set is meant for people.
pub fn raise_file_limit() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

/// CPU seconds of a process.
pub fn cpu(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("the process is gone")?;
    // The name in brackets may hold blanks: fields are counted after it, from the third on.
    let fields: Vec<&str> = stat.rsplit_once(')').context("no name in stat")?.1.split_whitespace().collect();
    let ticks = fields[11..13].iter().map(|field| field.parse::<f64>()).sum::<Result<f64, _>>()?;
    Ok(ticks / TICKS)
}

/// Resident memory of a process in MB.
pub fn memory(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the process is gone")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().next().context("no number")?.parse()?;
    Ok(kib * 1024.0 / 1e6)
}

/// The children of a process.
pub fn children(pid: u32) -> Result<Vec<u32>> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(list.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}
