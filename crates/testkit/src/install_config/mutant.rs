//! Configs that are wrong in one place: a checker that takes one of them checks nothing.

use serde_json::{Map, Value, json};

/// What was done to a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A member that nobody knows was added.
    Added,
    /// A member has another name.
    Renamed,
    /// Something is of another type.
    Retyped,
    /// A member is gone.
    Removed,
    /// A text, number or flag is another one.
    Altered,
    /// A list has an element less, or one of them twice, or its first two in the other order.
    Relisted,
}

/// A wrong config.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub change: Change,
    /// The place, as a JSON pointer.
    pub place: String,
    pub config: Value,
}

/// All configs that differ from this one in one place.
pub fn mutants(config: &Value) -> Vec<Mutant> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(place) = open.pop() {
        let Some(value) = config.pointer(&place) else { continue };
        let mut add = |change, wrong: Value| {
            let mut config = config.clone();
            if let Some(spot) = config.pointer_mut(&place) {
                *spot = wrong;
            }
            found.push(Mutant { change, place: place.clone(), config });
        };
        match value {
            Value::Object(members) => {
                object(members, &mut add);
                open.extend(members.keys().map(|name| format!("{place}/{name}")));
                add(Change::Retyped, json!([]));
            }
            Value::Array(elements) => {
                list(elements, &mut add);
                open.extend((0..elements.len()).map(|index| format!("{place}/{index}")));
                add(Change::Retyped, json!({}));
            }
            Value::Null => {
                add(Change::Retyped, json!("text"));
                add(Change::Altered, json!([]));
            }
            Value::Bool(flag) => {
                add(Change::Retyped, json!(flag.to_string()));
                add(Change::Altered, json!(!flag));
            }
            Value::Number(number) => {
                add(Change::Retyped, json!(number.to_string()));
                let next = number.as_u64().map_or(json!(-1), |number| json!(number + 1));
                add(Change::Altered, next);
            }
            Value::String(text) => {
                add(Change::Retyped, json!(42));
                add(Change::Altered, json!(format!("{text}x")));
                if !text.is_empty() {
                    add(Change::Altered, json!(""));
                }
            }
        }
    }
    found
}

fn object(members: &Map<String, Value>, add: &mut impl FnMut(Change, Value)) {
    let mut more = members.clone();
    more.insert("unknownField".to_owned(), json!("x"));
    add(Change::Added, Value::Object(more));
    for (name, value) in members {
        let mut without = members.clone();
        without.remove(name);
        for other in [format!("{name}X"), name.to_uppercase()] {
            if !members.contains_key(&other) {
                let mut renamed = without.clone();
                renamed.insert(other, value.clone());
                add(Change::Renamed, Value::Object(renamed));
            }
        }
        add(Change::Removed, Value::Object(without));
    }
}

fn list(elements: &[Value], add: &mut impl FnMut(Change, Value)) {
    for index in 0..elements.len() {
        let (mut less, mut twice) = (elements.to_vec(), elements.to_vec());
        less.remove(index);
        twice.push(elements[index].clone());
        add(Change::Relisted, Value::Array(less));
        add(Change::Relisted, Value::Array(twice));
    }
    if let [first, second, ..] = elements
        && first != second
    {
        let mut swapped = elements.to_vec();
        swapped.swap(0, 1);
        add(Change::Relisted, Value::Array(swapped));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn mutants_differ_from_what_they_were() {
        let config = json!({"a": [1, 2], "b": {"c": "x", "d": false, "e": null}});
        let all = mutants(&config);
        assert!(all.iter().all(|mutant| mutant.config != config));
        let kinds: BTreeSet<_> = all.iter().map(|mutant| mutant.change).collect();
        assert_eq!(kinds.len(), 6);
        let of_c: Vec<_> = all
            .iter()
            .filter(|mutant| mutant.place == "/b/c")
            .map(|mutant| &mutant.config["b"]["c"])
            .collect();
        assert_eq!(of_c, [&json!(42), &json!("xx"), &json!("")]);
    }
}
