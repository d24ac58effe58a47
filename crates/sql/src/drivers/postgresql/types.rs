//! Values in PostgreSQL's binary format: parameters and columns of bulk load in, columns of answers out.
//!
//! The format of each type is that of its send and receive functions (`src/backend/utils/adt`). Which one is spoken is
//! decided by the type's number, which the server reports when a statement is prepared.

use bytes::{BufMut, BytesMut};

use super::wire::Body;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;

/// Microseconds from 1970-01-01 to 2000-01-01, PostgreSQL's day zero.
const EPOCH: i64 = 946_684_800_000_000;
const DAY: i64 = 86_400_000_000;

/// A type's number in `pg_type`.
pub(super) type Oid = u32;

const BOOL: Oid = 16;
const BYTEA: Oid = 17;
const CHAR: Oid = 18;
const NAME: Oid = 19;
const INT8: Oid = 20;
const INT2: Oid = 21;
const INT4: Oid = 23;
const TEXT: Oid = 25;
const OID: Oid = 26;
const JSON: Oid = 114;
const FLOAT4: Oid = 700;
const FLOAT8: Oid = 701;
const UNKNOWN: Oid = 705;
const INT2_ARRAY: Oid = 1005;
const INT4_ARRAY: Oid = 1007;
const INT8_ARRAY: Oid = 1016;
const BPCHAR: Oid = 1042;
const VARCHAR: Oid = 1043;
const DATE: Oid = 1082;
const TIMESTAMP: Oid = 1114;
const TIMESTAMPTZ: Oid = 1184;
const NUMERIC: Oid = 1700;
const VOID: Oid = 2278;

/// Appends the value as that type, its length in front.
pub(super) fn encode(value: &Value<'_>, oid: Oid, out: &mut BytesMut) -> Result<()> {
    let at = out.len();
    out.put_i32(-1);
    if value.is_null() {
        return Ok(());
    }
    let misfit = || {
        let message = format!("PostgreSQL: a parameter of type {oid} cannot be {}", value.kind());
        Error::new(ErrorKind::Constraint, message)
    };
    let small = |value: i64| i32::try_from(value).map_err(|_| misfit());
    match (*value, oid) {
        (Value::Int(value), INT4 | OID) => out.put_i32(small(value)?),
        (Value::Int(value), INT8) => out.put_i64(value),
        (Value::Int(value), INT2) => out.put_i16(i16::try_from(value).map_err(|_| misfit())?),
        (Value::Int(value), BOOL) => out.put_u8(u8::from(value != 0)),
        (Value::Int(units), NUMERIC) => put_numeric(units, 0, out),
        (Value::Decimal { units, scale }, NUMERIC) => put_numeric(units, scale, out),
        (Value::Int(_) | Value::Decimal { .. } | Value::Float(_), FLOAT8) => out.put_f64(value.float()?),
        (Value::Int(_) | Value::Decimal { .. } | Value::Float(_), FLOAT4) => {
            out.put_f32(value.float()? as f32)
        }
        (Value::Text(text), TEXT | VARCHAR | BPCHAR | NAME | CHAR | JSON | UNKNOWN) => {
            out.put_slice(text.as_bytes());
        }
        (Value::Bytes(bytes), BYTEA) => out.put_slice(bytes),
        (Value::Time(micros), TIMESTAMP | TIMESTAMPTZ) => out.put_i64(micros - EPOCH),
        (Value::Time(micros), DATE) => out.put_i32(small((micros - EPOCH).div_euclid(DAY))?),
        (Value::Ints(values), INT4_ARRAY) => {
            put_array_head(INT4, values.len(), out);
            for value in values {
                out.put_i32(4);
                out.put_i32(small(*value)?);
            }
        }
        (Value::Ints(values), INT8_ARRAY) => {
            put_array_head(INT8, values.len(), out);
            for value in values {
                out.put_i32(8);
                out.put_i64(*value);
            }
        }
        (Value::Ints(values), INT2_ARRAY) => {
            put_array_head(INT2, values.len(), out);
            for value in values {
                out.put_i32(2);
                out.put_i16(i16::try_from(*value).map_err(|_| misfit())?);
            }
        }
        (Value::Ints(_), TEXT | VARCHAR | JSON | UNKNOWN) => out.put_slice(value.to_string().as_bytes()),
        _ => return Err(misfit()),
    }
    let length = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn put_array_head(element: Oid, length: usize, out: &mut BytesMut) {
    let dimensions = i32::from(length > 0);
    out.put_i32(dimensions);
    out.put_i32(0);
    out.put_u32(element);
    if length > 0 {
        out.put_i32(length as i32);
        out.put_i32(1);
    }
}

/// Digits to the base of 10,000, the most significant first, aligned to the point.
fn put_numeric(units: i64, scale: u8, out: &mut BytesMut) {
    let padding = (4 - scale % 4) % 4;
    let mut rest = u128::from(units.unsigned_abs()) * 10_u128.pow(u32::from(padding));
    let groups_behind = i16::from((scale + padding) / 4);
    // A product of 2^63 and 1,000 has 22 digits.
    let mut digits = [0_u16; 6];
    let mut count = 0;
    while rest > 0 {
        digits[count] = (rest % 10_000) as u16;
        rest /= 10_000;
        count += 1;
    }
    // Groups of zeros at the end are not sent.
    let dropped = digits[..count].iter().take_while(|digit| **digit == 0).count();
    let sent = &digits[dropped..count];
    out.put_u16(sent.len() as u16);
    out.put_i16(if count == 0 { 0 } else { count as i16 - groups_behind - 1 });
    out.put_u16(if units < 0 { 0x4000 } else { 0 });
    out.put_u16(u16::from(scale));
    sent.iter().rev().for_each(|digit| out.put_u16(*digit));
}

fn numeric(bytes: &[u8]) -> Result<Value<'static>> {
    let mut body = Body(bytes);
    let (count, weight, sign, scale) = (body.u16()?, body.i16()?, body.u16()?, body.u16()?);
    let beyond = || {
        let message = "PostgreSQL: a numeric is beyond 18 digits; cast it in the statement";
        Error::new(ErrorKind::Other, message)
    };
    if !matches!(sign, 0 | 0x4000) || scale > 18 {
        return Err(beyond());
    }
    let mut units: i128 = 0;
    for index in 0..count {
        let digit = i128::from(body.u16()?);
        // The power of ten of this group's last digit, relative to the scale.
        let power = (i32::from(weight) - i32::from(index)) * 4 + i32::from(scale);
        let part = match power {
            0..=36 => digit.checked_mul(10_i128.pow(power.unsigned_abs())),
            -3..=-1 => Some(digit / 10_i128.pow(power.unsigned_abs())),
            _ => None,
        };
        units = part.and_then(|part| units.checked_add(part)).ok_or_else(beyond)?;
    }
    let units = if sign == 0 { units } else { -units };
    Ok(Value::Decimal { units: i64::try_from(units).map_err(|_| beyond())?, scale: scale as u8 })
}

/// Reads a column of an answer.
pub(super) fn decode(bytes: &[u8], oid: Oid) -> Result<Value<'_>> {
    let mut body = Body(bytes);
    Ok(match oid {
        BOOL => Value::Int(i64::from(body.take(1)?[0] != 0)),
        INT2 => Value::Int(body.i16()?.into()),
        INT4 => Value::Int(body.i32()?.into()),
        OID => Value::Int(body.u32()?.into()),
        INT8 => Value::Int(body.i64()?),
        FLOAT4 => Value::Float(f32::from_bits(body.u32()?).into()),
        FLOAT8 => Value::Float(f64::from_bits(body.i64()? as u64)),
        NUMERIC => numeric(bytes)?,
        TEXT | VARCHAR | BPCHAR | NAME | CHAR | JSON | UNKNOWN => {
            let garbled =
                |_| Error::new(ErrorKind::Other, "PostgreSQL: the answer holds text that is not UTF-8");
            Value::Text(std::str::from_utf8(bytes).map_err(garbled)?)
        }
        BYTEA => Value::Bytes(bytes),
        TIMESTAMP | TIMESTAMPTZ => Value::Time(body.i64()?.saturating_add(EPOCH)),
        DATE => Value::Time(i64::from(body.i32()?) * DAY + EPOCH),
        VOID => Value::Null,
        _ => {
            let message =
                format!("PostgreSQL: a column of type {oid} has no reader; cast it in the statement");
            return Err(Error::new(ErrorKind::Other, message));
        }
    })
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::{INT4_ARRAY, NUMERIC, decode, encode};
    use crate::value::Value;

    fn encoded(value: Value<'_>, oid: u32) -> Vec<u8> {
        let mut out = BytesMut::new();
        encode(&value, oid, &mut out).expect("it fits");
        assert_eq!(i32::from_be_bytes(out[..4].try_into().expect("four bytes")) as usize, out.len() - 4);
        out[4..].to_vec()
    }

    #[test]
    fn every_decimal_survives_the_way_there_and_back() {
        let units = [0, 1, -1, 9999, 10_000, 12_345_678, -99_999_999, 100_000_000, i64::MAX, i64::MIN + 1];
        for units in units {
            for scale in 0..=18 {
                let value = Value::Decimal { units, scale };
                let bytes = encoded(value, NUMERIC);
                assert_eq!(decode(&bytes, NUMERIC).expect("it is one"), value);
            }
        }
    }

    #[test]
    fn a_decimal_has_the_servers_own_bytes() {
        // select numeric_send(-12345.67)
        let expected = [0, 3, 0, 1, 0x40, 0, 0, 2, 0, 1, 0x09, 0x29, 0x1A, 0x2C];
        assert_eq!(encoded(Value::cents(-1_234_567), NUMERIC), expected);
        // select numeric_send(10000): the group of zeros is not sent.
        assert_eq!(encoded(Value::Int(10_000), NUMERIC), [0, 1, 0, 1, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn what_does_not_fit_a_type_is_refused() {
        for (value, oid) in [
            (Value::Int(1 << 40), 23),
            (Value::Text("x"), 23),
            (Value::Int(40_000), 21),
            (Value::Ints(&[1 << 40]), INT4_ARRAY),
            (Value::Int(1), 999_999),
        ] {
            assert!(encode(&value, oid, &mut BytesMut::new()).is_err(), "{value:?} as {oid}");
        }
        assert!(decode(&[1], 23).is_err() && decode(&[1], 999_999).is_err());
        assert!(decode(&[0, 1, 0x7F, 0xFF, 0, 0, 0, 0, 0, 1], NUMERIC).is_err(), "10^131068");
        assert!(decode(&[0, 0, 0, 0, 0xC0, 0, 0, 0], NUMERIC).is_err(), "not a number");
    }
}
