//! Values as `tiberius` has them: parameters, columns of bulk copy, columns of answers.

use std::borrow::Cow;

use tiberius::numeric::Numeric;
use tiberius::time::{Date, DateTime, DateTime2, Time};
use tiberius::{ColumnData, ColumnType, Row};

use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::value::Value;

const DAY: i64 = 86_400_000_000;
/// Days from 0001-01-01 and from 1900-01-01 to 1970-01-01.
const FROM_YEAR_1: i64 = 719_162;
const FROM_1900: i64 = 25_567;
/// A day in ticks of `datetime`, 1/300 s each.
const DAY_TICKS: i64 = 86_400 * 300;
/// Below this many units of `money`, 1/10,000 each, the library's double is the exact number.
const EXACT_MONEY: f64 = (1_i64 << 51) as f64;

/// The type that a value has as a parameter if the server does not say.
pub(super) fn type_of(value: &Value<'_>) -> String {
    match value {
        Value::Int(_) => "bigint".to_owned(),
        Value::Float(_) => "float".to_owned(),
        Value::Decimal { scale, .. } => format!("decimal(38, {scale})"),
        Value::Bytes(_) => "varbinary(max)".to_owned(),
        Value::Time(_) => "datetime2(6)".to_owned(),
        Value::Null | Value::Text(_) | Value::Ints(_) => "nvarchar(max)".to_owned(),
    }
}

/// The value as a parameter or a column of that type, as SQL Server writes types: `decimal(12, 2)`.
pub(super) fn data_of(value: &Value<'_>, of_type: &str) -> Result<ColumnData<'static>> {
    let word: String = of_type.chars().take_while(char::is_ascii_alphanumeric).collect();
    let misfit = || {
        let message = format!("SQL Server: a parameter of type {of_type} cannot be {}", value.kind());
        Error::new(ErrorKind::Constraint, message)
    };
    let range = || {
        let message = format!("SQL Server: {value} does not fit {of_type}");
        Error::new(ErrorKind::Constraint, message)
    };
    let whole = || match value {
        Value::Null => Ok(None),
        Value::Int(value) => Ok(Some(*value)),
        _ => Err(misfit()),
    };
    fn fits<T: TryFrom<i64>>(value: Option<i64>, misfit: impl Fn() -> Error) -> Result<Option<T>> {
        value.map(T::try_from).transpose().map_err(|_| misfit())
    }
    Ok(match word.to_ascii_lowercase().as_str() {
        "tinyint" => ColumnData::U8(fits(whole()?, range)?),
        "smallint" => ColumnData::I16(fits(whole()?, range)?),
        "int" => ColumnData::I32(fits(whole()?, range)?),
        "bigint" => ColumnData::I64(whole()?),
        "bit" => ColumnData::Bit(whole()?.map(|value| value != 0)),
        "real" => ColumnData::F32(if value.is_null() { None } else { Some(value.float()? as f32) }),
        "float" => ColumnData::F64(if value.is_null() { None } else { Some(value.float()?) }),
        "decimal" | "numeric" | "money" | "smallmoney" => ColumnData::Numeric(match *value {
            Value::Null => None,
            Value::Int(units) => Some(Numeric::new_with_scale(units.into(), 0)),
            Value::Decimal { units, scale } => Some(Numeric::new_with_scale(units.into(), scale)),
            _ => return Err(misfit()),
        }),
        "binary" | "varbinary" | "image" => ColumnData::Binary(match *value {
            Value::Null => None,
            Value::Bytes(bytes) => Some(Cow::Owned(bytes.to_vec())),
            _ => return Err(misfit()),
        }),
        "datetime2" | "datetime" | "smalldatetime" | "date" => moment(value, &word, misfit, range)?,
        _ => ColumnData::String(match *value {
            Value::Null => None,
            Value::Text(text) => Some(Cow::Owned(text.to_owned())),
            Value::Ints(_) => Some(Cow::Owned(value.to_string())),
            _ => return Err(misfit()),
        }),
    })
}

fn moment(
    value: &Value<'_>,
    word: &str,
    misfit: impl Fn() -> Error,
    range: impl Fn() -> Error,
) -> Result<ColumnData<'static>> {
    let micros = match value {
        Value::Null => None,
        Value::Time(micros) => Some(*micros),
        _ => return Err(misfit()),
    };
    let parts = micros.map(|micros| (micros.div_euclid(DAY), micros.rem_euclid(DAY)));
    if word.eq_ignore_ascii_case("datetime") {
        let convert = |(days, rest): (i64, i64)| {
            // The nearest tick of 1/300 s; the last half of one belongs to the next day.
            let ticks = (rest * 300 + 500_000) / 1_000_000;
            let days = i32::try_from(days + FROM_1900 + ticks / DAY_TICKS).map_err(|_| range())?;
            // The years 1753 to 9999.
            if !(-53_690..=2_958_463).contains(&days) {
                return Err(range());
            }
            Ok::<_, Error>(DateTime::new(days, (ticks % DAY_TICKS) as u32))
        };
        return Ok(ColumnData::DateTime(parts.map(convert).transpose()?));
    }
    let date = |days: i64| match u32::try_from(days + FROM_YEAR_1) {
        Ok(days @ 0..=3_652_058) => Ok(Date::new(days)),
        _ => Err(range()),
    };
    if word.eq_ignore_ascii_case("date") {
        return Ok(ColumnData::Date(parts.map(|(days, _)| date(days)).transpose()?));
    }
    let convert =
        |(days, rest): (i64, i64)| Ok::<_, Error>(DateTime2::new(date(days)?, Time::new(rest as u64, 6)));
    Ok(ColumnData::DateTime2(parts.map(convert).transpose()?))
}

/// Adds a row to an answer.
pub(super) fn read_row(row: &Row, answer: &mut Answer) -> Result<()> {
    for (column, data) in row.cells() {
        let wrong = |why: String| {
            Error::new(ErrorKind::Other, format!("SQL Server: column {}: {why}", column.name()))
        };
        let value = match (data, column.column_type()) {
            // The library reads money as a double.
            (ColumnData::F64(Some(value)), ColumnType::Money | ColumnType::Money4) => {
                let units = (value * 10_000.0).round();
                if units.abs() >= EXACT_MONEY {
                    let why = format!("money of {value} is not read exactly; cast it to decimal(19, 4)");
                    return Err(wrong(why));
                }
                Value::Decimal { units: units as i64, scale: 4 }
            }
            (ColumnData::Numeric(Some(number)), _) if i64::try_from(number.value()).is_err() => {
                let why = "has more than the 18 digits that can be read; cast it in the statement";
                return Err(wrong(format!("{number} {why}")));
            }
            _ => value_of(data).ok_or_else(|| {
                wrong(format!("there is no reader for {:?}; cast it in the statement", column.column_type()))
            })?,
        };
        answer.push(value);
    }
    Ok(())
}

fn value_of<'d>(data: &'d ColumnData<'static>) -> Option<Value<'d>> {
    let or_null = |value: Option<Value<'d>>| value.unwrap_or(Value::Null);
    Some(match data {
        ColumnData::U8(value) => or_null(value.map(|value| Value::Int(value.into()))),
        ColumnData::I16(value) => or_null(value.map(|value| Value::Int(value.into()))),
        ColumnData::I32(value) => or_null(value.map(|value| Value::Int(value.into()))),
        ColumnData::I64(value) => or_null(value.map(Value::Int)),
        ColumnData::Bit(value) => or_null(value.map(|value| Value::Int(value.into()))),
        ColumnData::F32(value) => or_null(value.map(|value| Value::Float(value.into()))),
        ColumnData::F64(value) => or_null(value.map(Value::Float)),
        ColumnData::String(value) => or_null(value.as_deref().map(Value::Text)),
        ColumnData::Binary(value) => or_null(value.as_deref().map(Value::Bytes)),
        ColumnData::Numeric(None) => Value::Null,
        ColumnData::Numeric(Some(value)) => {
            Value::Decimal { units: i64::try_from(value.value()).ok()?, scale: value.scale() }
        }
        ColumnData::DateTime2(value) => or_null(value.map(|value| {
            let (days, time) = (i64::from(value.date().days()) - FROM_YEAR_1, value.time());
            let ticks = i128::from(time.increments()) * 1_000_000;
            let micros = (ticks / 10_i128.pow(u32::from(time.scale().min(18)))) as i64;
            Value::Time(days.saturating_mul(DAY).saturating_add(micros))
        })),
        ColumnData::DateTime(value) => or_null(value.map(|value| {
            // The nearest microsecond: a tick is 3,333 and a third.
            let micros = (i64::from(value.seconds_fragments()) * 1_000_000 + 150) / 300;
            Value::Time((i64::from(value.days()) - FROM_1900).saturating_mul(DAY).saturating_add(micros))
        })),
        ColumnData::Date(value) => or_null(
            value.map(|value| Value::Time((i64::from(value.days()) - FROM_YEAR_1).saturating_mul(DAY))),
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{data_of, type_of, value_of};
    use crate::value::Value;

    #[test]
    fn every_value_survives_the_way_there_and_back() {
        let values = [
            Value::Int(i64::MIN),
            Value::cents(-123_456),
            Value::Float(-0.5),
            Value::Text("x"),
            Value::Bytes(&[0, 255]),
            Value::Time(1_539_595_800_123_456),
            Value::Time(-1),
        ];
        for value in values {
            let data = data_of(&value, &type_of(&value)).expect("it fits its own type");
            assert_eq!(value_of(&data), Some(value));
        }
        let null = data_of(&Value::Null, "varbinary(500)").expect("null fits everything");
        assert_eq!(value_of(&null), Some(Value::Null));
    }

    #[test]
    fn a_whole_number_takes_the_width_of_its_column() {
        for (of_type, value) in [("tinyint", 255), ("smallint", -5), ("int", 7), ("bigint", 8), ("bit", 1)] {
            let data = data_of(&Value::Int(value), of_type).expect("it fits");
            assert_eq!(value_of(&data), Some(Value::Int(value)), "{of_type}");
        }
        let refused = data_of(&Value::Int(256), "tinyint").expect_err("255 is the most");
        assert!(refused.to_string().contains("256 does not fit tinyint"), "{refused}");
        assert!(data_of(&Value::Text("7"), "int").is_err());
        assert!(data_of(&Value::Time(i64::MAX), "datetime2(6)").is_err());
    }

    #[test]
    fn a_datetime_counts_days_from_1900_in_ticks_of_a_300th_second() {
        let noon = Value::Time(43_200_000_000);
        let data = data_of(&noon, "datetime").expect("it fits");
        assert_eq!(value_of(&data), Some(noon));
        // Of 1/300 s the server keeps the nearest: .000, .003, .007 and so on.
        for (given, kept) in
            [(1_666, 0), (1_667, 3_333), (4_999, 3_333), (5_000, 6_667), (86_399_999_000, 86_400_000_000)]
        {
            let data = data_of(&Value::Time(given), "datetime").expect("it fits");
            assert_eq!(value_of(&data), Some(Value::Time(kept)), "{given}");
        }
        for outside in [-6_847_804_800_010_000, 253_402_300_799_999_000] {
            assert!(data_of(&Value::Time(outside), "datetime").is_err(), "{outside}");
        }
    }
}
