// What the pages of all applications share: asking the server, and making elements.

/** Makes an element: `make("a", { href: "/" }, "text", otherElement)`. Texts stay texts. */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [property, value] of Object.entries(properties)) {
    if (property in element) element[property] = value;
    else element.setAttribute(property, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Asks the server; answers with the document, or throws what the server said was wrong. */
export async function ask(method, path, document_, headers = {}) {
  const token = sessionStorage.getItem("token");
  const response = await fetch(path, {
    method,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(document_ === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    body: document_ === undefined ? undefined : JSON.stringify(document_),
  });
  if (response.status === 401) return await withToken(() => ask(method, path, document_, headers));
  const text = await response.text();
  const answer = text === "" ? null : JSON.parse(text);
  if (!response.ok) throw new Error(answer?.detail ?? `The server answered ${response.status}.`);
  return answer;
}

async function withToken(again) {
  const token = prompt("This server asks for a token (`keyloom token create` makes one):");
  if (!token) throw new Error("Without a token the server answers nothing.");
  sessionStorage.setItem("token", token.trim());
  return await again();
}

/** Runs something; whatever goes wrong is told at the top of the page. */
export async function tell(action) {
  const place = document.getElementById("problem");
  try {
    place.hidden = true;
    return await action();
  } catch (problem) {
    place.textContent = problem.message;
    place.hidden = false;
    return undefined;
  }
}

/** A path with parameters; those that are empty are left out, lists are repeated. */
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

/** What is asked for is part of the address, so that back and reload do what one expects. */
export function visit(parameters) {
  history.pushState(null, "", path(location.pathname, parameters));
}
