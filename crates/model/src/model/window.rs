//! Windows: the hours, days, weeks, months or years that a count is kept by.

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use super::id::FieldId;
use super::zone::Zone;

/// The windows of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// The time that decides which window an entity is in.
    pub of: FieldId,
    /// How long a window is.
    pub unit: WindowUnit,
    /// Where the days begin and end.
    pub zone: Zone,
}

/// How long a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// An hour on the clocks of the zone. One in which they are changed can be shorter.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday to Sunday.
    Week,
    /// A month of the calendar.
    Month,
    /// A year of the calendar.
    Year,
}

impl WindowUnit {
    /// All units.
    pub const ALL: [WindowUnit; 5] =
        [WindowUnit::Hour, WindowUnit::Day, WindowUnit::Week, WindowUnit::Month, WindowUnit::Year];

    /// Its name in the model file.
    pub fn name(self) -> &'static str {
        match self {
            WindowUnit::Hour => "hour",
            WindowUnit::Day => "day",
            WindowUnit::Week => "week",
            WindowUnit::Month => "month",
            WindowUnit::Year => "year",
        }
    }
}

impl Window {
    /// When the window begins that a time is in. Times are milliseconds since the start of 1970 in
    /// UTC.
    pub fn start(&self, time_ms: i64) -> i64 {
        let zoned = timestamp(time_ms).to_zoned(self.zone.rules().clone());
        let date = zoned.date();
        match self.unit {
            WindowUnit::Hour => self.start_of_hour(&zoned),
            WindowUnit::Day => self.start_of_date(date),
            WindowUnit::Week => {
                let days = i64::from(date.weekday().to_monday_zero_offset());
                self.start_of_date(date.saturating_sub(days.days()))
            }
            WindowUnit::Month => self.start_of_date(date.first_of_month()),
            WindowUnit::Year => self.start_of_date(date.first_of_year()),
        }
    }

    /// When the window after the one that begins at a time begins; `None` if there is no later one.
    pub fn next(&self, start_ms: i64) -> Option<i64> {
        if self.unit == WindowUnit::Hour {
            return self.next_hour(start_ms);
        }
        let first = timestamp(start_ms).to_zoned(self.zone.rules().clone()).date();
        // A zone can skip a day, which has no window then.
        (1..=2).find_map(|steps: i64| {
            let span = match self.unit {
                WindowUnit::Hour | WindowUnit::Day => steps.days(),
                WindowUnit::Week => steps.weeks(),
                WindowUnit::Month => steps.months(),
                WindowUnit::Year => steps.years(),
            };
            let next = self.start_of_date(first.checked_add(span).ok()?);
            (next > start_ms).then_some(next)
        })
    }

    /// Reads a bound of a range of windows: a time in RFC 3339, or a date in the zone, which means its
    /// beginning.
    pub fn read_bound(&self, text: &str) -> Option<i64> {
        match text.parse::<Date>() {
            Ok(date) if text.len() == "2024-02-29".len() => Some(self.start_of_date(date)),
            _ => crate::time::parse(text),
        }
    }

    /// Writes when a window begins, as a time in RFC 3339 on the clocks of the zone.
    pub fn write(&self, start_ms: i64) -> String {
        let time = timestamp(start_ms);
        let offset = self.zone.rules().to_offset(time);
        time.display_with_offset(offset).to_string()
    }

    /// On the clocks of the zone as they are at that time. An hour in which they are changed to
    /// another minute is two windows.
    fn start_of_hour(&self, zoned: &Zoned) -> i64 {
        let (clock, time) = (zoned.time(), zoned.timestamp());
        let into_hour = SignedDuration::from_mins(i64::from(clock.minute()))
            + SignedDuration::from_secs(i64::from(clock.second()))
            + SignedDuration::from_nanos(i64::from(clock.subsec_nanosecond()));
        let start = time.checked_sub(into_hour).unwrap_or(Timestamp::MIN);
        // The transition at this very time is not one that precedes it.
        let until = time.checked_add(SignedDuration::from_nanos(1)).unwrap_or(time);
        let changed = self.zone.rules().preceding(until).next().map(|change| change.timestamp());
        changed.map_or(start, |changed| start.max(changed)).as_millisecond()
    }

    fn next_hour(&self, start_ms: i64) -> Option<i64> {
        let start = timestamp(start_ms);
        let end = start.checked_add(SignedDuration::from_hours(1)).ok()?;
        let changed = self.zone.rules().following(start).next().map(|change| change.timestamp());
        let candidates = [changed.filter(|changed| *changed < end), Some(end)];
        let starts = candidates.into_iter().flatten().map(|time| self.start(time.as_millisecond()));
        starts.into_iter().find(|next| *next > start_ms)
    }

    fn start_of_date(&self, date: Date) -> i64 {
        let midnight = date.to_datetime(Time::midnight()).to_zoned(self.zone.rules().clone());
        let start = midnight.and_then(|midnight| midnight.start_of_day());
        match start {
            Ok(start) => start.timestamp().as_millisecond(),
            // Beyond the last time that there is.
            Err(_) if date.year() > 0 => Timestamp::MAX.as_millisecond(),
            Err(_) => Timestamp::MIN.as_millisecond(),
        }
    }
}

/// The library's last time is some hours before the last one that fields can have: those are in one
/// window with it.
fn timestamp(time_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(time_ms).unwrap_or(match time_ms > 0 {
        true => Timestamp::MAX,
        false => Timestamp::MIN,
    })
}
