//! What processes used, from `/proc`.

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

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

/// CPU seconds of this process: the load generator's.
pub fn own_cpu() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok((usage.user_time() + usage.system_time()).num_milliseconds() as f64 / 1e3)
}

/// Resident memory of a process in MB: now, and the most it ever had.
pub fn memory(pid: u32) -> Result<(f64, f64)> {
    let [now, most] = megabytes(pid, ["VmRSS:", "VmHWM:"])?;
    Ok((now, most))
}

/// What of it the process has made itself, in MB: the pages of files, which come and go, apart.
pub fn own_memory(pid: u32) -> Result<f64> {
    let [own] = megabytes(pid, ["RssAnon:"])?;
    Ok(own)
}

/// What of it are pages of files in MB, above all of the program itself: the kernel takes them away when it needs memory.
pub fn pages_of_files(pid: u32) -> Result<f64> {
    let [pages] = megabytes(pid, ["RssFile:"])?;
    Ok(pages)
}

/// Open descriptors of a process.
pub fn descriptors(pid: u32) -> Result<u64> {
    let listed = std::fs::read_dir(format!("/proc/{pid}/fd")).context("the process is gone")?;
    Ok(listed.count() as u64)
}

/// Lines of one reading of `/proc/PID/status` that tell of memory.
fn megabytes<const N: usize>(pid: u32, keys: [&str; N]) -> Result<[f64; N]> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the process is gone")?;
    let mut found = [0.0; N];
    for (found, key) in found.iter_mut().zip(keys) {
        let line =
            status.lines().find_map(|line| line.strip_prefix(key)).with_context(|| format!("no {key}"))?;
        let kib: f64 = line.split_whitespace().next().context("no number")?.parse()?;
        *found = kib * 1024.0 / 1e6;
    }
    Ok(found)
}

/// Largest resident memory that any ended child had, in MB.
pub fn peak_memory_of_children() -> Result<f64> {
    Ok(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() as f64 * 1024.0 / 1e6)
}
