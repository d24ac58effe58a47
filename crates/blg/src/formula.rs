//! From raw values to displayed ones: the formulas of winperf.h's counter types.
//!
//! Names, numbers and formulas as Microsoft documents them (Win32, "Performance Counters", "Counter types"). N is the
//! first raw value, D the second: a time in ticks of `frequency`, or the base.

/// One raw value of a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Raw {
    /// N, unsigned; of 32-bit counters only the low half.
    pub(crate) first: u64,
    /// D.
    pub(crate) second: u64,
    /// Ticks a second of times.
    pub(crate) frequency: f64,
}

/// One raw value of one counter of one instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    /// Position of the counter among its object's, or of the entry in the list.
    pub(crate) position: u32,
    /// Index of the counter's name; of no meaning outside of objects.
    pub(crate) name: u32,
    pub(crate) code: u32,
    pub(crate) instance: String,
    /// Position of the instance among the object's.
    pub(crate) instance_number: u32,
    pub(crate) raw: Raw,
}

/// Which value the second one is, where an object's block holds several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Second {
    /// Ticks of the performance counter.
    Ticks,
    /// 100 ns units of the system's time.
    SystemTime,
    /// Ticks of the object's own time.
    ObjectTime,
    /// The counter that follows.
    Base,
}

/// How two raw values make one that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formula {
    /// N.
    Value,
    /// 100 N / D.
    Share,
    /// (D - N) / frequency.
    Elapsed,
    /// N1 - N0.
    Delta,
    /// (N1 - N0) / ((D1 - D0) / frequency).
    Rate,
    /// (N1 - N0) / (D1 - D0): a queue's mean length, or a mean amount.
    Mean,
    /// ((N1 - N0) / frequency) / (D1 - D0): a mean time in seconds.
    MeanTime,
    /// 100 (N1 - N0) / (D1 - D0).
    Busy,
    /// 100 (1 - (N1 - N0) / (D1 - D0)).
    Idle,
}

/// What is known of a counter type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) formula: Formula,
    pub(crate) second: Second,
    /// Whether N is a 64-bit value, and D where it is a base.
    pub(crate) large: bool,
}

const SIZE: u32 = 0x300;
const LARGE: u32 = 0x100;

impl Type {
    /// None for bases, texts and types whose formula is not implemented (multi-timers, histograms).
    pub(crate) fn of(code: u32) -> Option<Type> {
        use Formula::{Busy, Delta, Elapsed, Idle, Mean, MeanTime, Rate, Share, Value};
        use Second::{Base, ObjectTime, SystemTime, Ticks};
        let large = match code & SIZE {
            0 => false,
            LARGE => true,
            _ => return None,
        };
        let (formula, second) = match code & !SIZE {
            0x0000_0000 | 0x0001_0000 => (Value, Ticks), // (LARGE_)RAWCOUNT, also in hexadecimal
            0x2002_0400 => (Share, Base),                // RAW_FRACTION
            0x3024_0400 => (Elapsed, ObjectTime),        // ELAPSED_TIME
            0x0040_0400 => (Delta, Ticks),               // DELTA
            0x1041_0400 | 0x0041_0400 => (Rate, Ticks),  // COUNTER, BULK_COUNT, SAMPLE_COUNTER
            0x0045_0400 => (Mean, Ticks),                // QUEUELEN
            0x0055_0400 => (Mean, SystemTime),           // 100NS_QUEUELEN
            0x0065_0400 => (Mean, ObjectTime),           // OBJ_TIME_QUEUELEN
            0x4002_0400 => (Mean, Base),                 // AVERAGE_BULK
            0x3002_0400 => (MeanTime, Base),             // AVERAGE_TIMER
            0x20c2_0400 => (Busy, Base),                 // SAMPLE_FRACTION
            0x2041_0400 => (Busy, Ticks),                // TIMER
            0x2051_0400 => (Busy, SystemTime),           // 100NSEC_TIMER
            0x2061_0400 => (Busy, ObjectTime),           // OBJ_TIME_TIMER
            0x2141_0400 => (Idle, Ticks),                // TIMER_INV
            0x2151_0400 => (Idle, SystemTime),           // 100NSEC_TIMER_INV
            0x2047_0400 | 0x2057_0400 | 0x2067_0400 => (Busy, Base), // PRECISION_..._TIMER
            _ => return None,
        };
        Some(Type { formula, second, large })
    }

    /// Whether one sample is enough.
    pub(crate) fn is_instantaneous(self) -> bool {
        matches!(self.formula, Formula::Value | Formula::Share | Formula::Elapsed)
    }

    /// The value at `now`; None where there is none: no earlier sample, or a counter or clock that went back.
    ///
    /// As Windows does, a mean over no operations is 0.
    pub(crate) fn value(self, earlier: Option<Raw>, now: Raw) -> Option<f64> {
        match self.formula {
            // Raw counts are signed: SQL Server reports some below zero.
            Formula::Value if self.large => Some(now.first as i64 as f64),
            Formula::Value => Some(f64::from(now.first as u32)),
            Formula::Share => {
                Some(if now.second == 0 { 0.0 } else { 100.0 * now.first as f64 / now.second as f64 })
            }
            Formula::Elapsed => {
                let ticks = now.second.checked_sub(now.first)?;
                (now.frequency > 0.0).then(|| ticks as f64 / now.frequency)
            }
            _ => self.between(earlier?, now),
        }
    }

    fn between(self, earlier: Raw, now: Raw) -> Option<f64> {
        let done = grown(earlier.first, now.first, self.large)?;
        if self.formula == Formula::Delta {
            return Some(done);
        }
        // The base of AVERAGE_TIMER and AVERAGE_BULK has 32 bits whatever the counter's size.
        let base_is_small =
            self.second == Second::Base && matches!(self.formula, Formula::Mean | Formula::MeanTime);
        let over =
            grown(earlier.second, now.second, self.second != Second::Base || (self.large && !base_is_small))?;
        if over == 0.0 {
            return (self.second == Second::Base).then_some(0.0);
        }
        let value = match self.formula {
            Formula::Rate => done / (over / now.frequency),
            Formula::Mean => done / over,
            Formula::MeanTime => done / now.frequency / over,
            Formula::Busy => 100.0 * done / over,
            // A processor cannot be idle for longer than the interval; its clock and the log's differ by a little.
            Formula::Idle => (100.0 * (1.0 - done / over)).max(0.0),
            Formula::Value | Formula::Share | Formula::Elapsed | Formula::Delta => return None,
        };
        value.is_finite().then_some(value)
    }
}

/// How much a counter grew; None where it went back. A 32-bit counter may pass its end once; a step of more than half
/// its range is a counter that was reset.
fn grown(from: u64, to: u64, large: bool) -> Option<f64> {
    if large {
        return to.checked_sub(from).map(|delta| delta as f64);
    }
    let delta = (to as u32).wrapping_sub(from as u32);
    (delta <= i32::MAX as u32).then(|| f64::from(delta))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(first: u64, second: u64, frequency: f64) -> Raw {
        Raw { first, second, frequency }
    }

    fn value(code: u32, earlier: Raw, now: Raw) -> Option<f64> {
        Type::of(code).expect("a known type").value(Some(earlier), now)
    }

    #[test]
    fn a_rate_is_by_the_second_of_its_clock() {
        assert_eq!(value(0x1041_0400, raw(100, 0, 1000.0), raw(160, 2000, 1000.0)), Some(30.0));
    }

    #[test]
    fn a_32_bit_counter_may_pass_its_end() {
        assert_eq!(value(0x1041_0400, raw(u64::from(u32::MAX), 0, 1.0), raw(9, 10, 1.0)), Some(1.0));
        assert_eq!(value(0x1041_0400, raw(3_000_000_000, 0, 1.0), raw(0, 10, 1.0)), Some(129_496_729.6));
    }

    #[test]
    fn a_counter_that_went_back_has_no_value() {
        assert_eq!(value(0x1041_0500, raw(100, 0, 1.0), raw(99, 10, 1.0)), None);
        assert_eq!(value(0x1041_0400, raw(100, 0, 1.0), raw(99, 10, 1.0)), None);
        assert_eq!(value(0x1041_0500, raw(1, 10, 1.0), raw(2, 9, 1.0)), None);
        assert_eq!(value(0x1041_0500, raw(1, 10, 1.0), raw(2, 10, 1.0)), None);
    }

    #[test]
    fn seconds_per_transfer_are_ticks_over_operations() {
        assert_eq!(value(0x3002_0400, raw(0, 0, 1e6), raw(50_000, 10, 1e6)), Some(0.005));
        assert_eq!(value(0x3002_0500, raw(0, 0, 1e6), raw(0, 0, 1e6)), Some(0.0), "no operations");
    }

    #[test]
    fn the_base_of_an_average_passes_its_end_after_32_bits() {
        let before = raw(0, u64::from(u32::MAX), 1.0);
        assert_eq!(value(0x4002_0500, before, raw(4096 * 5, 4, 1.0)), Some(4096.0));
    }

    #[test]
    fn idle_time_is_never_below_zero() {
        assert_eq!(value(0x2151_0500, raw(0, 0, 1e7), raw(75, 100, 1e7)), Some(25.0));
        assert_eq!(value(0x2151_0500, raw(0, 0, 1e7), raw(101, 100, 1e7)), Some(0.0));
    }

    #[test]
    fn bases_and_multi_timers_have_no_value_of_their_own() {
        for code in [0x4003_0402, 0x4003_0403, 0x4003_0500, 0x2241_0500, 0x0000_0b00] {
            assert_eq!(Type::of(code), None, "{code:#x}");
        }
    }
}
