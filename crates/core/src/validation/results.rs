//! The results of all validations of a host or a cluster.

use std::collections::BTreeMap;

use assisted_wire::validation::{Validation, ValidationList, help};
use serde::Serialize;

use super::ids::{Category, ValidationId};
use super::settings::IgnoredValidations;
use crate::model::outcome::{Outcome, Status, Text};

/// The result of one validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<I> {
    pub id: I,
    pub category: Category,
    pub outcome: Outcome,
    /// Whether the API shows it.
    pub shown: bool,
    /// Whether the state machines take it as true.
    pub condition: bool,
}

/// The results of all validations, in the order of evaluation. Empty when none was evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results<I> {
    entries: Vec<Entry<I>>,
    /// What the machines ask again and again.
    bits: Bits,
    /// Whether any of them was worked out from what other hosts are like.
    depends_on_others: bool,
}

/// What the machines ask of results: of each validation a bit at the place of its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    /// The conditions.
    conditions: u128,
    /// What was evaluated.
    evaluated: u128,
}

impl<I> Default for Results<I> {
    fn default() -> Self {
        Self { entries: Vec::new(), bits: Bits::default(), depends_on_others: false }
    }
}

/// One validation as it is stored; the members' order is that of the stored text.
#[derive(Serialize)]
struct Stored<'a> {
    id: &'static str,
    status: Status,
    message: &'a str,
}

impl<I: ValidationId> Results<I> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), ..Self::default() }
    }

    /// Results of which nothing has failed, without their texts.
    pub(super) fn without_texts(bits: Bits) -> Self {
        Self { bits, ..Self::default() }
    }

    /// What is enough to go on with while the host and its cluster stay as they are; `None`: something has failed, whose text
    /// counts, or other hosts count as well.
    pub(super) fn passed(&self) -> Option<Bits> {
        let failed = self.entries.iter().any(|entry| entry.outcome.status == Status::Failure);
        (!failed && !self.depends_on_others).then_some(self.bits)
    }

    /// Says that what other hosts are like counts as well.
    pub(super) fn set_dependent(&mut self, depends_on_others: bool) {
        self.depends_on_others = depends_on_others;
    }

    /// Adds the outcome of a validation; `omitted`: not shown at this stage, though its condition counts.
    pub(super) fn push(
        &mut self,
        id: I,
        category: Category,
        outcome: Outcome,
        omitted: bool,
        ignored: &IgnoredValidations<I>,
    ) {
        let shown = !omitted && !outcome.suppressed;
        let condition = outcome.holds() || (shown && ignored.contains(id));
        self.bits.conditions |= u128::from(condition) << id.place();
        self.bits.evaluated |= 1 << id.place();
        self.entries.push(Entry { id, category, outcome, shown, condition });
    }

    /// Whether nothing was evaluated.
    pub fn is_empty(&self) -> bool {
        self.bits.evaluated == 0
    }

    /// The result of a validation; `None` when it was not evaluated.
    pub fn get(&self, id: I) -> Option<&Entry<I>> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Status of a validation; `None` when it was not evaluated.
    pub fn status(&self, id: I) -> Option<Status> {
        self.get(id).map(|entry| entry.outcome.status)
    }

    /// Whether the state machines take a validation as true. False when it was not evaluated.
    pub fn condition(&self, id: I) -> bool {
        (self.bits.conditions >> id.place()) & 1 == 1
    }

    /// Whether a validation was left out since it is asked of some clusters only, while others were evaluated.
    pub fn is_left_out(&self, id: I) -> bool {
        I::OF_SOME.contains(&id) && !self.is_empty() && (self.bits.evaluated >> id.place()) & 1 == 0
    }

    /// Whether all of some validations are true.
    pub fn all(&self, ids: &[I]) -> bool {
        ids.iter().all(|id| self.condition(*id))
    }

    /// Every result in the order of evaluation, with the facts behind it, shown or not.
    pub fn entries(&self) -> &[Entry<I>] {
        &self.entries
    }

    /// The results that the API shows, with the facts behind them, in the order of evaluation.
    pub fn details(&self) -> impl Iterator<Item = &Entry<I>> {
        self.entries.iter().filter(|entry| entry.shown)
    }

    /// Messages of what failed, sorted, joined by ` ; `. What is ignored is listed too (state-machines §4.2).
    pub fn failing(&self) -> String {
        let failed = self.details().filter(|entry| entry.outcome.status == Status::Failure);
        let mut messages: Vec<&str> = failed.map(|entry| entry.outcome.message.as_ref()).collect();
        messages.sort_unstable();
        messages.join(" ; ")
    }

    /// The results that the API shows, with the facts behind them, in their stored order.
    pub fn explained(&self) -> ValidationList {
        let fact = |fact: &Option<Text>| fact.as_deref().unwrap_or_default().to_owned();
        let explain = |entry: &Entry<I>| Validation {
            id: entry.id.text().to_owned(),
            category: entry.category,
            status: entry.outcome.status,
            message: entry.outcome.message.to_string(),
            measured: fact(&entry.outcome.facts.measured),
            required: fact(&entry.outcome.facts.required),
            remedy: fact(&entry.outcome.facts.remedy),
            help: help(entry.id.text()),
        };
        ValidationList(self.by_category().into_values().flatten().map(explain).collect())
    }

    /// The results that are shown, by category, each category in its stored order.
    pub(super) fn by_category(&self) -> BTreeMap<&'static str, Vec<&Entry<I>>> {
        let mut categories: BTreeMap<&'static str, Vec<&Entry<I>>> = BTreeMap::new();
        for entry in self.details() {
            categories.entry(entry.category.as_str()).or_default().push(entry);
        }
        for entries in categories.values_mut() {
            if entries.first().is_some_and(|entry| I::is_sorted(entry.category)) {
                entries.sort_by_key(|entry| entry.id.text());
            }
        }
        categories
    }

    /// The text of `validations_info`, unless it is what is stored. Most looks at a host find what is stored already, and a comparison
    /// costs a tenth of writing it.
    pub fn new_info(&self, stored: &str) -> Option<String> {
        if self.strip_from(stored) == Some("") {
            return None;
        }
        // A message that is not written as it is, but escaped, makes the comparison fail.
        Some(self.to_info()).filter(|info| info != stored)
    }

    fn strip_from<'t>(&self, info: &'t str) -> Option<&'t str> {
        let mut rest = strip(info, &["{"])?;
        for (number, (category, entries)) in self.by_category().into_iter().enumerate() {
            rest = strip(rest, &[if number == 0 { "\"" } else { ",\"" }, category, "\":["])?;
            for (number, entry) in entries.into_iter().enumerate() {
                rest = strip(rest, &[if number == 0 { "" } else { "," }])?;
                rest = Stored::of(entry).strip_from(rest)?;
            }
            rest = strip(rest, &["]"])?;
        }
        strip(rest, &["}"])
    }

    /// The text of `validations_info`: an object from category to a list of `{id, status, message}` (validations §1.1).
    pub fn to_info(&self) -> String {
        let categories: BTreeMap<&str, Vec<Stored<'_>>> = self
            .by_category()
            .into_iter()
            .map(|(category, entries)| (category, entries.into_iter().map(Stored::of).collect()))
            .collect();
        // Maps of texts always serialise.
        serde_json::to_string(&categories).unwrap_or_default()
    }
}

/// Takes the beginning of a text away; `None`: it begins otherwise.
fn strip<'t>(text: &'t str, parts: &[&str]) -> Option<&'t str> {
    parts.iter().try_fold(text, |rest, part| rest.strip_prefix(part))
}

impl<'a> Stored<'a> {
    /// Takes itself off the beginning of a text; `None` when the text begins otherwise, or may do so.
    fn strip_from<'t>(&self, text: &'t str) -> Option<&'t str> {
        let Self { id, status, message } = self;
        strip(
            text,
            &[r#"{"id":""#, id, r#"","status":""#, status.as_str(), r#"","message":""#, message, r#""}"#],
        )
    }

    fn of<I: ValidationId>(entry: &'a Entry<I>) -> Self {
        Self { id: entry.id.text(), status: entry.outcome.status, message: &entry.outcome.message }
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::cluster::ClusterValidationId as C;
    use assisted_wire::host::HostValidationId as H;

    use super::*;

    fn none<I>() -> IgnoredValidations<I> {
        IgnoredValidations::Ids(Vec::new())
    }

    #[test]
    fn stored_text() {
        let mut results = Results::default();
        results.push(H::NtpSynced, Category::Network, Outcome::failure("b"), false, &none());
        results.push(H::HasInventory, Category::Hardware, Outcome::success("a"), false, &none());
        results.push(H::Connected, Category::Network, Outcome::failure("a"), false, &none());
        results.push(H::OdfRequirementsSatisfied, Category::Operators, Outcome::success(""), false, &none());
        results.push(H::CnvRequirementsSatisfied, Category::Operators, Outcome::success("c"), false, &none());
        results.push(H::HostnameUnique, Category::Hardware, Outcome::suppressed(), false, &none());
        assert_eq!(
            results.to_info(),
            concat!(
                r#"{"hardware":[{"id":"has-inventory","status":"success","message":"a"}],"#,
                r#""network":[{"id":"ntp-synced","status":"failure","message":"b"},"#,
                r#"{"id":"connected","status":"failure","message":"a"}],"#,
                r#""operators":[{"id":"cnv-requirements-satisfied","status":"success","message":"c"},"#,
                r#"{"id":"odf-requirements-satisfied","status":"success","message":""}]}"#,
            )
        );
        assert!(results.strip_from(&results.to_info()) == Some(""), "known without being written");
        assert_eq!(results.failing(), "a ; b");
        assert!(results.condition(H::HostnameUnique), "suppressed counts as true");
        assert!(!results.condition(H::MtuValid), "what was not evaluated counts as false");
    }

    #[test]
    fn stored_already() {
        let results = |messages: &[&'static str]| {
            let mut results = Results::default();
            for (id, message) in [H::NtpSynced, H::HasInventory, H::Connected].into_iter().zip(messages) {
                let category = if id == H::HasInventory { Category::Hardware } else { Category::Network };
                results.push(id, category, Outcome::success(*message), false, &none());
            }
            results
        };
        let all: Vec<_> = [&["a", "b", "c"], &["a", "b", "d"], &["a \"b\"\n\\", "b", "c"]]
            .into_iter()
            .map(|messages| results(messages))
            .chain([results(&["a", "b"]), results(&[])])
            .collect();
        for (place, one) in all.iter().enumerate() {
            for (other, info) in all.iter().map(Results::to_info).enumerate() {
                let expected = (place != other).then(|| one.to_info());
                assert_eq!(one.new_info(&info), expected, "{one:?} {info}");
            }
            assert!([String::new(), one.to_info() + " "].iter().all(|info| one.new_info(info).is_some()));
        }
    }

    #[test]
    fn each_id_has_a_bit() {
        assert!(H::ALL.iter().all(|id| id.place() < u128::BITS));
        assert!(C::ALL.iter().all(|id| id.place() < u128::BITS));
        assert!(H::ALL.is_sorted_by_key(|id| id.place()) && C::ALL.is_sorted_by_key(|id| id.place()));
    }

    #[test]
    fn explained() {
        let mut results = Results::default();
        let outcome = Outcome::failure("little").measured("4").required("8").remedy("Add.");
        results.push(H::Connected, Category::Network, Outcome::success("a"), false, &none());
        results.push(H::HasMinMemory, Category::Hardware, outcome, false, &none());
        results.push(H::HostnameUnique, Category::Hardware, Outcome::suppressed(), false, &none());
        let explained = serde_json::to_value(results.explained()).unwrap();
        assert_eq!(
            explained,
            serde_json::json!([
                {"id": "has-min-memory", "category": "hardware", "status": "failure", "message": "little",
                 "measured": "4", "required": "8", "remedy": "Add.", "help": "/docs/troubleshooting#has-min-memory"},
                {"id": "connected", "category": "network", "status": "success", "message": "a",
                 "help": "/docs/troubleshooting#connected"},
            ])
        );
    }

    #[test]
    fn clusters_are_sorted_by_id() {
        let mut results = Results::default();
        results.push(C::NetworkTypeValid, Category::Network, Outcome::success("n"), false, &none());
        results.push(C::ApiVipsValid, Category::Network, Outcome::pending("a"), false, &none());
        assert!(results.to_info().find("api-vips-valid") < results.to_info().find("network-type-valid"));
    }

    #[test]
    fn ignoring() {
        let push = |id, outcome: Outcome, omitted, ignored: &IgnoredValidations<H>| {
            let mut results = Results::default();
            results.push(id, Category::Hardware, outcome, omitted, ignored);
            results.condition(id)
        };
        let failed = || Outcome::failure("");
        assert!(push(H::HasMinMemory, failed(), false, &IgnoredValidations::All));
        assert!(!push(H::HasInventory, failed(), false, &IgnoredValidations::All), "never ignorable");
        assert!(!push(H::HasMinMemory, failed(), true, &IgnoredValidations::All), "left out at this stage");
        assert!(push(H::HasMinMemory, failed(), false, &IgnoredValidations::Ids(vec![H::HasMinMemory])));
        assert!(!push(H::HasMinMemory, failed(), false, &IgnoredValidations::Ids(vec![H::MtuValid])));
        assert!(push(H::HasMinMemory, Outcome::disabled(), false, &none()));
    }
}
