//! What it takes to get the installer program out of a release: `cargo bench -p assisted-release --bench generate [-- MIB]`.
//!
//! A real registry on this machine has a release whose installer has a length of 1 GiB, unless told otherwise, and does not
//! pack. A process of its own reads the release and extracts the program; its time, its CPU time and its peak of memory are told.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use assisted_release::mirror::Rule;
use assisted_release::{
    Mirrors, Program, Proxies, PullSecret, Reference, Registries, Retry, Transport, extract, image,
};
use assisted_testkit::oci::{self, Image, ReleaseImage};
use assisted_testkit::{Access, DockerRegistry};

/// The argument with which this program extracts.
const EXTRACT: &str = "--extract";

/// Most memory that extracting may take, in MiB.
const GOAL: u64 = 64;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match args.as_slice() {
        [first, release, to] if first == EXTRACT => runtime.block_on(measure(release, Path::new(to))),
        [] => runtime.block_on(serve(1024)),
        [mib] => runtime.block_on(serve(mib.parse().unwrap())),
        _ => panic!("one argument at the most: the length of the installer in MiB"),
    }
}

/// Bytes that don't pack.
struct Noise(u64);

impl Read for Noise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for eight in buffer.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            eight.copy_from_slice(&self.0.to_le_bytes()[..eight.len()]);
        }
        Ok(buffer.len())
    }
}

async fn serve(mib: u64) {
    let (images, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let registry = DockerRegistry::start(images.path(), &Access::default()).unwrap();
    let size = mib << 20;
    let layers = oci::installer(Noise(88_172_645_463_325_252).take(size), size).unwrap();
    let installer = Image::new("amd64", layers).unwrap();
    let installer = oci::push(&registry, "ocp/art", None, &installer).await.unwrap();
    let release = ReleaseImage {
        version: "4.22.9".to_owned(),
        architecture: "amd64".to_owned(),
        components: vec![("installer".to_owned(), installer)],
        operator: Vec::new(),
    };
    let release = oci::push(&registry, "ocp/release", None, &release.build().unwrap()).await.unwrap();
    let mut out = io::stdout().lock();
    writeln!(out, "an installer of {mib} MiB out of a registry on this machine").unwrap();
    for _ in 0..3 {
        let path = target.path().join("openshift-install");
        let extracting = Command::new(std::env::current_exe().unwrap())
            .args([EXTRACT, &release])
            .arg(&path)
            .output()
            .unwrap();
        assert!(extracting.status.success(), "{}", String::from_utf8_lossy(&extracting.stderr));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
        out.write_all(&extracting.stdout).unwrap();
    }
}

async fn measure(release: &str, to: &Path) {
    let reference: Reference = release.parse().unwrap();
    let prefix = reference.repository.registry.clone();
    let plain = Rule { prefix, location: None, blocked: false, insecure: true, mirrors: Vec::new() };
    let proxies = Proxies::Given { http: String::new(), https: String::new(), none_for: String::new() };
    let transport = Transport { proxies, ..Transport::default() };
    let registries = Registries::new(&transport, Mirrors::new([plain]).unwrap(), Retry::default()).unwrap();
    let session = registries.session(PullSecret::default());
    let begin = Instant::now();
    let release = session.release(&reference, image::host()).await.unwrap();
    let resolved = begin.elapsed();
    let begin = Instant::now();
    let made =
        extract(&session, &release, Program::OpenshiftInstall, image::host(), to, u64::MAX).await.unwrap();
    let extracted = begin.elapsed().as_secs_f64();
    let peak = peak_mib();
    let rate = made.size as f64 / 1e6 / extracted;
    let mark = if peak < GOAL { "" } else { "  <- too much" };
    let resolved = resolved.as_secs_f64() * 1e3;
    let cpu = cpu_seconds();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "resolved in {resolved:.1} ms, extracted in {extracted:.2} s ({rate:.0} MB/s, {cpu:.2} CPU-s), \
         peak {peak} MiB of {GOAL}{mark}"
    )
    .unwrap();
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// CPU time of this process, user and system.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after.split_whitespace().collect();
    // The 14th and 15th of the line, in hundredths of a second.
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}
