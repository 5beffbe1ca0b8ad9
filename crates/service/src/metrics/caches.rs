//! What is held in memory of clusters and hosts: what stays of those that are gone shows here.

use std::fmt::Debug;
use std::sync::OnceLock;

use prometheus::{IntGaugeVec, Opts, Registry, Result};

/// How much a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Entries, each of one cluster, infra-env or host.
    Entries(usize),
    /// Bytes of reports.
    Bytes(usize),
}

/// Who has caches and can tell what they hold.
pub(crate) trait Caches: Debug + Send + Sync {
    /// How much there is in each, by its name.
    fn held(&self) -> Vec<(&'static str, Held)>;
}

/// Measures of caches.
#[derive(Debug)]
pub(super) struct CacheSizes {
    entries: IntGaugeVec,
    bytes: IntGaugeVec,
    caches: OnceLock<Box<dyn Caches>>,
}

impl CacheSizes {
    pub(super) fn new(registry: &Registry) -> Result<Self> {
        let gauges = |name: &str, help: &str| {
            let gauges = IntGaugeVec::new(Opts::new(name, help), &["cache"])?;
            registry.register(Box::new(gauges.clone()))?;
            Ok::<_, prometheus::Error>(gauges)
        };
        Ok(Self {
            entries: gauges(
                "assisted_cache_entries",
                "Entries of caches, each of a cluster, an infra-env or a host.",
            )?,
            bytes: gauges("assisted_cache_bytes", "Bytes of the reports of hosts that are cached.")?,
            caches: OnceLock::new(),
        })
    }

    /// Has caches measured from now on; those that are given first count.
    pub(super) fn watch(&self, caches: impl Caches + 'static) {
        let _ = self.caches.set(Box::new(caches));
    }

    pub(super) fn measure(&self) {
        let Some(caches) = self.caches.get() else { return };
        for (name, held) in caches.held() {
            let (gauges, amount) = match held {
                Held::Entries(entries) => (&self.entries, entries),
                Held::Bytes(bytes) => (&self.bytes, bytes),
            };
            gauges.with_label_values(&[name]).set(i64::try_from(amount).unwrap_or(i64::MAX));
        }
    }
}
