// Shared by the pages of all applications: the client of the application, following what it returns, and creating
// elements.

import { Client } from "/client.js";

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

/** Options of clients of the application. If the server requires a token, the user can enter one. */
export const CLIENT_OPTIONS = {
  baseUrl: "",
  token: () => sessionStorage.getItem("token") ?? undefined,
  fetch: fetchWithToken,
};

/** The client of the application. */
export const client = new Client(CLIENT_OPTIONS);

async function fetchWithToken(address, options) {
  const response = await fetch(address, options);
  if (response.status !== 401 || !hasOtherToken(options.headers)) return response;
  options.headers.set("authorization", bearer());
  return await fetchWithToken(address, options);
}

function bearer() {
  const token = sessionStorage.getItem("token");
  return token === null ? null : `Bearer ${token}`;
}

let isTokenDenied = false;

/** Whether there is a token other than the one that was refused. Concurrent requests ask for it once. */
function hasOtherToken(refused) {
  if (bearer() !== refused.get("authorization")) return true;
  const token = isTokenDenied ? null : prompt("This server requires a token (create one with `keyloom token create`):");
  if (token) sessionStorage.setItem("token", token.trim());
  else isTokenDenied = true;
  return !isTokenDenied;
}

/** What is followed, by the place that shows it. */
const followed = new Map();

/**
 * Calls `show` with each result of something that is followed, such as `live()` of a query, until something else is
 * followed at the same place of the page; with undefined after the last one: what it reads was deleted. `results`
 * begins to follow, with options of a request.
 *
 * Over HTTP/1.1, browsers have six connections to a server for all their windows, and each of these keeps one: so a
 * page follows two at most, and none while it is hidden.
 */
export function follow(place, results, show) {
  unfollow(place);
  const one = { results, show, aborting: new AbortController(), isOver: false };
  followed.set(place, one);
  if (!document.hidden) run(one);
}

/** Follows nothing at a place any more. */
export function unfollow(place) {
  followed.get(place)?.aborting.abort();
  followed.delete(place);
}

/** Whether something is followed at a place, and has not failed. */
export function isFollowed(place) {
  return followed.get(place)?.isOver === false;
}

async function run(one) {
  one.isOver = false;
  one.aborting = new AbortController();
  const { signal } = one.aborting;
  try {
    for await (const result of one.results({ signal })) {
      if (!signal.aborted) one.show(result);
    }
    if (!signal.aborted) one.show(undefined);
  } catch (problem) {
    if (signal.aborted) return;
    one.isOver = true;
    if (problem.code === "not-found") one.show(undefined);
    else report(problem);
  }
}

document.addEventListener("visibilitychange", () => {
  for (const one of followed.values()) {
    if (document.hidden) one.aborting.abort();
    else run(one);
  }
});

/**
 * An action that runs once at a time, and once more if it is called meanwhile: what changes often is read again as often
 * as the server answers.
 */
export function oneAtATime(action) {
  let isRunning = false;
  let isDue = false;
  return async function run() {
    isDue = true;
    if (isRunning) return;
    isRunning = true;
    while (isDue) {
      isDue = false;
      await attempt(action);
    }
    isRunning = false;
  };
}

let acting = 0;

/** Runs an action of the user. An error is shown at the top of the page until the next action. */
export async function tell(action) {
  document.getElementById("problem").hidden = true;
  acting += 1;
  const done = await attempt(action);
  acting -= 1;
  return done;
}

/** Whether an action of the user is running. */
export function isActing() {
  return acting > 0;
}

/** Runs an action of the page itself: an error that is already shown stays. */
export async function attempt(action) {
  try {
    return await action();
  } catch (problem) {
    report(problem);
    return undefined;
  }
}

/** Shows an error at the top of the page. */
function report(problem) {
  const place = document.getElementById("problem");
  place.textContent = messageOf(problem);
  place.hidden = false;
}

function messageOf(problem) {
  if (problem.name === "NetworkError") return "Cannot reach the server. Check that it is running, and try again.";
  if (problem.status === 401) return "This server requires a token. Reload the page to enter one.";
  return problem.message;
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
