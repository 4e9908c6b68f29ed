// The address is the only lasting state of the page: `?menu=…`, `?recipe=…`, `?view=recipes`.

import { make, path, visit } from "/api.js";

let show = async () => {};

/** Registers the function that shows the address; it gets the id of the element to focus, or `null`. */
export function onChange(callback) {
  show = callback;
  window.onpopstate = () => show("title");
}

/** The parameters of the address. */
export function address() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

/** Goes to another view. Its heading gets the focus, so that a screen reader announces it. */
export async function go(parameters) {
  visit(parameters);
  scrollTo(0, 0);
  await show("title");
}

/** Shows the same view with fresh data. The focus stays where it is, unless an id is given. */
export async function refresh(focus = null) {
  await show(focus);
}

/** A link to another view that also opens in a new tab, and can be bookmarked. */
export function link(parameters, properties, ...children) {
  const href = path("/", parameters);
  const onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(parameters);
  };
  return make("a", { href, onclick, ...properties }, ...children);
}
