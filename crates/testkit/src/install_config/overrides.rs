//! What users lay over a config (install-generation §2.6).

use serde_json::{Map, Value};

use super::form::Form;
use super::table::{TABLE, When};

/// The overrides, spelled as the table has it; what follows the first value is nothing.
pub fn spelled(text: &str) -> Result<Value, String> {
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
    let value = first.unwrap_or(Ok(Value::Null)).map_err(|error| error.to_string())?;
    normalize(value, "")
}

fn normalize(value: Value, path: &str) -> Result<Value, String> {
    Ok(match value {
        Value::Object(members) => {
            let mut folded = Map::new();
            for (name, value) in members {
                let spelled = TABLE.spelled(path, &name).ok_or_else(|| format!("{path} has no {name}"))?;
                let inner = if path.is_empty() { spelled.to_owned() } else { format!("{path}.{spelled}") };
                folded.insert(spelled.to_owned(), normalize(value, &inner)?);
            }
            Value::Object(folded)
        }
        Value::Array(elements) => {
            let inner = format!("{path}[]");
            Value::Array(
                elements.into_iter().map(|element| normalize(element, &inner)).collect::<Result<_, _>>()?,
            )
        }
        value => value,
    })
}

/// Lays overrides over what lies at a path: objects member by member, lists element by element, all else in its place.
pub fn merge(base: &mut Value, over: &Value, path: &str) {
    match (base, over) {
        (_, Value::Null) => {}
        (Value::Object(base), Value::Object(over)) => {
            for (name, over) in over {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if over.is_null() {
                    clear(base, name, &path);
                    continue;
                }
                let known = base.entry(name.clone()).or_insert_with(|| fresh(&path));
                merge(known, over, &path);
            }
        }
        (Value::Array(base), Value::Array(over)) => {
            let path = format!("{path}[]");
            base.truncate(over.len());
            base.resize_with(over.len(), || fresh(&path));
            for (base, over) in base.iter_mut().zip(over) {
                merge(base, over, &path);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// Null empties lists and what may be absent, and leaves the rest.
fn clear(base: &mut Map<String, Value>, name: &str, path: &str) {
    let Some(row) = TABLE.row(path) else { return };
    let holds = matches!(row.form, Form::Object | Form::List);
    if row.nullable {
        base.insert(name.to_owned(), Value::Null);
    } else if holds && row.when != When::Always {
        base.remove(name);
    }
}

/// What nobody has said anything of yet: an object has what is always in it.
fn fresh(path: &str) -> Value {
    let Some(row) = TABLE.row(path) else { return Value::Null };
    if row.form != Form::Object {
        return row.form.empty();
    }
    let always = TABLE.members(path).filter(|(_, row)| row.when == When::Always);
    Value::Object(always.map(|(name, row)| (name.to_owned(), fresh(&row.path))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn overrides_are_laid_over() {
        let base = json!({
            "compute": [{"hyperthreading": "Enabled", "name": "worker", "replicas": 2}], "fips": false,
            "networking": {"clusterNetwork": [], "serviceNetwork": ["a", "b"]}, "arbiter": {"name": "arbiter"},
        });
        for (over, pointer, expected) in [
            (r#"{"COMPUTE":[{"hyperThreading":"Disabled"}]}"#, "/compute/0/replicas", json!(2)),
            (
                r#"{"compute":[{},{"name":"x"}]}"#,
                "/compute/1",
                json!({"hyperthreading": "", "name": "x", "replicas": 0}),
            ),
            (
                r#"{"networking":{"serviceNetwork":["c"],"clusterNetwork":null}}"#,
                "/networking",
                json!({"clusterNetwork": null, "serviceNetwork": ["c"]}),
            ),
            (r#"{"fips":true} more"#, "/fips", json!(true)),
            (r#"{"fips":null}"#, "/fips", json!(false)),
            (
                r#"{"capabilities":{"baselineCapabilitySet":"None"}}"#,
                "/capabilities",
                json!({"baselineCapabilitySet": "None"}),
            ),
        ] {
            let mut laid = base.clone();
            merge(&mut laid, &spelled(over).unwrap(), "");
            assert_eq!(laid.pointer(pointer), Some(&expected), "{over}");
        }
        let mut laid = base;
        merge(&mut laid, &spelled(r#"{"arbiter":null}"#).unwrap(), "");
        assert!(laid.get("arbiter").is_none());
        assert_eq!(spelled("").unwrap(), Value::Null);
        spelled(r#"{"publish":"Internal"}"#).unwrap_err();
        spelled("{").unwrap_err();
    }
}
