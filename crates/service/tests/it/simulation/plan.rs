//! What happens in a simulation, decided by its seed before anything begins.

use std::time::Duration;

use assisted_testkit::HoleFault;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const MOST_REPLICAS: usize = 3;
const MOST_CLUSTERS: usize = 3;

/// How many things happen to the replicas.
const DISTURBANCES: usize = 16;

/// How much the clocks of machines differ at first, seconds.
const SKEW: i64 = 30;

#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    /// For each replica how much its clock is ahead, in seconds.
    pub replicas: Vec<i64>,
    pub clusters: usize,
    /// In their order, each after a time of quiet.
    pub disturbances: Vec<(Duration, Disturbance)>,
    /// Of a thousand pieces of what a replica says to database and bucket so many meet a fault.
    pub faults_per_mille: u32,
}

/// What happens to one replica.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    pub replica: usize,
    pub kind: Kind,
    /// How long it lasts; what is over at once has no length.
    pub lasts: Duration,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// It is gone, with all that it has not written, and comes back.
    Crash,
    /// It reaches neither database nor files, and is told so.
    Partition,
    /// The database answers nothing.
    SilentDatabase,
    /// The bucket can't be reached.
    NoFiles,
    /// Its connections break.
    Break,
    /// Its machine's clock is set, by so many seconds.
    ClockJump(i64),
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let replicas: Vec<_> =
            (0..random.random_range(1..=MOST_REPLICAS)).map(|_| random.random_range(-SKEW..=SKEW)).collect();
        let disturbances = (0..DISTURBANCES)
            .map(|_| {
                let quiet = Duration::from_millis(random.random_range(50..800));
                let disturbance = Disturbance {
                    replica: random.random_range(0..replicas.len()),
                    kind: kind(&mut random),
                    lasts: Duration::from_millis(random.random_range(50..1500)),
                };
                (quiet, disturbance)
            })
            .collect();
        Self {
            seed,
            replicas,
            clusters: random.random_range(1..=MOST_CLUSTERS),
            disturbances,
            faults_per_mille: random.random_range(0..=8),
        }
    }

    /// Decides by the seed what happens to each piece on one of the wires.
    pub fn faults(&self, wire: u64) -> impl FnMut() -> HoleFault + Send + use<> {
        let mut random = StdRng::seed_from_u64(self.seed.wrapping_mul(1009).wrapping_add(wire));
        let per_mille = self.faults_per_mille;
        move || {
            if random.random_range(0..1000) >= per_mille {
                return HoleFault::None;
            }
            match random.random_range(0..4) {
                0 => HoleFault::BreakBefore,
                1 => HoleFault::BreakWithin(random.random_range(1..100)),
                2 => HoleFault::BreakAfter,
                _ => HoleFault::Delay(Duration::from_millis(random.random_range(1..300))),
            }
        }
    }

    /// What the client of a cluster chooses by.
    pub fn random(&self, client: usize) -> StdRng {
        StdRng::seed_from_u64(self.seed.wrapping_mul(7919).wrapping_add(client as u64))
    }
}

fn kind(random: &mut StdRng) -> Kind {
    match random.random_range(0..8) {
        0..=2 => Kind::Crash,
        3 => Kind::Partition,
        4 => Kind::SilentDatabase,
        5 => Kind::NoFiles,
        6 => Kind::Break,
        _ => Kind::ClockJump(random.random_range(-3600..=3600)),
    }
}
