//! `cargo xtask bench images`: what serving images costs, beside nginx on the same file, in the same run.
//!
//! Servers and clients share the machine, as they do in the goals. Clients take bytes as cheaply as they can, so that the server is what is
//! measured; and read them, as programs do.

// The figures are what the program is for.
#![allow(clippy::print_stdout)]

mod base;
mod load;
mod nginx;
mod process;
mod service;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assisted_wire::infra_env::HostStaticNetworkConfig;
use clap::Parser;

use base::Base;
use load::{Kind, Load, Measured, Target};
use nginx::Nginx;
use service::{ImageService, Service};

/// Measure the image service beside nginx
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench images")]
struct Cli {
    /// Seconds for each measurement
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Clients at a time, one measurement after the other
    #[arg(long, value_delimiter = ',', default_value = "1,16,200")]
    clients: Vec<usize>,
    /// Clients when memory is measured, one measurement after the other
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000")]
    crowd: Vec<usize>,
    /// Size of the root file system in the base image, in MiB
    #[arg(long, default_value_t = 1000)]
    size: u64,
    /// Infra-envs whose first byte is waited for
    #[arg(long, default_value_t = 10)]
    infra_envs: usize,
    /// The service [default: the release build]
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// Given by cargo
    #[arg(long = "bench", hide = true)]
    _by_cargo: bool,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    rustls::crypto::ring::default_provider().install_default().ok().context("TLS can't be set up")?;
    process::die_with_parent()?;
    process::raise_file_limit()?;
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/release/assisted");
    let program = cli.program.clone().unwrap_or(target);
    let dir = tempfile::tempdir()?;
    let base = Base::make(cli.size)?;
    let certificate = base::Certificate::make(dir.path())?;
    println!("base image: {:.2} GB", base.length as f64 / 1e9);

    let service = Service::start(&program, dir.path(), &base)?;
    static_network()?;
    first_bytes(&cli, &service)?;
    let (infra_env, _) = service.infra_env(0)?;
    let time = Duration::from_secs(cli.seconds);
    for secure in [false, true] {
        let tls = secure.then_some(&certificate);
        let images = ImageService::start(&program, dir.path(), &base, &service, tls)?;
        let nginx = Nginx::start(dir.path(), &base, tls)?;
        let ours =
            Target { address: images.address, path: format!("/byid/{infra_env}/4.18/x86_64/full.iso") };
        let theirs = Target { address: nginx.address, path: base.name() };
        let scheme = if secure { "HTTPS" } else { "HTTP" };
        println!(
            "\n{scheme:24} {:>11} {:>11} {:>7} {:>11} {:>11} {:>7}   first byte beside them: median, longest",
            "ours", "nginx", "ratio", "ours", "nginx", "ratio"
        );
        for (kind, name) in [(Kind::Discards, ""), (Kind::Reads, " that read")] {
            for clients in &cli.clients {
                let tls = tls.map(base::Certificate::trust).transpose()?;
                let load = Load { clients: *clients, kind, time, tls };
                // Alternating, and the better of two: what disturbs the machine disturbs both.
                let mut best: [Option<Measured>; 2] = [None, None];
                for _ in 0..2 {
                    for (slot, target, pids) in [(0, &ours, images.pids()), (1, &theirs, nginx.pids()?)] {
                        let measured = load.run(target, &pids)?;
                        if best[slot].is_none_or(|best| measured.rate > best.rate) {
                            best[slot] = Some(measured);
                        }
                    }
                }
                let [Some(ours), Some(theirs)] = best else { continue };
                print_line(&format!("{clients} clients{name}"), &ours, &theirs);
            }
        }
        println!(
            "{:24} {:>11} {:>11} {:>7} {:>11} {:>11} {:>7}   as nginx",
            "goal", "", "", ">= 1.0", "", "", "<= 1.15"
        );
        memory(&cli, &images, tls)?;
    }
    Ok(())
}

fn print_line(what: &str, ours: &Measured, theirs: &Measured) {
    let first = |of: &Measured| format!("{:.1}, {:.1} ms", ms(of.first_byte.0), ms(of.first_byte.1));
    println!(
        "{what:24} {:>6.2} GB/s {:>6.2} GB/s {:>7.2} {:>6.3} s/GB {:>6.3} s/GB {:>7.2}   {}; nginx {}",
        ours.rate,
        theirs.rate,
        ours.rate / theirs.rate,
        ours.cpu,
        theirs.cpu,
        ours.cpu / theirs.cpu,
        first(ours),
        first(theirs)
    );
}

/// How long it takes to make the settings of one host's network, with all that is checked.
fn static_network() -> Result<()> {
    let host: HostStaticNetworkConfig = serde_json::from_value(service::network(0))?;
    let mut times = (0..1000)
        .map(|_| {
            let started = Instant::now();
            assisted_netconf::image_files::files(std::slice::from_ref(&host)).map(|_| started.elapsed())
        })
        .collect::<Result<Vec<_>, _>>()?;
    println!("\n{:62} {:>12}   goal", "static network", "median");
    println!("{:62} {:>9.2} ms   < 1 ms", "of one host: a bond with a VLAN", ms(median(&mut times)));
    Ok(())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How long clients wait for the first byte of an image that nobody has asked for before.
fn first_bytes(cli: &Cli, service: &Service) -> Result<()> {
    println!("\n{:62} {:>12}   goal", "first byte", "median");
    let mut full = Vec::new();
    for number in 0..cli.infra_envs.max(1) {
        let (id, hosts) = service.infra_env(100)?;
        full.push(service.first_byte(&format!("/byid/{id}/4.18/x86_64/full.iso"))?);
        if number == 0 {
            println!(
                "{:62} {:>9.1} ms   < 1000 ms",
                "the first minimal image of a base",
                ms(service.first_byte(&format!("/byid/{id}/4.18/x86_64/minimal.iso"))?)
            );
            println!("{:62} {:>9}", "hosts with static networks", hosts);
        }
    }
    println!("{:62} {:>9.1} ms   < 20 ms", "a full image", ms(median(&mut full)));
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What memory clients cost that are all in the middle of a download.
fn memory(cli: &Cli, images: &ImageService, tls: Option<&base::Certificate>) -> Result<()> {
    println!("\n{:62} {:>12}   goal", "memory, clients in the middle of a download", "resident");
    for clients in &cli.crowd {
        let target =
            Target { address: images.address, path: "/boot-artifacts/rootfs?version=4.18".to_owned() };
        let load = Load {
            clients: *clients,
            kind: Kind::Discards,
            time: Duration::from_secs(2),
            tls: tls.map(base::Certificate::trust).transpose()?,
        };
        let held = load.hold(&target)?;
        let resident = process::memory(images.pid)?;
        println!("{:62} {resident:>9.1} MB   flat", format!("{clients} clients"));
        drop(held);
    }
    Ok(())
}
