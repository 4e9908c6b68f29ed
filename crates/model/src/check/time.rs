//! Moments as RFC 3339 writes them, such as `2024-02-29T12:00:00.5Z`.

/// Milliseconds since the start of 1970 in UTC, or nothing if it is no moment.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = (rest.get(..8)?, rest.get(8..)?);
    let (fraction, zone) = split_fraction(rest)?;
    let seconds = days(date)? * 86_400 + seconds_of_day(clock)? - zone_seconds(zone)?;
    Some(seconds * 1000 + fraction)
}

/// `YYYY-MM-DD` as days since the start of 1970.
fn days(date: &str) -> Option<i64> {
    let [year, month, day] = numbers(date, '-')?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let index = usize::try_from(month - 1).ok()?;
    if !(1..=*lengths.get(index)?).contains(&day) {
        return None;
    }
    let before: i64 = lengths[..index].iter().sum();
    let past = year - 1;
    let leaps = past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400);
    // 719,162 days are from the start of year 1 to the start of 1970.
    Some(past * 365 + leaps + before + day - 1 - 719_162)
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
    use super::parse;

    #[test]
    fn moments_are_read_and_what_is_none_is_refused() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.123Z", Some(123)),
            ("1969-12-31T23:59:59.5Z", Some(-500)),
            ("2000-02-29T12:00:00+01:00", Some(951_822_000_000)),
            ("2020-11-09 12:00:00.1239Z", Some(1_604_923_200_123)),
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
}
