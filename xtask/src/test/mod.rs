//! The test command: everything that must hold before a change lands.
//!
//! It is a list of stages. Two are done at once, on two processors: hosts and clusters often wait for each other.

mod binaries;
mod needs;
mod processors;
mod results;
mod stage;
mod table;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use assisted_lab_tools::cluster_api::{NEWEST, OLDEST};
use clap::Args;

use crate::run::{cache, cargo, lean_programs, libraries, optimise_for_tests, programs, step, target_dir};
use crate::{
    book, check_citations, check_deps, check_recipes, check_shell, contract, deny, dist, docs, setup, ui,
};
use binaries::{Binary, What, compiler_lints};
use needs::{
    CHROMIUM, CLUSTER_API, COREOS_INSTALLER, HOST_PROGRAM, KAFKA, KUBERNETES, LAB_IMAGE, PROGRAMS, PYTHON,
    RELEASE_JUDGES, S3, UI,
};
use processors::Processors;
use results::{Failure, Skip, Sum};
use stage::{End, Ended, Kind, Stage};

/// How the names of tests begin (of functions, or of modules) that take long and are run by `--everything` alone.
const LONG: &str = "everything_";

/// Whose tests take the time of virtual machines, or of whole clusters: each is a stage of its own, so that the workers share them well.
const MACHINES: &[&str] = &["assisted-lab-machines", "assisted-lab-cluster"];

/// Those of their tests that take longest begin first.
const LONGEST: &[&str] =
    &["up::", "redfish::", "hub::", "cluster_api::", "image_mode::", "namespaces::", "disk::", "discovery::"];

/// Stages that come before all others.
const PACKAGES: &str = "packages";
const CHECKS: &str = "checks";
/// What is compiled meanwhile: to install and to fetch things leaves processors idle.
const LIBRARIES: &str = "libraries";

/// What a stage may take before it is killed, and what all may take together: CI ends after 90 minutes.
const STAGE: Duration = Duration::from_secs(30 * 60);
const WHOLE: Duration = Duration::from_secs(85 * 60);
/// The same for `--everything`, where nobody waits.
const LONG_STAGE: Duration = Duration::from_secs(2 * 3600);
const LONG_WHOLE: Duration = Duration::from_secs(6 * 3600);

/// How many stages are done at once.
const WORKERS: usize = 2;

#[derive(Args)]
pub struct Test {
    /// Leave out formatting, lints and checks: only the tests
    #[arg(long)]
    only_tests: bool,
    /// Run the tests that take long as well (their names begin with everything_), and try the program for hosts of every architecture
    #[arg(long)]
    everything: bool,
    /// Set up what the tests of this crate need, and run them alone
    #[arg(short, long = "package", value_name = "CRATE", conflicts_with = "only_tests")]
    packages: Vec<String>,
    /// With -p: run the tests whose names hold one of these
    #[arg(requires = "packages", value_name = "NAME")]
    names: Vec<String>,
    /// A variable that the tests are given
    #[arg(skip)]
    variable: Option<(&'static str, String)>,
}

impl Test {
    /// Some tests of these crates, those that take long too, with a variable that says what they do.
    pub fn with(variable: (&'static str, String), packages: Vec<String>, names: Vec<String>) -> Self {
        Self { only_tests: false, everything: true, packages, names, variable: Some(variable) }
    }
}

/// What came out so far.
#[derive(Default)]
struct Outcome {
    sum: Sum,
    skips: Vec<Skip>,
}

/// What all test stages share.
struct Run {
    everything: bool,
    packages: Vec<String>,
    names: Vec<String>,
    variable: Option<(&'static str, String)>,
    python: PathBuf,
    logs: PathBuf,
    outcome: Arc<Mutex<Outcome>>,
}

/// Runs the checks and the tests; a table of what took how long and a line with the sum of all results come last.
pub fn run(test: Test) -> Result<()> {
    optimise_for_tests();
    let (began, processors) = (Instant::now(), Processors::now());
    let target = target_dir()?;
    let run = Arc::new(Run {
        everything: test.everything,
        packages: test.packages,
        names: test.names,
        variable: test.variable,
        python: cache()?.join("python/bin/python"),
        logs: target.join("xtask"),
        outcome: Arc::default(),
    });
    for told in run.packages.iter().filter_map(|package| needs::requirements(package)) {
        println!("{told}");
    }
    let whole = if run.everything { LONG_WHOLE } else { WHOLE };
    let stages = run.stages(test.only_tests, &target.join("debug"));
    let ended = stage::run(stages, WORKERS, whole, &run.logs)?;
    let busy = Processors::now().busy_since(&processors);
    println!("\n{}", table::table(&ended, began.elapsed(), WORKERS, busy));
    // What went wrong has been told: nothing comes after the runner's line.
    if !run.conclude(&ended)? {
        std::process::exit(1);
    }
    Ok(())
}

impl Run {
    /// What is to be done before the tests, and beside them; the first in the list begins first.
    fn stages(self: &Arc<Self>, only_tests: bool, built: &Path) -> Vec<Stage> {
        let whole = self.packages.is_empty();
        let mut stages = vec![self.stage(PACKAGES, &[], Kind::Other, setup::packages)];
        if whole {
            stages.push(self.stage(LIBRARIES, &[], Kind::Cargo, libraries));
        }
        stages.push(self.stage(PYTHON, &[PACKAGES], Kind::Other, || setup::python().map(drop)));
        if whole && !only_tests {
            stages.push(self.stage(CHECKS, &[PYTHON], Kind::Other, checks));
        }
        let first = if whole && !only_tests { CHECKS } else { PACKAGES };
        let at = |path: &Path| path.to_owned();
        let (image, host, judged, papers) = (at(built), at(built), at(built), at(built));
        // Their tests take long, or to build them does; who names some may have meant them.
        let judges = self.everything || !self.names.is_empty();
        let with_ostree = self.everything || self.names.iter().any(|name| name.contains("ostree"));
        let with_release_judges = self.everything || self.names.iter().any(|name| name.contains("judge"));
        let with_ui = whole || self.packages.iter().any(|package| needs::stages(package).contains(&UI));
        // The programs have the web UI in them.
        let before_programs: &[&str] = match (whole, with_ui) {
            (true, _) => &[first, LIBRARIES, UI],
            (false, true) => &[first, UI],
            (false, false) => &[first],
        };
        stages.extend([
            self.stage(UI, &[PACKAGES], Kind::Other, ui::run),
            self.stage(PROGRAMS, before_programs, Kind::Cargo, || {
                lean_programs()?;
                programs().map(drop)
            }),
            self.stage(CHROMIUM, &[PACKAGES], Kind::Other, ui::browser),
            self.stage(COREOS_INSTALLER, &[first], Kind::Other, setup::coreos_installer),
            self.stage(S3, &[first], Kind::Other, move || if judges { setup::s3s_fs() } else { Ok(()) }),
            self.stage(RELEASE_JUDGES, &[first], Kind::Other, move || {
                if with_release_judges { setup::release_judges() } else { Ok(()) }
            }),
            self.stage(LAB_IMAGE, &[PROGRAMS, COREOS_INSTALLER], Kind::Other, move || {
                setup::lab_image(&image)?;
                // Only what takes long, or is called by its name, boots it.
                if with_ostree { setup::ostree_image(&image) } else { Ok(()) }
            }),
            self.stage(HOST_PROGRAM, &[PROGRAMS], Kind::Other, move || dist::try_out(&host)),
            self.stage(KAFKA, &[first], Kind::Other, setup::fetch_kafka),
            self.stage(KUBERNETES, &[first], Kind::Other, setup::build_kubernetes),
            self.stage(CLUSTER_API, &[first], Kind::Other, move || {
                setup::build_cluster_api(OLDEST)?;
                // What takes long tries the newest one, too.
                if judges { setup::build_cluster_api(NEWEST) } else { Ok(()) }
            }),
        ]);
        if !whole {
            let wanted: Vec<_> = self.packages.iter().flat_map(|package| needs::stages(package)).collect();
            stages.retain(|stage| stage.name == PACKAGES || wanted.iter().any(|name| **name == stage.name));
        }
        let run = Arc::clone(self);
        // Tests start programs that are built, so that there is nothing of them left to build.
        let before: &[&str] =
            if stages.iter().any(|stage| stage.name == PROGRAMS) { &[PROGRAMS] } else { &[PACKAGES] };
        stages.push(Stage {
            work: Box::new(move || run.compiled()),
            ..self.stage("tests are compiled", before, Kind::Cargo, || Ok(()))
        });
        if whole && !only_tests {
            if !compiler_lints() {
                stages.push(self.stage("lint", &["tests are compiled"], Kind::Cargo, lint));
            }
            stages.push(self.stage("contract and documents", &[PROGRAMS], Kind::Other, move || {
                contract::run(&papers, false)?;
                contract::run(&papers, true)?;
                docs::run(&papers, true)
            }));
        }
        if whole && self.everything {
            stages.push(self.stage("programs for other hosts", &[HOST_PROGRAM], Kind::Other, move || {
                dist::try_others(&judged)
            }));
        }
        stages
    }

    fn stage(
        &self,
        name: &str,
        needs: &[&'static str],
        kind: Kind,
        work: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Stage {
        Stage {
            name: name.to_owned(),
            needs: needs.to_vec(),
            kind,
            limit: if self.everything { LONG_STAGE } else { STAGE },
            work: Box::new(move || work().map(|()| Vec::new())),
        }
    }

    /// Builds the test programs: stages that run them.
    fn compiled(self: &Arc<Self>) -> Result<Vec<Stage>> {
        let mut binaries = binaries::compile(&self.packages, &self.logs.join("compiled.json"))?;
        binaries.sort_by_key(|binary| needs::place(&binary.package));
        let mut stages = Vec::new();
        for binary in binaries {
            let tests = binary.tests(&self.python)?;
            let name = format!("{} {}", binary.package, binary.target);
            let binary = Arc::new(binary);
            if !self.names.is_empty() {
                stages.push(self.tests(&name, &binary, What::Matching(self.names.clone())));
                continue;
            }
            let (mut tests, left_out): (Vec<_>, Vec<_>) =
                tests.into_iter().partition(|test| self.everything || !is_long(test));
            self.add(Sum { left_out: left_out.len() as u64, ..Sum::default() }, Vec::new());
            if MACHINES.contains(&binary.package.as_str()) && binary.target == "it" {
                tests.sort_by_key(|test| {
                    LONGEST.iter().position(|begin| test.starts_with(begin)).unwrap_or(LONGEST.len())
                });
                stages.extend(tests.into_iter().map(|test| Stage {
                    kind: Kind::Machines,
                    ..self.tests(&format!("{} {test}", binary.package), &binary, What::One(test))
                }));
            } else if !tests.is_empty() {
                stages.push(self.tests(&name, &binary, What::AllBut(left_out)));
            }
        }
        Ok(stages)
    }

    /// A stage that runs tests.
    fn tests(self: &Arc<Self>, name: &str, binary: &Arc<Binary>, what: What) -> Stage {
        let (run, binary, log) = (Arc::clone(self), Arc::clone(binary), stage::log(&self.logs, name));
        self.stage(name, needs::stages(&binary.package), Kind::Other, move || {
            match binary.run(&what, &run.python, run.variable.as_ref(), &log) {
                Ok((sum, skips)) => {
                    run.add(sum, skips);
                    match sum.failed {
                        0 => Ok(()),
                        failed => bail!("{failed} tests failed"),
                    }
                }
                Err(error) => {
                    run.add(Sum { failed: 1, ..Sum::default() }, Vec::new());
                    Err(error)
                }
            }
        })
    }

    fn add(&self, sum: Sum, skips: Vec<Skip>) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.sum.add(sum);
        outcome.skips.extend(skips);
    }

    /// Tells what came out, the runner's line last; whether all is well.
    fn conclude(&self, ended: &[Ended]) -> Result<bool> {
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let mut wrong: Vec<String> =
            ended.iter().filter(|stage| stage.end != End::Done).map(|stage| stage.name.clone()).collect();
        for skip in &outcome.skips {
            println!("SKIPPED {}: {}", skip.test, skip.why);
            if in_ci && !skip.is_allowed() {
                wrong.push(format!("{} was skipped, and may not be in CI", skip.test));
            }
        }
        let Sum { passed, failed, skipped, left_out } = outcome.sum;
        if left_out > 0 {
            println!("left out: {left_out} (run --everything)");
        }
        for wrong in &wrong {
            println!("FAILED: {wrong}");
            let told = std::fs::read(stage::log(&self.logs, wrong)).unwrap_or_default();
            for Failure { test, why } in results::failures(&String::from_utf8_lossy(&told)) {
                println!("  {test}");
                why.iter().for_each(|line| println!("    {line}"));
            }
        }
        let well = wrong.is_empty() && failed == 0;
        if !well {
            println!("Not all is well: see above, and the logs in {}", self.logs.display());
        }
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        Ok(well)
    }
}

/// Whether a test is for `--everything` alone.
fn is_long(test: &str) -> bool {
    test.split("::").any(|part| part.starts_with(LONG))
}

/// What is quick to check comes before everything: whoever forgot to format need not wait for virtual machines.
fn checks() -> Result<()> {
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    check_deps::run()?;
    check_shell::run()?;
    check_citations::run()?;
    check_recipes::run()?;
    book::run()?;
    deny::licences()
}

fn lint() -> Result<()> {
    step("lint", &mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
}

#[cfg(test)]
mod tests {
    use super::is_long;

    #[test]
    fn tests_that_take_long_are_known_by_the_beginning_of_a_name() {
        assert!(is_long("up::everything_of_an_installation") && is_long("everything_up::installs"));
        assert!(!is_long("tools::takes_everything_away"));
    }
}
