//! Ignition configs, as values.
