//! Many statements of one text as one statement.
//!
//! Batches that are written together mostly do the same to different rows: a hundred registrations are a hundred times
//! the same few inserts. PostgreSQL's work is by the statement rather than by the row, so statements that say how
//! ([`Bulk`]) are sent once, with a list for each parameter.
//!
//! Batches of one group were submitted concurrently, so their order among each other is free; the order within a batch
//! is kept where two of its statements touch the same table.

use std::collections::HashMap;
use std::fmt::Write;

use crate::batch::Batch;
use crate::statement::{Bulk, Duplicates, Statement};
use crate::subject::Subject;
use crate::value::Value;

/// What is sent, in order.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// A statement as it is, with the place of its batch.
    One(usize, &'a Statement),
    CombinedStatement(CombinedStatement<'a>),
}

impl Step<'_> {
    pub(super) fn sql(&self) -> &str {
        match self {
            Self::One(_, statement) => &statement.sql,
            Self::CombinedStatement(many) => &many.sql,
        }
    }

    /// The number of rows that must be written, if it is guarded, and what is in conflict when it is not met.
    pub(super) fn guard(&self) -> Option<(u64, Subject)> {
        match self {
            Self::One(_, statement) => statement.guard.map(|what| (1, what)),
            Self::CombinedStatement(many) => many.guard,
        }
    }
}

/// Statements of one text as one.
#[derive(Debug)]
pub(super) struct CombinedStatement<'a> {
    pub(super) sql: String,
    /// A list for each parameter.
    pub(super) params: Vec<Vec<&'a Value>>,
    /// Rows that must be written when they are guarded, and what is said to be in conflict when they are not.
    pub(super) guard: Option<(u64, Subject)>,
}

/// Statements that may be sent in any order.
#[derive(Debug, Default)]
struct UnorderedStatements<'a> {
    ones: Vec<(usize, &'a Statement)>,
    manys: Vec<(&'static Bulk, Vec<(usize, &'a Statement)>)>,
}

/// Orders the statements of concurrent batches.
pub(super) fn plan(batches: &[Batch]) -> Vec<Step<'_>> {
    let mut levels: Vec<UnorderedStatements<'_>> = Vec::new();
    for (batch, statements) in batches.iter().map(|batch| &batch.statements).enumerate() {
        let mut level = 0;
        let mut tables: Vec<(&str, &str)> = Vec::new();
        for statement in statements {
            let Some(bulk) = statement.bulk else {
                // Nothing is known of its table: it waits for all before it, and all after it wait for it.
                level += usize::from(!tables.is_empty());
                tables.clear();
                at(&mut levels, level).ones.push((batch, statement));
                level += 1;
                continue;
            };
            let sql = statement.sql.as_ref();
            match tables.iter().find(|(table, _)| *table == bulk.table) {
                Some((_, other)) if *other == sql => {}
                Some(_) => {
                    level += 1;
                    tables.clear();
                    tables.push((bulk.table, sql));
                }
                None => tables.push((bulk.table, sql)),
            }
            let manys = &mut at(&mut levels, level).manys;
            match manys.iter_mut().find(|(_, same)| same[0].1.sql == statement.sql) {
                Some((_, same)) => same.push((batch, statement)),
                None => manys.push((bulk, vec![(batch, statement)])),
            }
        }
    }
    let mut steps = Vec::new();
    for level in levels {
        steps.extend(level.ones.into_iter().map(|(batch, statement)| Step::One(batch, statement)));
        for (bulk, same) in level.manys {
            steps.push(match same[..] {
                [(batch, statement)] => Step::One(batch, statement),
                _ => Step::CombinedStatement(many(bulk, &same)),
            });
        }
    }
    steps
}

fn at<'v, 'a>(levels: &'v mut Vec<UnorderedStatements<'a>>, level: usize) -> &'v mut UnorderedStatements<'a> {
    if levels.len() <= level {
        levels.resize_with(level + 1, UnorderedStatements::default);
    }
    &mut levels[level]
}

fn many<'a>(bulk: &'static Bulk, same: &[(usize, &'a Statement)]) -> CombinedStatement<'a> {
    let mut rows: Vec<&'a [Value]> = Vec::with_capacity(same.len());
    let mut places: HashMap<Vec<Key<'a>>, usize> = HashMap::new();
    for (_, statement) in same {
        let row = statement.params.as_slice();
        let keys = match bulk.duplicates {
            Duplicates::Sent => 0,
            Duplicates::Last(keys) | Duplicates::Least(keys) => keys,
        };
        if keys == 0 {
            rows.push(row);
            continue;
        }
        let place = *places.entry(row[..keys].iter().map(key).collect()).or_insert(rows.len());
        match (rows.get_mut(place), &bulk.duplicates) {
            (None, _) => rows.push(row),
            (Some(known), Duplicates::Least(_)) if !less(row.get(keys), known.get(keys)) => {}
            (Some(known), _) => *known = row,
        }
    }
    let params =
        (0..bulk.columns.len()).map(|column| rows.iter().map(|row| &row[column]).collect()).collect();
    let (_, first) = same[0];
    let guard = first.guard.map(|what| (rows.len() as u64, what));
    CombinedStatement { sql: sql(&first.sql, bulk), params, guard }
}

#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Uuid(uuid::Uuid),
    Text(&'a str),
    Other,
}

fn key(value: &Value) -> Key<'_> {
    match value {
        Value::Uuid(id) => Key::Uuid(*id),
        value => value.as_str().map_or(Key::Other, Key::Text),
    }
}

fn less(a: Option<&Value>, b: Option<&Value>) -> bool {
    matches!((a, b), (Some(Value::Int(a)), Some(Value::Int(b))) if a < b)
}

/// The text with `$3` read from the third of the lists.
fn sql(one: &str, bulk: &Bulk) -> String {
    let mut lists = String::from("unnest(");
    let mut names = String::new();
    for (n, column) in bulk.columns.iter().enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        // Fails never: it writes to memory.
        let _ = write!(lists, "{comma}${}::{}[]", n + 1, column.name());
        let _ = write!(names, "{comma}c{}", n + 1);
    }
    let source = format!("{lists}) as n ({names})");
    let text = one.replace('$', "n.c");
    if let Some((head, (row, tail))) =
        text.split_once(" values (").and_then(|(head, rest)| Some((head, rest.split_once(')')?)))
    {
        format!("{head} select {row} from {source}{tail}")
    } else {
        let joined = if text.starts_with("delete") { "using" } else { "from" };
        text.replacen(" where ", &format!(" {joined} {source} where "), 1)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::statement::Column;

    static MARK: Bulk =
        Bulk { table: "t", columns: &[Column::Text, Column::Int], duplicates: Duplicates::Least(1) };
    static PUT: Bulk =
        Bulk { table: "t", columns: &[Column::Text, Column::Int], duplicates: Duplicates::Last(1) };
    static LOG: Bulk = Bulk { table: "log", columns: &[Column::Int], duplicates: Duplicates::Sent };

    fn statement(sql: &'static str, bulk: Option<&'static Bulk>, params: Vec<Value>) -> Statement {
        Statement { sql: Cow::Borrowed(sql), params, guard: None, bulk }
    }

    fn put(key: &'static str, value: i64) -> Statement {
        statement(
            "insert into t (k, v) values ($1, $2) on conflict do nothing",
            Some(&PUT),
            vec![key.into(), value.into()],
        )
    }

    fn mark(key: &'static str, value: i64) -> Statement {
        statement("update t set v = $2, w = $2 where k = $1", Some(&MARK), vec![key.into(), value.into()])
    }

    fn log(value: i64) -> Statement {
        statement("delete from log where v = $1", Some(&LOG), vec![value.into()])
    }

    fn other() -> Statement {
        statement("other", None, Vec::new())
    }

    fn batch(statements: Vec<Statement>) -> Batch {
        Batch { statements, ..Batch::default() }
    }

    /// Each step as its text, first word only, and its rows.
    fn shape(batches: &[Batch]) -> Vec<String> {
        let steps = plan(batches).into_iter().map(|step| match step {
            Step::One(batch, statement) => format!("{batch}:{}", statement.sql.split(' ').next().unwrap()),
            Step::CombinedStatement(many) => {
                let rows = (0..many.params[0].len()).map(|row| {
                    let values = many.params.iter().map(|list| match list[row] {
                        Value::Int(value) => value.to_string(),
                        value => value.as_str().unwrap().to_owned(),
                    });
                    values.collect::<String>()
                });
                format!("{}({})", many.sql.split(' ').next().unwrap(), rows.collect::<Vec<_>>().join(" "))
            }
        });
        steps.collect()
    }

    #[test]
    fn texts_read_from_lists() {
        let texts: Vec<_> = [put("a", 1), mark("a", 1), log(1)]
            .iter()
            .map(|statement| sql(&statement.sql, statement.bulk.unwrap()))
            .collect();
        assert_eq!(
            texts,
            [
                "insert into t (k, v) select n.c1, n.c2 from unnest($1::text[], $2::bigint[]) as n (c1, c2) on conflict do nothing",
                "update t set v = n.c2, w = n.c2 from unnest($1::text[], $2::bigint[]) as n (c1, c2) where k = n.c1",
                "delete from log using unnest($1::bigint[]) as n (c1) where v = n.c1",
            ]
        );
    }

    #[test]
    fn same_texts_become_one() {
        assert_eq!(
            shape(&[batch(vec![put("a", 1), log(1)]), batch(vec![log(2)]), batch(vec![put("b", 2)])]),
            ["insert(a1 b2)", "delete(1 2)",]
        );
        assert_eq!(shape(&[batch(vec![put("a", 1), put("b", 1), put("a", 3)])]), ["insert(a3 b1)"]);
        assert_eq!(shape(&[batch(vec![mark("a", 2), mark("a", 3), mark("a", 1)])]), ["update(a1)"]);
        assert_eq!(shape(&[batch(vec![put("a", 1)])]), ["0:insert"]);
    }

    #[test]
    fn order_on_a_table_is_kept_within_a_batch() {
        assert_eq!(
            shape(&[
                batch(vec![mark("a", 1), put("a", 2), log(7)]),
                batch(vec![put("b", 3), mark("b", 4), log(8)]),
                batch(vec![put("c", 5), log(9)]),
            ]),
            ["0:update", "insert(b3 c5)", "2:delete", "0:insert", "delete(7 8)", "1:update"]
        );
        assert_eq!(
            shape(&[batch(vec![put("a", 1), other(), put("a", 2)]), batch(vec![put("b", 3), other()])]),
            ["insert(a1 b3)", "0:other", "1:other", "0:insert",]
        );
    }
}
