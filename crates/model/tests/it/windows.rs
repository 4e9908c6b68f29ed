//! Windows of time: every time is in exactly one, and going from one to the next misses none.

use keyloom_model::{Window, WindowUnit, check};
use proptest::prelude::*;

/// Zones with whole and broken offsets, with changes at midnight, by half an hour, and of the date.
const ZONES: [&str; 10] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Africa/Casablanca",
];

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn window(unit: &str, zone: &str) -> Window {
    let text = format!(
        "[entity.sale]\nfields.at = \"time\"\n\
         count.sold = {{ window = \"{unit}\", of = \"at\", zone = \"{zone}\" }}"
    );
    let model = check(&text).expect("a model");
    let sale = model.find("sale").expect("the entity");
    model.entity(sale).counts[0].window.clone().expect("windows")
}

fn at(window: &Window, text: &str) -> i64 {
    window.read_bound(text).expect("a time")
}

/// The windows from one time to another, as texts.
fn starts(window: &Window, from: &str, to: &str) -> Vec<String> {
    let (first, end) = (window.start(at(window, from)), at(window, to));
    let all = std::iter::successors(Some(first), |start| window.next(*start));
    all.take_while(|start| *start < end).map(|start| window.write(start)).collect()
}

#[test]
fn days_have_23_and_25_hours_where_clocks_are_changed() {
    let day = window("day", "Europe/Berlin");
    let days = starts(&day, "2026-03-28", "2026-03-31");
    let spring =
        ["2026-03-28T00:00:00+01:00", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"];
    assert_eq!(days, spring);
    assert_eq!(at(&day, "2026-03-30") - at(&day, "2026-03-29"), 23 * HOUR_MS);
    assert_eq!(at(&day, "2026-10-26") - at(&day, "2026-10-25"), 25 * HOUR_MS);
    let hour = window("hour", "Europe/Berlin");
    let hours = starts(&hour, "2026-10-25T01:00:00+02:00", "2026-10-25T04:00:00+01:00");
    let autumn = [
        "2026-10-25T01:00:00+02:00",
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ];
    assert_eq!(hours, autumn);
}

#[test]
fn weeks_begin_on_monday_and_months_and_years_with_their_first_day() {
    let weeks = starts(&window("week", "UTC"), "2026-01-01", "2026-01-13");
    let expected =
        ["2025-12-29T00:00:00+00:00", "2026-01-05T00:00:00+00:00", "2026-01-12T00:00:00+00:00"];
    assert_eq!(weeks, expected);
    let months = starts(&window("month", "America/New_York"), "2024-02-29", "2024-04-01");
    assert_eq!(months, ["2024-02-01T00:00:00-05:00", "2024-03-01T00:00:00-05:00"]);
    let years = starts(&window("year", "Asia/Kathmandu"), "1985-06-01", "1987-06-01");
    // Nepal moved its clocks by a quarter of an hour at the beginning of 1986.
    let expected =
        ["1985-01-01T00:00:00+05:30", "1986-01-01T00:15:00+05:45", "1987-01-01T00:00:00+05:45"];
    assert_eq!(years, expected);
}

#[test]
fn a_day_that_a_zone_has_skipped_has_no_window() {
    let days = starts(&window("day", "Pacific/Apia"), "2011-12-29", "2012-01-01");
    assert_eq!(days, ["2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"]);
}

#[test]
fn an_hour_in_which_clocks_are_changed_by_half_an_hour_is_two_windows() {
    let hour = window("hour", "Australia/Lord_Howe");
    let hours = starts(&hour, "2026-04-05T01:10:00+11:00", "2026-04-05T03:00:00+10:30");
    let expected =
        ["2026-04-05T01:00:00+11:00", "2026-04-05T01:30:00+10:30", "2026-04-05T02:00:00+10:30"];
    assert_eq!(hours, expected);
}

#[test]
fn the_first_and_the_last_time_are_in_windows() {
    for zone in ZONES {
        for unit in WindowUnit::ALL {
            let window = window(unit.name(), zone);
            for text in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"] {
                let start = window.start(at(&window, text));
                assert!(start <= at(&window, text), "{zone} {unit:?} {text}");
                assert_eq!(window.start(start), start, "{zone} {unit:?} {text}");
                window.next(start);
            }
        }
    }
}

#[test]
fn bounds_are_dates_and_times_and_nothing_else() {
    let day = window("day", "Asia/Kolkata");
    assert_eq!(at(&day, "2026-11-01"), at(&day, "2026-10-31T18:30:00Z"));
    for text in ["", "2026", "2026-13-01", "2026-02-30", "20261101", "2026-W47", "-01-01-01", "now"]
    {
        assert_eq!(day.read_bound(text), None, "{text}");
    }
}

proptest! {
    /// In universal time, hours and days are plain arithmetic.
    #[test]
    fn universal_time_has_windows_of_one_length(time in -62_167_219_200_000..253_402_000_000_000_i64) {
        for (unit, length) in [("hour", HOUR_MS), ("day", DAY_MS)] {
            let window = window(unit, "UTC");
            let start = time.div_euclid(length) * length;
            prop_assert_eq!(window.start(time), start);
            prop_assert_eq!(window.next(start), Some(start + length));
        }
        // The first of January 1970 was a Thursday.
        let monday = (time + 3 * DAY_MS).div_euclid(7 * DAY_MS) * 7 * DAY_MS - 3 * DAY_MS;
        prop_assert_eq!(window("week", "UTC").start(time), monday);
    }

    #[test]
    fn going_from_window_to_window_misses_none(
        zone in prop::sample::select(&ZONES[..]),
        unit in prop::sample::select(&WindowUnit::ALL[..]),
        time in 0..2_000_000_000_000_i64,
        later in 0..200 * HOUR_MS,
    ) {
        let window = window(unit.name(), zone);
        let (first, wanted) = (window.start(time), window.start(time + later));
        prop_assert!(first <= time);
        prop_assert_eq!(window.start(first), first);
        let mut all = std::iter::successors(Some(first), |start| window.next(*start));
        prop_assert_eq!(all.find(|start| *start >= wanted), Some(wanted.max(first)));
    }
}
