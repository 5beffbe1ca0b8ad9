//! SQL with its parameters. Parameters are `$1`, `$2`, …; the text is one that both engines take.

use std::borrow::Cow;

use crate::subject::Subject;
use crate::value::{Row, Value};

/// One statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) params: Vec<Value>,
    /// Set on a statement that must write exactly one row: what is in conflict when it does not.
    pub(crate) guard: Option<Subject>,
    /// Set on a statement that may be joined with others of its text; it gives no rows then.
    pub(crate) bulk: Option<&'static Bulk>,
}

/// How statements of one text, with one row each, may become one statement with many rows.
#[derive(Debug)]
pub(crate) struct Bulk {
    /// The only table that the statement touches.
    pub(crate) table: &'static str,
    /// Types of the parameters.
    pub(crate) columns: &'static [Column],
    pub(crate) duplicates: Duplicates,
}

/// What becomes of statements with the same leading parameters, of which the number is given.
#[derive(Debug)]
pub(crate) enum Duplicates {
    /// All are sent: there are none, or they do no harm.
    Sent,
    /// The last one is sent.
    Last(usize),
    /// The one whose next parameter is the least is sent.
    Least(usize),
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    Uuid,
    Int,
    Text,
    Bytes,
}

impl Column {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::Int => "bigint",
            Self::Text => "text",
            Self::Bytes => "bytea",
        }
    }
}

impl Statement {
    pub(crate) fn new(sql: &'static str, params: Vec<Value>) -> Self {
        Self { sql: Cow::Borrowed(sql), params, guard: None, bulk: None }
    }

    pub(crate) fn guarded(sql: &'static str, params: Vec<Value>, guard: Subject) -> Self {
        Self { sql: Cow::Borrowed(sql), params, guard: Some(guard), bulk: None }
    }

    pub(crate) fn bulk(mut self, bulk: &'static Bulk) -> Self {
        self.bulk = Some(bulk);
        self
    }
}

/// What a statement brought.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) rows: Vec<Row>,
    /// Rows written.
    pub(crate) affected: u64,
}

/// Grows a `select` by conditions.
///
/// A list of values is padded to a power of two, so that few different texts have to be prepared.
#[derive(Debug)]
pub(crate) struct Select {
    sql: String,
    params: Vec<Value>,
    conditions: usize,
}

impl Select {
    /// Starts with everything up to, and without, the `where`.
    pub(crate) fn new(head: &str) -> Self {
        Self { sql: head.to_owned(), params: Vec::new(), conditions: 0 }
    }

    /// Adds a condition without parameters.
    pub(crate) fn when(&mut self, condition: &str) -> &mut Self {
        self.sql.push_str(if self.conditions == 0 { " where " } else { " and " });
        self.sql.push_str(condition);
        self.conditions += 1;
        self
    }

    /// Adds `before $n after`.
    pub(crate) fn with(&mut self, before: &str, value: impl Into<Value>, after: &str) -> &mut Self {
        self.when(before);
        self.param(value);
        self.sql.push_str(after);
        self
    }

    /// Adds `column = $n` if there is a value.
    pub(crate) fn equal(&mut self, column: &str, value: Option<impl Into<Value>>) -> &mut Self {
        if let Some(value) = value {
            self.when(column).sql.push_str(" = ");
            self.param(value);
        }
        self
    }

    /// Adds `column in ($n, …)`; nothing is in an empty list.
    pub(crate) fn one_of(&mut self, column: &str, values: impl IntoIterator<Item = Value>) -> &mut Self {
        let list = self.list(column, values);
        self.when(&list)
    }

    /// Text of `column in ($n, …)`, for a condition of its own making.
    pub(crate) fn list(&mut self, column: &str, values: impl IntoIterator<Item = Value>) -> String {
        let first = self.params.len();
        self.params.extend(values);
        let given = self.params.len() - first;
        if given == 0 {
            return "1 = 0".to_owned();
        }
        let last = self.params[self.params.len() - 1].clone();
        self.params.resize(first + given.next_power_of_two(), last);
        let names: Vec<_> = (first + 1..=self.params.len()).map(|n| format!("${n}")).collect();
        format!("{column} in ({})", names.join(", "))
    }

    /// Adds text after the conditions.
    pub(crate) fn tail(&mut self, text: &str) -> &mut Self {
        self.sql.push_str(text);
        self
    }

    /// Adds the next parameter's name.
    pub(crate) fn param(&mut self, value: impl Into<Value>) -> &mut Self {
        self.params.push(value.into());
        self.sql.push_str(&format!("${}", self.params.len()));
        self
    }

    pub(crate) fn build(self) -> Statement {
        Statement { sql: Cow::Owned(self.sql), params: self.params, guard: None, bulk: None }
    }
}
