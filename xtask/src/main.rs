//! `cargo xtask …`: everything that is done to the project rather than by it.

mod bench;
mod bless;
mod book;
mod check_book;
mod check_citations;
mod check_deps;
mod check_recipes;
mod check_shell;
mod contract;
mod debian;
mod demo;
mod deny;
mod dist;
mod docs;
mod fuzz;
mod run;
mod setup;
mod ship;
mod simulate;
mod test;
mod troubleshooting;
mod ui;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, tests, demo, benchmarks and checks of the project")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make what tests and demo need: Debian packages (as root), and in the cache Python packages, coreos-installer, Kubernetes
    /// and the image of lab machines
    Setup(setup::Setup),
    /// Set up, then format, lint, check crate order, licences, contract and docs, and run the tests
    Test(test::Test),
    /// Write the golden files anew that tests compare with: read what changed before you keep it
    Bless(bless::Bless),
    /// Show the system at work: clusters on simulated hosts while the rest is set up, then one on virtual machines; Ctrl-C stops
    /// everything
    Demo(demo::Demo),
    /// Measure, and print each figure beside its goal
    Bench(bench::Bench),
    /// Hunt for inputs that break what reads foreign bytes, and keep what is found as a test
    Fuzz(fuzz::Fuzz),
    /// Let happen to replicas of the service what seeds decide, and judge what comes of it
    Simulate(simulate::Simulate),
    /// Build the program for hosts for each architecture, small and static, and try each
    Dist(dist::Dist),
    /// Build the images of service, agent, installer and controller, without a base, and push them: what `make` does
    Images(ship::Images),
    /// Make everything that is shipped, with checksums and notes
    Release(ship::Release),
    /// Build the web UI (with Node): programs that are built afterwards have it in them
    Ui,
    /// Check the documentation, and build it as a book in the target folder
    Book,
    /// Check that a crate uses only crates below it
    CheckDeps,
    /// Check that no shell is run, and programs in one place alone
    CheckShell,
    /// Check that docs/SUMMARY.md leads to each page of the documentation, and that each link of a page leads somewhere
    CheckBook,
    /// Check that what sources cite of docs/reference is there
    CheckCitations,
    /// Check that each step of docs/recipes.md leads to a file that has its example
    CheckRecipes,
    /// Check that no advisory is out against a crate that is used; this needs the network, and is for every night
    Advisories,
    /// Compare our OpenAPI document with the REST contract
    Contract {
        /// Ask a running API for each operation instead, and tell which have a use case behind them
        #[arg(long)]
        status: bool,
    },
    /// Generate the diagrams and tables in docs/
    Docs {
        /// Fail where a file differs, instead of writing it
        #[arg(long)]
        check: bool,
    },
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Setup(setup) => setup.run(),
        Task::Test(test) => test::run(test),
        Task::Bless(bless) => bless.run(),
        Task::Demo(demo) => demo.run(),
        Task::Bench(bench) => bench.run(),
        Task::Fuzz(fuzz) => fuzz.run(),
        Task::Simulate(simulate) => simulate.run(),
        Task::Dist(dist) => dist.run(),
        Task::Images(images) => images.run(),
        Task::Release(release) => release.run(),
        Task::Ui => ui::run(),
        Task::Book => book::run(),
        Task::CheckDeps => check_deps::run(),
        Task::CheckShell => check_shell::run(),
        Task::CheckBook => check_book::run(),
        Task::CheckCitations => check_citations::run(),
        Task::CheckRecipes => check_recipes::run(),
        Task::Advisories => deny::advisories(),
        Task::Contract { status } => contract::run(&run::programs()?, status),
        Task::Docs { check } => docs::run(&run::programs()?, check),
    }
}
