//! Texts with variables: `$NAME`, `${NAME}`, and whatever else is the text itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What follows a variable without braces ends its name only if it is one of these: a name that goes on with anything else is refused,
/// since it can only have been meant for a shell.
const ENDS: [char; 6] = ['/', '"', '$', ':', ',', '@'];

/// A text that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidText {
    #[error(
        "invalid variable name {0:?}: must contain only letters, digits, and underscores, and start with a letter or underscore"
    )]
    Name(String),
    #[error("a {0:?} has no place in it")]
    Character(char),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable(String),
}

/// A text with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(Vec<Part>);

impl Text {
    /// Reads a text. Double quotes around it, or around a variable in it, are not part of it.
    ///
    /// # Errors
    /// A variable has a name that is none, or there is something that only a shell would understand.
    pub fn parse(text: &str) -> Result<Self, InvalidText> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            match first {
                '"' => {}
                '`' => return Err(InvalidText::Character(first)),
                control if control.is_control() => return Err(InvalidText::Character(control)),
                '$' => {
                    let (name, after) = match rest.strip_prefix('{') {
                        Some(braced) => {
                            braced.split_once('}').ok_or_else(|| InvalidText::Name(format!("{{{braced}")))?
                        }
                        None => rest.split_at(rest.find(ENDS).unwrap_or(rest.len())),
                    };
                    if !is_name(name) {
                        return Err(InvalidText::Name(name.to_owned()));
                    }
                    if !literal.is_empty() {
                        parts.push(Part::Literal(std::mem::take(&mut literal)));
                    }
                    parts.push(Part::Variable(name.to_owned()));
                    rest = after;
                }
                other => literal.push(other),
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self(parts))
    }

    /// The same, of a text that may hold no variable.
    pub(super) fn literal(text: &str) -> Result<Self, InvalidText> {
        let read = Self::parse(text)?;
        match read.0.iter().find_map(|part| matches!(part, Part::Variable(_)).then_some('$')) {
            Some(variable) => Err(InvalidText::Character(variable)),
            None => Ok(read),
        }
    }

    /// As it stands in an argument of a unit, without the quotes around the argument: systemd puts the variables in.
    pub fn systemd(&self) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Literal(literal) => text.push_str(&super::unit::escaped(literal)),
                Part::Variable(name) => {
                    let _ = write!(text, "${{{name}}}");
                }
            }
        }
        text
    }

    /// The text, with variables that are known; others are empty.
    pub fn resolve(&self, known: &BTreeMap<String, String>) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Literal(literal) => literal.as_str(),
            Part::Variable(name) => known.get(name).map_or("", String::as_str),
        });
        parts.collect()
    }
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|next| next.is_ascii_alphanumeric() || next == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_by_systemd_and_nothing_by_a_shell() {
        for (text, expected) in [
            ("plain", "plain"),
            ("$METADATA_NAME", "${METADATA_NAME}"),
            ("${METADATA_NAME}", "${METADATA_NAME}"),
            ("\"${METADATA_UUID}\"", "${METADATA_UUID}"),
            ("openstack:///\"$METADATA_UUID\"", "openstack:///${METADATA_UUID}"),
            ("$A/$B", "${A}/${B}"),
            ("pre-${A}-post", "pre-${A}-post"),
            ("100%", "100%%"),
            ("a\\b", "a\\\\b"),
            ("it's", "it's"),
        ] {
            assert_eq!(Text::parse(text).unwrap().systemd(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_meant_for_a_shell_is_refused() {
        for bad in [
            "$(id)", "${A;id}", "$A;id", "$A id", "$1A", "$A-B", "${A-B}", "${A", "$", "${}", "`id`",
            "$A`id`", "a\nb", "$$A",
        ] {
            assert!(Text::parse(bad).is_err(), "{bad}");
        }
        let error = Text::parse("$(id)").unwrap_err().to_string();
        assert!(error.starts_with("invalid variable name \"(id)\": must contain only letters"), "{error}");
    }

    #[test]
    fn known_variables_are_resolved() {
        let known = BTreeMap::from([("A".to_owned(), "one".to_owned())]);
        assert_eq!(Text::parse("x-${A}$B").unwrap().resolve(&known), "x-one");
    }
}
