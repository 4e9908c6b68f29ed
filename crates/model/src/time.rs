//! Moments as RFC 3339 writes them, such as `2024-02-29T12:00:00.5Z`.
//!
//! It has four digits for a year, so moments are those of the years 0000 to 9999 in UTC. The text is
//! taken apart here, because what has been accepted stays accepted: a space for the `T`, any second
//! as a leap second.

use std::ops::RangeInclusive;

use time::{Date, Month, OffsetDateTime};

/// All moments there are: from `0000-01-01T00:00:00Z` to `9999-12-31T23:59:59.999Z`.
pub(crate) const MOMENTS_MS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Milliseconds since the start of 1970 in UTC, or nothing if it is no moment.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = (rest.get(..8)?, rest.get(8..)?);
    let (fraction, zone) = split_fraction(rest)?;
    let seconds = day_start_secs(date)? + seconds_of_day(clock)? - zone_seconds(zone)?;
    let moment_ms = seconds * 1000 + fraction;
    MOMENTS_MS.contains(&moment_ms).then_some(moment_ms)
}

/// The text of a moment in UTC, with milliseconds only if there are any; nothing if it is out of
/// range. [`parse`] reads it back.
pub(crate) fn text(moment_ms: i64) -> Option<String> {
    if !MOMENTS_MS.contains(&moment_ms) {
        return None;
    }
    let moment = OffsetDateTime::from_unix_timestamp(moment_ms.div_euclid(1000)).ok()?;
    let (year, month, day) = moment.to_calendar_date();
    let (month, (hour, minute, second)) = (u8::from(month), moment.to_hms());
    let thousandths = moment_ms.rem_euclid(1000);
    let fraction = if thousandths == 0 { String::new() } else { format!(".{thousandths:03}") };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// `YYYY-MM-DD`, as the seconds at which the day starts in UTC.
fn day_start_secs(date: &str) -> Option<i64> {
    let [year, month, day] = numbers(date, '-')?;
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let year = i32::try_from(year).ok()?;
    let date = Date::from_calendar_date(year, month, u8::try_from(day).ok()?).ok()?;
    Some(date.midnight().assume_utc().unix_timestamp())
}

/// `HH:MM:SS`; a leap second is the second after it.
fn seconds_of_day(clock: &str) -> Option<i64> {
    let [hour, minute, second] = numbers(clock, ':')?;
    let is_clock = hour <= 23 && minute <= 59 && second <= 60;
    is_clock.then_some(hour * 3600 + minute * 60 + second)
}

/// `.123` as milliseconds, digits beyond the third dropped; and what follows it.
fn split_fraction(rest: &str) -> Option<(i64, &str)> {
    let Some(digits) = rest.strip_prefix('.') else { return Some((0, rest)) };
    let length = digits.find(|c: char| !c.is_ascii_digit())?;
    let thousandths: String = digits[..length].chars().chain("000".chars()).take(3).collect();
    (length > 0).then_some((thousandths.parse().ok()?, &digits[length..]))
}

/// `Z` or `+HH:MM`.
fn zone_seconds(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let (sign, zone) = match zone.split_at_checked(1)? {
        ("+", zone) => (1, zone),
        ("-", zone) => (-1, zone),
        _ => return None,
    };
    let [hour, minute, _] = numbers(&format!("{zone}:00"), ':')?;
    (hour <= 23 && minute <= 59).then_some(sign * (hour * 3600 + minute * 60))
}

/// Three numbers, of two digits each but for the first of a date, which has four.
fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let parts: Vec<&str> = text.split(separator).collect();
    let [first, second, third] = parts.as_slice() else { return None };
    let number = |part: &str, digits: usize| {
        let is_number = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        if is_number { part.parse().ok() } else { None }
    };
    let first_digits = if separator == '-' { 4 } else { 2 };
    Some([number(first, first_digits)?, number(second, 2)?, number(third, 2)?])
}

#[cfg(test)]
mod tests {
    use super::{MOMENTS_MS, parse, text};

    const DAY_MS: i64 = 86_400_000;

    #[test]
    fn moments_are_read_and_what_is_none_is_refused() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.123Z", Some(123)),
            ("1969-12-31T23:59:59.5Z", Some(-500)),
            ("2000-02-29T12:00:00+01:00", Some(951_822_000_000)),
            ("2020-11-09 12:00:00.1239Z", Some(1_604_923_200_123)),
            ("0000-01-01T00:00:00Z", Some(*MOMENTS_MS.start())),
            ("9999-12-31T23:59:59.9999Z", Some(*MOMENTS_MS.end())),
            ("0000-01-01T00:00:00+00:01", None),
            ("9999-12-31T23:59:60Z", None),
            ("2001-02-29T00:00:00Z", None),
            ("2001-13-01T00:00:00Z", None),
            ("2001-01-01T24:00:00Z", None),
            ("2001-01-01T00:00:00", None),
            ("2001-01-01", None),
            ("soon", None),
            ("2001-01-01T00:00:0é", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn moments_of_all_years_are_written_as_they_are_read() {
        for moment_ms in MOMENTS_MS.step_by(13 * DAY_MS as usize) {
            let later = moment_ms + moment_ms.rem_euclid(DAY_MS - 1);
            for moment_ms in [moment_ms, later.min(*MOMENTS_MS.end())] {
                let text = text(moment_ms).expect("it is in range");
                assert_eq!(parse(&text), Some(moment_ms), "{text}");
            }
        }
    }

    #[test]
    fn a_moment_is_written_briefly_and_one_out_of_range_is_not() {
        let cases = [
            (0, Some("1970-01-01T00:00:00Z")),
            (-1, Some("1969-12-31T23:59:59.999Z")),
            (951_822_000_050, Some("2000-02-29T11:00:00.050Z")),
            (*MOMENTS_MS.start(), Some("0000-01-01T00:00:00Z")),
            (*MOMENTS_MS.end(), Some("9999-12-31T23:59:59.999Z")),
            (MOMENTS_MS.start() - 1, None),
            (i64::MAX, None),
        ];
        for (moment_ms, expected) in cases {
            assert_eq!(text(moment_ms).as_deref(), expected, "{moment_ms}");
        }
    }
}
