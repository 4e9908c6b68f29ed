// One menu: its week with every dish and its ingredients, beside the shopping list.

import { client, make, tell } from "/api.js";
import { go, link, refresh } from "/address.js";
import { amount, capital, scaled, span, weekdays } from "/amounts.js";
import { all, button, confirmed, field, form, notify, submit, title } from "/elements.js";
import { menuForm } from "/menus.js";
import { shoppingList } from "/shopping_list.js";

const EVERYTHING = ["menu_items.recipe.recipe_ingredients.ingredient.category"];
/** The maximum number of dishes, as in the shopping list. */
const DISHES_MAX = 1000;

// Open dishes are forgotten when the user leaves the view.
let shown = { menu: null };

export const menuView = {
  queries: ({ menu: id }) => ({
    menu: (options) => client.menu.read(id, { with: EVERYTHING, limit: DISHES_MAX }, options),
  }),
  async show({ menu }, { menu: id }, isMoved) {
    const list = await client.send("GET", `/menus/${encodeURIComponent(id)}/shopping-list`);
    if (isMoved || shown.menu !== id) shown = { menu: id, isEdited: false, dishes: new Set(), add: null };
    return showMenu(menu, list);
  },
};

function showMenu(menu, list) {
  const dishes = menu.with.menu_items.items.toSorted((left, right) => left.position - right.position);
  const days = [...weekdays(menu.starts), { day: null, date: "" }];
  const position = Math.max(0, ...dishes.map((dish) => dish.position)) + 1;
  const day = (one) =>
    daySection(
      one,
      dishes.filter((dish) => (dish.day ?? null) === one.day),
      { menu, position },
    );
  return {
    title: menu.name,
    nodes: [
      link({}, { className: "back" }, "‹ All menus"),
      title(menu.name, {
        below: span(menu.starts),
        tools: [
          button("Shopping list", toList, { className: "jump" }),
          button("Edit", edit, { id: "edit-menu", "aria-expanded": String(shown.isEdited) }),
          button("Delete", () => remove(menu), { className: "danger" }),
        ],
      }),
      shown.isEdited ? editForm(menu) : null,
      make(
        "div",
        { className: "menu-and-list" },
        make("section", { className: "week", "aria-label": "Week" }, ...days.map(day)),
        shoppingList(menu.id, list),
      ),
    ],
  };
}

/** On a narrow screen the list is below the week. */
function toList() {
  const list = document.getElementById("shopping-list");
  list.scrollIntoView();
  list.focus({ preventScroll: true });
}

function edit() {
  shown.isEdited = !shown.isEdited;
  refresh(shown.isEdited ? "menu-name" : null);
}

function editForm(menu) {
  const date = menu.starts?.slice(0, 10) ?? "";
  return menuForm({ name: menu.name, date }, ["Name", "Save"], async (document_) => {
    await client.menu.update(menu.id, document_, { ifMatch: menu });
    shown.isEdited = false;
    await refresh("edit-menu");
  });
}

async function remove(menu) {
  if (!(await confirmed(`Delete “${menu.name}” with its dishes?`, "Delete"))) return;
  await tell(async () => {
    await client.menu.delete(menu.id);
    await go({});
  });
}

function daySection({ day, date }, dishes, { menu, position }) {
  const name = day === null ? "Any day" : capital(day);
  const id = `add-${day ?? "any"}`;
  const isOpen = shown.add?.day === day;
  const list = make("ul", { className: "plain", "aria-label": `Dishes: ${name}` }, ...dishes.map(dishRow));
  const open = async () => {
    await tell(async () => (shown.add = await addForm(day, name, { menu, position })));
    await refresh("add-recipe");
  };
  return make(
    "section",
    { className: "card day", "aria-label": name },
    make("h3", {}, name, " ", make("span", { className: "quiet" }, date)),
    dishes.length === 0 ? null : list,
    isOpen
      ? shown.add.form
      : button("+ Add a dish", open, { id, className: "plain", "aria-label": `Add a dish: ${name}` }),
  );
}

/** The form that adds a recipe to a day. Created once, so that it keeps the selection. */
async function addForm(day, name, { menu, position }) {
  const recipes = await all(client.recipe.listByName({ limit: 1000 }));
  const id = `add-${day ?? "any"}`;
  const close = async () => {
    shown.add = null;
    await refresh(id);
  };
  const cancel = (event) => {
    if (event.key === "Escape") close();
  };
  if (recipes.length === 0) {
    const text = make(
      "p",
      {},
      "There are no recipes yet. ",
      link({ view: "new-recipe" }, {}, "Write one"),
      ".",
    );
    return { day, form: text };
  }
  const option = (recipe) => make("option", { value: recipe.id }, recipe.name);
  const select = make("select", { name: "recipe", id: "add-recipe" }, ...recipes.map(option));
  const servings = make("input", { type: "number", name: "servings", min: 1, step: 1, required: true });
  const suggest = () => (servings.value = recipes.find((recipe) => recipe.id === select.value).servings);
  select.onchange = suggest;
  suggest();
  const add = (it) =>
    submit(it, async () => {
      const dish = { menu: menu.id, recipe: select.value, position, servings: servings.valueAsNumber };
      await client.menuItem.create(day === null ? dish : { ...dish, day });
      await close();
    });
  return {
    day,
    form: form(
      { className: "row", "aria-label": `Add a dish: ${name}`, onkeydown: cancel },
      add,
      field("Recipe", select),
      field("Servings", servings),
      make(
        "div",
        { className: "tools" },
        make("button", { className: "primary" }, "Add"),
        button("Cancel", () => close()),
      ),
    ),
  };
}

function dishRow(dish) {
  const recipe = dish.with.recipe;
  const servings = wanted.get(dish.id) ?? dish.servings ?? recipe.servings;
  const isOpen = shown.dishes.has(dish.id);
  const panel = make("div", { id: `needs-${dish.id}`, hidden: !isOpen }, needs(recipe, servings));
  const name = button(
    recipe.name,
    () => {
      if (!shown.dishes.delete(dish.id)) shown.dishes.add(dish.id);
      panel.hidden = !shown.dishes.has(dish.id);
      name.setAttribute("aria-expanded", String(!panel.hidden));
    },
    {
      id: `dish-${dish.id}`,
      className: "plain name",
      "aria-expanded": String(isOpen),
      "aria-controls": panel.id,
    },
  );
  const remove_ = button("×", () => removeDish(dish), {
    className: "plain remove",
    "aria-label": `Remove ${recipe.name}`,
  });
  return make(
    "li",
    { className: "dish" },
    make("div", { className: "line" }, name, stepper(dish, servings), remove_),
    panel,
  );
}

/** The ingredients of a dish for its servings, and the instructions. */
function needs(recipe, servings) {
  const rows = recipe.with.recipe_ingredients.items
    .toSorted((left, right) => left.position - right.position)
    .map((need) => {
      const {
        name,
        with: { category },
      } = need.with.ingredient;
      return make(
        "li",
        {},
        make("span", {}, name, " ", make("small", { className: "quiet" }, category.name)),
        amount(scaled(need.amount, servings, recipe.servings), need.unit),
      );
    });
  return make(
    "div",
    { className: "needs" },
    make("ul", { className: "plain amounts", "aria-label": `Ingredients: ${recipe.name}` }, ...rows),
    make("p", { className: "instructions" }, recipe.instructions),
    link({ recipe: recipe.id }, {}, "Open the recipe"),
  );
}

function stepper(dish, servings) {
  const name = dish.with.recipe.name;
  const input = make("input", {
    type: "number",
    id: `servings-${dish.id}`,
    className: "servings",
    min: 1,
    step: 1,
    required: true,
    value: servings,
    "aria-label": `Servings: ${name}`,
    onchange: () => (input.reportValidity() ? setServings(dish, input.valueAsNumber) : undefined),
  });
  const step = (label, by, id) =>
    button(
      by < 0 ? "−" : "+",
      () => {
        input.value = Math.max(1, (input.valueAsNumber || servings) + by);
        setServings(dish, input.valueAsNumber);
      },
      { id: `${id}-${dish.id}`, "aria-label": `${label} servings: ${name}` },
    );
  return make("span", { className: "stepper" }, step("Fewer", -1, "fewer"), input, step("More", 1, "more"));
}

/** Servings that are being sent to the server, by dish. */
const wanted = new Map();

/** Sends one change at a time, and only the last of several that wait. */
async function setServings(dish, servings) {
  const isSending = wanted.has(dish.id);
  wanted.set(dish.id, servings);
  if (isSending) return;
  await tell(async () => {
    for (let sent = null; sent !== wanted.get(dish.id);) {
      sent = wanted.get(dish.id);
      await client.menuItem.update(dish.id, { servings: sent });
    }
  });
  wanted.delete(dish.id);
  await refresh();
}

async function removeDish(dish) {
  const { menu, recipe, day, position, servings } = dish;
  const again = () =>
    tell(async () => {
      await client.menuItem.create({ menu, recipe, day, position, servings });
      await refresh();
    });
  const isDeleted = await tell(async () => {
    await client.menuItem.delete(dish.id);
    return true;
  });
  await refresh(`add-${day ?? "any"}`);
  if (isDeleted) notify(`Removed ${dish.with.recipe.name}.`, again);
}
