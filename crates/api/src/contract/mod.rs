//! Whether our documents are the contract's: both are walked, both ways, and only reviewed differences may remain.

mod deliberate;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Compares our document with the contract (its JSON text); each line names one difference that is not reviewed, or one
/// review that meets no difference.
///
/// # Errors
///
/// When the text is no JSON.
pub fn check(contract: &str) -> Result<Vec<String>, serde_json::Error> {
    let contract: Value = serde_json::from_str(contract)?;
    let theirs = facts_of_contract(&contract);
    let ours = facts_of_document(&super::openapi::swagger());
    let mut unused: BTreeSet<usize> = (0..deliberate::DIFFERENCES.len()).collect();
    let mut unmet: BTreeSet<usize> = (0..deliberate::ADDITIONS.len()).collect();
    let mut lines = Vec::new();
    let places: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for place in places {
        let (theirs, ours) = (theirs.get(place), ours.get(place));
        if theirs == ours {
            continue;
        }
        if theirs.is_none() && deliberate::is_added_value(place) {
            continue;
        }
        let added = deliberate::ADDITIONS.iter().position(|addition| addition.covers(place, theirs));
        if let Some(index) = added {
            unmet.remove(&index);
            continue;
        }
        let reviewed =
            deliberate::DIFFERENCES.iter().position(|difference| difference.covers(place, theirs, ours));
        match reviewed {
            Some(index) => {
                unused.remove(&index);
            }
            None => {
                let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
                lines.push(format!("{place}: the contract has {}, ours has {}", show(theirs), show(ours)));
            }
        }
    }
    for addition in unmet.into_iter().filter_map(|index| deliberate::ADDITIONS.get(index)) {
        lines.push(format!("the reviewed addition {:?} ({}) is met nowhere", addition.what, addition.reason));
    }
    for index in unused {
        if let Some(difference) = deliberate::DIFFERENCES.get(index) {
            lines.push(format!("the reviewed difference {:?} is met nowhere", difference.reason));
        }
    }
    Ok(lines)
}

/// What a document says, one fact per place.
type Facts = BTreeMap<String, Value>;

fn facts_of_contract(contract: &Value) -> Facts {
    let mut facts = Facts::new();
    let definitions = &contract["definitions"];
    for (name, schema) in members(definitions) {
        schema_facts(&mut facts, definitions, &format!("definition {name}"), schema);
    }
    for operation in contract["operations"].as_array().into_iter().flatten() {
        operation_facts(
            &mut facts,
            definitions,
            operation,
            operation["operation_id"].as_str().unwrap_or_default(),
        );
        let place = format!("operation {}", operation["operation_id"].as_str().unwrap_or_default());
        facts.insert(format!("{place} method"), operation["method"].clone());
        facts.insert(format!("{place} path"), operation["path"].clone());
    }
    facts
}

fn facts_of_document(document: &Value) -> Facts {
    let mut facts = Facts::new();
    let definitions = &document["definitions"];
    for (name, schema) in members(definitions) {
        schema_facts(&mut facts, definitions, &format!("definition {name}"), schema);
    }
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in members(item) {
            let name = operation["operationId"].as_str().unwrap_or_default();
            operation_facts(&mut facts, definitions, operation, name);
            facts.insert(format!("operation {name} method"), json!(method.to_ascii_uppercase()));
            facts.insert(format!("operation {name} path"), json!(path));
        }
    }
    facts
}

fn operation_facts(facts: &mut Facts, definitions: &Value, operation: &Value, name: &str) {
    let place = format!("operation {name}");
    for word in ["tags", "security", "consumes", "produces"] {
        if !operation[word].is_null() {
            facts.insert(format!("{place} {word}"), operation[word].clone());
        }
    }
    facts.insert(format!("{place} deprecated"), json!(operation["deprecated"] == true));
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = format!("{place} parameter {name}");
        facts.insert(format!("{place} in"), parameter["in"].clone());
        facts.insert(format!("{place} required"), json!(parameter["required"] == true));
        let mut schema = parameter.as_object().cloned().unwrap_or_default();
        for word in ["name", "in", "required"] {
            schema.remove(word);
        }
        if let Some(body) = schema.remove("schema") {
            schema_facts(facts, definitions, &place, &body);
        }
        if !schema.is_empty() {
            schema_facts(facts, definitions, &place, &Value::Object(schema));
        }
    }
    for (status, response) in members(&operation["responses"]) {
        let place = format!("{place} answer {status}");
        facts.insert(place.clone(), json!(true));
        if !response["schema"].is_null() {
            schema_facts(facts, definitions, &place, &response["schema"]);
        }
        for (header, schema) in members(&response["headers"]) {
            schema_facts(facts, definitions, &format!("{place} header {header}"), schema);
        }
    }
}

/// The facts of a schema. What only documents it, or only concerns one implementation, is left out.
fn schema_facts(facts: &mut Facts, definitions: &Value, place: &str, schema: &Value) {
    let Value::Object(words) = schema else { return };
    for (word, value) in words {
        match word.as_str() {
            "description" | "title" | "x-go-custom-tag" => {}
            "properties" => {
                for (name, property) in members(value) {
                    facts.insert(format!("{place}.{name}"), json!(true));
                    schema_facts(facts, definitions, &format!("{place}.{name}"), property);
                }
            }
            "items" => schema_facts(facts, definitions, &format!("{place}[]"), value),
            "additionalProperties" => {
                facts.insert(format!("{place} open"), json!(true));
                schema_facts(facts, definitions, &format!("{place}{{}}"), value);
            }
            "required" => {
                facts.insert(format!("{place} required"), sorted(value));
            }
            // Each value is a fact of its own, so that one that is added is one addition.
            "enum" => {
                for value in value.as_array().into_iter().flatten() {
                    let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    facts.insert(format!("{place} enum[{name}]"), json!(true));
                }
            }
            "allOf" => {
                for part in value.as_array().into_iter().flatten() {
                    let named = part["$ref"].as_str().and_then(|name| name.strip_prefix("#/definitions/"));
                    let part = named.map_or(part, |name| &definitions[name]);
                    schema_facts(facts, definitions, place, part);
                }
            }
            // An object that does not say so has members all the same.
            "type" if value == "object" => {}
            "x-nullable" if value == false => {}
            _ => {
                facts.insert(format!("{place} {word}"), value.clone());
            }
        }
    }
}

fn sorted(list: &Value) -> Value {
    let names: BTreeSet<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    json!(names)
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
