// The built-in receiver: the phones, mailboxes and webhooks of all contacts, to read and answer.

import { make } from "/api.js";
import { KINDS, breakable } from "/search.js";
import { ago } from "/when.js";

const SHOWN = 100;
const TITLES = { text: "Texts", call: "Calls", email: "Mail", webhook: "Webhooks" };

let send = null;
let open = null;
let list = null;
let chips = null;
let link = null;
let kind = null;
let shown = null;
/** Newest first, with the element of each. */
let messages = [];

function start({ root, link: to, send: sendOther, open: openSearch }) {
  [send, open, link] = [sendOther, openSearch, to];
  chips = make("ul", { className: "chips", "aria-label": "Kinds of messages" });
  list = make("ol", { className: "plain", id: "received" });
  root.hidden = false;
  link.hidden = false;
  root.append(
    make("h2", {}, "Receiver"),
    make("p", { className: "quiet" }, "Stands in for the phones, mailboxes and webhooks of all contacts."),
    chips,
    list,
  );
  document.querySelector("main").classList.add("with-receiver");
  draw();
}

/** Fetches new messages. Those of the search that is shown are highlighted. */
async function refresh(search) {
  if (list === null) return;
  const after = messages[0]?.number ?? 0;
  const answer = await send("GET", "/receiver/messages", { query: { after } });
  const fresh = answer.items.filter(({ number }) => number > (messages[0]?.number ?? 0));
  if (fresh.length === 0 && search === shown) return;
  shown = search;
  messages = [...fresh.map((message) => ({ ...message, element: card(message) })), ...messages].slice(0, SHOWN);
  draw();
}

function clear() {
  messages = [];
  draw();
}

function draw() {
  const count = (one) => messages.filter((message) => one === null || message.kind === one).length;
  chips.replaceChildren(
    ...[null, ...Object.keys(TITLES)].map((one) => {
      const properties = {
        type: "button",
        className: "chip",
        "aria-pressed": String(kind === one),
        onclick: () => {
          kind = one;
          draw();
        },
      };
      return make("li", {}, make("button", properties, one === null ? "All" : TITLES[one], " ", make("b", {}, String(count(one)))));
    }),
  );
  link.textContent = `Receiver (${messages.length})`;
  const visible = messages.filter((message) => kind === null || message.kind === kind);
  for (const { element, search } of visible) element.classList.toggle("ours", search === shown);
  const wanted = visible.map(({ element }) => element);
  if (wanted.length === 0) wanted.push(make("li", { className: "card quiet" }, "No messages yet. Start a search."));
  // Keeps existing elements: the user may be typing a reply.
  for (const [index, element] of wanted.entries()) {
    if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
  }
  while (list.childElementCount > wanted.length) list.lastElementChild.remove();
}

function card(message) {
  const head = make(
    "header",
    {},
    make("span", { className: `kind ${message.kind}` }, KINDS[message.kind]),
    ago(message.time),
    make("span", { className: "to" }, "to ", ...breakable(message.to)),
  );
  const said = make("p", { className: "outcome quiet", role: "status", hidden: true });
  const body = { text: asText, call: asCall, email: asMail, webhook: asWebhook }[message.kind](message, said);
  const search = make("button", { type: "button", className: "link", onclick: () => open(message.search) }, "Show search");
  return make("li", { className: `card received ${message.kind}` }, head, ...body, said, make("footer", {}, search));
}

/** Answers as the recipient, and shows the result. */
async function answer(message, said, body) {
  said.hidden = false;
  try {
    const { status, detail } = await send("POST", `/receiver/messages/${message.number}/answer`, { body });
    said.textContent = detail ?? (status < 300 ? "Answered." : status === 409 ? "Too late: the search has ended." : `The service returned status ${status}.`);
  } catch (problem) {
    said.textContent = problem.message;
  }
}

function asText(message, said) {
  const text = make("input", { type: "text", value: "OK", "aria-label": `Reply to ${message.to}`, maxLength: 500, required: true });
  const onsubmit = (event) => {
    event.preventDefault();
    answer(message, said, { text: text.value });
  };
  return [
    make("p", { className: "bubble" }, ...withLink(message.text)),
    make("form", { className: "reply", onsubmit }, text, make("button", {}, "Reply")),
  ];
}

function asCall(message, said) {
  const key = (digits) =>
    make("button", { type: "button", "aria-label": `Press ${digits}`, onclick: () => answer(message, said, { digits }) }, digits);
  return [
    make("p", { className: "voice" }, message.text),
    make("div", { className: "keys" }, make("span", { className: "quiet" }, "Press"), key("1"), key("2"), key("3")),
  ];
}

function asMail(message) {
  return [
    make("p", { className: "subject" }, message.subject ?? ""),
    make("p", { className: "mail" }, ...withLink(message.text, message.answer_url)),
  ];
}

function asWebhook(message, said) {
  const button = make("button", { type: "button", onclick: () => answer(message, said, {}) }, "Post to answer_url");
  return [make("pre", {}, pretty(message.text)), make("div", { className: "keys" }, button)];
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A text in which only the URL of the service becomes a link. */
function withLink(text, url = /https?:\/\/[^\s/]+\/answer\/[\w-]+/.exec(text)?.[0]) {
  const place = url ? text.indexOf(url) : -1;
  if (place < 0) return [text];
  const anchor = make("a", { href: new URL(url).pathname, target: "_blank", rel: "noopener" }, url);
  return [text.slice(0, place), anchor, text.slice(place + url.length)];
}

export const receiver = { start, refresh, clear };
