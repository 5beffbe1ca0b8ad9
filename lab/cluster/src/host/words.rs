//! Words of a unit's command lines and variables, as systemd splits them.

use anyhow::{Context, Result, bail};

/// Stands before and after the name of a variable in a word: no argument can hold it.
const VARIABLE: char = '\0';

/// The words of a command line. Quotes hold a word together, a backslash takes the next character as it is, `%%` and `$$` are
/// one character each.
pub fn split(line: &str) -> Result<Vec<String>> {
    split_with(line, true)
}

/// A word with the values of the variables that it names; one that is not there is empty.
pub fn filled(word: &str, variables: &[(String, String)]) -> String {
    let parts = word.split(VARIABLE).enumerate().map(|(place, part)| match place % 2 {
        0 => part,
        _ => variables.iter().rev().find(|(name, _)| name == part).map_or("", |(_, value)| value),
    });
    parts.collect()
}

/// A value of a file of variables, where `%` and `$` mean nothing.
pub fn value(text: &str) -> Result<String> {
    Ok(split_with(text, false)?.join(" "))
}

fn split_with(line: &str, doubled: bool) -> Result<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = line.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() && word.as_deref().is_none_or(str::is_empty) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            '\\' => word.get_or_insert_default().extend(rest.next()),
            '%' | '$' if doubled && rest.next_if_eq(&letter).is_some() => {
                word.get_or_insert_default().push(letter);
            }
            '$' if doubled && rest.next_if_eq(&'{').is_some() => {
                let mut name = String::new();
                loop {
                    match rest.next().context("a variable's name does not end")? {
                        '}' => break,
                        letter => name.push(letter),
                    }
                }
                word.get_or_insert_default().push_str(&format!("{VARIABLE}{name}{VARIABLE}"));
            }
            '%' if doubled => bail!("{line:?}: the lab fills in nothing for %"),
            letter if letter.is_whitespace() && quote.is_none() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        bail!("{line:?}: a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_units() {
        for (line, words) in [
            ("/bin/a --b c=d", &["/bin/a", "--b", "c=d"][..]),
            (r#"a "b c" 'd "e"' "" x\ y"#, &["a", "b c", "d \"e\"", "", "x y"]),
            (r#""a%%b$$c\"d\\""#, &["a%b$c\"d\\"]),
            (
                "/bin/sh -c 'for d in a b; do [ ! -x $d ] || exec $d; done'",
                &["/bin/sh", "-c", "for d in a b; do [ ! -x $d ] || exec $d; done"],
            ),
            ("  ", &[]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        let word = split(r#""a=${A}-$${A}-${B}""#).unwrap().remove(0);
        let variables = [("A".to_owned(), "1".to_owned()), ("A".to_owned(), "2".to_owned())];
        assert_eq!(filled(&word, &variables), "a=2-${A}-");
        assert!(split("${A").is_err());
        assert_eq!(value(r#""http://u:p%40\$x@h""#).unwrap(), "http://u:p%40$x@h");
        assert!(split("\"a").is_err() && split("a %h").is_err());
    }
}
