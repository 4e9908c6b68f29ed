// The shopping list of a menu, by category in shop order. Ticks are stored in this browser together with
// the amount: if more is needed later, the tick disappears.

import { make } from "/api.js";
import { amount } from "/amounts.js";
import { button } from "/elements.js";

export function shoppingList(menu, list) {
  const ticked = readTicks(menu);
  const total = list.categories.reduce((sum, category) => sum + category.items.length, 0);
  const progress = make("p", { className: "quiet", id: "progress", role: "status" });
  const boxes = [];
  const changed = () => {
    writeTicks(menu, ticked);
    const done = boxes.filter((box) => box.checked).length;
    progress.textContent = total === 0 ? "" : `${done} of ${total} in the basket`;
  };
  const item = (thing) => {
    const key = JSON.stringify([thing.ingredient, thing.unit]);
    const box = make("input", {
      type: "checkbox",
      checked: ticked[key] >= thing.amount,
      onchange: () => {
        if (box.checked) ticked[key] = thing.amount;
        else delete ticked[key];
        changed();
      },
    });
    boxes.push(box);
    return make(
      "li",
      {},
      make("label", {}, box, make("span", {}, thing.ingredient), amount(thing.amount, thing.unit)),
    );
  };
  const category = ({ category: name, items }) =>
    make(
      "section",
      { "aria-label": name },
      make("h4", {}, name),
      make("ul", { className: "plain amounts" }, ...items.map(item)),
    );
  const categories = make("div", { id: "categories" }, ...list.categories.map(category));
  const clear = () => {
    boxes.forEach((box) => (box.checked = false));
    Object.keys(ticked).forEach((key) => delete ticked[key]);
    changed();
  };
  const tools = [button("Print", () => print()), button("Clear ticks", clear)];
  changed();
  return make(
    "section",
    { className: "card", id: "shopping-list", "aria-labelledby": "shopping-list-title", tabIndex: -1 },
    make("h3", { id: "shopping-list-title" }, "Shopping list"),
    progress,
    total === 0
      ? make("p", { className: "quiet" }, "Add a dish, and its ingredients appear here.")
      : categories,
    total === 0 ? null : make("div", { className: "tools" }, ...tools),
  );
}

const place = (menu) => `kitchen.ticks.${menu}`;

function readTicks(menu) {
  try {
    return JSON.parse(localStorage.getItem(place(menu))) ?? {};
  } catch {
    // Invalid content, or the browser stores nothing.
    return {};
  }
}

function writeTicks(menu, ticked) {
  try {
    if (Object.keys(ticked).length === 0) localStorage.removeItem(place(menu));
    else localStorage.setItem(place(menu), JSON.stringify(ticked));
  } catch {
    // Ticks then last only as long as the view.
  }
}
