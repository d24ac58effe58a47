//! Values to and from the wire.

use mysql::Column;
use mysql::consts::ColumnType;

use crate::calendar::DateTime;
use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::value::{Value, parse_decimal};

/// The character set of columns that hold bytes.
const BINARY: u16 = 63;

pub(super) fn parameter(value: &Value<'_>) -> mysql::Value {
    match *value {
        Value::Null => mysql::Value::NULL,
        Value::Int(value) => mysql::Value::Int(value),
        Value::Float(value) => mysql::Value::Double(value),
        Value::Text(text) => mysql::Value::Bytes(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => mysql::Value::Bytes(bytes.to_vec()),
        Value::Decimal { .. } | Value::Ints(_) => mysql::Value::Bytes(value.to_string().into_bytes()),
        Value::Time(micros) => {
            let DateTime { year, month, day, hour, minute, second, micros } = DateTime::of_micros(micros);
            mysql::Value::Date(year as u16, month, day, hour, minute, second, micros)
        }
    }
}

pub(super) fn read_row(values: &[mysql::Value], columns: &[Column], answer: &mut Answer) -> Result<()> {
    for (value, column) in values.iter().zip(columns) {
        answer.push(value_of(value, column)?);
    }
    Ok(())
}

fn value_of<'v>(value: &'v mysql::Value, column: &Column) -> Result<Value<'v>> {
    let no_reader = || {
        let message = format!(
            "column {} of type {:?} has no reader; cast it in the statement",
            column.name_str(),
            column.column_type()
        );
        Error::new(ErrorKind::Other, message)
    };
    Ok(match value {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Int(value) => Value::Int(*value),
        mysql::Value::UInt(value) => Value::Int(i64::try_from(*value).map_err(|_| no_reader())?),
        mysql::Value::Float(value) => Value::Float((*value).into()),
        mysql::Value::Double(value) => Value::Float(*value),
        mysql::Value::Date(year, month, day, hour, minute, second, micros) => {
            let (year, month, day) = (i32::from(*year), *month, *day);
            let moment =
                DateTime { year, month, day, hour: *hour, minute: *minute, second: *second, micros: *micros };
            Value::Time(moment.to_micros())
        }
        mysql::Value::Bytes(bytes) => {
            let of_type = column.column_type();
            let decimal = of_type == ColumnType::MYSQL_TYPE_NEWDECIMAL;
            match std::str::from_utf8(bytes) {
                Ok(text) if decimal => parse_decimal(text).ok_or_else(no_reader)?,
                // Of a statement that is sent as text.
                Ok(text) if of_type.is_numeric_type() => match text.parse() {
                    Ok(whole) => Value::Int(whole),
                    Err(_) => Value::Float(text.parse().map_err(|_| no_reader())?),
                },
                Ok(text) if column.character_set() != BINARY => Value::Text(text),
                _ => Value::Bytes(bytes),
            }
        }
        mysql::Value::Time(..) => return Err(no_reader()),
    })
}
