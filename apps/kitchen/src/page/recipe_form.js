// The recipe form. It saves a recipe and its ingredients in one transaction.

import { client, make } from "/api.js";
import { go, link } from "/address.js";
import { all, button, field, form, submit } from "/elements.js";

const PAGE = 1000;
const ROWS_AT_FIRST = 3;
const UNITS = ["g", "kg", "ml", "l", "tsp", "tbsp", "cloves", "slices"];

/** The form for a recipe with its `needs`, or for a new one. */
export async function recipeForm(recipe) {
  const [categories, ingredients] = await Promise.all([
    all(client.category.listByShopOrder({ limit: PAGE })),
    all(client.ingredient.listByName({ limit: PAGE })),
  ]);
  const rows = make("ol", { className: "plain rows", "aria-label": "Ingredients" });
  const add = (need) => rows.append(row(need, { categories, ingredients }));
  const needs = recipe?.needs ?? Array(ROWS_AT_FIRST).fill(null);
  needs.forEach(add);
  const more = () => {
    add(null);
    rows.lastElementChild.querySelector("select").focus();
  };
  // If a recipe was created but its ingredients were refused, the next attempt updates it.
  const saved = { recipe };
  const attributes = { type: "text", name: "name", required: true, maxLength: 200, autocomplete: "off" };
  const lines = ingredients.length === 0 ? noIngredients() : rows;
  return form(
    { className: "card stack", "aria-label": recipe === null ? "New recipe" : "Edit the recipe" },
    (it) => submit(it, () => save(it, rows, saved)),
    field("Name", make("input", { ...attributes, value: recipe?.name ?? "" })),
    field(
      "Servings",
      make("input", {
        type: "number",
        name: "servings",
        min: 1,
        step: 1,
        required: true,
        value: recipe?.servings ?? 4,
      }),
    ),
    make(
      "fieldset",
      {},
      make("legend", {}, "Ingredients"),
      lines,
      ingredients.length === 0 ? null : button("+ Add an ingredient", more, { className: "plain" }),
    ),
    field(
      "Instructions, one step per line",
      make("textarea", { name: "instructions", rows: 6, value: recipe?.instructions ?? "" }),
    ),
    make("datalist", { id: "units" }, ...UNITS.map((unit) => make("option", { value: unit }))),
    make(
      "div",
      { className: "tools" },
      make("button", { className: "primary" }, "Save recipe"),
      cancel(recipe),
    ),
  );
}

function cancel(recipe) {
  const target = recipe === null ? { view: "recipes" } : { recipe: recipe.id };
  return link(target, { className: "button" }, "Cancel");
}

function noIngredients() {
  const ingredients = link({ view: "ingredients" }, {}, "Add some");
  return make("p", {}, "There are no ingredients yet. ", ingredients, ", then write the recipe.");
}

/** One ingredient with its amount; the row has the id of its entity, if it exists. */
function row(need, { categories, ingredients }) {
  const option = ({ id, name }) => make("option", { value: id, selected: id === need?.ingredient }, name);
  const group = ({ id, name }) => {
    const inside = ingredients.filter((ingredient) => ingredient.category === id);
    return inside.length === 0 ? null : make("optgroup", { label: name }, ...inside.map(option));
  };
  const none = make("option", { value: "" }, "–");
  const select = make(
    "select",
    { name: "ingredient", "aria-label": "Ingredient" },
    none,
    ...categories.map(group),
  );
  const amount = make("input", {
    type: "number",
    name: "amount",
    min: 0,
    step: "any",
    placeholder: "Amount",
    value: need?.amount ?? "",
    "aria-label": "Amount",
  });
  const unit = make("input", {
    type: "text",
    name: "unit",
    maxLength: 20,
    placeholder: "Unit",
    value: need?.unit ?? "",
    autocomplete: "off",
    "aria-label": "Unit",
  });
  unit.setAttribute("list", "units");
  // An ingredient needs an amount, and an amount an ingredient.
  const pair = () => {
    amount.required = select.value !== "";
    select.required = amount.value !== "";
  };
  select.onchange = amount.oninput = pair;
  pair();
  const remove = button(
    "×",
    () => {
      const next = line.nextElementSibling ?? line.previousElementSibling;
      line.remove();
      next?.querySelector("select").focus();
    },
    { className: "plain remove", "aria-label": "Remove this ingredient" },
  );
  const line = make("li", { className: "need" }, select, amount, unit, remove);
  line.dataset.id = need?.id ?? "";
  return line;
}

async function save(it, rows, saved) {
  const { name, servings, instructions } = it.elements;
  const document_ = {
    name: name.value.trim(),
    servings: servings.valueAsNumber,
    instructions: instructions.value,
  };
  const isNew = saved.recipe === null;
  if (isNew) saved.recipe = { ...(await client.recipe.create(document_)), needs: [] };
  const { id, version } = saved.recipe;
  const update = isNew ? [] : [{ update: "recipe", id, version, document: document_ }];
  const changes = [...update, ...needChanges(rows, saved.recipe)];
  if (changes.length > 0) await client.transaction({ changes });
  await go({ recipe: id });
}

/** The changes that make the ingredients of a recipe equal to the form, in the same order. */
function needChanges(rows, recipe) {
  const kept = new Set();
  const changes = [];
  for (const line of rows.children) {
    const value = (name) => line.querySelector(`[name=${name}]`).value.trim();
    if (value("ingredient") === "") continue;
    const id = line.dataset.id;
    const need = {
      recipe: recipe.id,
      ingredient: value("ingredient"),
      amount: Number(value("amount")),
      unit: value("unit"),
      position: kept.size + changes.filter((change) => change.create).length + 1,
    };
    if (id === "") changes.push({ create: "recipe_ingredient", document: need });
    else {
      kept.add(id);
      changes.push({ update: "recipe_ingredient", id, document: need });
    }
  }
  const gone = recipe.needs.filter((need) => !kept.has(need.id));
  return [...gone.map(({ id }) => ({ delete: "recipe_ingredient", id })), ...changes];
}
