// The recipes by name, and one recipe for any number of servings.

import { ask, make, path, tell } from "/api.js";
import { at, go, link } from "/address.js";
import { amount, capital, plural, scaled } from "/amounts.js";
import { button, confirmed, pages, title } from "/elements.js";
import { recipeForm } from "/recipe_form.js";

const PAGE = 24;
const MENUS_SHOWN = 20;

export async function recipesView({ cursor }) {
  const parameters = { limit: PAGE, cursor, with: "recipe_ingredients.ingredient" };
  const query = path("/recipes", parameters);
  const list = await ask("GET", query);
  const invitation = make(
    "p",
    { className: "card" },
    "There are no recipes yet. ",
    link({ view: "new-recipe" }, {}, "Write the first one"),
    ".",
  );
  return {
    title: "Recipes",
    follows: [query, list],
    nodes: [
      title("Recipes", {
        tools: [link({ view: "new-recipe" }, { className: "button primary" }, "New recipe")],
      }),
      list.items.length === 0 ? invitation : null,
      make("ul", { className: "plain cards", "aria-label": "Recipes" }, ...list.items.map(card)),
      pages(list, { view: "recipes" }),
    ],
  };
}

function card(recipe) {
  const needs = inOrder(recipe).map((need) => need.with.ingredient.name);
  return make(
    "li",
    { className: "card" },
    make("h3", {}, link({ recipe: recipe.id }, {}, recipe.name)),
    make("p", { className: "quiet" }, plural(recipe.servings, "serving")),
    make("p", {}, needs.join(", ")),
  );
}

function inOrder(recipe) {
  return recipe.with.recipe_ingredients.items.toSorted((left, right) => left.position - right.position);
}

export async function newRecipeView() {
  const form = await recipeForm(null);
  return { title: "New recipe", nodes: [back(), title("New recipe"), form] };
}

export async function recipeView({ recipe: id, edit }) {
  const query = path(at("recipes", id), { with: "recipe_ingredients.ingredient", limit: 1000 });
  const [recipe, uses] = await Promise.all([
    ask("GET", query),
    ask("GET", path(`${at("recipes", id)}/menu-items`, { with: "menu", limit: MENUS_SHOWN })),
  ]);
  if (edit) {
    const form = await recipeForm({ ...recipe, needs: inOrder(recipe) });
    return { title: recipe.name, nodes: [back(), title(`Edit ${recipe.name}`), form] };
  }
  return {
    title: recipe.name,
    follows: [query, recipe],
    nodes: [
      back(),
      title(recipe.name, {
        tools: [
          link({ recipe: id, edit: "yes" }, { className: "button" }, "Edit"),
          button("Delete", () => remove(recipe), { className: "danger" }),
        ],
      }),
      make(
        "div",
        { className: "recipe" },
        ingredients(recipe),
        instructions(recipe),
        uses.items.length === 0 ? null : onMenus(uses),
      ),
    ],
  };
}

function back() {
  return link({ view: "recipes" }, { className: "back" }, "‹ All recipes");
}

/** Amounts for any number of servings; nothing is saved. */
function ingredients(recipe) {
  const list = make("ul", { className: "plain amounts", "aria-label": "Ingredients" });
  const fill = (servings) => {
    const row = (need) =>
      make(
        "li",
        {},
        make("span", {}, need.with.ingredient.name),
        amount(scaled(need.amount, servings, recipe.servings), need.unit),
      );
    list.replaceChildren(...inOrder(recipe).map(row));
  };
  const input = make("input", {
    type: "number",
    id: "recipe-servings",
    className: "servings",
    min: 1,
    step: 1,
    value: recipe.servings,
    required: true,
    oninput: () => {
      if (input.validity.valid) fill(input.valueAsNumber);
    },
  });
  fill(recipe.servings);
  return make(
    "section",
    { className: "card", "aria-labelledby": "ingredients-title" },
    make(
      "div",
      { className: "title" },
      make("h3", { id: "ingredients-title" }, "Ingredients"),
      make("span", {}, make("label", { htmlFor: input.id }, "Servings "), input),
    ),
    recipe.with.recipe_ingredients.items.length === 0 ? make("p", { className: "quiet" }, "None yet.") : list,
  );
}

function instructions(recipe) {
  const steps = recipe.instructions.split("\n").filter((step) => step.trim() !== "");
  const list = make("ol", { className: "steps" }, ...steps.map((step) => make("li", {}, step)));
  return make(
    "section",
    { className: "card", "aria-labelledby": "instructions-title" },
    make("h3", { id: "instructions-title" }, "Instructions"),
    steps.length === 0 ? make("p", { className: "quiet" }, "None yet.") : list,
  );
}

function onMenus(uses) {
  const row = (dish) =>
    make(
      "li",
      {},
      link({ menu: dish.menu }, {}, dish.with.menu.name),
      make("span", { className: "quiet" }, dish.day === undefined ? "any day" : capital(dish.day)),
    );
  return make(
    "section",
    { className: "card", "aria-labelledby": "uses-title" },
    make("h3", { id: "uses-title" }, "On these menus"),
    make("ul", { className: "plain amounts" }, ...uses.items.map(row)),
    uses.next === undefined ? null : make("p", { className: "quiet" }, "and more"),
  );
}

async function remove(recipe) {
  if (!(await confirmed(`Delete the recipe “${recipe.name}”?`, "Delete"))) return;
  const deleted = await tell(() => ask("DELETE", at("recipes", recipe.id)));
  if (deleted !== undefined) await go({ view: "recipes" });
}
