//! What virtual machines need, made behind the rest of the demo at low priority: with progress, an estimate, and a limit for
//! each part.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow};
use assisted_lab_tools::kubernetes;
use clap::ValueEnum;

use crate::debian::is_root;
use crate::run::{at_low_priority, cache, tail};
use crate::setup::Part;

/// Between two looks at what is being made.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Between two lines about progress.
const TELL: Duration = Duration::from_secs(30);
/// How long one part may take.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// What a build takes that finds everything up to date, in seconds.
const UP_TO_DATE: u64 = 15;
/// When it takes longer until machines can start, something else is shown first.
const WORTH_WHILE: Duration = Duration::from_secs(60);

/// What is made one after the other: the estimates are seconds on two cores with the other queues beside it.
const MACHINES: &[(Part, u64)] =
    &[(Part::Packages, 20), (Part::Programs, 240), (Part::CoreosInstaller, 150), (Part::LabImage, 150)];
const HOSTS: &[(Part, u64)] = &[(Part::HostProgram, 240)];
/// What machines don't wait for: `assisted-lab up` does, when a cluster is to be installed. It begins once machines can start,
/// and beside them: before, it would only keep them from that.
const LATER: &[(Part, u64)] = &[(Part::Kubernetes, 500)];

/// The program for hosts is the one that ships but for this: to optimise it as a whole takes six minutes of every processor.
const QUICKLY: [(&str, &str); 2] =
    [("CARGO_PROFILE_HOST_LTO", "off"), ("CARGO_PROFILE_HOST_CODEGEN_UNITS", "16")];

/// Parts that are made one after the other.
struct Queue {
    parts: VecDeque<(Part, u64)>,
    running: Option<Running>,
    /// Whether machines can't start without these parts.
    is_awaited: bool,
    nice: &'static str,
}

struct Running {
    part: Part,
    estimate: Duration,
    child: Child,
    since: Instant,
    log: PathBuf,
}

/// Everything that is being made.
pub struct Background {
    queues: Vec<Queue>,
    /// Whether what is shown first is built, so that more may be.
    may_build: bool,
    failed: Option<String>,
    /// What has happened and was not told yet.
    news: Vec<String>,
    told: Instant,
}

impl Background {
    /// Makes nothing.
    pub fn none() -> Self {
        Self { queues: Vec::new(), may_build: false, failed: None, news: Vec::new(), told: Instant::now() }
    }

    /// Begins with what needs no processors.
    pub fn start() -> Result<Self> {
        let queue = |parts: &[(Part, u64)], is_awaited, nice| Queue {
            parts: parts.iter().copied().collect(),
            running: None,
            is_awaited,
            nice,
        };
        let mut background = Self {
            queues: vec![queue(MACHINES, true, "15"), queue(HOSTS, true, "15"), queue(LATER, false, "0")],
            ..Self::none()
        };
        if !is_root() {
            background.fail(&anyhow!("they need root, for a network of their own"));
        }
        background.queues.iter_mut().for_each(Queue::leave_out_what_is_there);
        background.advance(true);
        Ok(background)
    }

    /// Builds may begin; what is there needs none.
    pub fn may_build(&mut self) {
        self.may_build = true;
        for queue in &mut self.queues {
            queue.parts.retain(|(part, _)| *part != Part::LabImage || !part.is_there());
            for (part, estimate) in &mut queue.parts {
                if part.is_there() {
                    *estimate = (*estimate).min(UP_TO_DATE);
                }
            }
        }
        self.advance(false);
    }

    /// Whether it is worth while to show something else until machines can start.
    pub fn takes_long(&self) -> bool {
        self.failed.is_some() || self.left() > WORTH_WHILE
    }

    /// Whether machines can start, or never will.
    fn is_ready(&self) -> bool {
        self.failed.is_some() || self.awaited().all(|queue| queue.running.is_none() && queue.parts.is_empty())
    }

    fn left(&self) -> Duration {
        self.awaited().map(Queue::left).max().unwrap_or_default()
    }

    /// Waits until machines can start, or never will: whether they can. Each part has a limit, so this ends.
    pub fn await_machines(&mut self) -> bool {
        while !self.is_ready() {
            std::thread::sleep(POLL_INTERVAL);
            self.advance(true);
        }
        // Also begins with what machines don't wait for.
        self.advance(true);
        self.failed.is_none()
    }

    /// Waits until the programs are built as a whole, or will not be.
    pub fn await_programs(&mut self) {
        let is_due = |(part, _): &(Part, u64)| *part == Part::Programs;
        let is_built_by = |queue: &Queue| {
            queue.running.as_ref().is_some_and(|running| running.part == Part::Programs)
                || queue.parts.iter().any(is_due)
        };
        while self.queues.iter().any(is_built_by) {
            std::thread::sleep(POLL_INTERVAL);
            self.advance(true);
        }
    }

    /// Why machines can't start.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Goes on with what has come to its end; tells now and then how far everything is, when the screen is free for it.
    pub fn advance(&mut self, tell: bool) {
        for number in 0..self.queues.len() {
            if let Err(error) = self.advance_queue(number) {
                self.fail(&error);
            }
        }
        if tell {
            self.news.drain(..).for_each(|line| print_line(&line));
            if self.told.elapsed() >= TELL {
                self.told = Instant::now();
                self.print_progress();
            }
        }
    }

    fn advance_queue(&mut self, number: usize) -> Result<()> {
        let is_ready = self.is_ready();
        let Some(queue) = self.queues.get_mut(number) else { return Ok(()) };
        if let Some(mut running) = queue.running.take() {
            let took = running.since.elapsed();
            match running.child.try_wait()? {
                Some(status) if status.success() => {
                    self.news.push(format!("{} made, in {:.0} s", running.part.name(), took.as_secs_f64()));
                }
                Some(status) => return Err(running.failure(&status.to_string())),
                None if took >= LIMIT => {
                    let _ = running.child.kill();
                    let _ = running.child.wait();
                    return Err(running.failure(&format!("not made within {:.0} min", minutes(LIMIT))));
                }
                None => {
                    queue.running = Some(running);
                    return Ok(());
                }
            }
        }
        if let Some((part, _)) = queue.parts.front() {
            // What is shown first waits for the first build, so that nothing else is built beside it.
            if (queue.is_awaited || is_ready) && (*part == Part::Packages || self.may_build) {
                queue.begin()?;
            }
        }
        Ok(())
    }

    /// Ends everything: without one part the others are of no use here.
    fn fail(&mut self, error: &Error) {
        self.news.push(format!("NO VIRTUAL MACHINES: {error:#}"));
        self.queues.clear();
        self.failed = Some(format!("{error:#}"));
    }

    fn awaited(&self) -> impl Iterator<Item = &Queue> {
        self.queues.iter().filter(|queue| queue.is_awaited)
    }

    fn print_progress(&self) {
        let running: Vec<_> = self.queues.iter().filter_map(|queue| queue.running.as_ref()).collect();
        if running.is_empty() {
            return;
        }
        let parts: Vec<_> = running.iter().map(|running| running.progress()).collect();
        let left = self.left();
        let machines = if left.is_zero() {
            "virtual machines don't wait for it".to_owned()
        } else {
            format!("virtual machines start in about {:.0} min", minutes(left).ceil())
        };
        print_line(&format!("being made: {}; {machines}", parts.join(", ")));
    }
}

impl Queue {
    fn leave_out_what_is_there(&mut self) {
        // Programs are never older than their sources, the image never older than its recipe: their builds find that out.
        let is_judged = |part: &Part| !matches!(part, Part::Programs | Part::HostProgram | Part::LabImage);
        self.parts.retain(|(part, _)| !(is_judged(part) && part.is_there()));
    }

    fn begin(&mut self) -> Result<()> {
        let Some((part, estimate)) = self.parts.pop_front() else { return Ok(()) };
        let value = part.to_possible_value().context("a part has no name")?;
        let log = match part {
            // Whoever waits for it in the lab looks for it there.
            Part::Kubernetes => kubernetes::log()?,
            _ => cache()?.join(format!("{}.log", value.get_name())),
        };
        let told = File::create(&log).with_context(|| format!("can't write {}", log.display()))?;
        let own = std::env::current_exe()?;
        let mut command = at_low_priority(self.nice, own);
        if part == Part::HostProgram {
            command.envs(QUICKLY);
        }
        command.args(["setup", value.get_name()]).stdin(Stdio::null()).stdout(told.try_clone()?).stderr(told);
        let child = command.spawn().with_context(|| format!("can't start to make: {}", part.name()))?;
        let estimate = Duration::from_secs(estimate);
        self.running = Some(Running { part, estimate, child, since: Instant::now(), log });
        Ok(())
    }

    /// How long it will take until all of it is made, by the estimates.
    fn left(&self) -> Duration {
        let running = self.running.as_ref().map_or(Duration::ZERO, Running::left);
        running + self.parts.iter().map(|(_, estimate)| Duration::from_secs(*estimate)).sum::<Duration>()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

impl Running {
    /// What is late is not ready at once.
    fn left(&self) -> Duration {
        self.estimate.saturating_sub(self.since.elapsed()).max(Duration::from_secs(10))
    }

    fn progress(&self) -> String {
        let (since, estimate) = (self.since.elapsed().as_secs(), self.estimate.as_secs());
        format!("{} ({since} s, usually {estimate}; {})", self.part.name(), self.log.display())
    }

    fn failure(&self, why: &str) -> Error {
        anyhow!("{} failed ({why})\n{}", self.part.name(), tail(&self.log))
    }
}

fn print_line(line: &str) {
    eprintln!("--- in the background: {line}");
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}
