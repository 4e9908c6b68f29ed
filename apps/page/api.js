// Shared by the pages of all applications: requests to the server, changes by others, and creating elements.

/** Creates an element: `make("a", { href: "/" }, "text", otherElement)`. Strings are never parsed as HTML. */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [property, value] of Object.entries(properties)) {
    if (property in element) element[property] = value;
    else element.setAttribute(property, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * Sends a request and returns the JSON of the response. If the server refuses it, throws an error with the
 * server's message, and with the `status`, `code` and field `errors` of the problem.
 */
export async function ask(method, path, document_, headers = {}) {
  const token = sessionStorage.getItem("token");
  const sent = fetch(path, {
    method,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(document_ === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    body: document_ === undefined ? undefined : JSON.stringify(document_),
  });
  const response = await sent.catch(() => {
    throw new Error("Cannot reach the server. Check that it is running, and try again.");
  });
  if (response.status === 401) {
    // Concurrent requests ask for the token once.
    if (sessionStorage.getItem("token") === token) enterToken();
    return await ask(method, path, document_, headers);
  }
  const text = await response.text();
  const answer = text === "" ? null : JSON.parse(text);
  if (response.ok) return answer;
  const { status } = response;
  const problem = new Error(answer?.detail ?? `The server answered ${status}.`);
  throw Object.assign(problem, { status, code: answer?.code, errors: answer?.errors ?? [] });
}

function enterToken() {
  const token = prompt("This server requires a token (create one with `keyloom token create`):");
  if (!token) throw new Error("This server requires a token. Reload the page to enter one.");
  sessionStorage.setItem("token", token.trim());
}

/** Runs an action of the user. An error is shown at the top of the page until the next action. */
export async function tell(action) {
  document.getElementById("problem").hidden = true;
  return await attempt(action);
}

/** The same for actions of the page itself: an error that is already shown stays. */
export async function attempt(action) {
  try {
    return await action();
  } catch (problem) {
    const place = document.getElementById("problem");
    place.textContent = problem.message;
    place.hidden = false;
    return undefined;
  }
}

/** A path with parameters; empty ones are omitted, lists are repeated. */
export function path(base, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of [value].flat()) {
      if (one !== "" && one !== null && one !== undefined) query.append(name, one);
    }
  }
  const text = query.toString();
  return text === "" ? base : `${base}?${text}`;
}

/** `1,234,567`. */
export function count(number) {
  return number.toLocaleString("en");
}

/** Puts the query into the address, so that back and reload work as expected. */
export function visit(parameters) {
  history.pushState(null, "", path(location.pathname, parameters));
}

/** What is followed: the query, its stream, and what to do when its result changes. */
let followed = null;

/**
 * Calls `changed` when the result of a query is no longer `shown`. A page follows one query at a time, and
 * only while it is visible: browsers limit how many streams are open.
 */
export function follow(query, shown, changed) {
  const isOpen = followed !== null && followed.stream.readyState !== EventSource.CLOSED;
  if (isOpen && followed.query === query) return;
  followed?.stream.close();
  followed = { query, changed, stream: document.hidden ? closed() : opened(query, shown, changed) };
}

/** Follows nothing any more. */
export function unfollow() {
  followed?.stream.close();
  followed = null;
}

function closed() {
  return { readyState: EventSource.CLOSED, close() {} };
}

function opened(query, shown, changed) {
  const token = sessionStorage.getItem("token");
  const parameters = new URLSearchParams({ live: "true", ...(token ? { access_token: token } : {}) });
  const stream = new EventSource(`${query}${query.includes("?") ? "&" : "?"}${parameters}`);
  let isDue = false;
  const later = () => {
    if (isDue) return;
    isDue = true;
    // Events of one change arrive together.
    setTimeout(() => {
      isDue = false;
      changed();
    }, 50);
  };
  stream.addEventListener("page", ({ data }) => {
    if (JSON.stringify(JSON.parse(data).body) !== JSON.stringify(shown)) later();
  });
  for (const name of ["enter", "leave", "move", "change", "total", "set"]) stream.addEventListener(name, later);
  return stream;
}

document.addEventListener("visibilitychange", () => {
  if (followed === null) return;
  if (document.hidden) followed.stream.close();
  else followed.changed();
});
