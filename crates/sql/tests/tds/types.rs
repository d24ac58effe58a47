//! Column types and values as the protocol writes them: \[MS-TDS\] sections 2.2.5.4 (types), 2.2.5.5 (values).

/// Reads a message piece by piece; whatever ends too early is the driver's mistake.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (piece, rest) = self.0.split_at(count);
        self.0 = rest;
        piece
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    pub fn number(&mut self, bytes: usize) -> u64 {
        let mut all = [0; 8];
        all[..bytes].copy_from_slice(self.take(bytes));
        u64::from_le_bytes(all)
    }

    pub fn utf16(&mut self, units: usize) -> String {
        let pairs = self.take(2 * units).chunks_exact(2);
        let units: Vec<u16> = pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        String::from_utf16(&units).expect("text")
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Datum {
    Null,
    Int(i64),
    /// Units and digits behind the point.
    Decimal(i128, u8),
    Text(String),
    /// Seconds since 0001-01-01.
    Seconds(u64),
}

/// A column's or parameter's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// So many bytes; one that may be null says its length with each value.
    Int {
        bytes: u8,
        nullable: bool,
    },
    Decimal {
        bytes: u8,
        precision: u8,
        scale: u8,
    },
    /// So many bytes at most, 65,535 for `max`: varchar, char, nvarchar.
    Text {
        token: u8,
        most: u16,
    },
    /// Of a parameter that is null, whatever it is declared as; it has no value.
    Null,
    /// date.
    Date,
    /// datetime2.
    Moment {
        scale: u8,
    },
}

pub const VARCHAR: u8 = 0xA7;
pub const CHAR: u8 = 0xAF;
const NVARCHAR: u8 = 0xE7;

impl Type {
    /// A decimal of so many digits: four bytes hold nine of them.
    pub fn decimal(precision: u8, scale: u8) -> Self {
        let bytes = match precision {
            0..=9 => 5,
            10..=19 => 9,
            20..=28 => 13,
            _ => 17,
        };
        Self::Decimal { bytes, precision, scale }
    }

    pub fn read(from: &mut Reader<'_>) -> Self {
        match from.byte() {
            0x1F => Self::Null,
            0x30 => Self::Int { bytes: 1, nullable: false },
            0x34 => Self::Int { bytes: 2, nullable: false },
            0x38 => Self::Int { bytes: 4, nullable: false },
            0x7F => Self::Int { bytes: 8, nullable: false },
            0x26 => Self::Int { bytes: from.byte(), nullable: true },
            0x6A | 0x6C => Self::Decimal { bytes: from.byte(), precision: from.byte(), scale: from.byte() },
            0x28 => Self::Date,
            0x2A => Self::Moment { scale: from.byte() },
            token @ (VARCHAR | CHAR | NVARCHAR) => {
                let most = from.number(2) as u16;
                // The collation.
                from.take(5);
                Self::Text { token, most }
            }
            other => panic!("a type {other:#x}"),
        }
    }

    pub fn write(self) -> Vec<u8> {
        match self {
            Self::Int { bytes, nullable: true } => vec![0x26, bytes],
            Self::Int { bytes: 1, .. } => vec![0x30],
            Self::Int { bytes: 2, .. } => vec![0x34],
            Self::Int { bytes: 4, .. } => vec![0x38],
            Self::Int { .. } => vec![0x7F],
            Self::Decimal { bytes, precision, scale } => vec![0x6C, bytes, precision, scale],
            Self::Null => vec![0x1F],
            Self::Date => vec![0x28],
            Self::Moment { scale } => vec![0x2A, scale],
            Self::Text { token, most } => {
                let [low, high] = most.to_le_bytes();
                // Latin, code page 1252.
                vec![token, low, high, 0x09, 0x04, 0xD0, 0, 0x34]
            }
        }
    }

    /// A value of this type.
    pub fn value(self, from: &mut Reader<'_>) -> Datum {
        match self {
            Self::Int { bytes, nullable } => {
                let length = if nullable { from.byte() } else { bytes };
                if length == 0 {
                    return Datum::Null;
                }
                assert_eq!(length, bytes, "a whole number of another width than its type");
                let number = from.number(bytes.into());
                let unused = 64 - 8 * u32::from(bytes);
                // One byte has no sign.
                Datum::Int(if bytes == 1 { number as i64 } else { ((number << unused) as i64) >> unused })
            }
            Self::Decimal { bytes, precision, scale } => {
                let length = from.byte();
                if length == 0 {
                    return Datum::Null;
                }
                assert!(length <= bytes, "{length} bytes for a decimal of {bytes}");
                let sign = if from.byte() == 1 { 1 } else { -1 };
                let mut all = [0; 16];
                all[..usize::from(length) - 1].copy_from_slice(from.take(usize::from(length) - 1));
                let units = i128::from_le_bytes(all);
                assert!(units < 10_i128.pow(precision.into()), "{units} in {precision} digits");
                Datum::Decimal(sign * units, scale)
            }
            Self::Text { token, most: u16::MAX } => {
                let total = from.number(8);
                if total == u64::MAX {
                    return Datum::Null;
                }
                let mut bytes = Vec::new();
                loop {
                    let length = from.number(4) as usize;
                    if length == 0 {
                        break;
                    }
                    bytes.extend(from.take(length));
                }
                text(token, &bytes)
            }
            Self::Text { token, most } => match from.number(2) as u16 {
                u16::MAX => Datum::Null,
                length => {
                    assert!(length <= most, "{length} bytes of text in {most}");
                    text(token, from.take(length.into()))
                }
            },
            Self::Null => Datum::Null,
            Self::Date => match from.byte() {
                0 => Datum::Null,
                length => Datum::Seconds(from.number(length.into()) * 86_400),
            },
            Self::Moment { scale } => {
                let length = usize::from(from.byte());
                if length == 0 {
                    return Datum::Null;
                }
                let ticks = from.number(length - 3);
                let days = from.number(3);
                Datum::Seconds(days * 86_400 + ticks / 10_u64.pow(scale.into()))
            }
        }
    }
}

fn text(token: u8, bytes: &[u8]) -> Datum {
    Datum::Text(match token {
        NVARCHAR => Reader(bytes).utf16(bytes.len() / 2),
        _ => String::from_utf8(bytes.to_vec()).expect("letters of the population are ASCII"),
    })
}
