// The comments of a product by language and rating in any combination, newest first, with counts, and the
// leaderboard of products.

import { client, count, follow, make, oneAtATime, path, tell, visit } from "/api.js";

const PAGE = 20;
const LEADERS = 10;
const RATINGS = [5, 4, 3, 2, 1];

/** The parameters of the address. */
function asked() {
  const query = new URLSearchParams(location.search);
  const list = (name) => (query.get(name) ?? "").split(",").filter((value) => value !== "");
  return {
    product: query.get("product") ?? "42",
    language: list("language"),
    rating: list("rating").map(Number),
    cursor: query.get("cursor"),
  };
}

function go(parameters) {
  const { product, language, rating, cursor } = { ...asked(), cursor: null, ...parameters };
  visit({ product, language: language.join(","), rating: rating.join(","), cursor });
  show();
}

/** Toggles a value: removes it if present, adds it otherwise. */
function toggled(values, value) {
  return values.includes(value) ? values.filter((other) => other !== value) : [...values, value];
}

function stars(rating) {
  const text = "★".repeat(rating) + "☆".repeat(5 - rating);
  return make("span", { className: "stars", role: "img", "aria-label": `${rating} of 5` }, text);
}

/** The comments that the address asks for: those of a product in some languages, with some ratings. */
function chosen() {
  const { product, language, rating } = asked();
  const some = (values) => (values.length === 0 ? undefined : values);
  return { product, language: some(language), rating: some(rating) };
}

/** The counts that are shown. */
let facets = null;

/** Shows what the address asks for, and what becomes of it. */
function show() {
  const { product, cursor } = asked();
  const comments = (options) => {
    const first = client.comment.listByProduct({ ...chosen(), limit: PAGE, total: true }, options);
    return (cursor === null ? first : first.page(cursor)).live();
  };
  const counts = (options) => client.comment.facetsByProduct(chosen(), options).live();
  tell(() => {
    document.getElementById("product").textContent = product;
    follow("comments", comments, (list) => {
      showComments(list);
      refreshLeaders();
    });
    showCounts();
    follow("counts", counts, (result) => {
      facets = result.facets;
      showCounts();
      refreshLeaders();
    });
  });
}

function showComments(list) {
  document.getElementById("total").textContent =
    `${count(list.total)} ${list.total === 1 ? "comment" : "comments"}`;
  document.getElementById("comments").replaceChildren(...list.items.map(commentCard));
  turn("previous", list.previous);
  turn("next", list.next);
}

function turn(id, cursor) {
  const button = document.getElementById(id);
  button.disabled = cursor === undefined;
  button.onclick = () => go({ cursor });
}

/** Shows the counts, with what is chosen now. */
function showCounts() {
  if (facets === null) return;
  showRatings(facets.rating.items);
  showLanguages(facets.language.items);
}

/** The number of comments with each rating in the selected languages. */
function showRatings(counts) {
  const chosen = asked().rating;
  const of = new Map(counts.map(({ value, count: number }) => [value, number]));
  const most = Math.max(1, ...of.values());
  const row = (rating) => {
    const number = of.get(rating) ?? 0;
    const properties = {
      className: "rating",
      type: "button",
      "aria-pressed": String(chosen.includes(rating)),
      "aria-label": `Rating ${rating}: ${count(number)}`,
      onclick: () => go({ rating: toggled(chosen, rating) }),
    };
    const meter = make("meter", { min: 0, max: most, value: number });
    return make("li", {}, make("button", properties, stars(rating), meter, make("b", {}, count(number))));
  };
  document.getElementById("ratings").replaceChildren(...RATINGS.map(row));
}

function showLanguages(counts) {
  const chosen = asked().language;
  const chip = ({ value, count: number }) => {
    const properties = {
      className: "chip",
      type: "button",
      "aria-pressed": String(chosen.includes(value)),
      onclick: () => go({ language: toggled(chosen, value) }),
    };
    return make("li", {}, make("button", properties, value, " ", make("b", {}, count(number))));
  };
  document.getElementById("languages").replaceChildren(...counts.map(chip));
}

/** Shows the leaderboard. It is read again when the comments change: a page follows two queries at most. */
const refreshLeaders = oneAtATime(async () => {
  showLeaders((await client.comment.boardLeaders({ limit: LEADERS })).items);
});

function showLeaders(leaders) {
  const { product } = asked();
  const row = (leader) => {
    const link = make("a", {
      href: path(location.pathname, { product: leader.of }),
      onclick: (event) => {
        event.preventDefault();
        go({ product: leader.of, language: [], rating: [] });
      },
    }, leader.of);
    const properties = { className: "leader", "aria-current": String(leader.of === product) };
    const rank = make("span", { className: "quiet" }, `${leader.rank}.`);
    return make("li", properties, rank, link, make("b", {}, count(leader.score)));
  };
  document.getElementById("leaders").replaceChildren(...leaders.map(row));
}

function commentCard(comment) {
  const text = typeof comment.body === "string" ? comment.body : JSON.stringify(comment.body);
  const about = ` ${comment.language} · ${new Date(comment.created).toLocaleString()}`;
  return make(
    "li",
    { className: "card comment" },
    stars(comment.rating),
    make("span", { className: "quiet" }, about),
    make("p", { className: "body" }, text),
  );
}

document.getElementById("open").onsubmit = (event) => {
  event.preventDefault();
  go({ product: event.target.elements.product.value.trim(), language: [], rating: [] });
  event.target.reset();
};
document.getElementById("new").onsubmit = async (event) => {
  event.preventDefault();
  const { body, rating, language } = event.target.elements;
  const comment = {
    product: asked().product,
    language: language.value,
    rating: Number(rating.value),
    body: body.value,
  };
  if ((await tell(() => client.comment.create(comment))) === undefined) return;
  event.target.reset();
  // The newest is on the first page.
  go({});
};
window.onpopstate = show;
show();
