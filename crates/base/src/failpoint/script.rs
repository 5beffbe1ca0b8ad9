//! Steps of a piece of work that fail as a test wants it, in each of its attempts.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::imp::kind;

/// When a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Nothing of it is done.
    Before,
    /// All of it is done, and whoever does it hears that it failed.
    After,
}

/// A step of an attempt: of which kind it is, and how many of this kind came before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepName {
    pub kind: String,
    pub number: usize,
}

/// What goes wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    pub step: StepName,
    pub moment: Moment,
    /// In so many attempts.
    pub times: u32,
}

/// Watches a piece of work and lets a step of it fail, as long as this lives.
#[derive(Debug)]
pub struct Script {
    work: String,
    state: Shared,
}

#[derive(Debug, Default)]
struct State {
    /// Steps of this attempt that have begun and did not fail by themselves, by their kinds.
    begun: BTreeMap<String, usize>,
    /// Those that came to their ends, in any attempt.
    done: Vec<StepName>,
    fault: Option<Fault>,
    failures: u32,
}

type Shared = Arc<Mutex<State>>;

/// By the names of the work.
static SCRIPTS: LazyLock<Mutex<HashMap<String, Shared>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// That of the work that this thread does at this moment.
    static CURRENT: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Script {
    /// Watches the work of this name from its next attempt on.
    pub fn new(work: impl Into<String>, fault: Option<Fault>) -> Self {
        let (work, state) = (work.into(), Arc::new(Mutex::new(State { fault, ..State::default() })));
        lock(&SCRIPTS).insert(work.clone(), Arc::clone(&state));
        Self { work, state }
    }

    /// The steps that came to their ends so far.
    pub fn steps(&self) -> Vec<StepName> {
        lock(&self.state).done.clone()
    }

    /// How often it let a step fail.
    pub fn failures(&self) -> u32 {
        lock(&self.state).failures
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        lock(&SCRIPTS).remove(&self.work);
    }
}

impl State {
    fn fails(&mut self, step: &StepName, moment: Moment) -> bool {
        let fault = self.fault.as_mut().filter(|fault| fault.moment == moment && fault.step == *step);
        let Some(fault) = fault.filter(|fault| fault.times > 0) else { return false };
        fault.times -= 1;
        self.failures += 1;
        true
    }
}

/// A step that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    state: Shared,
    name: StepName,
    ended: bool,
}

pub(super) fn begin(describe: impl FnOnce() -> String) -> io::Result<Option<Begun>> {
    let Some(state) = CURRENT.with_borrow(Clone::clone) else { return Ok(None) };
    let kind = kind(&describe());
    let mut script = lock(&state);
    let begun = script.begun.entry(kind.clone()).or_default();
    let name = StepName { kind, number: *begun };
    *begun += 1;
    if script.fails(&name, Moment::Before) {
        return Err(failure(&name));
    }
    drop(script);
    Ok(Some(Begun { state, name, ended: false }))
}

impl Begun {
    pub(super) fn end(mut self) -> io::Result<()> {
        self.ended = true;
        let mut script = lock(&self.state);
        if !script.done.contains(&self.name) {
            script.done.push(self.name.clone());
        }
        if script.fails(&self.name, Moment::After) { Err(failure(&self.name)) } else { Ok(()) }
    }
}

impl Drop for Begun {
    /// One that failed by itself is no step: what is done in its place has its number.
    fn drop(&mut self) {
        if !self.ended
            && let Some(begun) = lock(&self.state).begun.get_mut(&self.name.kind)
        {
            *begun = begun.saturating_sub(1);
        }
    }
}

fn failure(step: &StepName) -> io::Error {
    io::Error::other(format!("a test lets {} fail", step.kind))
}

/// The thread does this work until the value is dropped.
struct Current(Option<Shared>);

impl Current {
    fn enter(state: &Shared) -> Self {
        Self(CURRENT.replace(Some(Arc::clone(state))))
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

pub(super) async fn within<F: Future>(name: String, work: F) -> F::Output {
    let mut work = Box::pin(work);
    let Some(state) = of(&name) else { return work.await };
    lock(&state).begun.clear();
    std::future::poll_fn(|context| {
        let _current = Current::enter(&state);
        work.as_mut().poll(context)
    })
    .await
}

fn of(name: &str) -> Option<Shared> {
    lock(&SCRIPTS).get(name).cloned()
}

#[cfg(test)]
mod tests {
    use super::super::{begin, within};
    use super::*;

    fn step(kind: &str, number: usize) -> StepName {
        StepName { kind: kind.to_owned(), number }
    }

    /// Three steps; an error comes with the number of those that were done.
    async fn attempt() -> Result<(), (u32, io::Error)> {
        let mut done = 0;
        let work = async {
            for name in ["put 1", "put 2", "commit"] {
                let begun = begin(|| name.to_owned())?;
                std::future::ready(()).await;
                done += 1;
                begun.end()?;
            }
            io::Result::Ok(())
        };
        let ended = within(|| "work".to_owned(), work).await;
        ended.map_err(|error| (done, error))
    }

    #[test]
    fn a_step_fails_before_or_after_it_is_done() {
        let run = || futures::executor::block_on(attempt());
        let watched = Script::new("work", None);
        run().unwrap();
        assert_eq!(watched.steps(), [step("put #", 0), step("put #", 1), step("commit", 0)]);
        drop(watched);
        for (moment, done) in [(Moment::Before, 1), (Moment::After, 2)] {
            let script = Script::new("work", Some(Fault { step: step("put #", 1), moment, times: 2 }));
            for failures in 1..=2 {
                let (found, error) = run().unwrap_err();
                assert_eq!((found, error.to_string().as_str()), (done, "a test lets put # fail"));
                assert_eq!(script.failures(), failures);
            }
            run().unwrap();
            assert_eq!(script.failures(), 2);
        }
    }

    #[test]
    fn who_fails_by_himself_leaves_his_number() {
        let script = Script::new("other", None);
        let work = async {
            drop(begin(|| "put 1".to_owned()).unwrap());
            begin(|| "put 2".to_owned()).unwrap().end().unwrap();
        };
        futures::executor::block_on(within(|| "other".to_owned(), work));
        assert_eq!(script.steps(), [step("put #", 0)]);
        // Nobody's step is none.
        begin(|| "put 3".to_owned()).unwrap().end().unwrap();
        assert_eq!(script.steps().len(), 1);
    }
}
