//! Tables for people, JSON and YAML for programs.

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use serde::Serialize;

use crate::Failure;
use crate::colour::painted;
pub use crate::printable::printable;

/// Between two columns.
const GAP: u16 = 2;

/// Longest word that a narrow terminal does not break: an id can be copied.
const UNBROKEN: usize = 36;

/// How answers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Table,
    Json,
    Yaml,
}

/// Shows an answer on standard output.
pub fn show<T: Serialize>(
    format: Format,
    value: &T,
    table: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    let text = rendered(format, value, table)?;
    line(&if format == Format::Table { painted(&text) } else { text })
}

/// An answer as text: the object itself for programs, `table` for people.
pub fn rendered<T: Serialize>(
    format: Format,
    value: &T,
    table: impl FnOnce(&T) -> String,
) -> Result<String, Failure> {
    let text = match format {
        Format::Table => table(value),
        Format::Json => {
            serde_json::to_string_pretty(value).map_err(|error| Failure::Refused(error.to_string()))?
        }
        Format::Yaml => {
            serde_yaml_ng::to_string(value).map_err(|error| Failure::Refused(error.to_string()))?
        }
    };
    Ok(text.trim_end().to_owned())
}

/// Writes a line; a reader that has gone away (`| head`) is no failure.
pub fn line(text: &str) -> Result<(), Failure> {
    line_if_read(text).map(|_| ())
}

/// Writes a line; false when the reader has gone away.
pub fn line_if_read(text: &str) -> Result<bool, Failure> {
    match writeln!(io::stdout().lock(), "{text}") {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Refused(format!("can't write the answer: {error}"))),
    }
}

/// A table with a heading. What foreign machines sent is shown without control characters.
pub fn table<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut widest = heading.map(str::len);
    let mut table = plain();
    table.set_header(heading);
    for row in rows {
        let row = row.map(|cell| printable(&cell));
        for (widest, cell) in widest.iter_mut().zip(&row) {
            *widest = (*widest).max(longest_word(cell));
        }
        table.add_row(row);
    }
    for (column, widest) in table.column_iter_mut().zip(widest) {
        let least = u16::try_from(widest.min(UNBROKEN)).unwrap_or_default() + GAP;
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
    text(table)
}

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or_default()
}

/// A table without lines, as wide as the terminal at most; what does not fit is wrapped within its column.
fn plain() -> Table {
    let mut table = Table::new();
    // A serial console does not know how wide it is, and tells 0.
    let is_known = table.width() != Some(0);
    let arrangement = if is_known { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
    table.load_preset(presets::NOTHING).set_content_arrangement(arrangement);
    table
}

fn text(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Facts about one object, one a line; those without a value are left out.
pub fn facts(facts: &[(&str, String)]) -> String {
    let mut table = plain();
    let told = facts.iter().filter(|(_, value)| !value.is_empty());
    table.add_rows(told.map(|(name, value)| [(*name).to_owned(), printable(value)]));
    text(table)
}

/// The text, each line moved to the right.
pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
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
