// Tasks by tags: every chip narrows the list, and every count is the number of tasks that would remain.

import { ask, attempt, count, follow, make, path, tell, visit } from "/api.js";

const KEYS_SHOWN = 8;
const VALUES_SHOWN = 8;
const PAGE = 20;

/** The parameters of the address. */
function asked() {
  const query = new URLSearchParams(location.search);
  return { tag: query.getAll("tag"), cursor: query.get("cursor") };
}

/** `key:value` in the syntax of the server, with special characters escaped. */
function tagText(key, value) {
  const plain = (text) => text.replace(/[\\!:|*,]/g, "\\$&");
  return `${plain(key)}:${plain(value)}`;
}

/** Removes the backslashes, for display. */
function shown(tag) {
  return tag.replace(/\\(.)/g, "$1");
}

function choose(tags) {
  visit({ tag: tags });
  refresh();
}

function chip(label, tag, tags) {
  const isChosen = tags.includes(tag);
  const others = tags.filter((other) => other !== tag);
  return make(
    "button",
    {
      className: "chip",
      type: "button",
      "aria-pressed": String(isChosen),
      onclick: () => choose(isChosen ? others : [...others, tag]),
    },
    ...label,
  );
}

/** How often the list and the keys were asked for. Answers can overtake each other: only the newest is shown. */
let lists = 0;
let menus = 0;

/** Refreshes the list; with `attempt`, an error that is shown stays. */
async function refresh(run = tell) {
  await run(async () => {
    const { tag, cursor } = asked();
    const at = path("/tasks", { tag, cursor, limit: PAGE, reverse: "true", total: "true" });
    const mine = ++lists;
    const list = await ask("GET", at);
    if (mine !== lists) return;
    follow(at, list, () => refresh(attempt));
    document.getElementById("total").textContent =
      `${count(list.total)} ${list.total === 1 ? "task" : "tasks"}${tag.length ? " with these tags" : ""}`;
    document.getElementById("chosen").replaceChildren(
      ...tag.map((one) => make("li", {}, chip([shown(one), " ×"], one, tag))),
    );
    document.getElementById("tasks").replaceChildren(...list.items.map((task) => taskCard(task, tag)));
    document.getElementById("welcome").hidden = list.total > 0 || tag.length > 0;
    document.querySelector("aside").hidden = list.total === 0 && tag.length === 0;
    document.querySelector("section nav").hidden = list.previous === undefined && list.next === undefined;
    turn("previous", list.previous, tag);
    turn("next", list.next, tag);
    await refreshKeys(tag);
  });
}

function turn(id, cursor, tag) {
  const button = document.getElementById(id);
  button.disabled = cursor === undefined;
  button.onclick = () => {
    visit({ tag, cursor });
    refresh();
  };
}

/** The values of each key, with the number of listed tasks that have them. */
async function refreshKeys(tag) {
  const prefix = document.getElementById("prefix").value.trim();
  const mine = ++menus;
  const keys = await ask("GET", path("/tasks/tags", { tag, limit: KEYS_SHOWN }));
  const parts = await Promise.all(
    keys.items.map(async ({ key }) => {
      const at = path(`/tasks/tags/${encodeURIComponent(key)}`, { tag, prefix, limit: VALUES_SHOWN });
      const values = await ask("GET", at);
      if (values.items.length === 0) return null;
      const chips = values.items.map(({ value, count: number }) =>
        make("li", {}, chip([value, " ", make("b", {}, count(number))], tagText(key, value), tag)),
      );
      const more = values.next === undefined ? null : make("li", { className: "quiet" }, "…");
      return make("div", {}, make("h2", {}, key), make("ul", { className: "chips" }, ...chips, more));
    }),
  );
  if (mine !== menus) return;
  document.getElementById("keys").replaceChildren(...parts.filter((part) => part !== null));
}

function taskCard(task, tags) {
  const done = make("input", {
    type: "checkbox",
    checked: task.done,
    "aria-label": `Done: ${task.name}`,
    onchange: () => change(task, { done: done.checked }),
  });
  const chips = Object.entries(task.tags).map(([key, value]) =>
    make("li", {}, chip([`${key}:${value}`], tagText(key, value), tags)),
  );
  return make(
    "li",
    { className: task.done ? "card task done" : "card task" },
    done,
    make("span", { className: "name" }, task.name),
    make(
      "span",
      { className: "tools" },
      make("button", { type: "button", onclick: () => retag(task) }, "Tags"),
      make("button", { type: "button", onclick: () => remove(task) }, "Delete"),
    ),
    make("ul", { className: "chips" }, ...chips),
  );
}

/** `priority:high, project:garden`; the first `:` ends the key. */
function parseTags(text) {
  const pairs = text.split(",").map((pair) => pair.trim()).filter((pair) => pair !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf(":");
      if (at < 1) throw new Error(`Invalid tag “${pair}”: write a key and a value, such as priority:high.`);
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    }),
  );
}

/** Updates a task, unless it has changed meanwhile. */
async function change(task, patch) {
  await tell(() => ask("PATCH", `/tasks/${task.id}`, patch, { "If-Match": `"${task.version}"` }));
  await refresh(attempt);
}

async function retag(task) {
  const before = Object.entries(task.tags).map(([key, value]) => `${key}:${value}`).join(", ");
  const text = prompt("Tags, separated by commas:", before);
  if (text === null) return;
  await tell(async () => {
    const tags = parseTags(text);
    const gone = Object.keys(task.tags).filter((key) => !(key in tags));
    await change(task, { tags: { ...tags, ...Object.fromEntries(gone.map((key) => [key, null])) } });
  });
}

async function remove(task) {
  await tell(() => ask("DELETE", `/tasks/${task.id}`));
  await refresh(attempt);
}

document.getElementById("new").onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  const made = await tell(() =>
    ask("POST", "/tasks", { name: form.elements.name.value, tags: parseTags(form.elements.tags.value) }),
  );
  if (made === undefined) return;
  form.reset();
  // The newest is on the first page.
  choose(asked().tag);
};
document.getElementById("prefix").oninput = () => tell(() => refreshKeys(asked().tag));
window.onpopstate = () => refresh();
refresh();
