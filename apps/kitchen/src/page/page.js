// Shows the view that the address names. The views are in the modules beside this one.

import { attempt, followPath, tell, unfollowPath } from "/api.js";
import { address, link, onChange, refresh } from "/address.js";
import { notify } from "/elements.js";
import { ingredientsView } from "/ingredients.js";
import { menuView } from "/menu.js";
import { menusView } from "/menus.js";
import { newRecipeView, recipeView, recipesView } from "/recipes.js";

const VIEWS = [
  ["menus", "Menus", {}],
  ["recipes", "Recipes", { view: "recipes" }],
  ["ingredients", "Ingredients", { view: "ingredients" }],
];

/** The section of an address, and the function that creates its view. */
function chosen(asked) {
  if (asked.menu) return ["menus", menuView];
  if (asked.recipe) return ["recipes", recipeView];
  if (asked.view === "recipes") return ["recipes", recipesView];
  if (asked.view === "new-recipe") return ["recipes", newRecipeView];
  if (asked.view === "ingredients") return ["ingredients", ingredientsView];
  return ["menus", menusView];
}

let latest = 0;
/** Whether the user has typed something since the view was shown. */
let isTyped = false;

/** Shows the address. Of concurrent calls only the last one is shown. */
async function show(focus) {
  const call = (latest += 1);
  const asked = address();
  const [part, view] = chosen(asked);
  const place = document.getElementById("view");
  showViews(part);
  place.setAttribute("aria-busy", "true");
  const isMoved = focus === "title";
  if (isMoved) notify("");
  const shown = await (isMoved ? tell : attempt)(() => view(asked, isMoved));
  if (call !== latest) return;
  place.setAttribute("aria-busy", "false");
  if (shown === undefined) {
    if (isMoved) place.replaceChildren();
    return;
  }
  const focused = focus ?? document.activeElement?.id;
  document.title = `${shown.title} – Kitchen`;
  place.replaceChildren(...shown.nodes.filter((node) => node !== null));
  isTyped = false;
  if (shown.follows) followPath(...shown.follows, changedByOthers);
  else unfollowPath();
  if (focused) document.getElementById(focused)?.focus({ preventScroll: isMoved });
}

/** Shows what others have changed, unless the user would lose what they are typing. */
function changedByOthers() {
  if (isTyped) notify("Somebody else has changed this.", refresh, "Show");
  else refresh();
}

function showViews(part) {
  const links = VIEWS.map(([name, text, parameters]) =>
    link(parameters, name === part ? { "aria-current": "page" } : {}, text),
  );
  document.getElementById("views").replaceChildren(...links);
}

document.getElementById("view").addEventListener("input", () => {
  isTyped = true;
});
onChange(show);
show(null);
