//! Values as PostgreSQL takes them.

use std::error::Error as StdError;

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::value::{Row, Value};

type Conversion<T> = Result<T, Box<dyn StdError + Sync + Send>>;

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Conversion<IsNull> {
        match (self, ty) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Int(value), &Type::INT8) => value.to_sql(ty, out),
            (Self::Uuid(value), &Type::UUID) => value.to_sql(ty, out),
            (Self::Text(text), &Type::TEXT) => text.as_str().to_sql(ty, out),
            (Self::Static(text), &Type::TEXT) => text.to_sql(ty, out),
            (Self::Shared(text), &Type::TEXT) => text.as_ref().to_sql(ty, out),
            (Self::Bytes(bytes), &Type::BYTEA) => bytes.as_slice().to_sql(ty, out),
            (Self::List(values), _) if matches!(ty.kind(), Kind::Array(_)) => {
                values.as_slice().to_sql(ty, out)
            }
            _ => Err(format!("a parameter has another type than {ty}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Conversion<Self> {
        Ok(match *ty {
            Type::INT8 => Self::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Self::Int(i32::from_sql(ty, raw)?.into()),
            Type::UUID => Self::Uuid(Uuid::from_sql(ty, raw)?),
            Type::TEXT => Self::Text(String::from_sql(ty, raw)?),
            Type::BYTEA => Self::Bytes(raw.to_vec()),
            Type::VOID => Self::Null,
            _ => return Err(format!("a column has type {ty}").into()),
        })
    }

    fn from_sql_null(_: &Type) -> Conversion<Self> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

pub(super) fn from_postgres(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    (0..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>().map(Row)
}
