// Contacts, their methods and their searches, live. The address determines what is shown.

import { attempt, client, follow, isFollowed, make, path, tell, unfollow, visit } from "/api.js";
import { followChanges } from "/live.js";
import { receiver } from "/receiver.js";
import { KINDS, breakable, searchCard, statusBadge } from "/search.js";
import { ago, span } from "/when.js";

const CONTACTS = 50;
const SEARCHES = 8;
const STATUSES = ["active", "successful", "failed", "canceled"];
/** Some updates, such as retries, are not in the change stream: polls an active search this often. */
const LOOK_MS = 2000;
const DESTINATIONS = {
  email: "name@example.com",
  text: "+15550123",
  call: "+15550123",
  webhook: receiver ? "http://receiver.localhost/webhook/name" : "https://example.com/page-me",
};

const at = (id) => document.getElementById(id);

/** The parameters of the address. */
function asked() {
  const query = new URLSearchParams(location.search);
  return {
    domain: query.get("domain") ?? "acme",
    contact: query.get("contact"),
    search: query.get("search"),
    status: query.get("status"),
    cursor: query.get("cursor"),
  };
}

function go(changes) {
  const to = { ...asked(), cursor: null, ...changes };
  visit({ ...to, domain: to.domain === "acme" ? null : to.domain });
  return refresh();
}

/** The domain, as options of a request. Without a domain, the token decides. */
function tenant() {
  const { domain } = asked();
  return domain === "" ? {} : { tenant: domain };
}

/** Sends a request that is not one of the model's. */
const send = (method, where, options) => client.send(method, where, { ...options, ...tenant() });

/** Rebuilds the content of an element only if it has changed, so that it keeps the focus. */
function fill(element, from, build) {
  const key = JSON.stringify(from);
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  element.replaceChildren(...[build()].flat());
}

/** Runs one refresh at a time, so that a later one is also shown later. */
let line = Promise.resolve();
function inTurn(action) {
  const done = line.then(action);
  line = done.catch(() => {});
  return done;
}

const contacts = { items: [], next: undefined, pages: 1 };
let then = [];
let methods = [];
let isActive = false;

/** Contacts by name, starting with those that begin with the search text. */
async function refreshContacts() {
  const prefix = at("prefix").value.trim();
  const name = prefix === "" ? undefined : { gte: prefix, lt: `${prefix}\u{10ffff}` };
  const items = [];
  let count = 0;
  for await (const page of client.contact.listByName({ name, limit: CONTACTS }, tenant()).pages()) {
    items.push(...page.items);
    contacts.next = page.next;
    if (++count === contacts.pages) break;
  }
  contacts.items = items;
  at("more").hidden = contacts.next === undefined;
  showContacts();
}

function showContacts() {
  const { contact: chosen, domain } = asked();
  const names = contacts.items.map(({ id, name }) => [id, name]);
  fill(at("contacts"), [names, chosen, domain], () =>
    names.map(([id, name]) => {
      const properties = {
        type: "button",
        className: "contact",
        "aria-pressed": String(id === chosen),
        onclick: () => {
          go({ contact: id, search: null, status: null });
          if (matchMedia("(max-width: 45rem)").matches) at("middle").scrollIntoView({ behavior: "smooth" });
        },
      };
      return make("li", {}, make("button", properties, name));
    }),
  );
  fill(at("then-add"), [names, chosen, then], () => [
    make("option", { value: "" }, "Add a contact…"),
    ...names
      .filter(([id]) => id !== chosen && !then.some((other) => other.id === id))
      .map(([id, name]) => make("option", { value: id }, name)),
  ]);
}

function showThen() {
  fill(at("then"), then, () =>
    then.map((contact) => {
      const remove = () => {
        then = then.filter((other) => other !== contact);
        showThen();
        showContacts();
      };
      const chip = make("button", { type: "button", className: "chip", onclick: remove, title: "Remove" }, `${contact.name} ×`);
      return make("li", {}, chip);
    }),
  );
}

async function refreshContact() {
  const { contact: id } = asked();
  at("contact").hidden = id === null;
  if (id === null) return;
  const contact = await client.contact.read(id, { with: ["methods"] }, tenant());
  for (const name of document.querySelectorAll("#contact .name")) name.textContent = contact.name;
  methods = contact.with.methods.items.toSorted((one, other) => one.position - other.position);
  fill(at("methods"), methods, () => {
    if (methods.length === 0) return make("li", { className: "quiet" }, "No methods yet: nobody would be contacted.");
    return methods.map(methodRow);
  });
}

function methodRow(method, index) {
  const label = `${KINDS[method.kind]} ${method.destination}`;
  const wait = method.wait_seconds;
  const first = index === 0 ? "immediately" : "together with the one before";
  const enabled = make("input", {
    type: "checkbox",
    checked: method.enabled,
    "aria-label": `Use ${label}`,
    title: "Use this method",
    onchange: () => change(() => client.method.update(method.id, { enabled: enabled.checked }, tenant())),
  });
  const tool = (text, title, isOff, action) =>
    make("button", { type: "button", title, "aria-label": `${title}: ${label}`, disabled: isOff, onclick: () => change(action) }, text);
  return make(
    "li",
    { className: method.enabled ? "method" : "method off" },
    enabled,
    make("span", { className: `kind ${method.kind}` }, KINDS[method.kind]),
    make("span", { className: "destination" }, ...breakable(method.destination)),
    make("span", { className: "quiet wait" }, wait === 0 ? first : `after ${span(wait)}`),
    make(
      "span",
      { className: "tools" },
      tool("↑", "Move up", index === 0, () => swap(method, methods[index - 1])),
      tool("↓", "Move down", index === methods.length - 1, () => swap(method, methods[index + 1])),
      tool("×", "Remove", false, () => client.method.delete(method.id, tenant())),
    ),
  );
}

/** Swaps two methods in one transaction. */
function swap(one, other) {
  const move = (method, to) => ({ update: "method", id: method.id, document: { position: to.position } });
  return client.transaction({ changes: [move(one, other), move(other, one)] }, tenant());
}

async function change(action) {
  const done = await tell(action);
  // An error of the action stays.
  await attempt(() => inTurn(refreshAll));
  return done;
}

/** The searches of a contact that are shown, and what they were requested by. */
const searches = { list: null, key: "" };

/** Follows the searches that the address asks for, newest first. */
function followSearches() {
  const { domain, contact, status, cursor } = asked();
  const key = JSON.stringify([domain, contact, status, cursor]);
  if (key === searches.key && isFollowed("searches")) return showSearches();
  searches.key = key;
  if (contact === null) return unfollow("searches");
  const query = (options) => {
    const params = { contact, status: status ?? undefined, limit: SEARCHES, reverse: true };
    const first = client.search.listByContact(params, { ...options, ...tenant() });
    return (cursor === null ? first : first.page(cursor)).live();
  };
  follow("searches", query, (list) => {
    searches.list = list;
    showSearches();
  });
}

function showSearches() {
  const { list } = searches;
  if (list === null) return;
  const { status, search: open } = asked();
  fill(at("statuses"), [status], () =>
    [null, ...STATUSES].map((one) => {
      const properties = {
        type: "button",
        className: "chip",
        "aria-pressed": String(status === one),
        onclick: () => go({ status: one }),
      };
      return make("li", {}, make("button", properties, one === null ? "All" : label(one)));
    }),
  );
  fill(at("searches"), [list.items, open], () => {
    if (list.items.length === 0) return make("li", { className: "quiet" }, "None.");
    return list.items.map((search) => searchRow(search, open));
  });
  at("pages").hidden = list.previous === undefined && list.next === undefined;
  turn("newer", list.previous);
  turn("older", list.next);
}

const label = (word) => word[0].toUpperCase() + word.slice(1);

function searchRow(search, open) {
  const properties = {
    type: "button",
    className: "past",
    "aria-pressed": String(search.id === open),
    onclick: () => {
      go({ search: search.id, cursor: asked().cursor });
      at("middle").scrollIntoView({ behavior: "smooth" });
    },
  };
  const text = make("span", { className: "said" }, said(search));
  return make("li", {}, make("button", properties, statusBadge(search.status), text, ago(search.created)));
}

/** The text of a search: its message filled from its subject, as the service does it. */
function said({ message, subject }) {
  const find = (name) => name.split(".").reduce((value, part) => value?.[part], subject ?? {});
  const plain = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  if (message === undefined) return plain(subject ?? "You are needed.");
  return message.replace(/\{\{|\{([^}]*)\}/g, (gap, name) => {
    if (gap === "{{") return "{";
    const value = find(name.trim());
    return value === undefined ? gap : plain(value);
  });
}

function turn(id, cursor) {
  at(id).disabled = cursor === undefined;
  at(id).onclick = () => go({ cursor });
}

async function refreshSearch() {
  const { search: id } = asked();
  const card = at("search");
  if (id === null) {
    isActive = false;
    card.hidden = true;
    return;
  }
  const where = `/searches/${encodeURIComponent(id)}`;
  const timeline = await send("GET", `${where}/timeline`);
  isActive = timeline.status === "active";
  card.hidden = false;
  const end = (verb, body) => change(() => send("POST", `${where}/${verb}`, { body }));
  const close = () => go({ search: null, cursor: asked().cursor });
  searchCard(card, timeline, { end, close });
}

/** Shows everything that the address determines. */
function refresh() {
  return tell(() => inTurn(refreshAll));
}

async function refreshAll() {
  const { domain, contact } = asked();
  if (document.activeElement !== at("domain").elements.domain) at("domain").elements.domain.value = domain;
  await refreshContacts();
  at("nobody").hidden = contacts.items.length > 0 || contact !== null;
  if (contact === null && contacts.items.length > 0) {
    const first = { ...Object.fromEntries(new URLSearchParams(location.search)), contact: contacts.items[0].id };
    history.replaceState(null, "", path(location.pathname, first));
    showContacts();
  }
  followSearches();
  await Promise.all([refreshContact(), refreshSearch(), refreshReceiver()]);
}

async function refreshReceiver() {
  await receiver?.refresh(asked().search);
}

/** Refreshes after a change. Changes come in bursts: one refresh covers all earlier ones. */
let isLooking = false;
let isAll = false;
function look(all) {
  isAll ||= all;
  if (isLooking) return;
  isLooking = true;
  inTurn(() => {
    const look = isAll ? refreshAll : () => Promise.all([refreshSearch(), refreshReceiver()]);
    isLooking = isAll = false;
    return look();
  }).catch((problem) => console.info(problem.message));
}

at("domain").onsubmit = (event) => {
  event.preventDefault();
  then = [];
  showThen();
  contacts.pages = 1;
  searches.list = null;
  fill(at("searches"), null, () => []);
  inTurn(() => receiver?.clear());
  go({ domain: event.target.elements.domain.value.trim(), contact: null, search: null, status: null });
  followDomain();
};
at("domain").onchange = (event) => event.currentTarget.requestSubmit();
at("prefix").oninput = () => {
  contacts.pages = 1;
  tell(() => inTurn(refreshContacts));
};
at("more").onclick = () => {
  contacts.pages += 1;
  tell(() => inTurn(refreshContacts));
};
/** Clears a field whose text was sent, unless somebody has typed something else since. */
const clear = (field, sent) => {
  if (field.value === sent) field.value = "";
};
at("new-contact").onsubmit = async (event) => {
  event.preventDefault();
  const { name } = event.target.elements;
  const sent = name.value;
  const made = await tell(() => client.contact.create({ name: sent.trim() }, tenant()));
  if (made === undefined) return;
  clear(name, sent);
  go({ contact: made.id, search: null, status: null });
};
at("then-add").onchange = (event) => {
  const chosen = contacts.items.find(({ id }) => id === event.target.value);
  if (chosen) then = [...then, { id: chosen.id, name: chosen.name }];
  showThen();
  showContacts();
};
at("new-method").elements.kind.append(...Object.entries(KINDS).map(([kind, name]) => make("option", { value: kind }, name)));
at("new-method").elements.kind.onchange = (event) => {
  at("new-method").elements.destination.placeholder = DESTINATIONS[event.target.value];
};
at("new-method").elements.destination.placeholder = DESTINATIONS.email;
/** Removes spaces and dashes from a phone number, which the service does not accept. */
const written = (kind, text) => ["call", "text"].includes(kind) ? text.replace(/[\s().-]/g, "") : text.trim();

at("new-method").onsubmit = async (event) => {
  event.preventDefault();
  const { kind, destination, wait } = event.target.elements;
  const sent = destination.value;
  const method = {
    contact: asked().contact,
    kind: kind.value,
    destination: written(kind.value, sent),
    wait_seconds: Number(wait.value),
    position: 1 + Math.max(0, ...methods.map(({ position }) => position)),
  };
  if ((await change(() => client.method.create(method, tenant()))) !== undefined) clear(destination, sent);
};
at("start").onsubmit = async (event) => {
  event.preventDefault();
  const { message, patience } = event.target.elements;
  const search = {
    contact: asked().contact,
    then: then.filter(({ id }) => id !== asked().contact).map(({ id }) => id),
    message: message.value,
    patience_seconds: Number(patience.value),
  };
  const made = await tell(() => client.search.create(search, tenant()));
  if (made === undefined) return;
  await go({ search: made.id, status: null });
  at("middle").scrollIntoView({ behavior: "smooth" });
};

/** Follows the changes of the domain. */
function followDomain() {
  followChanges({
    tenant,
    changed: (kind) => look(kind === null || kind === "contact" || kind === "method"),
    connected: (isUp) => {
      at("live").textContent = isUp ? "Live" : "Reconnecting…";
      at("live").classList.toggle("up", isUp);
    },
  });
}
setInterval(() => isActive && !document.hidden && look(false), LOOK_MS);
receiver?.start({ root: at("receiver"), link: at("to-receiver"), send, open: (search) => go({ search }) });
window.onpopstate = refresh;
refresh();
followDomain();
