// Shows the view that the address names. The views are in the modules beside this one.

import { attempt, follow, isActing, tell, unfollow } from "/api.js";
import { address, link, onChange, refresh } from "/address.js";
import { notify } from "/elements.js";
import { ingredientsView } from "/ingredients.js";
import { menuView } from "/menu.js";
import { menusView } from "/menus.js";
import { editRecipeView, newRecipeView, recipeView, recipesView } from "/recipes.js";

const VIEWS = [
  ["menus", "Menus", {}],
  ["recipes", "Recipes", { view: "recipes" }],
  ["ingredients", "Ingredients", { view: "ingredients" }],
];

/**
 * The section of an address, and its view: `queries` are what the view shows, by names, each with options of its
 * request, and `show` makes the title and the content from their results.
 */
function chosen(asked) {
  if (asked.menu) return ["menus", menuView];
  if (asked.recipe) return ["recipes", asked.edit ? editRecipeView : recipeView];
  if (asked.view === "recipes") return ["recipes", recipesView];
  if (asked.view === "new-recipe") return ["recipes", newRecipeView];
  if (asked.view === "ingredients") return ["ingredients", ingredientsView];
  return ["menus", menusView];
}

/** Changes by others that arrive within this time are shown together. */
const TOGETHER_MS = 50;

const place = document.getElementById("view");
let latest = 0;
/** Whether the user has typed something since the view was shown. */
let isTyped = false;
/** The results that are shown. */
let shown = {};
/** The address whose queries are followed, their names, and their latest results. */
let followed = { at: null, names: [], results: {} };
let isDue = false;

/** Shows the address, as it is now. */
async function show(focus) {
  const asked = address();
  const [part, view] = chosen(asked);
  showViews(part);
  if (focus === "title") notify("");
  const queries = view.queries(asked);
  const isShown = await render(view, asked, { focus, results: () => read(queries) });
  if (isShown) followAll(location.search, queries);
}

/** Shows a view of some results. Of concurrent calls only the last one is shown. */
async function render(view, asked, { focus, results }) {
  const call = (latest += 1);
  const isMoved = focus === "title";
  place.setAttribute("aria-busy", "true");
  const made = await (isMoved ? tell : attempt)(async () => {
    const read = await results();
    return { read, ...(await view.show(read, asked, isMoved)) };
  });
  if (call !== latest) return false;
  place.setAttribute("aria-busy", "false");
  if (made === undefined) {
    if (isMoved) {
      place.replaceChildren();
      followAll(null, {});
    }
    return false;
  }
  const focused = focus ?? document.activeElement?.id;
  document.title = `${made.title} – Kitchen`;
  place.replaceChildren(...made.nodes.filter((node) => node !== null));
  isTyped = false;
  shown = made.read;
  if (focused) document.getElementById(focused)?.focus({ preventScroll: isMoved });
  return true;
}

/** The results of queries, by their names. */
async function read(queries) {
  const results = Object.entries(queries).map(async ([name, query]) => [name, await query()]);
  return Object.fromEntries(await Promise.all(results));
}

/** Follows the queries of an address, and no others any more. */
function followAll(at, queries) {
  if (at === followed.at) return;
  followed.names.forEach(unfollow);
  followed = { at, names: Object.keys(queries), results: {} };
  for (const [name, query] of Object.entries(queries)) {
    follow(name, (options) => query(options).live(), (result) => {
      followed.results[name] = result;
      if (!isDue) setTimeout(showChanges, TOGETHER_MS);
      isDue = true;
    });
  }
}

/** Shows what others have changed, unless the user would lose what they are typing. */
function showChanges() {
  isDue = false;
  // An action of the user reads its own changes when it ends.
  if (isActing() || place.getAttribute("aria-busy") === "true") {
    isDue = true;
    setTimeout(showChanges, TOGETHER_MS);
    return;
  }
  const results = { ...shown, ...followed.results };
  if (isSame(results, shown)) return;
  const [asked, isDeleted] = [address(), Object.values(results).includes(undefined)];
  if (isTyped) notify("Somebody else has changed this.", refresh, "Show");
  else if (isDeleted) refresh();
  else render(chosen(asked)[1], asked, { focus: null, results: () => results });
}

/** Whether two results are equal: their members may have another order. */
function isSame(one, other) {
  if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) return one === other;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => isSame(one[name], other[name]));
}

function showViews(part) {
  const links = VIEWS.map(([name, text, parameters]) =>
    link(parameters, name === part ? { "aria-current": "page" } : {}, text),
  );
  document.getElementById("views").replaceChildren(...links);
}

place.addEventListener("input", () => {
  isTyped = true;
});
onChange(show);
show(null);
