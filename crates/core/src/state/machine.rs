//! How a state machine is written down: a table of rules, read from the top, of which the first that applies wins.
//!
//! A condition is made of names (of validations and predicates), so that a table can be decided upon and printed.

use std::fmt::{Display, Write};

/// A condition over named facts.
#[derive(Clone, Copy, Debug)]
pub enum When<C: 'static> {
    /// Holds always.
    Always,
    /// Holds when the named fact does.
    Is(C),
    /// Holds when the inner condition does not.
    Not(&'static Self),
    /// Holds when all do.
    All(&'static [Self]),
    /// Holds when any does.
    Any(&'static [Self]),
}

impl<C: Copy> When<C> {
    /// Whether the condition holds, given which facts do.
    pub fn holds(&self, fact: &impl Fn(C) -> bool) -> bool {
        match self {
            Self::Always => true,
            Self::Is(name) => fact(*name),
            Self::Not(inner) => !inner.holds(fact),
            Self::All(all) => all.iter().all(|each| each.holds(fact)),
            Self::Any(any) => any.iter().any(|each| each.holds(fact)),
        }
    }

    /// Shows every name in the condition, whether it counts or not.
    pub fn each(&self, see: &mut impl FnMut(C)) {
        match self {
            Self::Always => {}
            Self::Is(name) => see(*name),
            Self::Not(inner) => inner.each(see),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.each(see)),
        }
    }
}

impl<C: Display + Copy> When<C> {
    fn text(&self) -> String {
        let part = |part: &Self| match (self, part) {
            (Self::All(_), Self::Any(_)) | (Self::Any(_), Self::All(_)) => format!("({})", part.text()),
            _ => part.text(),
        };
        let list = |parts: &[Self], word: &str| parts.iter().map(part).collect::<Vec<_>>().join(word);
        match self {
            Self::Always => String::new(),
            Self::Is(name) => name.to_string(),
            Self::Not(inner) => match inner {
                Self::All(_) | Self::Any(_) => format!("not ({})", inner.text()),
                _ => format!("not {}", inner.text()),
            },
            Self::All(all) => list(all, " and "),
            Self::Any(any) => list(any, " or "),
        }
    }
}

/// One rule of a table.
#[derive(Clone, Copy, Debug)]
pub struct Rule<S: 'static, C: 'static, E: 'static> {
    /// States in which the rule applies.
    pub from: &'static [S],
    /// What must hold besides.
    pub when: When<C>,
    /// The next state; `None`: the state stays.
    pub to: Option<S>,
    /// The new text of `status_info`, with macros; `None`: the text stays.
    pub info: Option<&'static str>,
    /// What else changes.
    pub effects: &'static [E],
}

/// The first rule of a table that applies.
pub fn choose<'t, S: PartialEq, C: Copy, E>(
    table: impl IntoIterator<Item = &'t Rule<S, C, E>>,
    state: &S,
    fact: &impl Fn(C) -> bool,
) -> Option<&'t Rule<S, C, E>> {
    table.into_iter().find(|rule| rule.from.contains(state) && rule.when.holds(fact))
}

/// A table in words, for the documentation.
#[derive(Clone, Debug)]
pub struct Table {
    /// What the table decides.
    pub title: &'static str,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    from: Vec<String>,
    when: String,
    to: Option<String>,
    info: &'static str,
    effects: String,
}

impl Table {
    /// Puts a table into words.
    pub fn new<'t, S, C, E>(title: &'static str, rules: impl IntoIterator<Item = &'t Rule<S, C, E>>) -> Self
    where
        S: Display + 'static,
        C: Display + Copy + 'static,
        E: Display + 'static,
    {
        let rows = rules
            .into_iter()
            .map(|rule| Row {
                from: rule.from.iter().map(ToString::to_string).collect(),
                when: rule.when.text(),
                to: rule.to.as_ref().map(ToString::to_string),
                info: rule.info.unwrap_or_default(),
                effects: rule.effects.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            })
            .collect();
        Self { title, rows }
    }

    /// As a Markdown table.
    pub fn to_markdown(&self) -> String {
        let mut text =
            String::from("| # | from | when | to | status info | besides |\n|---|---|---|---|---|---|\n");
        for (number, row) in self.rows.iter().enumerate() {
            let from: Vec<_> = row.from.iter().map(|state| format!("`{state}`")).collect();
            let to = row.to.as_ref().map_or_else(|| "same".to_owned(), |state| format!("`{state}`"));
            let (from, when, info, effects) = (from.join(", "), &row.when, row.info, &row.effects);
            let _ = writeln!(text, "| {} | {from} | {when} | {to} | {info} | {effects} |", number + 1);
        }
        text
    }

    /// As a Mermaid state diagram: one arrow for each change of state that some rule brings.
    pub fn to_mermaid(&self) -> String {
        let mut arrows: Vec<_> = self
            .rows
            .iter()
            .filter_map(|row| row.to.as_ref().map(|to| (row, to)))
            .flat_map(|(row, to)| row.from.iter().map(move |from| (from, to)))
            .filter(|(from, to)| from != to)
            .collect();
        arrows.sort_unstable();
        arrows.dedup();
        let id = |state: &str| state.replace('-', "_");
        let mut text = String::from("stateDiagram-v2\n");
        for (from, to) in arrows {
            let _ = writeln!(text, "    {} --> {}", id(from), id(to));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use When::{All, Always, Any, Is, Not};

    const TABLE: &[Rule<&str, char, &str>] = &[
        Rule {
            from: &["a", "b"],
            when: All(&[Is('x'), Not(&Any(&[Is('y'), Is('z')]))]),
            to: Some("c"),
            info: Some("gone"),
            effects: &["cleared"],
        },
        Rule { from: &["a"], when: Always, to: None, info: None, effects: &[] },
    ];

    #[test]
    fn the_first_rule_that_applies_wins() {
        let to = |state, facts: &str| choose(TABLE, &state, &|name| facts.contains(name)).map(|rule| rule.to);
        assert_eq!(to("a", "x"), Some(Some("c")));
        assert_eq!(to("a", "xz"), Some(None));
        assert_eq!(to("b", "xz"), None);
        assert_eq!(to("c", "x"), None);
    }

    #[test]
    fn tables_can_be_printed() {
        let table = Table::new("letters", TABLE);
        assert_eq!(
            table.to_markdown().lines().nth(2),
            Some("| 1 | `a`, `b` | x and not (y or z) | `c` | gone | cleared |")
        );
        assert_eq!(table.to_mermaid(), "stateDiagram-v2\n    a --> c\n    b --> c\n");
    }
}
