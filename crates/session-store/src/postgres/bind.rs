//! The arguments of a statement, each with the type that the server is told, and the values of a row.
//!
//! With the types known a statement needs no name and no question to the server before it is sent.

use std::error::Error;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::SessionId;

/// The arguments of a statement, in order.
#[derive(Default)]
pub(super) struct Bind {
    pub(super) values: Vec<(Value, Type)>,
}

/// A value on its way to the server.
pub(super) type Value = Box<dyn ToSql + Sync + Send>;

impl Bind {
    pub(super) fn new() -> Self {
        Bind::default()
    }

    pub(super) fn with(mut self, value: impl Argument) -> Self {
        self.values.push(value.value());
        self
    }

    /// Adds the id of a session, as the type that its columns have: a distributed engine finds the shard by it.
    pub(super) fn session(self, session: &SessionId) -> Self {
        self.with(Uuid::of(session))
    }
}

/// What can be an argument.
pub(super) trait Argument {
    fn value(self) -> (Value, Type);
}

macro_rules! arguments {
    ($($type:ty => $sql:ident as $own:expr),* $(,)?) => {
        $(impl Argument for $type {
            fn value(self) -> (Value, Type) {
                let own = $own;
                (Box::new(own(self)), Type::$sql)
            }
        })*
    };
}

arguments! {
    bool => BOOL as |value| value,
    i16 => INT2 as |value| value,
    i64 => INT8 as |value| value,
    f64 => FLOAT8 as |value| value,
    String => TEXT as |value| value,
    &str => TEXT as str::to_owned,
    &String => TEXT as String::clone,
    Option<&str> => TEXT as |value: Option<&str>| value.map(str::to_owned),
    &Option<String> => TEXT as Option::<String>::clone,
    Option<String> => TEXT as |value| value,
    Option<bool> => BOOL as |value| value,
    Option<i64> => INT8 as |value| value,
    Option<Vec<u8>> => BYTEA as |value| value,
    Vec<u8> => BYTEA as |value| value,
    &[u8] => BYTEA as <[u8]>::to_vec,
    &Vec<u8> => BYTEA as Vec::<u8>::clone,
    Uuid => UUID as |value| value,
    Vec<bool> => BOOL_ARRAY as |value| value,
    Vec<i64> => INT8_ARRAY as |value| value,
    &Vec<i64> => INT8_ARRAY as Vec::<i64>::clone,
    Vec<i16> => INT2_ARRAY as |value| value,
    Vec<String> => TEXT_ARRAY as |value| value,
    Vec<&str> => TEXT_ARRAY as |value: Vec<&str>| value.into_iter().map(str::to_owned).collect::<Vec<_>>(),
    Vec<&String> => TEXT_ARRAY as |value: Vec<&String>| value.into_iter().cloned().collect::<Vec<_>>(),
    Vec<Vec<u8>> => BYTEA_ARRAY as |value| value,
    Vec<Option<i64>> => INT8_ARRAY as |value| value,
    Vec<Option<bool>> => BOOL_ARRAY as |value| value,
    Vec<Option<String>> => TEXT_ARRAY as |value| value,
    Vec<Option<Vec<u8>>> => BYTEA_ARRAY as |value| value,
    Vec<Uuid> => UUID_ARRAY as |value| value,
}

/// The id of a session in 16 bytes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Uuid([u8; 16]);

impl Uuid {
    pub(super) fn of(session: &SessionId) -> Self {
        let mut bytes = [0; 16];
        let digits = session.as_str().bytes().filter_map(|byte| char::from(byte).to_digit(16));
        for (at, digit) in digits.enumerate() {
            if let Some(byte) = bytes.get_mut(at / 2) {
                *byte = *byte << 4 | digit as u8;
            }
        }
        Uuid(bytes)
    }
}

impl ToSql for Uuid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

/// Reads one column; the error is a reason in words.
pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: &str) -> Result<T, String> {
    row.try_get(column).map_err(|error| match error.source() {
        Some(source) => format!("{column}: {source}"),
        None => error.to_string(),
    })
}
