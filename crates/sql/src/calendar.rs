//! Dates of the proleptic Gregorian calendar from microseconds and back, for drivers whose protocol sends parts.
//!
//! Method: days since 1970-03-01 in eras of 400 years (Howard Hinnant, "chrono-compatible low-level date algorithms").

use std::fmt;

const DAY: i64 = 86_400_000_000;

/// A moment in its parts, without a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime {
    /// Year.
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micros: u32,
}

impl DateTime {
    /// From us since 1970-01-01 00:00:00.
    pub fn of_micros(micros: i64) -> Self {
        let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let shifted = days + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let seconds = rest / 1_000_000;
        Self {
            year: (year_of_era + era * 400 + i64::from(month <= 2)) as i32,
            month: month as u8,
            day: (of_year - (153 * from_march + 2) / 5 + 1) as u8,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (rest % 1_000_000) as u32,
        }
    }

    /// To us since 1970-01-01 00:00:00.
    pub fn to_micros(self) -> i64 {
        let month = i64::from(self.month);
        let year = i64::from(self.year) - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let from_march = if month > 2 { month - 3 } else { month + 9 };
        let of_year = (153 * from_march + 2) / 5 + i64::from(self.day) - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        let days = era * 146_097 + of_era - 719_468;
        let seconds = i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        days * DAY + seconds * 1_000_000 + i64::from(self.micros)
    }
}

/// `2018-10-15 09:30:00.000000`.
impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, micros } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}")
    }
}

#[cfg(test)]
mod tests {
    use super::DateTime;

    #[test]
    fn known_moments_have_their_dates() {
        assert_eq!(DateTime::of_micros(0).to_string(), "1970-01-01 00:00:00.000000");
        assert_eq!(DateTime::of_micros(951_782_400_000_001).to_string(), "2000-02-29 00:00:00.000001");
        assert_eq!(DateTime::of_micros(-1).to_string(), "1969-12-31 23:59:59.999999");
    }

    #[test]
    fn every_day_of_four_centuries_survives_the_way_there_and_back() {
        for day in -146_097..146_097_i64 {
            let micros = day * super::DAY + 12_345;
            assert_eq!(DateTime::of_micros(micros).to_micros(), micros);
        }
    }
}
