// Tasks by tags: every chip narrows the list, and every count is the number of tasks that would remain.

import { client, count, follow, make, oneAtATime, tell, visit } from "/api.js";
import { tag as tagText } from "/client.js";

const KEYS_SHOWN = 8;
const VALUES_SHOWN = 8;
const PAGE = 20;

/** The parameters of the address. */
function asked() {
  const query = new URLSearchParams(location.search);
  return { tag: query.getAll("tag"), cursor: query.get("cursor") };
}

/** Removes the backslashes, for display. */
function shown(tag) {
  return tag.replace(/\\(.)/g, "$1");
}

function choose(tags) {
  visit({ tag: tags });
  show();
}

/** A tag that is chosen, or not any more, by a click. */
function chip(label, tag) {
  // The address may have changed since the chip was shown.
  const toggle = () => {
    const others = asked().tag.filter((other) => other !== tag);
    choose(others.length < asked().tag.length ? others : [...others, tag]);
  };
  const isChosen = asked().tag.includes(tag);
  const properties = { className: "chip", type: "button", "aria-pressed": String(isChosen), onclick: toggle };
  return make("button", properties, ...label);
}

/** What is shown: the list, and the keys of the tags of all its tasks. */
let list = null;
let keys = [];

/** Shows what the address asks for, and what becomes of it. */
function show() {
  const { tag, cursor } = asked();
  const tasks = (options) => {
    const first = client.task.listAll({ tag, limit: PAGE, reverse: true, total: true }, options);
    return (cursor === null ? first : first.page(cursor)).live();
  };
  tell(() => {
    follow("tasks", tasks, (result) => {
      list = result;
      showList();
      refreshValues();
    });
    follow("keys", (options) => client.task.tagsAll({ tag, limit: KEYS_SHOWN }, options).live(), (result) => {
      keys = result.items.map(({ key }) => key);
      refreshValues();
    });
  });
}

function showList() {
  const { tag } = asked();
  document.getElementById("total").textContent =
    `${count(list.total)} ${list.total === 1 ? "task" : "tasks"}${tag.length ? " with these tags" : ""}`;
  document.getElementById("chosen").replaceChildren(
    ...tag.map((one) => make("li", {}, chip([shown(one), " ×"], one))),
  );
  document.getElementById("tasks").replaceChildren(...list.items.map(taskCard));
  document.getElementById("welcome").hidden = list.total > 0 || tag.length > 0;
  document.querySelector("aside").hidden = list.total === 0 && tag.length === 0;
  document.querySelector("section nav").hidden = list.previous === undefined && list.next === undefined;
  turn("previous", list.previous, tag);
  turn("next", list.next, tag);
}

function turn(id, cursor, tag) {
  const button = document.getElementById(id);
  button.disabled = cursor === undefined;
  button.onclick = () => {
    visit({ tag, cursor });
    show();
  };
}

/**
 * Shows the values of each key, with the number of listed tasks that have them. They are read again when the list or
 * the keys change, because a browser cannot follow each key by a stream of its own.
 */
const refreshValues = oneAtATime(async () => {
  const { tag } = asked();
  const prefix = document.getElementById("prefix").value.trim();
  const parts = await Promise.all(
    keys.map(async (key) => {
      const values = await client.task.tagsOfKeyAll({ key, tag, prefix: prefix || undefined, limit: VALUES_SHOWN });
      if (values.items.length === 0) return null;
      const chips = values.items.map(({ value, count: number }) =>
        make("li", {}, chip([value, " ", make("b", {}, count(number))], tagText(key, value))),
      );
      const more = values.next === undefined ? null : make("li", { className: "quiet" }, "…");
      return make("div", {}, make("h2", {}, key), make("ul", { className: "chips" }, ...chips, more));
    }),
  );
  document.getElementById("keys").replaceChildren(...parts.filter((part) => part !== null));
});

function taskCard(task) {
  const done = make("input", {
    type: "checkbox",
    checked: task.done,
    "aria-label": `Done: ${task.name}`,
    onchange: () => change(task, { done: done.checked }),
  });
  const chips = Object.entries(task.tags).map(([key, value]) =>
    make("li", {}, chip([`${key}:${value}`], tagText(key, value))),
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
      make("button", { type: "button", onclick: () => tell(() => client.task.delete(task.id)) }, "Delete"),
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
  const changed = await tell(() => client.task.update(task.id, patch, { ifMatch: task }));
  // The result of a change is followed; after an error the box is as it was.
  if (changed === undefined) showList();
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

document.getElementById("new").onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  const { name, tags } = form.elements;
  const made = await tell(() => client.task.create({ name: name.value, tags: parseTags(tags.value) }));
  if (made === undefined) return;
  form.reset();
  // The newest is on the first page.
  choose(asked().tag);
};
document.getElementById("prefix").oninput = () => tell(refreshValues);
window.onpopstate = show;
show();
