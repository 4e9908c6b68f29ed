//! Time formats. All are UTC: a page without scripts cannot know the reader's time zone.

use keyloom::Value;
use keyloom_model::FieldType;
use time::OffsetDateTime;

/// RFC 3339, as the model writes times: `2026-01-05T10:00:00.123Z`.
pub(crate) fn time_text(time_ms: i64) -> String {
    let text = FieldType::Time.to_external(&Value::from(time_ms));
    text.as_s().unwrap_or_default().to_owned()
}

/// `5 Jan 2026`.
pub(crate) fn date_text(time_ms: i64) -> String {
    let (year, month, day) = moment(time_ms).to_calendar_date();
    let month: String = month.to_string().chars().take(3).collect();
    format!("{day} {month} {year}")
}

/// `10:00:00`.
pub(crate) fn clock_text(time_ms: i64) -> String {
    let (hour, minute, second) = moment(time_ms).to_hms();
    format!("{hour:02}:{minute:02}:{second:02}")
}

fn moment(time_ms: i64) -> OffsetDateTime {
    let moment = OffsetDateTime::from_unix_timestamp(time_ms.div_euclid(1000));
    moment.unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_formats() {
        let time_ms = 1_767_607_200_123;
        assert_eq!(time_text(time_ms), "2026-01-05T10:00:00.123Z");
        assert_eq!(date_text(time_ms), "5 Jan 2026");
        assert_eq!(clock_text(time_ms), "10:00:00");
    }
}
