//! A row as a line of JSON.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;
use uuid::Uuid;

use super::table::Kind;
use super::{CopyError, CopyTable};
use crate::error::Error;
use crate::value::{Row, Value};

/// Writes a row.
pub(crate) fn write(table: &CopyTable, row: Row) -> Result<String, Error> {
    let cells = table.columns.iter().zip(row.0).map(|(column, value)| cell(column.kind, value));
    Ok(Json::Array(cells.collect::<Result<_, _>>()?).to_string())
}

fn cell(kind: Kind, value: Value) -> Result<Json, Error> {
    Ok(match (kind, value) {
        (_, Value::Null) => Json::Null,
        (Kind::Int | Kind::Serial, Value::Int(number)) => number.into(),
        (Kind::Text, Value::Text(text)) => text.into(),
        (Kind::Uuid, Value::Uuid(id)) => id.to_string().into(),
        // SQLite has no type of its own for them.
        (Kind::Uuid, Value::Bytes(bytes)) => Uuid::from_slice(&bytes)
            .map_err(|_| Error::Corrupt("a column is no UUID".to_owned()))?
            .to_string()
            .into(),
        (Kind::Bytes, Value::Bytes(bytes)) => BASE64_STANDARD.encode(bytes).into(),
        _ => return Err(Error::Corrupt("a column holds what is not of its type".to_owned())),
    })
}

/// Reads a row. No value is quoted in an error: it may be a secret.
pub(crate) fn read(table: &CopyTable, line: &str) -> Result<Vec<Value>, CopyError> {
    let wrong = |why: String| CopyError::Row { table: table.name.clone(), why };
    let cells: Vec<Json> = serde_json::from_str(line)
        .map_err(|error| wrong(format!("it is no list in JSON: {:?}", error.classify())))?;
    if cells.len() != table.columns.len() {
        return Err(wrong(format!(
            "it has {} cells, and the table {} columns",
            cells.len(),
            table.columns.len()
        )));
    }
    let values = cells.into_iter().zip(&table.columns).map(|(cell, column)| {
        value(column.kind, cell).ok_or_else(|| wrong(format!("{} is not of its type", column.name)))
    });
    values.collect()
}

fn value(kind: Kind, cell: Json) -> Option<Value> {
    Some(match (kind, cell) {
        (Kind::Serial, Json::Null) => return None,
        (_, Json::Null) => Value::Null,
        (Kind::Int | Kind::Serial, Json::Number(number)) => Value::Int(number.as_i64()?),
        (Kind::Text, Json::String(text)) if !text.contains('\0') => Value::Text(text),
        (Kind::Uuid, Json::String(text)) => Value::Uuid(text.parse().ok()?),
        (Kind::Bytes, Json::String(text)) => Value::Bytes(BASE64_STANDARD.decode(text).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copied::tables;

    #[test]
    fn a_row_comes_back_as_it_was() {
        let table = tables(5).unwrap().into_iter().find(|table| table.name == "user_tokens").unwrap();
        let id = Uuid::new_v4();
        let row = vec![
            Value::Uuid(id),
            Value::Bytes(id.as_bytes().to_vec()),
            Value::Text("a\n\"b".to_owned()),
            Value::Text(String::new()),
            Value::Bytes(vec![0, 255]),
            Value::Null,
            Value::Int(i64::MIN),
            Value::Int(1),
        ];
        let line = write(&table, Row(row.clone())).unwrap();
        assert!(!line.contains('\n'));
        let mut expected = row;
        expected[1] = Value::Uuid(id);
        assert_eq!(read(&table, &line).unwrap(), expected);
    }

    #[test]
    fn what_is_no_row_is_refused_without_its_content() {
        let table = tables(1).unwrap().into_iter().find(|table| table.name == "check_ins").unwrap();
        let id = Uuid::new_v4();
        read(&table, &format!("[\"{id}\",\"{id}\",null]")).unwrap();
        for line in [
            "",
            "{}",
            "[]",
            &format!("[\"{id}\",\"{id}\"]"),
            &format!("[\"{id}\",\"{id}\",1.5]"),
            &format!("[\"{id}\",\"hunter2\",1]"),
            &format!("[\"{id}\",\"{id}\",1,2]"),
        ] {
            let error = read(&table, line).unwrap_err();
            assert!(
                matches!(error, CopyError::Row { .. }) && !error.to_string().contains("hunter2"),
                "{error}"
            );
        }
    }
}
