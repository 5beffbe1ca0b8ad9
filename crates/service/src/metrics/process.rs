//! What the process takes of its machine, as Linux tells it.

use std::fs;

use prometheus::{Counter, Gauge, Registry, Result};

/// Ticks of a second in what the kernel tells programs: the same on all architectures that there are programs for.
const TICKS: f64 = 100.0;

/// The measures of this process, under the names that are usual.
#[derive(Debug)]
pub(super) struct Process {
    cpu: Counter,
    resident: Gauge,
    virtual_bytes: Gauge,
    open_files: Gauge,
    most_files: Gauge,
    started: Gauge,
    threads: Gauge,
    /// Under the name that published dashboards ask for.
    threads_as_known: Gauge,
}

impl Process {
    pub(super) fn new(registry: &Registry) -> Result<Self> {
        let gauge = |name: &str, help: &str| {
            let gauge = Gauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let cpu = Counter::new("process_cpu_seconds_total", "Seconds of CPU time, of user and system.")?;
        registry.register(Box::new(cpu.clone()))?;
        Ok(Self {
            cpu,
            resident: gauge("process_resident_memory_bytes", "Memory that is resident.")?,
            virtual_bytes: gauge("process_virtual_memory_bytes", "Virtual memory.")?,
            open_files: gauge("process_open_fds", "Open file descriptors.")?,
            most_files: gauge("process_max_fds", "File descriptors that may be open.")?,
            started: gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.")?,
            threads: gauge("process_threads", "Threads of the system.")?,
            threads_as_known: gauge(
                "go_threads",
                "The same as process_threads, for dashboards that ask for it.",
            )?,
        })
    }

    /// Takes them anew. What the system does not tell stays as it was.
    pub(super) fn measure(&self) {
        if let Some(stat) = fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(Stat::read) {
            self.cpu.inc_by((stat.cpu_seconds - self.cpu.get()).max(0.0));
            self.threads.set(stat.threads);
            self.threads_as_known.set(stat.threads);
            self.virtual_bytes.set(stat.virtual_bytes);
            let booted = fs::read_to_string("/proc/stat").ok().as_deref().and_then(booted_at);
            if let Some(booted) = booted {
                self.started.set(booted + stat.started_after_boot);
            }
        }
        if let Some(bytes) = fs::read_to_string("/proc/self/status").ok().as_deref().and_then(resident_bytes)
        {
            self.resident.set(bytes);
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            self.open_files.set(open.count() as f64);
        }
        if let Some(most) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
            self.most_files.set(most as f64);
        }
    }
}

/// What stands in `/proc/self/stat`.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu_seconds: f64,
    threads: f64,
    started_after_boot: f64,
    virtual_bytes: f64,
}

impl Stat {
    fn read(text: &str) -> Option<Self> {
        // The name of the program, in parentheses, may hold anything.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The first that is left is the third of the line.
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_seconds: (field(14)? + field(15)?) / TICKS,
            threads: field(20)?,
            started_after_boot: field(22)? / TICKS,
            virtual_bytes: field(23)?,
        })
    }
}

/// Seconds since 1970 at which the machine booted, from `/proc/stat`.
fn booted_at(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// Resident memory, from `/proc/self/status`.
fn resident_bytes(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_any_name() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 9 0 0 0 250 50 0 0 20 0 11 0 6000 1048576 300 18 1";
        let stat =
            Stat { cpu_seconds: 3.0, threads: 11.0, started_after_boot: 60.0, virtual_bytes: 1_048_576.0 };
        assert_eq!(Stat::read(text), Some(stat));
        assert_eq!(Stat::read("7 (a) S 1"), None);
        assert_eq!(booted_at("cpu 1\nbtime 1700000000\n"), Some(1_700_000_000.0));
        assert_eq!(resident_bytes("Name:\ta\nVmRSS:\t    1024 kB\n"), Some(1_048_576.0));
    }

    #[test]
    fn this_process() {
        let process = Process::new(&Registry::new()).unwrap();
        process.measure();
        assert!(process.resident.get() > 0.0 && process.open_files.get() > 0.0);
        assert!(process.threads.get() >= 1.0 && process.started.get() > 1_600_000_000.0);
    }
}
