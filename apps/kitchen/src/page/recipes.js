// The recipes by name, and one recipe for any number of servings.

import { client, make, tell } from "/api.js";
import { go, link } from "/address.js";
import { amount, capital, plural, scaled } from "/amounts.js";
import { button, confirmed, pages, title } from "/elements.js";
import { recipeForm } from "/recipe_form.js";

const PAGE = 24;
const MENUS_SHOWN = 20;
const WITH_INGREDIENTS = "recipe_ingredients.ingredient";
/** The maximum number of ingredients of a recipe, as in the shopping list. */
const INGREDIENTS_MAX = 1000;

export const recipesView = {
  queries: ({ cursor }) => ({ recipes: (options) => recipes(cursor, options) }),
  show: async ({ recipes: list }) => showRecipes(list),
};

function recipes(cursor, options) {
  const first = client.recipe.listByName({ limit: PAGE, with: [WITH_INGREDIENTS] }, options);
  return cursor === undefined ? first : first.page(cursor);
}

function showRecipes(list) {
  const invitation = make(
    "p",
    { className: "card" },
    "There are no recipes yet. ",
    link({ view: "new-recipe" }, {}, "Write the first one"),
    ".",
  );
  return {
    title: "Recipes",
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

export const newRecipeView = {
  queries: () => ({}),
  show: async () => ({ title: "New recipe", nodes: [back(), title("New recipe"), await recipeForm(null)] }),
};

function recipeOf(id, options) {
  return client.recipe.read(id, { with: [WITH_INGREDIENTS], limit: INGREDIENTS_MAX }, options);
}

/** The form has what was read when it was opened, so nothing is followed. */
export const editRecipeView = {
  queries: () => ({}),
  async show(_, { recipe: id }) {
    const recipe = await recipeOf(id);
    const form = await recipeForm({ ...recipe, needs: inOrder(recipe) });
    return { title: recipe.name, nodes: [back(), title(`Edit ${recipe.name}`), form] };
  },
};

export const recipeView = {
  queries: ({ recipe: id }) => ({
    recipe: (options) => recipeOf(id, options),
    uses: (options) =>
      client.menuItem.listByRecipe({ recipe: id, with: ["menu"], limit: MENUS_SHOWN }, options),
  }),
  show: async ({ recipe, uses }) => showRecipe(recipe, uses),
};

function showRecipe(recipe, uses) {
  return {
    title: recipe.name,
    nodes: [
      back(),
      title(recipe.name, {
        tools: [
          link({ recipe: recipe.id, edit: "yes" }, { className: "button" }, "Edit"),
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
  await tell(async () => {
    await client.recipe.delete(recipe.id);
    await go({ view: "recipes" });
  });
}
