//! Step `installation-disk-speed-check`: how long the disk that is to hold etcd takes to make a small write last
//! (agent-protocol §2.4.8). **It overwrites the first 22 MiB of the disk.**

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_base::process::{CmdError, Tools};
use assisted_hostinfo::Root;
use assisted_wire::probe_requests::DiskSpeedCheckRequest;
use assisted_wire::probe_responses::DiskSpeedCheckResponse;
use serde_json::Value;
use tracing::{info, warn};

use super::{Guard, abbreviated, output};
use crate::reply::Outcome;
use crate::task::blocking;

/// What the write-ahead log of etcd does: small writes, each made to last before the next.
const BLOCK: usize = 2_300;
const SIZE: u64 = 22 << 20;
/// Writers at once; the slower one counts.
const WRITERS: usize = 2;
/// Share of the time after which a slow disk has shown enough.
const ENOUGH: f64 = 0.8;
/// Exit code of a program that its time limit ended (agent-protocol §6.1).
const TIMED_OUT: i64 = 124;
const LONGEST_LIMIT: f64 = 3_600.0;

/// What the tool found, or why it found nothing.
enum Tool {
    Absent,
    Ended { code: i64, stderr: String, latency: Option<Duration> },
    TimedOut,
}

pub(super) async fn run(
    args: &[String],
    root: &Arc<Root>,
    tools: &Tools,
    dry_run: bool,
    guard: &Guard,
) -> Outcome {
    let [request, limit] = args else {
        return Outcome::failed(format!(
            "disk performance cmd accepts 2 params in args, given args {}",
            abbreviated(args)
        ));
    };
    let request: DiskSpeedCheckRequest = match serde_json::from_str(request) {
        Ok(request) => request,
        Err(error) => return Outcome::failed(format!("disk performance: {error}")),
    };
    let limit = match limit.parse::<f64>() {
        Ok(seconds) if (1.0..=LONGEST_LIMIT).contains(&seconds) => Duration::from_secs_f64(seconds),
        _ => return Outcome::failed(format!("disk performance: no time limit: {}", abbreviated(args))),
    };
    if dry_run {
        return answer(&request.path, Duration::from_millis(1));
    }
    // An empty answer means that one is under way already.
    let Ok(held) = Arc::clone(guard).try_lock_owned() else { return Outcome::done(String::new()) };
    let (root, path) = (Arc::clone(root), request.path.clone());
    if let Err(reason) = blocking(move || check(&root, &path)).await {
        return failed(&request.path, -1, &reason);
    }
    let two = (fio(tools, &request.path, limit), fio(tools, &request.path, limit));
    let (first, second) = tokio::join!(two.0, two.1);
    let mut worst = None;
    let mut fault = (-1, String::new());
    for result in [first, second] {
        match result {
            Tool::Absent => {
                info!("fio is not here: measuring without it");
                let path = request.path.clone();
                let measured = blocking(move || {
                    let _held = held;
                    measure(Path::new(&path), limit.mul_f64(ENOUGH))
                });
                return match measured.await {
                    Ok(latency) => answer(&request.path, latency),
                    Err(error) => failed(&request.path, -1, &error.to_string()),
                };
            }
            Tool::TimedOut => {
                return Outcome {
                    exit_code: TIMED_OUT,
                    ..Outcome::failed("the disk was too slow to measure")
                };
            }
            Tool::Ended { latency: Some(latency), .. } => worst = worst.max(Some(latency)),
            Tool::Ended { code, stderr, latency: None } => fault = (code, stderr),
        }
    }
    // One of the two may fail (agent-protocol §2.4.8).
    match worst {
        Some(latency) => answer(&request.path, latency),
        None => failed(&request.path, fault.0, &fault.1),
    }
}

fn answer(path: &str, latency: Duration) -> Outcome {
    let io_sync_duration = i64::try_from(latency.as_millis()).unwrap_or(i64::MAX);
    output(&DiskSpeedCheckResponse { io_sync_duration, path: path.to_owned() })
}

fn failed(path: &str, code: i64, why: &str) -> Outcome {
    let told = output(&DiskSpeedCheckResponse { path: path.to_owned(), ..DiskSpeedCheckResponse::default() });
    let error =
        format!("Could not get I/O performance for path {path} (fio exit code: {code}, stderr: {why})");
    Outcome { output: told.output, ..Outcome::failed(error) }
}

/// Whether writing there destroys nothing that is in use.
fn check(root: &Root, path: &str) -> Result<(), String> {
    if !path.starts_with("/dev/") || path.split('/').any(|part| part == "..") {
        return Err("it is no path of a device".to_owned());
    }
    let real = std::fs::canonicalize(path).map_err(|error| error.to_string())?;
    let kind = std::fs::metadata(&real).map_err(|error| error.to_string())?.file_type();
    if !kind.is_block_device() {
        return Err("it is no disk".to_owned());
    }
    match assisted_hostinfo::mounted_from(root, &real.to_string_lossy()) {
        Some(target) => Err(format!("it is in use: mounted on {target}")),
        None => Ok(()),
    }
}

async fn fio(tools: &Tools, path: &str, limit: Duration) -> Tool {
    // The tool takes a bare colon for the end of the name.
    let file = format!("--filename={}", path.replace(':', "\\:"));
    let size = format!("--size={}m", SIZE >> 20);
    let block = format!("--bs={BLOCK}");
    let cmd = tools.own("fio").arg(file).args([
        "--name=test",
        "--rw=write",
        "--ioengine=sync",
        &size,
        &block,
        "--fdatasync=1",
        "--output-format=json",
    ]);
    match cmd.timeout(limit).run().await {
        Ok(done) if done.success() => match latency(&done.stdout) {
            Some(latency) => Tool::Ended { code: 0, stderr: String::new(), latency: Some(latency) },
            None => Tool::Ended { code: 0, stderr: "its output says no latency".to_owned(), latency: None },
        },
        Ok(done) => Tool::Ended { code: done.code().into(), stderr: done.complaint(), latency: None },
        Err(CmdError::Start { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Tool::Absent,
        Err(CmdError::Timeout { .. }) => Tool::TimedOut,
        Err(error) => {
            warn!(%error, "fio failed");
            Tool::Ended { code: -1, stderr: error.to_string(), latency: None }
        }
    }
}

/// The time that 99 of 100 writes took at most.
pub(crate) fn latency(json: &[u8]) -> Option<Duration> {
    // Notes may stand before the report.
    let start = json.iter().position(|byte| *byte == b'{')?;
    let report: Value = serde_json::from_slice(&json[start..]).ok()?;
    let nanos = &report["jobs"][0]["sync"]["lat_ns"]["percentile"]["99.000000"];
    nanos.as_u64().map(Duration::from_nanos)
}

/// The same without the tool: each writer writes the whole size, or as much as fits into the time.
fn measure(path: &Path, limit: Duration) -> std::io::Result<Duration> {
    let end = Instant::now() + limit;
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let file = OpenOptions::new().write(true).open(path)?;
            Ok(std::thread::spawn(move || writer(&file, end)))
        })
        .collect::<std::io::Result<_>>()?;
    let mut worst = None;
    let mut fault = None;
    for writer in writers {
        match writer.join() {
            Ok(Ok(latency)) => worst = worst.max(Some(latency)),
            Ok(Err(error)) => fault = Some(error),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    match (worst, fault) {
        (Some(latency), _) => Ok(latency),
        (None, Some(error)) => Err(error),
        (None, None) => Err(std::io::Error::other("nothing was written")),
    }
}

fn writer(file: &File, end: Instant) -> std::io::Result<Duration> {
    let block = [0x5a; BLOCK];
    let mut latencies = Vec::with_capacity((SIZE / BLOCK as u64) as usize);
    let mut at = 0;
    while at + BLOCK as u64 <= SIZE && (Instant::now() < end || latencies.is_empty()) {
        file.write_all_at(&block, at)?;
        at += BLOCK as u64;
        let begin = Instant::now();
        file.sync_data()?;
        latencies.push(begin.elapsed());
    }
    latencies.sort_unstable();
    let place = (latencies.len() * 99).div_ceil(100).saturating_sub(1);
    latencies.get(place).copied().ok_or_else(|| std::io::Error::other("nothing was written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_report() {
        let report = br#"{"jobs":[{"sync":{"lat_ns":{"percentile":{"99.000000":4817000}}}}]}"#;
        assert_eq!(latency(report), Some(Duration::from_micros(4_817)));
        assert_eq!(
            latency(&[b"note: both iodepth\n", &report[..]].concat()),
            Some(Duration::from_micros(4_817))
        );
        for bad in [&b""[..], b"{}", b"fio: note\n{}", br#"{"jobs":[]}"#] {
            assert_eq!(latency(bad), None);
        }
    }
}
