// Formats of amounts and dates.

import { make } from "/api.js";

/** At most two decimals are shown; the exact number is the element's `value`. */
export function amount(number, unit) {
  const text = number.toLocaleString("en", { maximumFractionDigits: 2 });
  const shown = unit === "" ? text : `${text} ${unit}`;
  return make("data", { className: "amount", value: String(number) }, shown);
}

/** An amount of a recipe for `of` servings, for another number of them. */
export function scaled(number, servings, of) {
  // Twelve digits, so that 0.1 × 3 is not shown as 0.30000000000000004.
  return Number(((number * servings) / of).toPrecision(12));
}

const DAY_MS = 24 * 60 * 60 * 1000;
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const date = (options) => new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
const DAY_MONTH = date({ day: "numeric", month: "short" });
const DAY_MONTH_YEAR = date({ day: "numeric", month: "short", year: "numeric" });

/** The seven days of a menu from its first day, with dates; from Monday if it has none. */
export function weekdays(starts) {
  const first = starts === undefined ? null : new Date(starts);
  const offset = first === null ? 1 : first.getUTCDay();
  return Array.from({ length: 7 }, (_, index) => ({
    day: WEEKDAYS[(offset + index) % 7],
    date: first === null ? "" : DAY_MONTH.format(first.getTime() + index * DAY_MS),
  }));
}

/** `16 Nov – 22 Nov 2026`. */
export function span(starts) {
  if (starts === undefined) return "no start date";
  const first = new Date(starts).getTime();
  return `${DAY_MONTH.format(first)} – ${DAY_MONTH_YEAR.format(first + 6 * DAY_MS)}`;
}

/** The value of a date field: the Monday after a day. */
export function mondayAfter(time) {
  const day = new Date(time);
  const days = (8 - day.getUTCDay()) % 7 || 7;
  return new Date(day.getTime() + days * DAY_MS).toISOString().slice(0, 10);
}

/** `monday` as `Monday`. */
export function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** `1 dish`, `3 dishes`. */
export function plural(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}
