//! How long it takes to make the keyfiles of one host: `cargo bench -p assisted-netconf --bench keyfiles`; the median in µs,
//! a line for each network. `cargo xtask bench images` runs it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark tells, and fails by a panic")]

use std::hint::black_box;
use std::time::Instant;

use assisted_netconf::keyfile;

const ROUNDS: usize = 200;
const NETWORKS: [(&str, &str); 2] = [
    ("dual stack", include_str!("../tests/data/dual-stack.yaml")),
    ("a bond with a VLAN", include_str!("../tests/data/bond-vlan.yaml")),
];

fn main() {
    for (name, text) in NETWORKS {
        let mut took: Vec<_> = (0..ROUNDS)
            .map(|_| {
                let began = Instant::now();
                black_box(keyfile::preferred(black_box(text)).unwrap());
                began.elapsed()
            })
            .collect();
        took.sort();
        let median = took[ROUNDS / 2].as_secs_f64() * 1e6;
        println!("{median:>8.0} µs  static network of a host: {name}");
    }
}
