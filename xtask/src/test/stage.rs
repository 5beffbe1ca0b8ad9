//! Stages of work with what each of them needs, done by a few workers at once: virtual machines that are emulated leave processors idle, and
//! so does what downloads, links, or waits.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::run::Log;

/// Between two lines that tell what runs.
const PRINT_INTERVAL: Duration = Duration::from_secs(30);

/// What a stage keeps busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The folder that Cargo builds into, which one at a time has.
    Cargo,
    /// Virtual machines.
    Machines,
    Other,
}

type Work = Box<dyn FnOnce() -> Result<Vec<Stage>> + Send>;

/// Something to do. What it prints is kept together, and shown when it is done.
pub struct Stage {
    pub name: String,
    /// Names of stages that must be done before.
    pub needs: Vec<&'static str>,
    pub kind: Kind,
    /// The commands of a stage that takes longer are killed.
    pub limit: Duration,
    /// Does it; what is found to be done after it.
    pub work: Work,
}

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    Failed(String),
    /// What it needs was not done, or no time was left.
    NotRun(String),
}

/// A stage that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    pub name: String,
    /// Since the first stage.
    pub began: Duration,
    pub took: Duration,
    pub end: End,
}

struct Board {
    waiting: Vec<Stage>,
    /// What each worker does: name, kind, since when.
    running: BTreeMap<usize, (String, Kind, Instant)>,
    ended: Vec<Ended>,
}

struct Workers {
    board: Mutex<Board>,
    changed: Condvar,
    began: Instant,
    /// When nothing may run any more.
    until: Instant,
    logs: PathBuf,
}

/// Does all stages, as many at once as there are workers, the first of the list first; none goes on when `whole` has passed. Their
/// output is kept in a folder, and shown stage by stage.
pub fn run(stages: Vec<Stage>, workers: usize, whole: Duration, logs: &Path) -> Result<Vec<Ended>> {
    std::fs::create_dir_all(logs).with_context(|| format!("can't create {}", logs.display()))?;
    let began = Instant::now();
    let all = Workers {
        board: Mutex::new(Board { waiting: stages, running: BTreeMap::new(), ended: Vec::new() }),
        changed: Condvar::new(),
        began,
        until: began + whole,
        logs: logs.to_owned(),
    };
    thread::scope(|scope| {
        let all = &all;
        for worker in 0..workers {
            scope.spawn(move || all.work(worker));
        }
        scope.spawn(|| all.print_progress());
    });
    let mut ended = std::mem::take(&mut all.lock().ended);
    ended.sort_by_key(|stage| stage.began);
    Ok(ended)
}

impl Workers {
    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one stage after the other, until there is none.
    fn work(&self, worker: usize) {
        while let Some(stage) = self.next(worker) {
            let began = Instant::now();
            let (name, file) = (stage.name.clone(), log(&self.logs, &stage.name));
            let done = self.perform(stage, &file, began);
            let end = match &done {
                Ok(_) => End::Done,
                Err(error) => End::Failed(format!("{error:#}")),
            };
            let took = began.elapsed();
            show(&name, &end, took, &file);
            let mut board = self.lock();
            board.running.remove(&worker);
            board.waiting.extend(done.unwrap_or_default());
            board.ended.push(Ended { name, began: began - self.began, took, end });
            drop(board);
            self.changed.notify_all();
        }
    }

    fn perform(&self, stage: Stage, file: &Path, began: Instant) -> Result<Vec<Stage>> {
        let file = File::options().create(true).write(true).truncate(true).open(file)?;
        let log = Log { file: Arc::new(file), deadline: (began + stage.limit).min(self.until) };
        log.during(stage.work)
    }

    /// Waits for a stage that can begin; none when there will be none.
    fn next(&self, worker: usize) -> Option<Stage> {
        let mut board = self.lock();
        loop {
            board.strike_out(self.began, Instant::now() >= self.until);
            if let Some(index) = board.ready() {
                let stage = board.waiting.remove(index);
                board.running.insert(worker, (stage.name.clone(), stage.kind, Instant::now()));
                return Some(stage);
            }
            if board.running.is_empty() {
                // Nobody is left who could make anything ready.
                self.changed.notify_all();
                return None;
            }
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says every half minute what runs.
    fn print_progress(&self) {
        let mut told = Instant::now();
        let mut board = self.lock();
        while !(board.waiting.is_empty() && board.running.is_empty()) {
            (board, _) =
                self.changed.wait_timeout(board, PRINT_INTERVAL).unwrap_or_else(PoisonError::into_inner);
            if told.elapsed() < PRINT_INTERVAL || board.running.is_empty() {
                continue;
            }
            told = Instant::now();
            let running = board.running.values().map(|(name, _, since)| {
                let last = last_line(&log(&self.logs, name));
                format!("\n      {name}, {} min: {last}", minutes(since.elapsed()))
            });
            let (at, running) = (minutes(self.began.elapsed()), running.collect::<String>());
            let _ =
                writeln!(std::io::stdout(), "... {at} min, {} to do after:{running}", board.waiting.len());
        }
    }
}

impl Board {
    /// The stage that can begin now. One of virtual machines goes first while none runs; beside one that runs, the rest does.
    fn ready(&self) -> Option<usize> {
        let machines = self.running.values().any(|(_, kind, _)| *kind == Kind::Machines);
        let building = self.running.values().any(|(_, kind, _)| *kind == Kind::Cargo);
        let done = |name: &str| self.ended.iter().any(|stage| stage.name == name && stage.end == End::Done);
        let can = |stage: &Stage| {
            (stage.kind != Kind::Cargo || !building) && stage.needs.iter().all(|name| done(name))
        };
        let preferred = |stage: &Stage| (stage.kind == Kind::Machines) != machines;
        let first =
            |prefer: bool| self.waiting.iter().position(|stage| can(stage) && (!prefer || preferred(stage)));
        first(true).or_else(|| first(false))
    }

    /// Ends what can't begin any more: what it needs has failed or is not to be done, or there is no time.
    fn strike_out(&mut self, began: Instant, late: bool) {
        loop {
            let lost = self.waiting.iter().enumerate().find_map(|(index, stage)| {
                if late {
                    return Some((index, "no time was left".to_owned()));
                }
                let lost = stage.needs.iter().find(|name| !self.may_be_done(name))?;
                Some((index, format!("it needs {lost}")))
            });
            let Some((index, why)) = lost else { return };
            let stage = self.waiting.remove(index);
            let ended = Ended {
                name: stage.name,
                began: began.elapsed(),
                took: Duration::ZERO,
                end: End::NotRun(why),
            };
            self.ended.push(ended);
        }
    }

    fn may_be_done(&self, name: &str) -> bool {
        self.waiting.iter().any(|stage| stage.name == name)
            || self.running.values().any(|(running, ..)| running == name)
            || self.ended.iter().any(|stage| stage.name == name && stage.end == End::Done)
    }
}

/// Shows the output of a stage that has ended, all of it at once.
fn show(name: &str, end: &End, took: Duration, file: &Path) {
    let output = std::fs::read(file).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let how = match end {
        End::Done => "done".to_owned(),
        End::Failed(why) | End::NotRun(why) => format!("FAILED: {why}"),
    };
    let _ = writeln!(out, "=== {name}");
    let _ = out.write_all(&output);
    let _ = writeln!(out, "=== {name}: {how}, {:.1} s", took.as_secs_f64());
    let _ = out.flush();
}

/// The file with a stage's output, in the folder for all of them.
pub fn log(logs: &Path, name: &str) -> PathBuf {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    logs.join(plain.collect::<String>() + ".log")
}

fn last_line(path: &Path) -> String {
    let output = std::fs::read(path).unwrap_or_default();
    let output = String::from_utf8_lossy(&output[output.len().saturating_sub(500)..]).into_owned();
    let line = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(120).collect()
}

/// Minutes with a tenth.
pub fn minutes(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() / 60.0)
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    fn stage(
        name: &str,
        needs: &[&'static str],
        work: impl FnOnce() -> Result<Vec<Stage>> + Send + 'static,
    ) -> Stage {
        Stage {
            name: name.to_owned(),
            needs: needs.to_vec(),
            kind: Kind::Other,
            limit: Duration::from_secs(60),
            work: Box::new(work),
        }
    }

    fn ends(test: &str, stages: Vec<Stage>, whole: Duration) -> BTreeMap<String, End> {
        let logs = std::env::temp_dir().join(format!("xtask-{test}-{}", std::process::id()));
        let ended = run(stages, 2, whole, &logs).unwrap();
        std::fs::remove_dir_all(&logs).unwrap();
        ended.into_iter().map(|stage| (stage.name, stage.end)).collect()
    }

    #[test]
    fn what_needs_a_stage_that_failed_is_not_run_and_the_rest_is() {
        let ends = ends(
            "needs",
            vec![
                stage("after broken", &["broken"], || Ok(Vec::new())),
                stage("after that", &["after broken"], || Ok(Vec::new())),
                stage("broken", &[], || bail!("no")),
                stage("finder", &[], || Ok(vec![stage("found", &["finder"], || Ok(Vec::new()))])),
                stage("lost", &["nobody"], || Ok(Vec::new())),
            ],
            Duration::from_secs(60),
        );
        assert_eq!(ends["broken"], End::Failed("no".into()));
        assert_eq!(ends["after broken"], End::NotRun("it needs broken".into()));
        assert_eq!(ends["after that"], End::NotRun("it needs after broken".into()));
        assert_eq!(ends["lost"], End::NotRun("it needs nobody".into()));
        assert_eq!((&ends["finder"], &ends["found"]), (&End::Done, &End::Done));
    }

    #[test]
    fn what_hangs_is_killed_and_nothing_begins_after_the_end() {
        let hang = || {
            crate::run::status(std::process::Command::new("sleep").arg("600"), None)?;
            Ok(Vec::new())
        };
        let stages = vec![
            Stage { limit: Duration::ZERO, ..stage("hangs", &[], hang) },
            stage("last", &[], hang),
            stage("never", &["last"], || Ok(Vec::new())),
        ];
        let ends = ends("limits", stages, Duration::from_secs(1));
        for name in ["hangs", "last"] {
            assert!(matches!(&ends[name], End::Failed(why) if why.contains("its time was up")), "{ends:?}");
        }
        assert_eq!(ends["never"], End::NotRun("no time was left".into()));
    }
}
