//! Times in RFC 3339, such as `2024-02-29T12:00:00.5Z`.
//!
//! RFC 3339 has four-digit years, so times are in the years 0000 to 9999 in UTC. The parser is our
//! own, because what was ever accepted must stay accepted: a space for the `T`, any second as a leap
//! second.

use std::ops::RangeInclusive;

use time::{Date, Month, OffsetDateTime};

/// All valid times: from `0000-01-01T00:00:00Z` to `9999-12-31T23:59:59.999Z`.
pub(crate) const RANGE_MS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Returns milliseconds since the start of 1970 in UTC, or `None` if the text is not a time.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = (rest.get(..8)?, rest.get(8..)?);
    let (fraction, zone) = split_fraction(rest)?;
    let seconds = day_start_secs(date)? + seconds_of_day(clock)? - zone_seconds(zone)?;
    let time_ms = seconds * 1000 + fraction;
    RANGE_MS.contains(&time_ms).then_some(time_ms)
}

/// Formats a time in UTC, with milliseconds unless they are zero; `None` if it is out of range.
/// [`parse`] is the inverse.
pub(crate) fn format(time_ms: i64) -> Option<String> {
    if !RANGE_MS.contains(&time_ms) {
        return None;
    }
    let time = OffsetDateTime::from_unix_timestamp(time_ms.div_euclid(1000)).ok()?;
    let (year, month, day) = time.to_calendar_date();
    let (month, (hour, minute, second)) = (u8::from(month), time.to_hms());
    let thousandths = time_ms.rem_euclid(1000);
    let fraction = if thousandths == 0 { String::new() } else { format!(".{thousandths:03}") };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// The start of the day `YYYY-MM-DD` in UTC, in seconds.
fn day_start_secs(date: &str) -> Option<i64> {
    let [year, month, day] = numbers(date, '-')?;
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let year = i32::try_from(year).ok()?;
    let date = Date::from_calendar_date(year, month, u8::try_from(day).ok()?).ok()?;
    Some(date.midnight().assume_utc().unix_timestamp())
}

/// `HH:MM:SS`; a leap second counts as the following second.
fn seconds_of_day(clock: &str) -> Option<i64> {
    let [hour, minute, second] = numbers(clock, ':')?;
    let is_clock = hour <= 23 && minute <= 59 && second <= 60;
    is_clock.then_some(hour * 3600 + minute * 60 + second)
}

/// `.123` as milliseconds, dropping digits beyond the third, and the rest of the text.
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

/// Three numbers of two digits each, except that a date starts with four.
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
    use super::{RANGE_MS, format, parse};

    const DAY_MS: i64 = 86_400_000;

    #[test]
    fn times_are_parsed_and_other_texts_refused() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.123Z", Some(123)),
            ("1969-12-31T23:59:59.5Z", Some(-500)),
            ("2000-02-29T12:00:00+01:00", Some(951_822_000_000)),
            ("2020-11-09 12:00:00.1239Z", Some(1_604_923_200_123)),
            ("0000-01-01T00:00:00Z", Some(*RANGE_MS.start())),
            ("9999-12-31T23:59:59.9999Z", Some(*RANGE_MS.end())),
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
    fn times_of_all_years_round_trip() {
        for time_ms in RANGE_MS.step_by(13 * DAY_MS as usize) {
            let later = time_ms + time_ms.rem_euclid(DAY_MS - 1);
            for time_ms in [time_ms, later.min(*RANGE_MS.end())] {
                let text = format(time_ms).expect("the time is in range");
                assert_eq!(parse(&text), Some(time_ms), "{text}");
            }
        }
    }

    #[test]
    fn milliseconds_are_written_unless_zero_and_times_out_of_range_are_refused() {
        let cases = [
            (0, Some("1970-01-01T00:00:00Z")),
            (-1, Some("1969-12-31T23:59:59.999Z")),
            (951_822_000_050, Some("2000-02-29T11:00:00.050Z")),
            (*RANGE_MS.start(), Some("0000-01-01T00:00:00Z")),
            (*RANGE_MS.end(), Some("9999-12-31T23:59:59.999Z")),
            (RANGE_MS.start() - 1, None),
            (i64::MAX, None),
        ];
        for (time_ms, expected) in cases {
            assert_eq!(format(time_ms).as_deref(), expected, "{time_ms}");
        }
    }
}
