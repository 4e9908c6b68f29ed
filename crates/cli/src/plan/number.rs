//! Numbers for people.

/// A rate or a number of units: three digits, and all of large numbers.
pub(super) fn number(value: f64) -> String {
    let text = match value {
        0.0 => return "0".to_owned(),
        value if value < 0.01 => return "< 0.01".to_owned(),
        value if value < 1.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => return grouped(value),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Dollars, with cents below 100.
pub(super) fn dollars(value: f64) -> String {
    match value < 100.0 {
        true => format!("${value:.2}"),
        false => format!("${}", grouped(value)),
    }
}

/// A share as percent.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 1.0 => "< 1 %".to_owned(),
        percent => format!("{} %", grouped(percent)),
    }
}

/// A whole number with commas.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let cases = [
            (0.0, "0"),
            (0.001, "< 0.01"),
            (0.5, "0.5"),
            (12.34, "12.3"),
            (20.0, "20"),
            (999.4, "999"),
            (1234567.8, "1,234,568"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
        assert_eq!((dollars(3.5), dollars(1250.4)), ("$3.50".to_owned(), "$1,250".to_owned()));
        assert_eq!((percent(0.001), percent(12.5)), ("< 1 %".to_owned(), "1,250 %".to_owned()));
    }
}
