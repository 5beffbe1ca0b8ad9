//! The service dies right after what it wrote has come to last, and before anybody is told: after a step of each kind that
//! an installation has, and of each that comes with a reset, a cancellation, hosts that are added, and the end of clusters.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use assisted_base::failpoint::{DIE_AFTER, DIED, KINDS};
use assisted_testkit::Postgres;

use super::{LIMIT, Process, Site, turn};

/// Steps until each death, when the service has died after each kind. Short lives show what a start leaves undone, long
/// ones reach the end.
const LIVES: [u64; 16] = [13, 2, 29, 7, 41, 3, 19, 11, 1, 37, 5, 23, 17, 31, 8, 47];

/// Simulations until the service has died after each kind.
const SIMULATIONS: u32 = 5;

/// How long after the last file of clusters a kind may come to be seen: their rows go after their files, those of their hosts at the
/// next sweep.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// What becomes of the clusters of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// They are installed, and nothing goes wrong.
    Installed,
    /// An installation is reset and begun anew, and its cluster gets a worker; that of the next one is cancelled. At last all of them
    /// are deleted, with everything that they left.
    WholeLife,
}

impl Course {
    /// Kinds that there must be, whatever else there is. Of a transaction it is the last: where it is seen, all of them are.
    fn certain(self) -> &'static [&'static str] {
        match self {
            Self::Installed => &["update hosts", "update clusters", "insert events", "put kubeconfig"],
            Self::WholeLife => {
                &["delete kubeconfig", "delete infra_envs", "delete uploads", "delete reports"]
            }
        }
    }

    /// Clusters of which each has another fate.
    fn fates(self) -> u32 {
        match self {
            Self::Installed => 1,
            Self::WholeLife => 2,
        }
    }

    fn serve(self, site: &Site, more: &[(&str, String)]) -> Process {
        let mut settings = more.to_vec();
        if self == Self::WholeLife {
            // What is deleted goes for good at once.
            for name in ["DELETION_WORKER_INTERVAL", "DELETED_UNREGISTERED_AFTER"] {
                settings.push((name, "1s".to_owned()));
            }
        }
        site.serve(&settings)
    }

    fn simulate(self, site: &Site, clusters: u32, seed: u32) -> Process {
        let (clusters, seed) = (clusters.to_string(), seed.to_string());
        let mut args =
            vec!["--topology", "compact", "--clusters", clusters.as_str(), "--seed", seed.as_str()];
        if self == Self::WholeLife {
            args.extend(["--add-workers", "1"]);
            args.extend([
                "--fault",
                "reset@writing-image-to-disk",
                "--fault",
                "cancel@writing-image-to-disk",
            ]);
        }
        site.simulate(&args)
    }

    /// What follows a simulation. `meanwhile` does something all the while, and tells whether all has been seen.
    fn end(self, site: &Site, mut meanwhile: impl FnMut() -> bool) {
        if self == Self::Installed {
            return;
        }
        let mut wait = site.wait("the end of all clusters and of their files", LIMIT);
        let mut gone = None;
        loop {
            let all_seen = meanwhile();
            if delete_all(site) {
                let gone = *gone.get_or_insert_with(Instant::now);
                if all_seen || gone.elapsed() > AFTERWARDS {
                    return;
                }
            }
            site.go_on(&mut wait);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Deletes what is listed, and tells whether nothing is left: no cluster, no infra-env and no file.
fn delete_all(site: &Site) -> bool {
    let mut left = false;
    for what in ["cluster", "infra-env"] {
        // The service may be away, here and below.
        let Some(listed) = site.list(what) else { return false };
        for one in &listed {
            left = true;
            site.cli(&[what, "delete", one["id"].as_str().unwrap()]);
        }
    }
    !left && !has_files(&site.data.join("files"))
}

/// Whether there is a finished file below a folder, in which others may be deleting.
fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        entry.file_name() != ".unfinished" && (!is_folder || has_files(&entry.path()))
    })
}

/// The kinds of an installation in which nothing goes wrong.
static OF_INSTALLATIONS: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| kinds(&Site::new(None), Course::Installed));

#[test]
fn on_sqlite() {
    let _turn = turn();
    dies_after_each_kind(&OF_INSTALLATIONS, &Site::new(None), Course::Installed, Some(1));
}

#[test]
fn what_comes_with_a_whole_life_on_sqlite() {
    let _turn = turn();
    let all = kinds(&Site::new(None), Course::WholeLife);
    // It dies after the others elsewhere.
    let new: BTreeSet<String> = all.difference(&OF_INSTALLATIONS).cloned().collect();
    dies_after_each_kind(&new, &Site::new(None), Course::WholeLife, None);
}

#[test]
fn everything_of_a_whole_life_on_sqlite() {
    let _turn = turn();
    let all = kinds(&Site::new(None), Course::WholeLife);
    dies_after_each_kind(&all, &Site::new(None), Course::WholeLife, Some(1));
}

#[test]
fn everything_on_postgresql() {
    let _turn = turn();
    let site = || Site::new(Some(Postgres::start().unwrap().create_database().unwrap()));
    let kinds = kinds(&site(), Course::Installed);
    // A start has to wait for the leases of the one before: it must live long enough to get on.
    dies_after_each_kind(&kinds, &site(), Course::Installed, Some(2));
}

/// The kinds of steps where nobody dies.
fn kinds(site: &Site, course: Course) -> BTreeSet<String> {
    // What only the first start of all does.
    let mut first = site.serve(&[]);
    site.until_ready();
    first.kill();
    let file = site.dir.path().join("kinds");
    let seen = || -> BTreeSet<String> {
        std::fs::read_to_string(&file).unwrap_or_default().lines().map(str::to_owned).collect()
    };
    let missing = || {
        let seen = seen();
        course.certain().iter().find(|certain| !seen.contains(**certain))
    };
    let _service = course.serve(site, &[(KINDS, file.to_str().unwrap().to_owned())]);
    site.until_ready();
    site.finish(course.simulate(site, course.fates(), 1), || ());
    course.end(site, || missing().is_none());
    assert_eq!(missing(), None, "{:#?}", seen());
    seen()
}

/// What the service died after last.
fn last_death(site: &Site) -> Option<String> {
    site.log().lines().rev().find_map(|line| line.strip_prefix(DIED)).map(str::to_owned)
}

/// `then`: how much longer than [`LIVES`] it lives when it has died after each kind; `None`: it does not die any more.
fn dies_after_each_kind(kinds: &BTreeSet<String>, site: &Site, course: Course, then: Option<u64>) {
    let mut left = kinds.clone();
    let mut lives = LIVES.iter().cycle();
    let mut next = |left: &BTreeSet<String>| {
        let after = match left.is_empty() {
            true => then.map(|longer| (lives.next().unwrap() * longer).to_string()),
            false => Some(format!("1 {}", left.iter().map(String::as_str).collect::<Vec<_>>().join("|"))),
        };
        after.map(|after| (DIE_AFTER, after)).into_iter().collect::<Vec<_>>()
    };
    let mut reports = Vec::new();
    for seed in 1..=SIMULATIONS {
        let is_first = seed == 1;
        // It must have found the service before it is away for the first time. What every start does has been died of when the
        // first simulation is over; then it is the beginning of one that is left.
        let mut service = course.serve(site, &if is_first { vec![] } else { next(&left) });
        site.until_ready();
        let simulation = course.simulate(site, if is_first { 3 } else { course.fates() }, seed);
        if is_first {
            site.until_some_clusters();
            service.kill();
            service = course.serve(site, &next(&left));
        }
        let mut revive = || {
            if service.has_ended() {
                left.remove(&last_death(site).unwrap());
                service = course.serve(site, &next(&left));
            }
            left.is_empty()
        };
        reports.push(site.finish(simulation, || {
            revive();
        }));
        course.end(site, &mut revive);
        service.kill();
        if left.is_empty() {
            break;
        }
    }
    assert!(!site.log().contains("panicked"), "{}", site.story());
    assert!(left.is_empty(), "after {} simulations it has not died after {left:#?}", reports.len());
    if course == Course::WholeLife {
        // Nothing is left of which something could be told twice.
        return;
    }

    let _service = site.serve(&[]);
    site.until_ready();
    for report in &reports {
        site.nothing_is_told_twice(report);
    }
}
