// Elements that several views use: fields with errors, a confirmation, a notice, pages of a list.

import { make, tell } from "/api.js";
import { go } from "/address.js";

let fields = 0;

/** A field with its label, if any, and an error message below it. */
export function field(label, input) {
  const id = input.id || `field-${(fields += 1)}`;
  const error = make("p", { className: "error", id: `${id}-error`, hidden: true });
  input.id = id;
  input.setAttribute("aria-describedby", error.id);
  const labelled = label === "" ? null : make("label", { htmlFor: id }, label);
  return make("div", { className: "field" }, labelled, input, error);
}

/**
 * Runs the action of a form. An error of one of its fields is shown below that field, any other at the top
 * of the page. Returns `undefined` after an error.
 */
export async function submit(form, action) {
  for (const input of form.querySelectorAll("[aria-invalid]")) clearError(input);
  const button = form.querySelector("button:not([type=button])");
  button.disabled = true;
  const done = await tell(async () => {
    try {
      return await action();
    } catch (problem) {
      const input = inputOf(form, problem);
      if (input === null) throw problem;
      showError(input, problem.message);
      return undefined;
    }
  });
  button.disabled = false;
  return done;
}

/** The field of an error: `name` for a name that is taken. */
function inputOf(form, problem) {
  const name = problem.errors?.[0]?.field ?? (problem.code === "taken" ? "name" : "");
  return form.querySelector(`[name="${CSS.escape(name)}"]`);
}

function showError(input, message) {
  const error = document.getElementById(`${input.id}-error`);
  error.textContent = message;
  error.hidden = false;
  input.setAttribute("aria-invalid", "true");
  input.focus();
}

function clearError(input) {
  input.removeAttribute("aria-invalid");
  document.getElementById(`${input.id}-error`).hidden = true;
}

/** A form whose submission runs `action`, with the form, instead of leaving the page. */
export function form(properties, action, ...children) {
  const onsubmit = (event) => {
    event.preventDefault();
    action(event.target);
  };
  return make("form", { ...properties, onsubmit }, ...children);
}

export function button(label, onclick, properties = {}) {
  return make("button", { type: "button", onclick, ...properties }, label);
}

/** The heading of a view, with an optional line below it, and with buttons. */
export function title(text, { below = "", tools = [] } = {}) {
  const heading = make("h2", { id: "title", tabIndex: -1 }, text);
  const more = below === "" ? null : make("p", { className: "quiet" }, below);
  const buttons = tools.length === 0 ? null : make("div", { className: "tools" }, ...tools);
  return make("div", { className: "title" }, make("div", {}, heading, more), buttons);
}

/** Asks for confirmation; resolves to whether it was given. */
export function confirmed(question, verb) {
  return new Promise((resolve) => {
    let answer = false;
    const end = (value) => () => {
      answer = value;
      dialog.close();
    };
    const yes = button(verb, end(true), { className: "danger" });
    const no = button("Cancel", end(false), { autofocus: true });
    const dialog = make(
      "dialog",
      { className: "card", onclose: () => (dialog.remove(), resolve(answer)), "aria-label": question },
      make("p", {}, question),
      make("div", { className: "tools" }, no, yes),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Shows a notice below the view, with a button, by default to undo. */
export function notify(text, action, name = "Undo") {
  const acted = async () => {
    notify("");
    await action();
  };
  const place = document.getElementById("notice");
  const close = button("×", () => notify(""), { "aria-label": "Dismiss", className: "plain" });
  place.replaceChildren(...(text === "" ? [] : [make("span", {}, text), button(name, acted), close]));
}

/** Buttons to the previous and the next page of a list; nothing if it has one page. */
export function pages(list, parameters, names = ["Previous", "Next"]) {
  if (list.previous === undefined && list.next === undefined) return null;
  const turn = (name, cursor) =>
    button(name, () => go({ ...parameters, cursor }), { disabled: cursor === undefined });
  const buttons = [turn(names[0], list.previous), turn(names[1], list.next)];
  return make("nav", { "aria-label": "Pages" }, ...buttons);
}

/** Every item of a query, however many pages it has; `first` is its first page, if that was read. */
export async function all(query, first) {
  const items = first === undefined ? [] : [...first.items];
  if (first !== undefined && first.next === undefined) return items;
  for await (const item of query.items(first?.next)) items.push(item);
  return items;
}
