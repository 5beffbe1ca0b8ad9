//! What virtual machines need, made behind the rest of the demo at low priority: with progress, an estimate, and a limit for
//! each piece.

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
/// How long the build of Kubernetes may take to begin.
const BEGINS: Duration = Duration::from_secs(20);
/// Between two lines about progress.
const TELL: Duration = Duration::from_secs(30);
/// How long one piece may take.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// What a build takes that finds everything up to date.
const UP_TO_DATE: Duration = Duration::from_secs(15);
/// When it takes longer until machines can start, something else is shown first.
const WORTH_WHILE: Duration = Duration::from_secs(60);

/// What is made, and how: as soon as what it needs is there, beside whatever else is being made.
struct Piece {
    part: Part,
    /// Seconds on two cores, with the others beside it.
    estimate: u64,
    needs: &'static [Part],
    /// Whether machines can't start without it. `assisted-lab up` waits for what else a cluster needs, which begins once machines can
    /// start: before, it would only keep them from that.
    is_awaited: bool,
    /// What the lab's image waits for comes before the rest: to lay it out leaves a processor idle.
    nice: &'static str,
}

const PIECES: [Piece; 7] = [
    Piece { part: Part::Packages, estimate: 20, needs: &[], is_awaited: true, nice: "15" },
    Piece {
        part: Part::CoreosInstaller,
        estimate: 210,
        // Libraries are among them.
        needs: &[Part::Packages],
        is_awaited: true,
        nice: "15",
    },
    Piece { part: Part::Lab, estimate: 140, needs: &[], is_awaited: true, nice: "15" },
    Piece {
        part: Part::LabImage,
        estimate: 190,
        needs: &[Part::CoreosInstaller, Part::Lab],
        is_awaited: true,
        nice: "15",
    },
    Piece { part: Part::Programs, estimate: 120, needs: &[Part::Lab], is_awaited: true, nice: "15" },
    Piece { part: Part::HostProgram, estimate: 440, needs: &[], is_awaited: true, nice: "19" },
    Piece { part: Part::Kubernetes, estimate: 500, needs: &[], is_awaited: false, nice: "0" },
];

/// The program for hosts is the one that ships but for this: to optimise it as a whole takes six minutes of every processor.
const QUICKLY: [(&str, &str); 2] =
    [("CARGO_PROFILE_HOST_LTO", "off"), ("CARGO_PROFILE_HOST_CODEGEN_UNITS", "16")];

impl Piece {
    /// Whether it may be begun, when machines can start or not, and these are not there yet.
    fn may_begin(&self, may_build: May, is_ready: bool, unmade: &[Part]) -> bool {
        // What is shown first waits for the first build, so that nothing else is built beside it.
        let least = match self.part {
            Part::Packages => May::Nothing,
            Part::Programs => May::Everything,
            _ => May::WithoutUi,
        };
        let has_needs = !self.needs.iter().any(|need| unmade.contains(need));
        may_build >= least && has_needs && (self.is_awaited || is_ready)
    }
}

/// A piece that is not there yet.
struct Task {
    piece: &'static Piece,
    estimate: Duration,
    running: Option<Running>,
}

struct Running {
    child: Child,
    since: Instant,
    log: PathBuf,
}

/// What may be built.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum May {
    /// Nothing: what is shown first is being built.
    Nothing,
    /// What does not have the web UI in it.
    WithoutUi,
    Everything,
}

/// Everything that is being made.
pub struct Background {
    tasks: Vec<Task>,
    may_build: May,
    failed: Option<String>,
    /// What has happened and was not told yet.
    news: Vec<String>,
    told: Instant,
}

impl Background {
    /// Makes nothing.
    pub fn none() -> Self {
        Self {
            tasks: Vec::new(),
            may_build: May::Nothing,
            failed: None,
            news: Vec::new(),
            told: Instant::now(),
        }
    }

    /// Begins with what needs no processors.
    pub fn start() -> Self {
        // Programs are never older than their sources, the image never older than its recipe: their builds find that out.
        let is_judged =
            |part| !matches!(part, Part::Lab | Part::Programs | Part::HostProgram | Part::LabImage);
        let missing = PIECES.iter().filter(|piece| !(is_judged(piece.part) && piece.part.is_there()));
        let tasks =
            missing.map(|piece| Task { piece, estimate: Duration::from_secs(piece.estimate), running: None });
        let mut background = Self { tasks: tasks.collect(), ..Self::none() };
        if !is_root() {
            background.fail(&anyhow!("they need root, for a network of their own"));
        }
        background.advance(true);
        background
    }

    /// Builds may begin; what is there needs none.
    pub fn may_build(&mut self, what: May) {
        if self.may_build == May::Nothing {
            self.tasks.retain(|task| task.piece.part != Part::LabImage || !task.piece.part.is_there());
            for task in &mut self.tasks {
                if task.piece.part.is_there() {
                    task.estimate = task.estimate.min(UP_TO_DATE);
                }
            }
        }
        self.may_build = what;
        self.advance(false);
    }

    /// Whether it is worth while to show something else until machines can start.
    pub fn takes_long(&self) -> bool {
        self.failed.is_some() || self.left() > WORTH_WHILE
    }

    /// Whether machines can start, or never will.
    fn is_ready(&self) -> bool {
        self.failed.is_some() || !self.tasks.iter().any(|task| task.piece.is_awaited)
    }

    /// How long it will take until machines can start, by the estimates.
    fn left(&self) -> Duration {
        let awaited = self.tasks.iter().filter(|task| task.piece.is_awaited);
        awaited.map(|task| self.left_of(task)).max().unwrap_or_default()
    }

    /// How long one will take, with what it waits for.
    fn left_of(&self, task: &Task) -> Duration {
        let needed = self.tasks.iter().filter(|other| task.piece.needs.contains(&other.piece.part));
        task.left() + needed.map(|other| self.left_of(other)).max().unwrap_or_default()
    }

    /// Waits until machines can start, or never will: whether they can. Each piece has a limit, so this ends.
    pub fn await_machines(&mut self) -> bool {
        while !self.is_ready() {
            std::thread::sleep(POLL_INTERVAL);
            self.advance(true);
        }
        // Also begins with what machines don't wait for. The lab, which comes next, looks for whoever builds that.
        self.advance(true);
        let begun = Instant::now();
        while self.is_unmade(Part::Kubernetes) && !kubernetes::is_being_built() && begun.elapsed() < BEGINS {
            std::thread::sleep(POLL_INTERVAL);
            self.advance(true);
        }
        self.failed.is_none()
    }

    /// Waits until the programs are built as a whole, or will not be.
    pub fn await_programs(&mut self) {
        while self.is_unmade(Part::Programs) {
            std::thread::sleep(POLL_INTERVAL);
            self.advance(true);
        }
    }

    fn is_unmade(&self, part: Part) -> bool {
        self.tasks.iter().any(|task| task.piece.part == part)
    }

    /// Why machines can't start.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Goes on with what has come to its end; tells now and then how far everything is, when the screen is free for it.
    pub fn advance(&mut self, tell: bool) {
        if let Err(error) = self.end_tasks().and_then(|()| self.begin_tasks()) {
            self.fail(&error);
        }
        if tell {
            self.news.drain(..).for_each(|line| print_line(&line));
            if self.told.elapsed() >= TELL {
                self.told = Instant::now();
                self.print_progress();
            }
        }
    }

    /// Takes out what has been made.
    fn end_tasks(&mut self) -> Result<()> {
        let mut unmade = Vec::new();
        for mut task in std::mem::take(&mut self.tasks) {
            match task.took()? {
                Some(took) => {
                    self.news.push(format!(
                        "{} made, in {:.0} s",
                        task.piece.part.name(),
                        took.as_secs_f64()
                    ));
                }
                None => unmade.push(task),
            }
        }
        self.tasks = unmade;
        Ok(())
    }

    /// Begins with all that may be made.
    fn begin_tasks(&mut self) -> Result<()> {
        let is_ready = self.is_ready();
        let unmade: Vec<_> = self.tasks.iter().map(|task| task.piece.part).collect();
        for task in &mut self.tasks {
            if task.piece.may_begin(self.may_build, is_ready, &unmade) {
                task.begin()?;
            }
        }
        Ok(())
    }

    /// Ends everything: without one piece the others are of no use here.
    fn fail(&mut self, error: &Error) {
        self.news.push(format!("NO VIRTUAL MACHINES: {error:#}"));
        self.tasks.clear();
        self.failed = Some(format!("{error:#}"));
    }

    fn print_progress(&self) {
        let parts: Vec<_> = self.tasks.iter().filter_map(Task::progress).collect();
        if parts.is_empty() {
            return;
        }
        let left = self.left();
        let machines = if left.is_zero() {
            "virtual machines don't wait for it".to_owned()
        } else {
            format!("virtual machines start in about {:.0} min", minutes(left).ceil())
        };
        print_line(&format!("being made: {}; {machines}", parts.join(", ")));
    }
}

impl Task {
    fn begin(&mut self) -> Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let part = self.piece.part;
        let value = part.to_possible_value().context("a part has no name")?;
        let log = match part {
            // Whoever waits for it in the lab looks for it there.
            Part::Kubernetes => kubernetes::log()?,
            _ => cache()?.join(format!("{}.log", value.get_name())),
        };
        let told = File::create(&log).with_context(|| format!("can't write {}", log.display()))?;
        let own = std::env::current_exe()?;
        let mut command = at_low_priority(self.piece.nice, own);
        if part == Part::HostProgram {
            command.envs(QUICKLY);
        }
        command.args(["setup", value.get_name()]).stdin(Stdio::null()).stdout(told.try_clone()?).stderr(told);
        let child = command.spawn().with_context(|| format!("can't start to make: {}", part.name()))?;
        self.running = Some(Running { child, since: Instant::now(), log });
        Ok(())
    }

    /// How long it took, once it is made; an error if it can't be.
    fn took(&mut self) -> Result<Option<Duration>> {
        let Some(running) = &mut self.running else { return Ok(None) };
        let took = running.since.elapsed();
        let why = match running.child.try_wait()? {
            Some(status) if status.success() => return Ok(Some(took)),
            Some(status) => status.to_string(),
            None if took >= LIMIT => format!("not made within {:.0} min", minutes(LIMIT)),
            None => return Ok(None),
        };
        Err(anyhow!("{} failed ({why})\n{}", self.piece.part.name(), tail(&running.log)))
    }

    /// What is late is not ready at once.
    fn left(&self) -> Duration {
        match &self.running {
            Some(running) => {
                self.estimate.saturating_sub(running.since.elapsed()).max(Duration::from_secs(10))
            }
            None => self.estimate,
        }
    }

    /// How far it is, if it is being made.
    fn progress(&self) -> Option<String> {
        let Running { since, log, .. } = self.running.as_ref()?;
        let (since, estimate) = (since.elapsed().as_secs(), self.estimate.as_secs());
        Some(format!("{} ({since} s, usually {estimate}; {})", self.piece.part.name(), log.display()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing happens to one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn print_line(line: &str) {
    eprintln!("--- in the background: {line}");
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is begun when everything that may be begun is made at once, round by round.
    fn rounds(may_build: May) -> Vec<Vec<Part>> {
        let mut unmade: Vec<Part> = PIECES.iter().map(|piece| piece.part).collect();
        let mut rounds = Vec::new();
        loop {
            let is_ready = !PIECES.iter().any(|piece| piece.is_awaited && unmade.contains(&piece.part));
            let may = |piece: &&Piece| {
                unmade.contains(&piece.part) && piece.may_begin(may_build, is_ready, &unmade)
            };
            let begun: Vec<_> = PIECES.iter().filter(may).map(|piece| piece.part).collect();
            if begun.is_empty() {
                return rounds;
            }
            unmade.retain(|part| !begun.contains(part));
            rounds.push(begun);
        }
    }

    #[test]
    fn pieces_are_made_as_soon_as_what_they_need_is_there() {
        use Part::{CoreosInstaller, HostProgram, Kubernetes, Lab, LabImage, Packages, Programs};
        assert_eq!(rounds(May::Nothing), [vec![Packages]]);
        // Libraries of Debian's are there before what is linked with them; the web UI before what embeds it.
        let first = vec![Packages, Lab, HostProgram];
        assert_eq!(rounds(May::WithoutUi), [first.clone(), vec![CoreosInstaller], vec![LabImage]]);
        let all = [first, vec![CoreosInstaller, Programs], vec![LabImage], vec![Kubernetes]];
        assert_eq!(rounds(May::Everything), all);
    }

    #[test]
    fn the_estimate_is_that_of_the_longest_way() {
        let mut background = Background::none();
        let task = |part| {
            let piece = PIECES.iter().find(|piece| piece.part == part).unwrap();
            Task { piece, estimate: Duration::from_secs(piece.estimate), running: None }
        };
        background.tasks =
            [Part::CoreosInstaller, Part::Lab, Part::LabImage, Part::Kubernetes].map(task).into();
        assert_eq!(background.left(), Duration::from_secs(210 + 190));
        assert!(background.takes_long() && !background.is_ready());
        background.tasks.retain(|task| task.piece.part == Part::Kubernetes);
        assert!(background.is_ready() && !background.takes_long());
        background.fail(&anyhow!("no room"));
        assert!(background.tasks.is_empty() && background.failure() == Some("no room"));
    }
}
