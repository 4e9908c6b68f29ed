//! Times in the forms that people and mail servers read. All of them are UTC: a page without scripts
//! cannot know the reader's time zone.

use keyloom::Value;
use keyloom_model::FieldType;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// RFC 3339, as the model writes times: `2026-01-05T10:00:00.123Z`.
pub(crate) fn time_text(time_ms: i64) -> String {
    let shown = FieldType::Time.show(&Value::from(time_ms));
    shown.as_s().unwrap_or_default().to_owned()
}

/// `5 Jan 2026`.
pub(crate) fn date_text(time_ms: i64) -> String {
    let text = time_text(time_ms);
    let (year, month, day) = (part(&text, 0, 4), month(&text), part(&text, 8, 10));
    format!("{} {month} {year}", day.trim_start_matches('0'))
}

/// `10:00:00`.
pub(crate) fn clock_text(time_ms: i64) -> String {
    part(&time_text(time_ms), 11, 19).to_owned()
}

/// The form of RFC 5322: `05 Jan 2026 10:00:00 +0000`.
pub(crate) fn mail_date(time_ms: i64) -> String {
    let text = time_text(time_ms);
    let (year, month, day) = (part(&text, 0, 4), month(&text), part(&text, 8, 10));
    format!("{day} {month} {year} {} +0000", part(&text, 11, 19))
}

fn part(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or("00")
}

fn month(text: &str) -> &'static str {
    let number = part(text, 5, 7).parse::<usize>().ok();
    number.and_then(|number| MONTHS.get(number.checked_sub(1)?)).unwrap_or(&MONTHS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_one_form_for_each_reader() {
        let time_ms = 1_767_607_200_123;
        assert_eq!(time_text(time_ms), "2026-01-05T10:00:00.123Z");
        assert_eq!(date_text(time_ms), "5 Jan 2026");
        assert_eq!(clock_text(time_ms), "10:00:00");
        assert_eq!(mail_date(time_ms), "05 Jan 2026 10:00:00 +0000");
    }
}
