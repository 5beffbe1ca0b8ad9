//! Numbers that look random and are the same for the same seed.

use std::time::Duration;

/// SplitMix64 (Steele, Lea and Flood 2014): eight bytes of state, so that each host can have its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence of its own for the thing number `index`; does not depend on what was drawn elsewhere.
    pub fn of(seed: u64, index: u32) -> Self {
        let mut random = Self(seed ^ (u64::from(index) << 32 | u64::from(!index)));
        random.draw();
        random
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; zero if that is zero.
    pub fn below(&mut self, limit: u32) -> u32 {
        // The upper half of the product: as even as 64 bits allow.
        ((u128::from(self.draw()) * u128::from(limit)) >> 64) as u32
    }

    /// A time about as long as `usual`: a fifth more or less.
    pub fn about(&mut self, usual: Duration) -> Duration {
        usual.mul_f64(0.8 + f64::from(self.below(401)) / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_and_each_thing_its_own() {
        let sequence = |mut random: Random| [random.draw(), random.draw(), random.draw()];
        assert_eq!(sequence(Random::of(7, 3)), sequence(Random::of(7, 3)));
        assert_ne!(sequence(Random::of(7, 3)), sequence(Random::of(7, 4)));
        assert_ne!(sequence(Random::of(7, 3)), sequence(Random::of(8, 3)));
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_all_of_it() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] = true;
            let time = random.about(Duration::from_secs(10));
            assert!(time >= Duration::from_secs(8) && time <= Duration::from_secs(12), "{time:?}");
        }
        assert_eq!((seen, random.below(0)), ([true; 5], 0));
    }
}
