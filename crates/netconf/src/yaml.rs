//! YAML of unknown origin, read within bounds.
//!
//! Parsers of values expand each alias, so that a few bytes can stand for gigabytes; the number of values is counted first, on
//! the stream of events, where aliases cost nothing.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};
use serde_yaml_ng::Value;

use crate::Error;

/// Bytes of one host's text at most.
pub(crate) const LARGEST: usize = 128 * 1024;

/// Values of one host at most, aliases expanded.
const MOST_VALUES: usize = 20_000;

/// Levels at most.
const DEEPEST: usize = 64;

/// Reads one document whose size is bounded.
pub(crate) fn parse(text: &str) -> Result<Value, Error> {
    bounded(text)?;
    serde_yaml_ng::from_str(text).map_err(|error| Error::Yaml(format!("the YAML can't be read: {error}")))
}

/// An open list or map: its anchor, and the values inside so far.
struct Open {
    anchor: usize,
    values: usize,
}

/// Holds the text to its bounds.
fn bounded(text: &str) -> Result<(), Error> {
    if text.len() > LARGEST {
        return Err(Error::Yaml(format!("the YAML is larger than {} KiB", LARGEST / 1024)));
    }
    let too_many = || Error::Yaml(format!("the YAML has more than {MOST_VALUES} values, aliases expanded"));
    let mut known: HashMap<usize, usize> = HashMap::new();
    let mut open: Vec<Open> = Vec::new();
    let mut total = 0_usize;
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| Error::Yaml(format!("the YAML can't be read: {error}")))?;
        let values = match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(Error::Yaml("the YAML has more than one document".to_owned()));
                }
                0
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if open.len() == DEEPEST {
                    return Err(Error::Yaml(format!("the YAML has more than {DEEPEST} levels")));
                }
                open.push(Open { anchor, values: 0 });
                0
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(closed) = open.pop() else { continue };
                let values = closed.values + 1;
                known.insert(closed.anchor, values);
                values
            }
            Event::Scalar(_, _, anchor, _) => {
                known.insert(anchor, 1);
                1
            }
            // One that stands for something it is part of is refused by the parser of values.
            Event::Alias(anchor) => known.get(&anchor).copied().unwrap_or(1),
            _ => 0,
        };
        match open.last_mut() {
            Some(parent) => {
                parent.values = parent.values.saturating_add(values);
                if parent.values > MOST_VALUES {
                    return Err(too_many());
                }
            }
            None => total = total.saturating_add(values),
        }
        if total > MOST_VALUES {
            return Err(too_many());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_fine_and_bombs_are_not() {
        assert!(parse("a: &a [1, 2]\nb: *a\nc: [*a, *a]\n").is_ok());
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..8 {
            let items = vec![format!("*a{}", level - 1); 10].join(",");
            bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
        }
        let refused = parse(&bomb).unwrap_err().to_string();
        assert!(refused.contains("20000 values"), "{refused}");
    }

    #[test]
    fn what_is_too_large_or_no_yaml() {
        for (text, why) in [
            ("a: ".to_owned() + &"x".repeat(LARGEST), "128 KiB"),
            ("[".repeat(70) + &"]".repeat(70), "64 levels"),
            ("[".repeat(1000), "can't be read"),
            ("a: [".to_owned(), "can't be read"),
            ("a: 1\n---\nb: 2\n".to_owned(), "more than one document"),
            ("a: \"".to_owned() + &"x,".repeat(50), "can't be read"),
            ("- 1\n".repeat(25_000), "20000 values"),
        ] {
            let refused = parse(&text).unwrap_err().to_string();
            assert!(refused.contains(why), "{why}: {refused}");
        }
    }
}
