// The menus, newest first, and the form that creates one or changes its name and first day.

import { client, make } from "/api.js";
import { go, link } from "/address.js";
import { mondayAfter, plural, span } from "/amounts.js";
import { field, form, pages, submit, title } from "/elements.js";
import { firstSteps } from "/first_steps.js";

const PAGE = 12;
const DISHES_SHOWN = 4;

export const menusView = {
  queries: ({ cursor }) => ({ menus: (options) => menus(cursor, options) }),
  show: async ({ menus: list }, { cursor }) => showMenus(list, cursor),
};

function menus(cursor, options) {
  const first = client.menu.listByStart({ limit: PAGE, with: ["menu_items.recipe"] }, options);
  return cursor === undefined ? first : first.page(cursor);
}

async function showMenus(list, cursor) {
  const isEmpty = list.items.length === 0 && list.previous === undefined;
  // The next menu starts where the newest ends, or next week.
  const newest = cursor === undefined ? list.items[0]?.starts : undefined;
  const monday = mondayAfter(newest === undefined ? Date.now() : new Date(newest).getTime());
  return {
    title: "Menus",
    nodes: [
      title("Menus"),
      isEmpty ? await firstSteps() : null,
      menuForm({ name: "", date: monday }, ["New menu", "Create menu"], async (document_) => {
        const menu = await client.menu.create(document_);
        await go({ menu: menu.id });
      }),
      make("ul", { className: "plain cards", "aria-label": "Menus" }, ...list.items.map(card)),
      pages(list, {}, ["Newer", "Older"]),
    ],
  };
}

function card(menu) {
  const dishes = menu.with.menu_items;
  const sorted = dishes.items.toSorted((left, right) => left.position - right.position);
  const names = sorted.slice(0, DISHES_SHOWN).map((dish) => dish.with.recipe.name);
  const more = sorted.length - names.length;
  const total = dishes.next === undefined ? plural(sorted.length, "dish", "dishes") : "100+ dishes";
  return make(
    "li",
    { className: "card menu" },
    make("h3", {}, link({ menu: menu.id }, {}, menu.name)),
    make("p", { className: "quiet" }, `${span(menu.starts)} · ${total}`),
    make("p", {}, names.join(", "), more > 0 ? ` and ${more} more` : ""),
  );
}

/** A form with the name and the first day of a menu; `save` gets them as a document. */
export function menuForm({ name, date }, [label, verb], save) {
  const attributes = { type: "text", name: "name", required: true, maxLength: 200, value: name };
  return form(
    { className: "card row", id: "menu-form" },
    (it) =>
      submit(it, () => {
        const {
          name: { value },
          starts,
        } = it.elements;
        return save({ name: value.trim(), starts: `${starts.value}T00:00:00Z` });
      }),
    field(
      label,
      make("input", { ...attributes, id: "menu-name", placeholder: "Week 47", autocomplete: "off" }),
    ),
    field(
      "First day",
      make("input", { type: "date", name: "starts", id: "menu-starts", required: true, value: date }),
    ),
    make("button", { className: "primary" }, verb),
  );
}
