//! Holds that every outcome of every validation is hit by a test.
//!
//! The outcomes are listed in `tests/data/outcomes`. Each test of a table records what it saw; one more test runs them all
//! and compares.

use std::cell::RefCell;
use std::collections::BTreeSet;

use assisted_wire::own_operators::OWN_OPERATORS;

use super::ValidationId;
use crate::catalogue::operators::OPERATORS;
use crate::model::outcome::Outcome;

/// Where it says what a validation is made of, by the id of one that lacks something.
pub(super) fn recipe(id: &str) -> &'static str {
    if is_of_operator(id) { "docs/recipes.md, an operator" } else { "docs/recipes.md, a validation" }
}

/// Whether a validation is that of an operator; one of ours may not be among the operators yet.
fn is_of_operator(id: &str) -> bool {
    OPERATORS.iter().any(|operator| operator.host.as_str() == id)
        || OWN_OPERATORS.iter().any(|operator| operator.validation == id)
}

/// Id, status and message.
type Seen = (&'static str, &'static str, String);

thread_local! {
    static SEEN: RefCell<BTreeSet<Seen>> = const { RefCell::new(BTreeSet::new()) };
}

/// Takes note of what a validation returned.
pub(super) fn see<I: ValidationId>(id: I, outcome: &Outcome) {
    let status = if outcome.suppressed { "suppressed" } else { outcome.status.as_str() };
    let escaped = outcome.message.replace('\\', r"\\").replace('\n', r"\n").replace('\t', r"\t");
    SEEN.with_borrow_mut(|seen| seen.insert((id.text(), status, escaped)));
}

/// One listed outcome; `…` in id and message stands for any text.
struct Listed<'a> {
    id: &'a str,
    status: &'a str,
    message: &'a str,
}

impl<'a> Listed<'a> {
    fn parse(line: &'a str) -> Self {
        let mut parts = line.splitn(3, '|').map(str::trim_start);
        let mut part = || parts.next().unwrap_or_else(|| panic!("not id | status | message: {line}"));
        Self { id: part().trim_end(), status: part().trim_end(), message: part() }
    }

    fn is(&self, (id, status, message): &Seen) -> bool {
        self.status == *status && matches(self.id, id) && matches(self.message, message)
    }
}

/// Whether a text is one that a pattern stands for.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// Runs tests, and compares the outcomes that they see with those that are listed.
pub(super) fn check<I: ValidationId>(list: &str, all: &[I], never: &[I], tests: &[fn()]) {
    SEEN.with_borrow_mut(BTreeSet::clear);
    tests.iter().for_each(|test| test());
    let seen = SEEN.take();
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let listed: Vec<(&str, Listed<'_>)> = lines.map(|line| (line, Listed::parse(line))).collect();
    let missed = listed.iter().filter(|(_, each)| !seen.iter().any(|seen| each.is(seen)));
    let missed: Vec<String> = missed
        .map(|(line, each)| match is_of_operator(each.id) {
            true => format!("{line} ({}, step 2)", recipe(each.id)),
            false => format!("{line} ({}, steps 5 and 6)", recipe(each.id)),
        })
        .collect();
    let (hit, count) = (listed.len() - missed.len(), listed.len());
    println!("{hit} of {count} outcomes of {} validations are hit", I::KIND);
    assert!(missed.is_empty(), "hit by no test:\n{}", missed.join("\n"));
    for seen in &seen {
        let step = if is_of_operator(seen.0) { "in tests/data/outcomes" } else { "step 4" };
        let is_listed = listed.iter().any(|(_, each)| each.is(seen));
        assert!(is_listed, "not listed ({}, {step}): {seen:?}", recipe(seen.0));
    }
    for id in all.iter().filter(|id| !never.contains(id)) {
        let steps = if is_of_operator(id.text()) { "step 3" } else { "steps 3 to 6" };
        let is_evaluated = seen.iter().any(|each| each.0 == id.text());
        assert!(is_evaluated, "{id} is evaluated by no test ({}, {steps})", recipe(id.text()));
    }
}

#[test]
fn what_lacks_something_is_sent_to_its_own_recipe() {
    assert_eq!(recipe("metallb-requirements-satisfied"), "docs/recipes.md, an operator");
    assert_eq!(recipe("disk-encryption-requirements-satisfied"), "docs/recipes.md, a validation");
    for own in OWN_OPERATORS {
        assert_eq!(recipe(own.validation), "docs/recipes.md, an operator", "{}", own.name);
    }
}

#[test]
fn patterns() {
    for (pattern, text) in
        [("a", "a"), ("…", ""), ("a…c", "abc"), ("…b…", "abc"), ("a …, …\n", "a b, c\n"), ("", "")]
    {
        assert!(matches(pattern, text), "{pattern:?} {text:?}");
    }
    for (pattern, text) in [("a", "ab"), ("a…c", "ab"), ("…b…", "ac"), ("", "a"), ("a…a", "a")] {
        assert!(!matches(pattern, text), "{pattern:?} {text:?}");
    }
}
