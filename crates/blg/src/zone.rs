//! The time zone that a log's local times are in, from the TIME_ZONE_INFORMATION of its header.

use crate::bytes::Bytes;
use crate::fault::Fault;

/// 100 ns units of a second.
pub(crate) const SECOND: i64 = 10_000_000;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 86_400 * SECOND;
/// Days from 1601-01-01, a Monday, to 1970-01-01.
const DAYS_TO_1970: i64 = 134_774;
/// A zone is at most so many minutes from UTC.
const MOST_BIAS: i32 = 15 * 60;

/// When daylight saving or standard time begins: "the nth weekday of a month", as Windows states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Switch {
    month: u16,
    weekday: u16,
    week: u16,
    hour: u16,
    minute: u16,
}

/// Minutes to add to local time for UTC, in and out of daylight saving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) standard: i32,
    pub(crate) daylight: i32,
    to_standard: Option<Switch>,
    to_daylight: Option<Switch>,
}

impl Zone {
    /// Bytes of the structure.
    pub(crate) const SIZE: usize = 172;

    pub(crate) fn read(bytes: &Bytes<'_>) -> Result<Zone, Fault> {
        let bias = bytes.i32(0)?;
        let (standard, daylight) = (bytes.i32(84)?, bytes.i32(168)?);
        if [bias, standard, daylight].iter().any(|minutes| minutes.abs() > MOST_BIAS) {
            return Err(bytes.fault(0, format!("a time zone of {bias} minutes does not exist")));
        }
        Ok(Zone {
            standard: bias + standard,
            daylight: bias + daylight,
            to_standard: switch(bytes, 68)?,
            to_daylight: switch(bytes, 152)?,
        })
    }

    /// Minutes to add to a local FILETIME. The hour that a clock shows twice counts as daylight saving the first time;
    /// a reader of samples in order recognises the second hour by the step back.
    pub(crate) fn bias(&self, local: i64) -> i32 {
        let (Some(to_daylight), Some(to_standard)) = (self.to_daylight, self.to_standard) else {
            return self.standard;
        };
        let year = year_of(local);
        let (begin, end) = (to_daylight.at(year), to_standard.at(year));
        let inside = if begin < end { begin <= local && local < end } else { local >= begin || local < end };
        if inside { self.daylight } else { self.standard }
    }
}

/// A local FILETIME as UTC.
pub(crate) fn to_utc(local: i64, minutes: i32) -> i64 {
    local.saturating_add(i64::from(minutes) * MINUTE)
}

/// Nanoseconds since 1970 of a FILETIME; None outside the years 1678 to 2262.
pub(crate) fn unix_ns(filetime: i64) -> Option<i64> {
    filetime.checked_sub(DAYS_TO_1970 * DAY)?.checked_mul(100)
}

/// A FILETIME as published: day and time of day; faults are the caller's.
pub(crate) fn filetime(year: u16, month: u16, day: u16, day_time: i64) -> Option<i64> {
    let valid = (1601..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..DAY).contains(&day_time);
    valid.then(|| days_from_1601(i64::from(year), i64::from(month), i64::from(day)) * DAY + day_time)
}

fn switch(bytes: &Bytes<'_>, at: usize) -> Result<Option<Switch>, Fault> {
    let field = |index: usize| bytes.u16(at + 2 * index);
    let read =
        Switch { month: field(1)?, weekday: field(2)?, week: field(3)?, hour: field(4)?, minute: field(5)? };
    if read.month == 0 {
        return Ok(None);
    }
    let valid = read.month <= 12 && read.weekday <= 6 && (1..=5).contains(&read.week) && read.hour < 24;
    if !valid || read.minute >= 60 {
        return Err(bytes.fault(at, "the time zone's switch is no date"));
    }
    Ok(Some(read))
}

impl Switch {
    /// The local FILETIME of the switch in a year.
    fn at(self, year: i64) -> i64 {
        let first = days_from_1601(year, i64::from(self.month), 1);
        // 1601-01-01 was a Monday; Windows counts from Sunday.
        let weekday = (first + 1).rem_euclid(7);
        let mut day =
            first + (i64::from(self.weekday) - weekday).rem_euclid(7) + 7 * (i64::from(self.week) - 1);
        let (next_year, next_month) =
            if self.month == 12 { (year + 1, 1) } else { (year, i64::from(self.month) + 1) };
        while day >= days_from_1601(next_year, next_month, 1) {
            day -= 7;
        }
        day * DAY + (i64::from(self.hour) * 60 + i64::from(self.minute)) * MINUTE
    }
}

/// Howard Hinnant's `days_from_civil` ("chrono-Compatible Low-Level Date Algorithms"), counted from 1601-01-01.
fn days_from_1601(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468 + DAYS_TO_1970
}

fn year_of(filetime: i64) -> i64 {
    let day = filetime.div_euclid(DAY);
    let guess = 1601 + day * 400 / 146_097;
    (guess - 1..=guess + 1).rev().find(|year| days_from_1601(*year, 1, 1) <= day).unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600 * SECOND;

    fn eastern() -> Zone {
        let second_sunday_of_march = Switch { month: 3, weekday: 0, week: 2, hour: 2, minute: 0 };
        let first_sunday_of_november = Switch { month: 11, weekday: 0, week: 1, hour: 2, minute: 0 };
        Zone {
            standard: 300,
            daylight: 240,
            to_standard: Some(first_sunday_of_november),
            to_daylight: Some(second_sunday_of_march),
        }
    }

    fn local(year: u16, month: u16, day: u16, hour: i64) -> i64 {
        filetime(year, month, day, hour * HOUR).expect("a date")
    }

    #[test]
    fn unix_time_begins_in_1970() {
        assert_eq!(unix_ns(local(1970, 1, 1, 0)), Some(0));
        assert_eq!(unix_ns(local(2026, 11, 23, 12)), Some(1_795_435_200_000_000_000));
        assert_eq!(unix_ns(i64::MAX), None);
    }

    #[test]
    fn daylight_saving_begins_and_ends_on_its_sundays() {
        let zone = eastern();
        assert_eq!(zone.bias(local(2007, 8, 14, 15)), 240);
        assert_eq!(zone.bias(local(2026, 3, 8, 1)), 300);
        assert_eq!(zone.bias(local(2026, 3, 8, 3)), 240);
        assert_eq!(zone.bias(local(2026, 11, 1, 1)), 240);
        assert_eq!(zone.bias(local(2026, 11, 1, 2)), 300);
    }

    #[test]
    fn the_last_sunday_is_week_five() {
        let last_sunday_of_october = Switch { month: 10, weekday: 0, week: 5, hour: 3, minute: 0 };
        assert_eq!(last_sunday_of_october.at(2026), local(2026, 10, 25, 3));
        assert_eq!(last_sunday_of_october.at(2027), local(2027, 10, 31, 3));
    }

    #[test]
    fn southern_summers_span_the_new_year() {
        let zone = Zone {
            standard: -600,
            daylight: -660,
            to_standard: Some(Switch { month: 4, weekday: 0, week: 1, hour: 3, minute: 0 }),
            to_daylight: Some(Switch { month: 10, weekday: 0, week: 1, hour: 2, minute: 0 }),
        };
        assert_eq!(zone.bias(local(2026, 1, 15, 12)), -660);
        assert_eq!(zone.bias(local(2026, 7, 15, 12)), -600);
    }
}
