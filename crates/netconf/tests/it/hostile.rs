//! Texts that nobody meant well: an error, never a panic, never much memory.

use assisted_netconf::{keyfile, policy};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

use crate::keyfiles::NETWORKS;

/// A known text with some of its bytes replaced, or a piece of it repeated.
fn mangled() -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), "[ -~\n\u{a0}\u{fc}]{0,6}"), 1..6);
    (prop::sample::select(NETWORKS.to_vec()), edits).prop_map(|((_, text), edits)| {
        let mut letters: Vec<char> = text.chars().collect();
        for (at, new) in edits {
            let at = at.index(letters.len());
            let end = (at + new.chars().count() / 2).min(letters.len());
            letters.splice(at..end, new.chars());
        }
        letters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(Config { cases: 300, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_text_breaks_it(text in mangled()) {
        if let Ok(keyfiles) = keyfile::preferred(&text) {
            for keyfile in keyfiles {
                prop_assert!(!keyfile.name.contains('/') && keyfile.content.contains("[connection]"));
            }
        }
        let _ = policy::generate(&text, &[]);
    }
}
