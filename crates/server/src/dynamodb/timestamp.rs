//! The times of signatures: `20260131T090507Z`.

/// The second since 1970 that a text means.
pub(super) fn parse(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if bytes.len() != 16 || bytes.get(8) != Some(&b'T') || bytes.get(15) != Some(&b'Z') {
        return None;
    }
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to)?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
    };
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(9, 11)?, number(11, 13)?, number(13, 15)?);
    let is_time = hour < 24 && minute < 60 && second < 61;
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) || !is_time {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days since 1970. Years begin in March here, so that the odd day is the last one of a year.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_read() {
        let cases = [
            ("19700101T000000Z", Some(0)),
            ("20000229T235959Z", Some(951_868_799)),
            ("20150830T123600Z", Some(1_440_938_160)),
            ("20260301T000000Z", Some(1_772_323_200)),
            ("20150830T123600", None),
            ("2015-08-30T12:36", None),
            ("20151330T123600Z", None),
            ("2015083aT123600Z", None),
            ("+0150830T123600Z", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
