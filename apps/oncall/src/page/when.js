// Local times, with the time since or until them.

import { make } from "/api.js";

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY_SECONDS = 24 * HOUR;

/** `5 s`, `3 min`, `2 h`. */
export function span(seconds) {
  if (seconds < MINUTE) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY_SECONDS) return `${Math.floor(seconds / HOUR)} h`;
  return `${Math.floor(seconds / DAY_SECONDS)} d`;
}

function local(date) {
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? CLOCK.format(date) : `${DAY.format(date)}, ${CLOCK.format(date)}`;
}

function relative(date) {
  const seconds = (Date.now() - date.getTime()) / 1000;
  if (seconds >= DAY_SECONDS) return "";
  return seconds < 1 ? " · now" : ` · ${span(seconds)} ago`;
}

/** A local time, with how long ago it was. */
export function ago(text) {
  const date = new Date(text);
  return make("time", { dateTime: text, title: FULL.format(date), className: "ago" }, local(date) + relative(date));
}

/** The time until a point in time. */
export function until(text) {
  return make("time", { dateTime: text, className: "until" }, ahead(new Date(text)));
}

function ahead(date) {
  const seconds = (date.getTime() - Date.now()) / 1000;
  return seconds <= 0 ? "now" : `in ${span(seconds + 0.999)}`;
}

/** Updates the times on the page. */
setInterval(() => {
  for (const time of document.querySelectorAll("time.ago")) {
    const date = new Date(time.dateTime);
    const text = local(date) + relative(date);
    if (time.textContent !== text) time.textContent = text;
  }
  for (const time of document.querySelectorAll("time.until")) {
    const text = ahead(new Date(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}, 250);
