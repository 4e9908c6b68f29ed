// One search as a card: its stage, events and next step, and forms to end it.

import { make } from "/api.js";
import { ago, until } from "/when.js";

/** The kinds of methods and messages. */
export const KINDS = { email: "Email", text: "Text", call: "Call", webhook: "Webhook" };

/** A text that breaks after the separators of addresses rather than within a word. */
export function breakable(text) {
  return text.split(/(?<=[@?&]|[^:/]\/)(?=[^\s/])/).flatMap((part, index) => (index === 0 ? [part] : [make("wbr"), part]));
}

export function statusBadge(status) {
  return make("span", { className: `badge ${status}` }, status[0].toUpperCase() + status.slice(1));
}

/** Shows a search. Keeps what the user is typing. */
export function searchCard(card, timeline, { end, close }) {
  if (card.dataset.search !== timeline.search) {
    card.dataset.search = timeline.search;
    card.replaceChildren(
      make("header"),
      make("p", { className: "about" }),
      make("ol", { className: "ladder", "aria-label": "Contacts" }),
      make("ol", { className: "timeline", "aria-label": "Timeline" }),
      make("form", { className: "ending" }),
    );
  }
  const [header, message, ladder, events, form] = card.children;
  header.replaceChildren(
    make("h2", {}, `Search for ${timeline.name} `, statusBadge(timeline.status)),
    make("button", { type: "button", className: "close", title: "Close", "aria-label": "Close", onclick: close }, "×"),
  );
  message.textContent = timeline.message;
  ladder.hidden = timeline.names.length < 2;
  ladder.replaceChildren(...timeline.names.map((name, stage) => rung(timeline, name, stage)));
  events.replaceChildren(...timeline.events.map((event) => eventRow(event, timeline)), ...comingNext(timeline));
  showForm(form, timeline, end);
}

/** A contact, and whether it was tried. */
function rung(timeline, name, stage) {
  const isCurrent = stage === timeline.stage;
  const state = stage < timeline.stage ? "passed" : isCurrent ? "current" : "ahead";
  return make("li", { className: state, "aria-current": String(isCurrent) }, name || "Missing contact");
}

function eventRow(event, timeline) {
  const end = event.what === "ended" ? timeline.status : "";
  return make(
    "li",
    { className: ["event", event.what, event.kind ?? "", event.state ?? "", end].join(" ") },
    make("span", { className: "said" }, ...breakable(event.text)),
    ago(event.time),
  );
}

function comingNext({ next }) {
  if (!next) return [];
  const text = make("span", { className: "said" }, "Next ", until(next.time), ": ", ...breakable(next.text));
  return [make("li", { className: "event next" }, text)];
}

/** The form is not rebuilt while the search is active. */
function showForm(form, timeline, end) {
  form.hidden = timeline.status !== "active";
  if (form.hidden || form.childElementCount > 0) return;
  const by = make("input", { type: "text", name: "by", value: "Operator", required: true, maxLength: 100, "aria-label": "Your name" });
  const note = make("input", { type: "text", name: "note", placeholder: "Note (optional)", maxLength: 500, "aria-label": "Note" });
  const button = (text, action) => {
    const onclick = () => form.reportValidity() && action();
    return make("button", { type: "button", onclick }, text);
  };
  const noted = (name) => (note.value.trim() === "" ? {} : { [name]: note.value.trim() });
  form.onsubmit = (event) => event.preventDefault();
  form.append(
    by,
    note,
    button("Mark as answered", () => end("answer", { by: by.value.trim(), ...noted("note") })),
    button("Cancel search", () => end("cancel", { by: by.value.trim(), ...noted("reason") })),
  );
}
