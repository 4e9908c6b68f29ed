// The empty state: ingredients first, then recipes, then a menu.

import { client, make } from "/api.js";
import { link } from "/address.js";

/** The steps to a first menu; completed ones are ticked. */
export async function firstSteps() {
  const [hasIngredients, hasRecipes] = await Promise.all(
    [client.ingredient, client.recipe].map(async (of) => (await of.listByName({ limit: 1 })).items.length > 0),
  );
  const steps = [
    [
      hasIngredients,
      link({ view: "ingredients" }, {}, "Add categories and ingredients"),
      "List categories in the order you pass them in the shop.",
    ],
    [hasRecipes, link({ view: "new-recipe" }, {}, "Write a recipe"), "Servings, amounts and instructions."],
    [false, "Create a menu", "Assign recipes to days. The shopping list is computed from them."],
  ];
  const next = steps.findIndex(([isDone]) => !isDone);
  const step = ([isDone, text, about], index) =>
    make(
      "li",
      { className: isDone ? "done" : "", "aria-current": index === next ? "step" : "false" },
      make("strong", {}, text),
      isDone ? make("span", { className: "quiet" }, " (done)") : null,
      make("p", { className: "quiet" }, about),
    );
  return make(
    "section",
    { className: "card first-steps", "aria-labelledby": "first-steps" },
    make("h3", { id: "first-steps" }, "Plan your first week"),
    make("ol", {}, ...steps.map(step)),
  );
}
