//! Tables for people, JSON and YAML for programs.

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use super::Failure;

/// How answers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Table,
    Json,
    Yaml,
}

/// Shows an answer: the object itself to programs, `table` to people.
pub fn show<T: Serialize>(
    format: Format,
    value: &T,
    table: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    let text = match format {
        Format::Table => table(value),
        Format::Json => {
            serde_json::to_string_pretty(value).map_err(|error| Failure::Refused(error.to_string()))?
        }
        Format::Yaml => {
            serde_yaml_ng::to_string(value).map_err(|error| Failure::Refused(error.to_string()))?
        }
    };
    line(text.trim_end())
}

/// Writes a line; a reader that has gone away (`| head`) is no failure.
pub fn line(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Refused(error.to_string())),
        _ => Ok(()),
    }
}

/// A table with a heading. What foreign machines sent is shown without control characters.
pub fn table<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(heading);
    for row in rows {
        table.add_row(row.map(|cell| printable(&cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Facts about one object, one a line; those without a value are left out.
pub fn facts(facts: &[(&str, String)]) -> String {
    let width = facts
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or_default();
    let lines = facts.iter().filter(|(_, value)| !value.is_empty());
    lines.map(|(name, value)| format!("{name:width$}  {}", printable(value))).collect::<Vec<_>>().join("\n")
}

/// The text without what a terminal would obey.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// Bytes for people.
pub fn bytes(size: i64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = size as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{size} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A list in one cell.
pub fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_columns_and_no_control_characters() {
        let shown = table(
            ["ID", "NAME"],
            [["1".to_owned(), "a\u{1b}[31mb".to_owned()], ["22".to_owned(), "c".to_owned()]],
        );
        assert_eq!(shown, "ID  NAME\n1   a\u{fffd}[31mb\n22  c");
    }

    #[test]
    fn sizes_and_facts_are_for_people() {
        assert_eq!([bytes(512), bytes(16 << 30), bytes(1 << 41)], ["512 B", "16.0 GiB", "2.0 TiB"]);
        assert_eq!(
            facts(&[("id", "1".into()), ("name", String::new()), ("status", "known".into())]),
            "id      1\nstatus  known"
        );
    }
}
