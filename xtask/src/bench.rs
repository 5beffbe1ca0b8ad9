//! Benchmarks: each prints its figures beside the goals of docs/figures.md. They need a machine that is otherwise quiet.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::run::{cargo, root, step, target_dir, tied};
use crate::{setup, ui};

/// The service as users run it.
const SERVICE: [&str; 6] = ["build", "--release", "--package", "assisted", "--features", "jemalloc"];

/// The load on the service, as cargo knows it.
const LOAD: [&str; 4] = ["--package", "assisted-simhost", "--bench", "load"];

/// The installer program of a release, out of a registry.
const GENERATE: [&str; 4] = ["--package", "assisted-release", "--bench", "generate"];

/// Many clusters that are generated at once.
const GENERATIONS: [&str; 4] = ["--package", "assisted-simhost", "--bench", "generations"];

/// Downloads of images, beside nginx.
const IMAGES: [&str; 4] = ["--package", "assisted-imageserver", "--bench", "images"];

#[derive(Args)]
pub struct Bench {
    /// What to measure
    name: Name,
    /// Options of the benchmark, such as `--engine sqlite`; `-- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Polls, reports, registrations and standing cost of the service; the agent's inventory
    Discovery,
    /// Decisions about one cluster; 1,000 installations at once; 10,000 and 100,000 hosts that poll once a minute
    Installs,
    /// Hosts that poll several replicas behind one address; with `--kill` one of those is killed amid them: `--replicas 3 --hosts 300000 --kill`
    Replicas,
    /// Reports of 16 MiB in many shapes, and how much longer `/health`, polls and reports of others take beside them; with
    /// `--hosts 10000` beside so many hosts that poll once a minute
    Hostile,
    /// Installations one after the other for an hour on each database, each taken away again, and what each has left in memory, caches and
    /// descriptors of the service
    Soak,
    /// What the export of traces costs: the same requests without it, with a collector, and with one that is away
    Traces,
    /// Agents on a hub: how fast they come, what quiet ones cost, a report until its condition, a start beside all of them
    Kube,
    /// Throughput, CPU, memory and first bytes of discovery images, beside nginx on the same file
    Images,
    /// Time, CPU and memory that it takes to read a release and to extract an installer program of 1 GiB; 100 clusters that are
    /// generated at once
    Generate,
    /// The list of clusters in headless Chromium, five times (`--runs`) with and without what it has kept: until something is painted,
    /// until a cluster is there, and what comes over the wire
    Ui,
}

impl Bench {
    /// Builds the programs as users run them, and measures.
    pub fn run(&self) -> Result<()> {
        let bench = match self.name {
            Name::Discovery
            | Name::Installs
            | Name::Replicas
            | Name::Hostile
            | Name::Soak
            | Name::Traces
            | Name::Kube => LOAD,
            Name::Images => IMAGES,
            Name::Generate => GENERATE,
            Name::Ui => return first_page(&self.options),
        };
        setup::tools()?;
        if self.name != Name::Generate {
            build("the service", &SERVICE)?;
        }
        if self.name == Name::Discovery {
            build("the program for hosts", &["build", "--profile", "host", "--package", "assisted-host"])?;
        }
        build("the load", &[&["bench", "--no-run"], &bench[..]].concat())?;
        if self.name == Name::Installs {
            const REFRESH: [&str; 5] = ["bench", "--package", "assisted-core", "--bench", "refresh"];
            step("decisions about one cluster", &mut cargo(&REFRESH))?;
        }
        if self.name == Name::Images {
            const KEYFILES: [&str; 5] = ["bench", "--package", "assisted-netconf", "--bench", "keyfiles"];
            step("static networks", &mut cargo(&KEYFILES))?;
        }
        if self.name == Name::Generate {
            build("the load", &[&["bench", "--no-run"], &GENERATIONS[..]].concat())?;
            let generations = [&["bench", "--quiet"], &GENERATIONS[..]].concat();
            step("clusters that are generated at once", &mut cargo(&generations))?;
        }
        let name: &[&str] = match self.name {
            Name::Discovery => &["discovery"],
            Name::Installs => &["installs"],
            Name::Replicas => &["replicas"],
            Name::Hostile => &["hostile"],
            Name::Soak => &["soak"],
            Name::Traces => &["traces"],
            Name::Kube => &["kube"],
            Name::Images | Name::Generate | Name::Ui => &[],
        };
        let mut measure = cargo(&[&["bench", "--quiet"], &bench[..], &["--"], name].concat());
        // In the place of this process, so that whoever stops it stops the benchmark.
        Err(measure.args(&self.options).exec()).context("can't start the benchmark")
    }
}

/// The benchmark of the web UI, which is a scenario of its tests.
fn first_page(options: &[String]) -> Result<()> {
    setup::packages()?;
    // The service has the UI that is there when it is built.
    ui::run()?;
    ui::browser()?;
    build("the service", &SERVICE)?;
    let mut measure = tied("node");
    measure.arg("tests/first-page.mjs").args(options).current_dir(root().join("ui"));
    let service = target_dir()?.join("release/assisted");
    Err(measure.env("ASSISTED", service).exec()).context("can't start the benchmark")
}

fn build(what: &str, args: &[&str]) -> Result<()> {
    step(&format!("optimised build of {what}: minutes where nothing is built yet"), &mut cargo(args))
}
