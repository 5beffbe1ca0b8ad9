//! Where the minutes of a lab went: its phases, and how much of each the lab's processes did next to nothing.
//!
//! A second counts as waiting when all processes of the lab together (machines, service, network) used less than a part of
//! one processor in it, and none of them stood at a disk. Then only a timer can have kept the installation.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// Between two samples.
const SAMPLE: Duration = Duration::from_secs(1);
/// Processors, below which the lab counts as waiting: machines that do nothing still take a little when they are emulated.
const IDLE: f64 = 0.3;
/// Clock ticks in a second, in `/proc/PID/stat`: the same on every Linux.
const TICKS: f64 = 100.0;

/// A second of the lab: when it ended, seconds since the epoch, and how long it had lasted; and the processors in use.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: f64,
    lasted: f64,
    processors: f64,
    /// Whether a process waited for a disk at its end.
    on_disk: bool,
}

impl Sample {
    /// Between two moments, each with the seconds of processors that were used until then.
    fn of((at, used): (f64, f64), (later, seconds): (f64, f64), on_disk: bool) -> Self {
        let lasted = (later - at).max(f64::EPSILON);
        // Who ends and is waited for by nobody takes along what it used: how much was used is not known then, but nobody only waited.
        let processors = if seconds < used { f64::INFINITY } else { (seconds - used) / lasted };
        Self { at: later, lasted, processors, on_disk }
    }

    fn is_waiting(&self) -> bool {
        self.processors < IDLE && !self.on_disk
    }
}

/// Measures what the lab's processes use, until it is asked for the result.
#[derive(Debug)]
pub(super) struct Sampler {
    stop: Sender<()>,
    thread: thread::JoinHandle<Vec<Sample>>,
    phases: Vec<(f64, String)>,
}

/// Seconds since the epoch.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Sampler {
    /// Measures this process and all that descend from it.
    pub(super) fn start() -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("sampler".to_owned()).spawn(move || {
            let mut samples = Vec::new();
            let usage = || Usage::read(Path::new("/proc"), std::process::id());
            let (mut at, mut used) = (now(), usage().seconds);
            while stopped.recv_timeout(SAMPLE) == Err(RecvTimeoutError::Timeout) {
                let (later, Usage { seconds, on_disk }) = (now(), usage());
                samples.push(Sample::of((at, used), (later, seconds), on_disk));
                (at, used) = (later, seconds);
            }
            samples
        })?;
        Ok(Self { stop, thread, phases: Vec::new() })
    }

    /// Says what begins now.
    pub(super) fn begin(&mut self, phase: &str) {
        self.phases.push((now(), phase.to_owned()));
    }

    /// Adds the phases that the service tells of, each with the moment at which it began.
    pub(super) fn add(&mut self, phases: impl IntoIterator<Item = (f64, String)>) {
        self.phases.extend(phases);
        self.phases.sort_by(|one, other| one.0.total_cmp(&other.0));
    }

    /// Ends the measurement: a line for each phase, and one for all. What real machines do is not seen here: for them nothing
    /// is told of waiting.
    pub(super) fn table(self, machines_are_real: bool) -> String {
        drop(self.stop);
        let samples = self.thread.join().unwrap_or_default();
        table(&self.phases, (!machines_are_real).then_some(&*samples), now())
    }
}

fn table(phases: &[(f64, String)], samples: Option<&[Sample]>, end: f64) -> String {
    let waited = |waiting: u64| samples.map_or_else(|| "-".to_owned(), |_| clock(waiting));
    let mut text = format!("{:>8} {:>8}\n", "minutes", "waiting");
    let ends = phases.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let (mut minutes, mut waiting) = (Sum::default(), Sum::default());
    for ((begin, what), end) in phases.iter().zip(ends) {
        let inside = samples.into_iter().flatten().filter(|sample| sample.at > *begin && sample.at <= end);
        let idle = inside.filter(|sample| sample.is_waiting()).map(|sample| sample.lasted).sum();
        let (took, idle) = (minutes.add(end - begin), waiting.add(idle));
        text.push_str(&format!("{:>8} {:>8}  {what}\n", clock(took), waited(idle)));
    }
    text.push_str(&format!("{:>8} {:>8}  all together\n", clock(minutes.told), waited(waiting.told)));
    text
}

/// A sum of seconds. What is told of its parts, in whole seconds, has the same sum.
#[derive(Debug, Default)]
struct Sum {
    seconds: f64,
    told: u64,
}

impl Sum {
    /// The whole seconds that are told of a part.
    fn add(&mut self, seconds: f64) -> u64 {
        self.seconds += seconds.max(0.0);
        let before = std::mem::replace(&mut self.told, self.seconds.round() as u64);
        self.told - before
    }
}

/// Minutes and seconds.
fn clock(seconds: u64) -> String {
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// What a process and all that descend from it use.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Usage {
    /// Of processors until now; those that have ended included.
    seconds: f64,
    /// Whether one of them waits for a disk now.
    on_disk: bool,
}

impl Usage {
    fn read(proc: &Path, root: u32) -> Self {
        let processes = std::fs::read_dir(proc).into_iter().flatten().flatten().filter_map(|entry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((id, Process::parse(&std::fs::read_to_string(entry.path().join("stat")).ok()?)?))
        });
        let processes: HashMap<_, _> = processes.collect();
        let mut family = HashSet::from([root]);
        loop {
            let before = family.len();
            let of_family = processes.iter().filter(|(_, process)| family.contains(&process.parent));
            let children: Vec<_> = of_family.map(|(id, _)| *id).collect();
            family.extend(children);
            if family.len() == before {
                break;
            }
        }
        let found = || family.iter().filter_map(|id| processes.get(id));
        let ticks: u64 = found().map(|process| process.ticks).sum();
        Self { seconds: ticks as f64 / TICKS, on_disk: found().any(|process| process.on_disk) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Process {
    parent: u32,
    /// Those of children that it has waited for included.
    ticks: u64,
    on_disk: bool,
}

impl Process {
    fn parse(stat: &str) -> Option<Self> {
        // The name stands in brackets, and may hold anything.
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
        Some(Self { parent: fields.get(1)?.parse().ok()?, ticks, on_disk: *fields.first()? == "D" })
    }
}

/// Phases of an installation, by the service's events: what began when.
pub(super) fn of_events(events: &Value) -> Vec<(f64, String)> {
    let mut phases: Vec<(f64, &str)> = Vec::new();
    let events = events.as_array().into_iter().flatten().filter_map(|event| {
        let at: jiff::Timestamp = event["event_time"].as_str()?.parse().ok()?;
        Some((at.as_millisecond() as f64 / 1000.0, event["message"].as_str()?))
    });
    let mut events: Vec<_> = events.collect();
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (text, phase) in PHASES {
        // The last installation counts: an earlier one may have failed.
        let after = phases.last().map_or(f64::MIN, |(at, _)| *at);
        let found = match phases.is_empty() {
            true => events.iter().rfind(|(_, message)| message.contains(text)),
            false => events.iter().find(|(at, message)| *at >= after && message.contains(text)),
        };
        phases.extend(found.map(|(at, _)| (*at, *phase)));
    }
    phases.into_iter().map(|(at, phase)| (at, phase.to_owned())).collect()
}

/// What an event says when a phase begins, in their order.
const PHASES: &[(&str, &str)] = &[
    (
        "status of the cluster to preparing-for-installation",
        "preparation: files are made, disks and images tried",
    ),
    ("status of the cluster to installing", "disks are written"),
    ("installation stage Rebooting", "hosts start from their disks"),
    ("installation stage Joined", "hosts join, etcd and the API move"),
    ("waiting for controller pod ready event", "the bootstrap host starts from its disk, and joins"),
    ("status of the cluster to finalizing", "operators, and the end"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn seconds_without_work_are_waiting() {
        let sample = |at| Sample {
            at: f64::from(at),
            lasted: 1.0,
            processors: if at % 4 == 0 || at % 4 == 1 { 0.1 } else { 1.5 },
            on_disk: at % 4 == 1,
        };
        let samples: Vec<_> = (1..=100).map(sample).collect();
        let phases = [(0.0, "one".to_owned()), (60.0, "two".to_owned())];
        assert_eq!(
            table(&phases, Some(&samples), 100.0),
            " minutes  waiting\n    1:00     0:15  one\n    0:40     0:10  two\n    1:40     0:25  all together\n"
        );
    }

    #[test]
    fn what_is_told_of_phases_adds_up() {
        let phases = [(0.0, "one".to_owned()), (20.4, "two".to_owned()), (40.8, "three".to_owned())];
        let sample = |at: f64, used: f64| Sample::of((at - 0.4, used), (at, 100.0), false);
        // In the third phase a process ended: what it had used is gone, and nobody only waited.
        let samples = [sample(10.0, 99.9), sample(30.0, 99.9), sample(50.0, 100.1), sample(60.0, 99.0)];
        assert_eq!(
            table(&phases, Some(&samples), 61.2),
            " minutes  waiting\n    0:20     0:00  one\n    0:21     0:01  two\n    0:20     0:00  three\n    1:01     0:01  all together\n"
        );
        assert!(table(&phases, None, 61.2).ends_with("    1:01        -  all together\n"));
        assert_eq!(table(&[], None, 61.2), " minutes  waiting\n    0:00        -  all together\n");
    }

    #[test]
    fn descendants_are_counted_with_what_they_waited_for() {
        let proc = tempfile::tempdir().unwrap();
        let processes =
            [(1, 0, 'D', 1000), (7, 1, 'S', 10), (8, 7, 'S', 100), (9, 8, 'D', 200), (10, 1, 'S', 5000)];
        for (id, parent, state, ticks) in processes {
            let dir = proc.path().join(id.to_string());
            std::fs::create_dir(&dir).unwrap();
            let stat = format!("{id} (a ) b) {state} {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 1 2 3 20 0 1 0 5");
            std::fs::write(dir.join("stat"), stat).unwrap();
        }
        std::fs::write(proc.path().join("uptime"), "1").unwrap();
        // Three processes, with six ticks more each.
        let usage = Usage::read(proc.path(), 7);
        assert!((usage.seconds - 3.28).abs() < 1e-9 && usage.on_disk, "{usage:?}");
        assert!(!Usage::read(proc.path(), 10).on_disk);
    }

    #[test]
    fn phases_begin_with_events_of_the_last_installation() {
        let event = |at: &str, message: &str| json!({"event_time": format!("2026-01-01T00:{at}.000Z"), "message": message});
        let events = json!([
            event("09:00", "Updated status of the cluster to finalizing"),
            event("00:30", "Updated status of the cluster to preparing-for-installation"),
            event("01:00", "Updated status of the cluster to installing"),
            event("05:00", "Updated status of the cluster to preparing-for-installation"),
            event("06:00", "Updated status of the cluster to installing"),
            event("07:00", "Host: a, reached installation stage Rebooting"),
            event("08:00", "Host: b, reached installation stage Rebooting"),
        ]);
        let phases = of_events(&events);
        let begun: Vec<_> = phases.iter().map(|(at, _)| (at - phases[0].0).round()).collect();
        assert_eq!(begun, [0.0, 60.0, 120.0, 240.0]);
        assert!(phases[3].1.starts_with("operators"));
    }
}
