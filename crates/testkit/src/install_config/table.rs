//! The table of fields, read.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::form::Form;

/// All rows of the table.
pub static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("fields.txt")));

/// When a member is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Wherever what it lies in is.
    Always,
    /// Unless it would be empty.
    Some,
    /// Where overrides ask for it.
    Asked,
}

/// What a member is, and where.
#[derive(Debug)]
pub struct Row {
    pub path: String,
    pub form: Form,
    /// Whether null stands for a list without elements.
    pub nullable: bool,
    pub when: When,
    /// Empty: everywhere.
    pub place: String,
    /// Empty: every one.
    pub words: Vec<String>,
}

/// What a config may hold; what has no row is refused.
#[derive(Debug)]
pub struct Table {
    pub rows: Vec<Row>,
    /// Lines that say nothing: with one of them every config is wrong.
    pub unread: Vec<String>,
    places: HashMap<String, usize>,
    /// The members of each object: their names, and where their rows are.
    members: HashMap<String, Vec<(String, usize)>>,
}

impl Table {
    fn read(text: &str) -> Self {
        let (mut rows, mut unread): (Vec<Row>, _) = (Vec::new(), Vec::new());
        let (mut places, mut members) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let Some(row) = row(line) else {
                unread.push(line.to_owned());
                continue;
            };
            if !row.path.ends_with("[]") {
                let (outer, name) = row.path.rsplit_once('.').unwrap_or(("", &row.path));
                members.entry(outer.to_owned()).or_default().push((name.to_owned(), rows.len()));
            }
            places.insert(row.path.clone(), rows.len());
            rows.push(row);
        }
        Self { rows, unread, places, members }
    }

    /// The row of a place, whose elements of lists are all `[]`.
    pub fn row(&self, path: &str) -> Option<&Row> {
        self.rows.get(*self.places.get(path)?)
    }

    /// The rows of what lies right in a place.
    pub fn members(&self, path: &str) -> impl Iterator<Item = (&str, &Row)> + use<'_> {
        let members = self.members.get(path).into_iter().flatten();
        members.filter_map(|(name, row)| Some((name.as_str(), self.rows.get(*row)?)))
    }

    /// The name of a member as the table has it; users may spell it in any case.
    pub fn spelled(&self, path: &str, name: &str) -> Option<&str> {
        let exact = self.members(path).find(|(known, _)| *known == name);
        let folded = || self.members(path).find(|(known, _)| known.eq_ignore_ascii_case(name));
        exact.or_else(folded).map(|(known, _)| known)
    }
}

fn row(line: &str) -> Option<Row> {
    let mut cells = line.split('|').map(str::trim);
    let path = cells.next()?.to_owned();
    let form = cells.next()?;
    let when = match cells.next()? {
        "always" => When::Always,
        "some" => When::Some,
        "asked" => When::Asked,
        _ => return None,
    };
    let place = cells.next().unwrap_or_default().to_owned();
    let words = cells.next().unwrap_or_default().split_whitespace();
    let words: Vec<_> = words.map(|word| if word == "-" { "" } else { word }.to_owned()).collect();
    let nullable = form.ends_with('?');
    let form = form.trim_end_matches('?').parse().ok()?;
    let meant = words.is_empty() != (form == Form::Word) && cells.next().is_none();
    meant.then_some(Row { path, form, nullable, when, place, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_row_and_every_row_lies_in_another() {
        assert_eq!(TABLE.unread, Vec::<String>::new());
        assert_eq!(TABLE.places.len(), TABLE.rows.len(), "a row is there twice");
        for row in &TABLE.rows {
            let outer = row.path.strip_suffix("[]").or(row.path.rsplit_once('.').map(|(outer, _)| outer));
            let Some(outer) = outer else { continue };
            let outer = TABLE.row(outer).unwrap_or_else(|| panic!("{} lies in nothing", row.path));
            let wanted = if row.path.ends_with("[]") { Form::List } else { Form::Object };
            assert_eq!(outer.form, wanted, "{}", row.path);
        }
        for list in TABLE.rows.iter().filter(|row| row.form == Form::List) {
            assert!(
                TABLE.row(&format!("{}[]", list.path)).is_some(),
                "nothing says what is in {}",
                list.path
            );
        }
    }

    #[test]
    fn lines_that_say_nothing_are_told() {
        let table = Table::read(
            "# x\n\nfips | flag | always\nfips | flag\na | flag | never\nb | word | some\nc | x | some",
        );
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.unread, ["fips | flag", "a | flag | never", "b | word | some", "c | x | some"]);
    }
}
