// The categories in shop order with their ingredients: add, rename, move, delete.

import { client, make } from "/api.js";
import { refresh } from "/address.js";
import { all, button, field, form, submit, title } from "/elements.js";

/** What is being edited: the id of a category or an ingredient. */
let edited = null;

const PAGE = 1000;
const categoriesInOrder = (options) => client.category.listByShopOrder({ limit: PAGE }, options);
const ingredientsByName = (options) => client.ingredient.listByName({ limit: PAGE }, options);

export const ingredientsView = {
  queries: () => ({ categories: categoriesInOrder, ingredients: ingredientsByName }),
  async show(first, _, isMoved) {
    if (isMoved) edited = null;
    const [categories, ingredients] = await Promise.all([
      all(categoriesInOrder(), first.categories),
      all(ingredientsByName(), first.ingredients),
    ]);
    return showIngredients(categories, ingredients);
  },
};

function showIngredients(categories, ingredients) {
  const section = (category) =>
    categorySection(
      category,
      ingredients.filter((one) => one.category === category.id),
      categories,
    );
  const order = Math.max(0, ...categories.map((category) => category.shop_order)) + 1;
  const invitation = make(
    "p",
    { className: "card" },
    "There are no ingredients yet. Start with a category, such as vegetables or pasta. ",
    "The shopping list is grouped by category, in the order you pass them in the shop.",
  );
  return {
    title: "Ingredients",
    nodes: [
      title("Ingredients"),
      categories.length === 0 ? invitation : null,
      newCategory(order),
      make("div", { id: "shop" }, ...categories.map(section)),
    ],
  };
}

function nameInput(properties) {
  return make("input", {
    type: "text",
    name: "name",
    required: true,
    maxLength: 80,
    autocomplete: "off",
    ...properties,
  });
}

function orderInput(properties) {
  return make("input", {
    type: "number",
    name: "shop_order",
    min: 0,
    step: 1,
    required: true,
    ...properties,
  });
}

function newCategory(order) {
  const add = (it) =>
    submit(it, async () => {
      const { name, shop_order } = it.elements;
      await client.category.create({ name: name.value.trim(), shop_order: shop_order.valueAsNumber });
      await refresh("new-category");
    });
  return form(
    { className: "card row" },
    add,
    field("New category", nameInput({ id: "new-category", placeholder: "Vegetables" })),
    field("Shop order", orderInput({ id: "new-order", value: order })),
    make("button", { className: "primary" }, "Add category"),
  );
}

function categorySection(category, ingredients, categories) {
  const place = make("span", { className: "quiet" }, `${category.shop_order}. `);
  const heading = make(
    "div",
    { className: "line" },
    make("h3", { className: "name" }, place, category.name),
    editButton(category),
  );
  const row = (ingredient) =>
    make(
      "li",
      {},
      edited === ingredient.id
        ? ingredientForm(ingredient, categories)
        : make(
            "div",
            { className: "line" },
            make("span", { className: "name" }, ingredient.name),
            editButton(ingredient),
          ),
    );
  return make(
    "section",
    { className: "card", "aria-label": category.name },
    edited === category.id ? categoryForm(category) : heading,
    make(
      "ul",
      { className: "plain ingredients", "aria-label": `Ingredients: ${category.name}` },
      ...ingredients.map(row),
    ),
    newIngredient(category),
  );
}

function editButton(entity) {
  const edit = () => {
    edited = entity.id;
    refresh("edit-name");
  };
  return button("Edit", edit, {
    id: `edit-${entity.id}`,
    className: "plain small",
    "aria-label": `Edit ${entity.name}`,
  });
}

function newIngredient(category) {
  const id = `new-in-${category.id}`;
  const add = (it) =>
    submit(it, async () => {
      await client.ingredient.create({ name: it.elements.name.value.trim(), category: category.id });
      await refresh(id);
    });
  const name = nameInput({
    id,
    placeholder: "New ingredient",
    "aria-label": `New ingredient: ${category.name}`,
  });
  return form({ className: "row add" }, add, field("", name), make("button", {}, "Add"));
}

function categoryForm(category) {
  const change = ({ elements: { name, shop_order } }) => ({
    name: name.value.trim(),
    shop_order: shop_order.valueAsNumber,
  });
  const order = field("Shop order", orderInput({ id: "edit-order", value: category.shop_order }));
  return editForm(client.category, category, { change, fields: [order] });
}

function ingredientForm(ingredient, categories) {
  const change = ({ elements: { name, category } }) => ({
    name: name.value.trim(),
    category: category.value,
  });
  const option = ({ id, name }) => make("option", { value: id, selected: id === ingredient.category }, name);
  const select = make("select", { name: "category", id: "edit-category" }, ...categories.map(option));
  return editForm(client.ingredient, ingredient, { change, fields: [field("Category", select)] });
}

/** The form that replaces a category or ingredient while it is edited; `queries` are those of its kind. */
function editForm(queries, entity, { change, fields }) {
  const close = async (focus) => {
    edited = null;
    await refresh(focus);
  };
  const save = (it) =>
    submit(it, async () => {
      await queries.update(entity.id, change(it), { ifMatch: entity });
      await close(`edit-${entity.id}`);
    });
  const remove = () =>
    submit(shown, async () => {
      await queries.delete(entity.id);
      await close("title");
    });
  const shown = form(
    { className: "edit", "aria-label": `Edit ${entity.name}` },
    save,
    field("Name", nameInput({ id: "edit-name", value: entity.name })),
    ...fields,
    make(
      "div",
      { className: "tools" },
      make("button", { className: "primary" }, "Save"),
      button("Cancel", () => close(`edit-${entity.id}`)),
      button("Delete", remove, { className: "danger" }),
    ),
  );
  shown.onkeydown = (event) => {
    if (event.key === "Escape") close(`edit-${entity.id}`);
  };
  return shown;
}
