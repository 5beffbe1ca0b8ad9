//! A checker of install configs: what they may hold stands in a table that is written from the format's reference, and what they must
//! say of a cluster is worked out from the cluster as the API shows it. It shares no code with what makes them.

mod expected;
mod form;
mod host;
mod input;
mod mutant;
mod overrides;
mod platform;
mod schema;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use form::network;
pub use input::Input;
pub use mutant::{Change, Mutant, mutants};

/// The checker of the configs of one cluster.
#[derive(Debug)]
pub struct ConfigChecker {
    input: Input,
    /// What users lay over it, spelled as the table has it.
    overrides: Value,
    /// Each value that is expected, with its place.
    expected: BTreeMap<String, Value>,
}

impl ConfigChecker {
    /// Works out what the cluster's config must say.
    ///
    /// # Errors
    /// When the overrides can't be read, or are for members that there are not.
    pub fn new(input: Input) -> Result<Self, String> {
        let overrides = overrides::spelled(&input.overrides)?;
        let mut expected = expected::expected(&input);
        overrides::merge(&mut expected, &overrides, "");
        expected::add_trust(&mut expected, &input);
        let expected = leaves(&expected).into_iter().map(|(path, value)| (path, value.clone())).collect();
        Ok(Self { input, overrides, expected })
    }

    /// What is wrong with the form of a config: members that nobody knows, are missing or have no business there, and values that
    /// can't be.
    pub fn wrong_forms(&self, config: &Value) -> Vec<String> {
        schema::complaints(config, &self.input, &self.overrides)
    }

    /// Where the config says something else than what follows from the cluster.
    pub fn wrong_facts(&self, config: &Value) -> Vec<String> {
        let made = leaves(config);
        let told = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
        let paths: BTreeSet<&String> = made.keys().chain(self.expected.keys()).collect();
        let wrong = paths.into_iter().filter_map(|path| {
            let (made, expected) = (made.get(path).copied(), self.expected.get(path));
            (made != expected).then(|| format!("{path} is {}, not {}", told(made), told(expected)))
        });
        wrong.collect()
    }

    /// Both.
    pub fn complaints(&self, config: &Value) -> Vec<String> {
        [self.wrong_forms(config), self.wrong_facts(config)].concat()
    }
}

/// The places of everything in a config, as the table names them.
pub fn places(config: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![(String::new(), config)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(members) => {
                let dot = if path.is_empty() { "" } else { "." };
                open.extend(members.iter().map(|(name, member)| (format!("{path}{dot}{name}"), member)));
            }
            Value::Array(elements) => {
                open.extend(elements.iter().map(|element| (format!("{path}[]"), element)));
            }
            _ => {}
        }
        found.insert(path);
    }
    found
}

/// The places that the table has.
pub fn known_places() -> BTreeSet<String> {
    table::TABLE.rows.iter().map(|row| row.path.clone()).collect()
}

/// Everything that holds nothing else, with its place.
fn leaves(value: &Value) -> BTreeMap<String, &Value> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(members) if !members.is_empty() => {
                open.extend(members.iter().map(|(name, member)| {
                    let dot = if path.is_empty() { "" } else { "." };
                    (format!("{path}{dot}{name}"), member)
                }));
            }
            Value::Array(elements) if !elements.is_empty() => {
                open.extend(
                    elements.iter().enumerate().map(|(index, element)| (format!("{path}[{index}]"), element)),
                );
            }
            value => drop(found.insert(path, value)),
        }
    }
    found
}
