//! Timestamps of signatures: `20260131T090507Z`.

use time::{Date, Month};

/// Parses a timestamp into seconds since 1970.
pub(super) fn parse(text: &str) -> Option<u64> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let (year, [month, day]) = (number(date.get(..4)?)?, pair(date.get(4..)?)?);
    let ([hour, minute], second) = (pair(clock.get(..4)?)?, number(clock.get(4..)?)?);
    let is_time = clock.len() == 6 && hour < 24 && minute < 60 && second < 61;
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(i32::from(year), month, u8::try_from(day).ok()?).ok()?;
    let start = u64::try_from(date.midnight().assume_utc().unix_timestamp()).ok()?;
    let of_day = u64::from(hour) * 3600 + u64::from(minute) * 60 + u64::from(second);
    is_time.then_some(start + of_day)
}

/// Parses two numbers of two digits each.
fn pair(text: &str) -> Option<[u16; 2]> {
    if text.len() != 4 {
        return None;
    }
    Some([number(text.get(..2)?)?, number(text.get(2..)?)?])
}

/// Parses digits only, without a sign.
fn number(digits: &str) -> Option<u16> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn timestamps_are_parsed() {
        let cases = [
            ("19700101T000000Z", Some(0)),
            ("20000229T235959Z", Some(951_868_799)),
            ("20150830T123600Z", Some(1_440_938_160)),
            ("20260301T000000Z", Some(1_772_323_200)),
            ("20150830T123600", None),
            ("2015-08-30T12:36", None),
            ("20151330T123600Z", None),
            // These days do not exist.
            ("20150231T123600Z", None),
            ("20150229T123600Z", None),
            ("19691231T235959Z", None),
            ("20150830T1236000Z", None),
            ("20150830T12360Z", None),
            ("20150830T126000Z", None),
            ("2015083aT123600Z", None),
            ("+0150830T123600Z", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
