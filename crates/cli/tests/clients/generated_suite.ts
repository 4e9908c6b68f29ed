// Uses generated clients as programs do: every kind of method against real servers, and what needs a
// server that misbehaves or sends live events against one in this file.
//
// node generated_suite.js TASKS_URL COMMENTS_URL KITCHEN_URL

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import * as comments from "./comments/client.js";
import * as kitchen from "./kitchen/client.js";
import * as tasks from "./tasks/client.js";

const [tasksUrl = "", commentsUrl = "", kitchenUrl = ""] = process.argv.slice(2);

/** The error of a promise, which must be one of the API. */
async function refused(promise: PromiseLike<unknown>): Promise<tasks.ApiError> {
  try {
    await promise;
  } catch (error) {
    // Each client has a class of its own.
    const isOf = (client: { ApiError: typeof tasks.ApiError }) => error instanceof client.ApiError;
    assert([tasks, comments, kitchen].some(isOf), String(error));
    return error as tasks.ApiError;
  }
  throw new Error("The request was accepted.");
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function changesOfOne(client: tasks.Client): Promise<void> {
  const created = await client.task.create({ name: "wash up", tags: { room: "kitchen" } });
  const read = await client.task.read(created.id);
  assert.deepEqual(read, created);
  const updated = await client.task.update(created.id, { done: true }, { ifMatch: created });
  assert(updated.done && updated.version !== created.version);
  const conflict = await refused(client.task.update(created.id, { done: false }, { ifMatch: created }));
  assert.deepEqual([conflict.status, conflict.code], [412, "version-mismatch"]);
  const replaced = await client.task.replace(created.id, { name: "dry" }, { ifMatch: updated.version });
  assert.deepEqual([replaced.name, replaced.done, replaced.tags], ["dry", false, {}]);
  const part = await client.task.read(created.id).only("name");
  assert.deepEqual(Object.keys(part).sort(), ["id", "name", "version"]);
  // @ts-expect-error: it was not asked for.
  assert.equal(part.done, undefined);
  await client.task.delete(created.id);
  const missing = await refused(client.task.read(created.id));
  assert.deepEqual([missing.status, missing.code], [404, "not-found"]);
  // @ts-expect-error: a task needs a name.
  const invalid = await refused(client.task.create({ description: "x" }));
  assert.equal(invalid.code, "invalid");
  assert.equal(invalid.errors[0]?.field, "name");
}

async function idempotency(client: tasks.Client): Promise<void> {
  const options = { idempotencyKey: "the-same" };
  const first = await client.task.create({ name: "once" }, options);
  const second = await client.task.create({ name: "once" }, options);
  assert.equal(first.id, second.id);
  await client.task.delete(first.id);
}

async function pages(client: tasks.Client): Promise<void> {
  for (let n = 0; n < 7; n += 1) {
    await client.task.create({ name: `task ${n}`, done: n % 2 === 0, tags: { n: String(n), all: "a:b" } });
  }
  const query = client.task.listAll({ limit: 3, total: true });
  const names = (await collected(query.items())).map((task) => task.name);
  assert.deepEqual(names, [0, 1, 2, 3, 4, 5, 6].map((n) => `task ${n}`));
  const first = await query;
  assert.equal(first.total, 7);
  assert(first.next !== undefined && first.previous === undefined);
  const second = await query.page(first.next);
  assert.equal(second.items[0]?.name, "task 3");
  assert(second.previous !== undefined);
  const back = await query.page(second.previous);
  assert.deepEqual(back.items, first.items);
  assert.equal((await collected(query.items(first.next))).length, 4);
  // @ts-expect-error: a cursor of another query.
  const mixed = await refused(client.task.listOpen({ limit: 3 }).page(first.next));
  assert.equal(mixed.code, "bad-cursor");
  assert.equal((await collected(client.task.listAll({ limit: 2 }).pages())).length, 4);
  const reversed = await client.task.listAll({ reverse: true, limit: 1 }).only("name");
  assert.equal(reversed.items[0]?.name, "task 6");
}

async function tags(client: tasks.Client): Promise<void> {
  const found = await client.task.listAll({ tag: [tasks.tag("n", "1", "2"), tasks.tag("all", "a:b")] });
  assert.deepEqual(found.items.map((task) => task.name), ["task 1", "task 2"]);
  const others = await client.task.listOpen({ tag: tasks.withoutTag("n", "1") });
  assert.deepEqual(others.items.map((task) => task.name), ["task 3", "task 5"]);
  const keys = await client.task.tagsAll();
  assert.deepEqual(keys.items, [{ key: "all", count: 7 }, { key: "n", count: 7 }]);
  const values = await client.task.tagsOfKeyAll({ key: "n", prefix: "3" });
  assert.deepEqual(values.items, [{ value: "3", count: 1 }]);
}

async function together(client: tasks.Client): Promise<void> {
  const other = await client.task.create({ name: "other" });
  const { results } = await client.transaction({
    changes: [
      { create: "task", document: { name: "both" } },
      { update: "task", id: other.id, version: other.version, document: { done: true } },
    ],
  });
  assert.deepEqual(results.map((result) => result?.done), [false, true]);
  const id = results[0]?.id ?? "";
  const batch = await client.batch({ requests: [{ get: "task", id }, { get: "task", id: "none" }] });
  assert.deepEqual(batch.results.map((result) => result.status), [200, 404]);
  assert.equal(batch.results[1]?.problem?.code, "not-found");
}

async function bulk(client: tasks.Client): Promise<void> {
  const refusal = await refused(client.task.updateAllAll({}, { done: true }));
  assert.equal(refusal.status, 400);
  let operation = await client.task.updateAllOpen({ all: true }, { description: "late" });
  const isOver = () => !["collecting", "running"].includes(operation.state);
  while (!isOver()) operation = await client.readOperation(operation.id);
  assert.deepEqual([operation.state, operation.failed], ["done", 0]);
  const open = await client.task.listOpen();
  assert(open.items.length > 0 && open.items.every((task) => task.description === "late"));
  const all = await collected(client.listOperations({ limit: 1 }).items());
  assert(all.some((other) => other.id === operation.id));
  operation = await client.task.deleteAllAll({ tag: tasks.tag("n", "6") });
  while (!isOver()) operation = await client.readOperation(operation.id);
  assert.equal(operation.changed, 1);
}

async function countsAndBoards(client: comments.Client): Promise<void> {
  const times = ["2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"];
  const languages = ["en", "fr", "<e,n>"];
  for (const [index, created] of times.entries()) {
    const language = languages[index] ?? "";
    await client.comment.create({ product: "a/b", language, rating: 5, body: { n: index }, created });
  }
  await client.comment.create({ product: "c", language: "en", rating: 5, body: 1 });
  const product = "a/b";
  const list = (params: Omit<comments.CommentListByProductParams, "product">) =>
    client.comment.listByProduct({ product, ...params });
  assert.equal((await list({ language: "<e,n>" })).items.length, 1);
  assert.equal((await list({ language: ["<e,n>", "fr"] })).items.length, 2);
  assert.equal((await list({ rating: [1, 5], created: { gte: new Date(times[1] ?? "") } })).items.length, 2);
  assert.equal((await list({ created: { gt: times[0] ?? "", lt: times[2] ?? "" } })).items.length, 1);
  // @ts-expect-error: a rating is a number.
  assert.equal((await refused(list({ rating: "five" }))).code, "bad-parameter");
  assert.equal((await client.comment.countByProduct({ product })).count, 3);
  assert.equal((await client.comment.countByProduct({ product, language: "<e,n>" })).count, 1);
  const each = await collected(client.comment.countsByProduct({ product, split: ["language"], limit: 2 }).items());
  assert.deepEqual(each.map((one) => one.values.language).sort(), [...languages].sort());
  const facets = await client.comment.facetsByProduct({ product });
  assert.deepEqual(facets.facets.rating?.items, [{ value: 5, count: 3 }]);
  const facet = await client.comment.facetByProduct({ product, facet: "language" });
  assert.equal(facet.items.length, 3);
  const board = await client.comment.boardLeaders({ limit: 5 });
  assert.deepEqual(board.items.map(({ of, rank, score }) => [of, rank, score]), [["a/b", 1, 3], ["c", 2, 1]]);
  const rank = await client.comment.rankLeaders({ of: "c" });
  assert.equal(rank.rank, 2);
  const around = await client.comment.boardLeaders({ around: "c", limit: 1 });
  assert.deepEqual(around.items.map((one) => one.of), ["a/b", "c"]);
}

async function relations(client: kitchen.Client): Promise<void> {
  const category = await client.category.create({ name: "pasta", shop_order: 1 });
  const ingredient = await client.ingredient.create({ category: category.id, name: "spaghetti" });
  const found = await client.category.listByShopOrder({ name: "pasta" });
  assert.equal(found.items[0]?.id, category.id);
  const children = await client.category.childrenIngredients(category.id);
  assert.deepEqual(children.items.map((one) => one.name), ["spaghetti"]);
  const listed = await client.ingredient.listByCategory({ category: category.id, with: ["category"] });
  assert.deepEqual(listed.items[0]?.with?.category, category);
  const shelf: string | undefined = listed.items[0]?.with?.category?.name;
  assert.equal(shelf, category.name);
  const query = client.category.read(category.id, { with: ["ingredients"], explain: true });
  const whole = await query;
  const amount: number | undefined = whole.with?.ingredients?.items.length;
  assert.equal(amount, listed.items.length);
  assert.ok((whole.explain?.dynamodb.read_units ?? 0) > 0);
  const few = await client.category.read(category.id, { with: ["ingredients"], limit: 1 });
  assert.equal(few.with?.ingredients?.items.length, 1);
  const part = await query.only("name", "ingredients.name");
  assert.equal(part.with?.ingredients?.items?.[0]?.name, whole.with?.ingredients?.items[0]?.name);
  // @ts-expect-error Nothing of this name is related to it.
  assert.equal(whole.with?.recipes, undefined);
  const taken = await refused(client.category.create({ name: "pasta", shop_order: 2 }));
  assert.equal(taken.code, "taken");
  const inUse = await refused(client.category.delete(category.id));
  assert.equal(inUse.code, "in-use");
  const recipe = await client.recipe.create({ name: "carbonara" });
  const counted = await client.recipe.update(recipe.id, { servings: { $add: 2 } });
  assert.equal(counted.servings, 6);
  const document = { recipe: recipe.id, ingredient: ingredient.id, amount: 0.5 };
  await client.recipeIngredient.create(document);
  const { results } = await client.transaction({
    changes: [
      { create: "category", as: "fruit", document: { name: "fruit", shop_order: 2 } },
      { create: "ingredient", document: { name: "lemon", category: { $ref: "fruit" } } },
    ],
  });
  const fruit = results[0]?.id ?? "";
  const lemons = await client.ingredient.listByCategory({ category: fruit });
  assert.deepEqual(lemons.items.map((one) => one.name), ["lemon"]);
}

/** Texts that mean something in paths, queries or filters. */
const TEXTS = ["==", "!*", "<a", ">=1", "*a", "\\,", "a\\b", "a,b", "a|b:c", "!a", "ü😀", "a&b=c", "+%2F%", "a/../b", "a b"];

async function escaping(
  client: comments.Client,
  others: { tasks: tasks.Client; kitchen: kitchen.Client },
): Promise<void> {
  for (const [n, text] of TEXTS.entries()) {
    const created = await client.comment.create({ product: text, language: text, rating: 1, body: n });
    const params = { product: text, language: text };
    assert.deepEqual((await client.comment.listByProduct(params)).items, [created], text);
    const any = await client.comment.listByProduct({ product: text, language: [text, "en"] });
    assert.deepEqual(any.items, [created], text);
    assert.equal((await client.comment.countByProduct(params)).count, 1, text);
    const task = await others.tasks.task.create({ name: text, tags: { [text]: text } });
    assert.deepEqual((await others.tasks.task.listAll({ tag: tasks.tag(text, text, "x") })).items, [task], text);
    const keys = await others.tasks.task.tagsOfKeyAll({ key: text });
    assert.deepEqual(keys.items, [{ value: text, count: 1 }], text);
    const category = await others.kitchen.category.create({ name: text, shop_order: 9 });
    assert.deepEqual((await others.kitchen.category.listByShopOrder({ name: text })).items, [category], text);
  }
  assert.throws(() => others.tasks.task.read(".."), TypeError);
}

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** Runs a function with a server that answers the nth request by a handler. */
async function withServer(handler: Handler, run: (url: string) => Promise<void>): Promise<void> {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      count += 1;
      handler(request, response, count);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const busy = (response: ServerResponse, headers: { [name: string]: string } = {}, status = 503) => {
  response.writeHead(status, { "content-type": "application/problem+json", ...headers });
  response.end(JSON.stringify({ code: "busy", status, detail: "Busy." }));
};

/** A codec that reads all integers as bigint. */
async function exactNumbers(): Promise<void> {
  const long = "12345678901234567890";
  const integer = (_: string, value: unknown) => (typeof value === "string" && value[0] === "#" ? BigInt(value.slice(1)) : value);
  const json = {
    parse: (text: string): unknown => JSON.parse(text.replace(/:(\d+)/g, ':"#$1"'), integer),
    stringify: (value: unknown) => JSON.stringify(value).replace(`"${long}"`, long),
  };
  const page =
    `event: page\nid: 1\ndata: {"body":{"items":[{"n":${long}}]}}\n\n` +
    'event: enter\nid: 2\ndata: {"at":1,"item":{"n":2}}\n\n';
  let sent = "";
  const server = createServer((request, response) => {
    const answer = () => response.end(request.url?.includes("live=true") ? page : `{"n":${long}}`);
    request.on("data", (chunk) => (sent += chunk)).on("end", answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new tasks.Client({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, json });
  assert.deepEqual(await client.task.create({ name: long }), { n: BigInt(long) });
  assert.equal(sent, `{"name":${long}}`);
  const pages: unknown[][] = [];
  for await (const { items } of client.task.listAll().live()) if (pages.push(items) === 2) break;
  assert.deepEqual(pages, [[{ n: BigInt(long) }], [{ n: BigInt(long) }, { n: BigInt(2) }]]);
  server.closeAllConnections();
  server.close();
}

async function retries(): Promise<void> {
  const keys: unknown[] = [];
  const twice: Handler = (request, response, count) => {
    keys.push(request.headers["idempotency-key"]);
    // Node.js reads the bytes of headers as Latin-1.
    const tenant = Buffer.from(String(request.headers["keyloom-tenant"]), "latin1").toString();
    assert.equal(tenant, "東京");
    assert.equal(request.headers.authorization, "Bearer secret");
    if (count === 1) return busy(response, { "retry-after": "1" }, 429);
    if (count === 2) return void response.destroy();
    response.end(JSON.stringify({ id: "a", version: "1", name: "x", done: false, description: "", tags: {} }));
  };
  await withServer(twice, async (baseUrl) => {
    const client = new tasks.Client({ baseUrl, tenant: "東京", token: async () => "secret" });
    const start = performance.now();
    assert.equal((await client.task.create({ name: "x" })).id, "a");
    assert(performance.now() - start > 950);
  });
  assert(keys.length === 3 && typeof keys[0] === "string" && new Set(keys).size === 1, String(keys));
  let attempts = 0;
  await withServer((_, response) => ((attempts += 1), busy(response)), async (baseUrl) => {
    const client = new tasks.Client({ baseUrl, retries: 2 });
    assert.equal((await refused(client.task.listAll())).code, "busy");
    assert.equal(attempts, 3);
    // Without a time to wait, it may have been applied.
    assert.equal((await refused(new tasks.Client({ baseUrl }).batch({ requests: [] }))).code, "busy");
    assert.equal(attempts, 4);
  });
  attempts = 0;
  await withServer((_, response) => ((attempts += 1), busy(response, { "retry-after": "0" })), async (baseUrl) => {
    const batch = new tasks.Client({ baseUrl, retries: 1 }).batch({ requests: [] });
    assert.equal((await refused(batch)).code, "busy");
    assert.equal(attempts, 2);
  });
  // A batch without an answer may have been applied: it is not sent again.
  attempts = 0;
  await withServer((_, response) => ((attempts += 1), void response.destroy()), async (baseUrl) => {
    const batch = new tasks.Client({ baseUrl }).batch({ requests: [] });
    await assert.rejects(batch, tasks.NetworkError);
    assert.equal(attempts, 1);
  });
  await withServer(() => undefined, async (baseUrl) => {
    const slow = new tasks.Client({ baseUrl, timeoutMs: 50, retries: 1 });
    await assert.rejects(Promise.resolve(slow.task.read("a")), tasks.NetworkError);
    const controller = new AbortController();
    const reason = new Error("enough");
    setTimeout(() => controller.abort(reason), 20);
    const aborted = new tasks.Client({ baseUrl }).task.read("a", {}, { signal: controller.signal });
    await assert.rejects(Promise.resolve(aborted), reason);
  });
}

const task = (id: string, name: string) => ({ id, name, version: "1", done: false, description: "", tags: {} });

async function live(): Promise<void> {
  const event = (id: number | string, name: string, data: object) =>
    `id: ${id}\r\nevent: ${name}\r\ndata: ${JSON.stringify({ commit: String(id), ...data })}\r\n\r\n`;
  const first =
    event(1, "page", { body: { items: [task("a", "1"), task("b", "1")], total: 2 } }) + ": keep-alive\n\n";
  const second =
    event(2, "enter", { at: 0, item: task("c", "ü") }) +
    event("~3", "move", { from: 1, at: 2, item: task("a", "2") }) +
    event(3, "change", { at: 1, item: task("b", "2") }) +
    event(5, "leave", { at: 0, id: "c" }) +
    event(6, "total", { member: "total", value: 3 }) +
    event(7, "set", { member: "next" });
  const positions: unknown[] = [];
  const sends: Handler = (request, response, count) => {
    assert.equal(request.url, "/tasks?limit=2&%24live=true");
    positions.push(request.headers["last-event-id"]);
    if (count === 2) return busy(response);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const bytes = Buffer.from(count === 1 ? first : second);
    if (count === 1) return void response.end(bytes);
    // Byte by byte: characters, lines and events arrive in pieces.
    for (const byte of bytes) response.write(Uint8Array.of(byte));
  };
  await withServer(sends, async (baseUrl) => {
    const client = new tasks.Client({ baseUrl });
    const states: string[] = [];
    for await (const page of client.task.listAll({ limit: 2 }).live()) {
      states.push(page.items.map(({ id, name }) => id + name).join(" "));
      if (page.total === 3) break;
    }
    assert.equal(states[0], "a1 b1");
    assert.equal(states.at(-1), "b2 a2");
    for (const [index, state] of states.entries()) {
      const all = ["a1 b1", "cü a1 b1", "cü b2 a2", "b2 a2"];
      assert(all.includes(state), `${index}: ${state}`);
    }
  });
  assert.deepEqual(positions, [undefined, "1", "1"]);
  const gone: Handler = (request, response, count) => {
    if (count === 1) return void response.end(event(9, "page", { body: task("a", "1") }));
    if (count === 2) {
      assert.equal(request.headers["last-event-id"], "9");
      response.writeHead(410, { "content-type": "application/problem+json" });
      return void response.end("{}");
    }
    assert.equal(request.headers["last-event-id"], undefined);
    response.write(event(20, "page", { body: task("a", "2") }) + event(21, "leave", { at: 0, id: "a" }));
  };
  await withServer(gone, async (baseUrl) => {
    const states = await collected(new tasks.Client({ baseUrl }).task.read("a").live());
    assert.deepEqual(states.map((state) => state.name), ["1", "2"]);
  });
  await withServer((_, response) => void response.end(), async (baseUrl) => {
    const followed = collected(new tasks.Client({ baseUrl, retries: 1 }).task.listAll().live());
    await assert.rejects(followed, tasks.NetworkError);
  });
  await withServer((_, response) => void response.writeHead(403).end(), async (baseUrl) => {
    assert.equal((await refused(collected(new tasks.Client({ baseUrl }).task.listAll().live()))).status, 403);
  });
}

/** Follows a list of a real server. */
async function followed(client: tasks.Client): Promise<void> {
  const query = client.task.listAll({ tag: tasks.tag("followed", "yes"), total: true, limit: 2 });
  const states: string[] = [];
  const made: string[] = [];
  const add = async (name: string) => made.push((await client.task.create({ name, tags: { followed: "yes" } })).id);
  for await (const page of query.live()) {
    states.push(`${page.items.map(({ name }) => name).join(" ")} ${page.total}`);
    assert.deepEqual(page, await query);
    if (states.length === 1) await add("first");
    if (states.length === 2) await add("second");
    if (states.length === 3) await client.task.update(made[0]!, { name: "changed" });
    if (states.length === 4) await client.task.delete(made[1]!);
    if (states.length === 5) break;
  }
  assert.deepEqual([states[0], states[1], states[4]], [" 0", "first 1", "changed 1"]);
  const one = client.task.read(made[0]!).live();
  assert.equal((await one.next()).value?.name, "changed");
  await client.task.delete(made[0]!);
  assert.equal((await one.next()).done, true);
}

/** Follows a page that is not the first. */
async function followedPage(client: tasks.Client): Promise<void> {
  const add = (name: string) => client.task.create({ name, tags: { paged: "yes" } });
  for (const name of ["first", "second", "third"]) await add(name);
  const query = client.task.listAll({ tag: tasks.tag("paged", "yes"), limit: 2 });
  const { next } = await query;
  assert(next !== undefined);
  const states: string[] = [];
  for await (const page of query.page(next).live()) {
    states.push(page.items.map(({ name }) => name).join(" "));
    assert.deepEqual(page, await query.page(next));
    if (states.length === 2) break;
    await add("fourth");
  }
  assert.deepEqual(states, ["third", "third fourth"]);
  for (const { id } of await collected(query.items())) await client.task.delete(id);
}

/** Follows the changes of a real server. */
async function changes(client: tasks.Client): Promise<void> {
  const { next } = await client.send<{ next: string }>("GET", "/changes/page", { query: { entity: ["task"] } });
  const { id } = await client.task.create({ name: "made" });
  await client.task.update(id, { name: "renamed" });
  await client.task.delete(id);
  const seen: string[] = [];
  let position = next;
  for await (const { change, entity, id: of, old, new: now, position: at } of client.changes({ entity: "task", after: next })) {
    assert.deepEqual([entity, of], ["task", id]);
    const [before, after]: (string | undefined)[] = [old?.name, now?.name];
    seen.push(`${change} ${before} ${after}`);
    if (seen.length === 2) position = at;
    if (change === "delete") break;
  }
  assert.deepEqual(seen, ["insert undefined made", "update made renamed", "delete renamed undefined"]);
  const following = client.changes({ entity: ["task"], after: position });
  const rest = await following.next();
  assert.equal(rest.done === true ? undefined : rest.value.change, "delete");
  await following.return();
  // @ts-expect-error: there is no such entity.
  assert.equal((await refused(client.changes({ entity: "job" }).next())).code, "bad-parameter");
}

/** Connections that break before something has happened, and changes that are not kept any more. */
async function interruptedChanges(): Promise<void> {
  const requests: unknown[] = [];
  const one = { entity: "task", id: "a", change: "insert", old: null, new: task("a", "1"), position: "8" };
  const sends: Handler = (request, response, count) => {
    requests.push([request.url, request.headers["last-event-id"]]);
    if (count === 1) return void response.end(JSON.stringify({ items: [], next: "5", more: false }));
    if (count === 2) return void response.end("retry: 1000\n\n");
    if (count === 3) return void response.end("id: 7\n: nothing new\n\nid: 9\nevent: task.insert\n");
    if (count === 4) return void response.end(`id: 8\nevent: task.insert\ndata: ${JSON.stringify(one)}\n\n`);
    response.writeHead(410, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ code: "changes-gone", status: 410, detail: "Gone." }));
  };
  await withServer(sends, async (baseUrl) => {
    const feed = new tasks.Client({ baseUrl, retries: 0 }).changes({ entity: "task" });
    const first = await feed.next();
    assert.equal(first.done === true ? undefined : first.value.new?.name, "1");
    assert.equal((await refused(feed.next())).code, "changes-gone");
  });
  const stream = "/changes?entity=task&after=5";
  const expected = [["/changes/page?entity=task", undefined], [stream, undefined], [stream, undefined], [stream, "7"], [stream, "8"]];
  assert.deepEqual(requests, expected);
}

/** Requests that no method covers. */
async function others(client: tasks.Client): Promise<void> {
  const document = await client.send<{ openapi: string }>("GET", "/openapi.json");
  assert.equal(document.openapi, "3.1.0");
  assert.equal((await refused(client.send("POST", "/none", { body: {} }))).code, "not-found");
  const seen: unknown[] = [];
  const echoes: Handler = (request, response, count) => {
    const { authorization, "content-type": type, "idempotency-key": key } = request.headers;
    seen.push([request.method, request.url, authorization, type, key]);
    if (count < 3) return void response.destroy();
    response.end('{"done":true}');
  };
  await withServer(echoes, async (baseUrl) => {
    const client = new tasks.Client({ baseUrl, token: "secret" });
    const query = { a: [1, "b c"], left: undefined };
    const sent = client.send("POST", "/own/task", { query, body: { n: 1 } });
    await assert.rejects(sent, tasks.NetworkError);
    const done = await client.send("POST", "/own/task", { query, body: { n: 1 }, idempotencyKey: "k" });
    assert.deepEqual(done, { done: true });
  });
  const [first, ...rest] = seen;
  const request = ["POST", "/own/task?a=1&a=b%20c", "Bearer secret", "application/json"];
  // Without a key it may have been applied.
  assert.deepEqual(first, [...request, undefined]);
  assert.deepEqual(rest, [[...request, "k"], [...request, "k"]]);
}

const client = new tasks.Client({ baseUrl: tasksUrl });
await changesOfOne(client);
await idempotency(client);
await pages(client);
await tags(client);
await together(client);
await bulk(client);
await countsAndBoards(new comments.Client({ baseUrl: commentsUrl }));
const cook = new kitchen.Client({ baseUrl: `${kitchenUrl}/` });
await relations(cook);
await escaping(new comments.Client({ baseUrl: commentsUrl }), { tasks: client, kitchen: cook });
await retries();
await exactNumbers();
await live();
await followed(client);
await followedPage(client);
await changes(client);
await interruptedChanges();
await others(client);
