//! How busy the machine's processors are, as the kernel counts it.

/// What all processors together did since the machine was started, in ticks. Nothing where the kernel doesn't tell.
pub struct Processors(Option<Ticks>);

struct Ticks {
    all: u64,
    idle: u64,
}

impl Processors {
    pub fn now() -> Self {
        Self(std::fs::read_to_string("/proc/stat").ok().as_deref().and_then(Ticks::read))
    }

    /// Per cent of the time since an earlier look in which they did something.
    pub fn busy_since(&self, earlier: &Self) -> Option<u64> {
        let (now, before) = (self.0.as_ref()?, earlier.0.as_ref()?);
        let (all, idle) = (now.all.checked_sub(before.all)?, now.idle.checked_sub(before.idle)?);
        (all.checked_sub(idle)? * 100).checked_div(all)
    }
}

impl Ticks {
    /// The first line: user, nice, system, idle, iowait, irq, softirq, steal. What follows is part of the first two.
    fn read(text: &str) -> Option<Self> {
        let ticks = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
        let ticks = ticks.map(|tick| tick.parse().ok()).collect::<Option<Vec<u64>>>()?;
        Some(Self { all: ticks.iter().sum(), idle: ticks.get(3)? + ticks.get(4)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_idle_nor_waits_for_a_disk_is_busy() {
        let at = |text| Processors(Ticks::read(text));
        let earlier = at("cpu  100 0 50 800 50 0 0 0 7 7\ncpu0 1 2 3 4\n");
        let later = at("cpu  150 10 70 810 60 0 0 0 9 9\n");
        assert_eq!(later.busy_since(&earlier), Some(80));
        assert_eq!(earlier.busy_since(&later), None);
        assert_eq!(later.busy_since(&at("cpu 1 2")), None);
        assert_eq!(later.busy_since(&later), None);
    }
}
