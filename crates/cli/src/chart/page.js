"use strict";
// The picture: moved by dragging, zoomed by buttons and with Ctrl and the wheel.
const svg = document.querySelector("#view svg");
const whole = svg.viewBox.baseVal;
const full = { width: whole.width, height: whole.height };
const state = { x: 0, y: 0, scale: 1 };
const show = () => svg.setAttribute("viewBox", `${state.x} ${state.y} ${full.width / state.scale} ${full.height / state.scale}`);
const zoom = (factor) => {
  if (factor === 0) Object.assign(state, { x: 0, y: 0, scale: 1 });
  else {
    const before = state.scale;
    state.scale = Math.min(8, Math.max(0.5, before * factor));
    // The middle stays where it is.
    state.x += (full.width / before - full.width / state.scale) / 2;
    state.y += (full.height / before - full.height / state.scale) / 2;
  }
  show();
};
for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
let from;
svg.addEventListener("pointerdown", (event) => (from = { x: event.clientX, y: event.clientY }));
svg.addEventListener("pointermove", (event) => {
  if (from === undefined || event.buttons === 0) return;
  const unit = full.width / state.scale / svg.clientWidth;
  state.x -= (event.clientX - from.x) * unit;
  state.y -= (event.clientY - from.y) * unit;
  from = { x: event.clientX, y: event.clientY };
  show();
});
for (const name of ["pointerup", "pointerleave"]) svg.addEventListener(name, () => (from = undefined));
svg.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.1 : 0.9);
  },
  { passive: false },
);

// Keyboards and screen readers follow a box to its section.
addEventListener("hashchange", () => document.getElementById(location.hash.slice(1))?.focus());

// Search: sections without a match are hidden, and rows of queries that do not match.
const search = document.getElementById("search");
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const has = (element) => words.every((word) => element.textContent.toLowerCase().includes(word));
  let found = 0;
  for (const section of document.querySelectorAll("section")) {
    const isNamed = has(section.querySelector("h2"));
    const rows = [...section.querySelectorAll("table")].flatMap((table) => [...table.tBodies[0].rows]);
    for (const row of rows) row.hidden = !isNamed && !has(row);
    const left = rows.filter((row) => !row.hidden).length;
    section.hidden = left === 0;
    found += left;
  }
  document.getElementById("found").textContent = words.length === 0 ? "" : `${found} rows match`;
});

// Sorting by a column of numbers; what has no number is last.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const isDown = head.getAttribute("aria-sort") !== "descending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    const body = button.closest("table").tBodies[0];
    const value = (row) => Number.parseFloat(row.cells[head.cellIndex].textContent);
    const rank = (row) => (Number.isNaN(value(row)) ? -Infinity : isDown ? value(row) : -value(row));
    body.append(...[...body.rows].sort((a, b) => rank(b) - rank(a)));
  });
}
