// What an administrator does with the entities of any model, by its OpenAPI document alone and with the keyboard alone:
// creates one of each kind, edits every field, meets a conflict, follows references, opens rows and plans, and deletes.
// What the console refuses, the server must refuse, in the same words.

import { call } from './api.mjs';
import { check } from './driver.mjs';
import { addsQuickly, enter, fieldOf, submit } from './form.mjs';
import { sample, typesOf } from './samples.mjs';

/** Edits of one field: from any value to another, and from there to a third. */
const TURNS = [1, 2];
/** Types whose values hardly any rule limits: some edit must be accepted. */
const FREE = ['tags', 'int', 'number', 'bool', 'time', 'any', 'list', 'map'];

export async function manage(page, { visit }) {
  await visit('#/');
  const { body: document } = await call(page, 'GET', '/openapi.json');
  const { body: model } = await call(page, 'GET', '/model');
  const service = new Service(document, model.entities);
  const tested = { page, visit, service, created: [], tried: new Set(), edited: new Set() };
  for (const entity of service.creatable()) await addRows(tested, entity);
  for (const entity of service.creatable()) await create(tested, entity);
  for (const one of tested.created) await edit(tested, one);
  for (const one of tested.created) await look(tested, one);
  for (const one of tested.created) await meetConflict(tested, one);
  for (const one of tested.created.reverse()) await remove(tested, one);
  const refused = FREE.filter((type) => tested.tried.has(type) && !tested.edited.has(type));
  check(refused.length === 0, `no edit of ${refused} is accepted`);
  return `${tested.created.length} entities, edited: ${[...tested.edited].sort().join(', ')}`;
}

/** The operations and schemas of a service, by entity. */
class Service {
  constructor(document, entities) {
    Object.assign(this, { document, entities });
  }

  operation(entity, method, path) {
    const operation = this.document.paths[path]?.[method];
    return operation?.tags?.[0] === entity.name ? operation : undefined;
  }

  /** The fields that a document can set, with their schemas, and the example of one. */
  body(entity, method, path) {
    const content = Object.values(this.operation(entity, method, path)?.requestBody?.content ?? {})[0];
    if (content === undefined) return undefined;
    const { properties = {}, required = [] } = this.resolved(content.schema);
    const settable = entity.fields.filter(({ name }) => Object.hasOwn(properties, name) && !properties[name].readOnly);
    return { fields: settable.map((field) => ({ ...field, schema: this.absolute(properties[field.name]) })), required, example: content.example ?? {} };
  }

  resolved(schema) {
    const { $ref, ...beside } = schema;
    return this.numbered($ref === undefined ? schema : { ...this.resolved(this.document.components.schemas[decodeURIComponent($ref.split('/').pop())]), ...beside });
  }

  /** Limits are compared, so they can be numbers. */
  numbered(schema) {
    const limits = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
    return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, limits.includes(name) ? Number(String(value).replace('#', '')) : value]));
  }

  /** What a field is set to: patches also change fields relative to their values. */
  absolute(schema) {
    const { anyOf = [], ...beside } = this.resolved(schema);
    const isRelative = anyOf.some(({ properties = {} }) => '$add' in properties || '$append' in properties);
    const absolute = isRelative ? { ...this.numbered(anyOf[0]), ...beside } : { ...beside, ...(anyOf.length > 0 && { anyOf }) };
    for (const part of ['items', 'additionalProperties']) if (absolute[part]) absolute[part] = this.absolute(absolute[part]);
    return absolute;
  }

  /** Those that clients create; what others need to refer to comes first. */
  creatable() {
    const [sorted, waiting] = [[], this.entities.filter((entity) => this.body(entity, 'post', entity.path))];
    while (waiting.length > 0) {
      const isReady = (entity) => {
        const { fields, required } = this.body(entity, 'post', entity.path);
        return fields.every(({ name, target }) => !target || !required.includes(name) || !waiting.some((other) => other.name === target && other !== entity));
      };
      const next = Math.max(0, waiting.findIndex(isReady));
      sorted.push(...waiting.splice(next, 1));
    }
    return sorted;
  }
}

/** The ids of a kind that can be referred to. */
async function ids({ page, service, created }, target) {
  const own = created.filter(({ entity }) => entity.name === target).map(({ id }) => id);
  const isFree = ([path, { get }]) => get?.tags?.[0] === target && get.operationId.startsWith('list_') && !path.includes('{') && !get.parameters?.some(({ required }) => required);
  const [path] = Object.entries(service.document.paths).find(isFree) ?? [];
  const listed = path === undefined ? [] : (await call(page, 'GET', path)).body.items.map(({ id }) => id);
  return [...own, ...listed];
}

/** A value of a field that the server probably accepts. */
async function valueOf(tested, { name, target, type, schema }, example, turn) {
  if (target) {
    const known = await ids(tested, target);
    if (known.length === 0) return undefined;
    const id = known[turn % known.length];
    return type === 'list' ? (schema.maxItems === 0 ? [] : [id]) : id;
  }
  const drawn = name === 'id' ? undefined : sample(schema, turn);
  return drawn ?? example[name];
}

async function create(tested, entity) {
  const { page, visit, service, created } = tested;
  const { fields, required, example } = service.body(entity, 'post', entity.path);
  const values = {};
  for (const field of fields) values[field.name] = field.name === 'id' ? `given: ${entity.name} é/?#%` : await valueOf(tested, field, example, 0);
  const isNeeded = ({ name }) => required.includes(name);
  // Everything, then what an entity cannot do without, by the example of the service.
  const plain = Object.fromEntries(fields.filter(isNeeded).map((field) => [field.name, field.target || field.name === 'id' ? values[field.name] : example[field.name]]));
  for (const document of [values, plain]) {
    const given = Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined));
    await visit(`#/create/${entity.name}`);
    for (const [name, value] of Object.entries(given)) await enter(page, name, value);
    const said = await submit(page);
    if (said.length === 0) {
      await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
      const id = decodeURIComponent(page.url().split('/').pop());
      check(given.id === undefined || given.id === id, `${entity.name} has the id that was given: ${id}`);
      const { body } = await call(page, 'GET', `${entity.path}/${encodeURIComponent(id)}`);
      for (const [name, value] of Object.entries(given)) expectSame(`${entity.name}.${name}`, body[name], value);
      created.push({ entity, id });
      return;
    }
    const { status, body } = await call(page, 'POST', entity.path, given);
    expectRefusal(`creating ${entity.name}`, { status, body }, said);
  }
  // Nothing exists yet that it needs, or nobody can know which values are allowed.
  const isHopeless = fields.some((field) => isNeeded(field) && plain[field.name] === undefined);
  check(isHopeless, `${entity.name} can be created like its example`);
}

/** Who types faster than the page is drawn loses no row and no focus. */
async function addRows({ page, visit }, entity) {
  await visit(`#/create/${entity.name}`);
  await page.locator('form.entity').waitFor();
  if ((await page.locator('form.entity .members').count()) === 0) return;
  check(await addsQuickly(page), `${entity.name}: rows are added at once, and the last one has the focus`);
}

/** Opens the form of an entity. */
async function opened({ page, visit }, { entity, id }) {
  await visit(`#/entity/${entity.name}/${encodeURIComponent(id)}`);
  await page.getByRole('button', { name: 'Edit', exact: true }).press('Enter');
  await page.locator('form.entity').waitFor();
}

async function edit(tested, one) {
  const { page, service, tried, edited } = tested;
  const { entity, id } = one;
  const path = `${entity.path}/${encodeURIComponent(id)}`;
  const body = service.body(entity, 'patch', `${entity.path}/{id}`);
  if (body === undefined) return;
  // A patch does not say how many members a map can have.
  const whole = new Map((service.body(entity, 'post', entity.path)?.fields ?? []).map((field) => [field.name, field]));
  for (const patched of body.fields) {
    const field = whole.get(patched.name) ?? patched;
    for (const turn of TURNS) {
      const value = await valueOf(tested, field, {}, turn);
      if (value === undefined) continue;
      tried.add(field.type);
      // Programs may change it meanwhile, which is a conflict.
      let said;
      for (let attempt = 0; attempt < 5; attempt += 1) {
        await opened(tested, one);
        await enter(page, field.name, value);
        said = await submit(page, ['integer', 'number'].includes(typesOf(field.schema)[0]) ? 'Enter' : 'Control+Enter');
        if (!said.join().includes('version-mismatch')) break;
      }
      if (said.length > 0) {
        const { body: now } = await call(page, 'GET', path);
        expectRefusal(`${entity.name}.${field.name}`, await call(page, 'PATCH', path, { [field.name]: patchOf(now[field.name], value) }), said);
        continue;
      }
      expectSame(`${entity.name}.${field.name}`, (await call(page, 'GET', path)).body[field.name], value);
      edited.add(field.type);
    }
  }
}

/** Patches are merged into maps: null removes a member. */
function patchOf(before, value) {
  const isMap = (of) => typeof of === 'object' && of !== null && !Array.isArray(of);
  if (!isMap(before) || !isMap(value)) return value;
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(value, key));
  return { ...value, ...Object.fromEntries(gone.map((key) => [key, null])) };
}

/** Its rows in the table, the plan of its page, and what it refers to. */
async function look(tested, { entity, id }) {
  const { page, visit } = tested;
  const view = `#/entity/${entity.name}/${encodeURIComponent(id)}`;
  await visit(view);
  await page.locator('.rows summary').first().press('Enter');
  const rows = page.getByRole('region', { name: 'Rows in the table' }).locator('tbody tr');
  await rows.first().waitFor();
  check((await page.locator('tr.missing').count()) === 0, `${entity.name} ${id}: no row is missing`);
  await page.locator('.explain summary').first().press('Enter');
  await page.getByRole('region', { name: 'Requests to the store' }).locator('tbody tr').first().waitFor();
  const { body } = await call(page, 'GET', `${entity.path}/${encodeURIComponent(id)}`);
  for (const { name, target } of entity.fields) {
    for (const referred of target ? [body[name] ?? []].flat() : []) {
      await visit(view);
      const href = `#/entity/${target}/${encodeURIComponent(referred)}`;
      await page.locator(`dl.fields a[href="${href}"]`).first().press('Enter');
      await page.waitForFunction((href) => location.hash === href, href);
      await page.locator('dl.fields, main [role=alert]').first().waitFor();
    }
  }
}

/** A change by somebody else is not overwritten, and what was typed stays. */
async function meetConflict(tested, one) {
  const { page, service } = tested;
  const { entity, id } = one;
  const path = `${entity.path}/${encodeURIComponent(id)}`;
  for (const field of service.body(entity, 'patch', `${entity.path}/{id}`)?.fields ?? []) {
    const [mine, theirs] = [await valueOf(tested, field, {}, 3), await valueOf(tested, field, {}, 4)];
    if (mine === undefined || typeof mine === 'object' || mine === theirs) continue;
    await opened(tested, one);
    await enter(page, field.name, mine);
    const control = fieldOf(page, field.name).locator('input, textarea, select');
    const typed = await control.inputValue();
    if ((await call(page, 'PATCH', path, { [field.name]: theirs })).status !== 200) continue;
    const said = await submit(page);
    check(said.join().includes('version-mismatch'), `the conflict is reported: ${said}`);
    check((await control.inputValue()) === typed, 'what was typed stays');
    await page.keyboard.press('Escape');
    await page.locator('form.entity').waitFor({ state: 'detached' });
    expectSame(`${entity.name}.${field.name} of somebody else`, (await call(page, 'GET', path)).body[field.name], theirs);
    return;
  }
}

async function remove({ page, visit }, { entity, id }) {
  const path = `${entity.path}/${encodeURIComponent(id)}`;
  await visit(`#/entity/${entity.name}/${encodeURIComponent(id)}`);
  await page.getByRole('button', { name: 'Delete', exact: true }).press('Enter');
  // The button that asks once more has the focus.
  await page.locator('.confirm .danger:focus').waitFor();
  await page.keyboard.press('Enter');
  const list = `#/entity/${entity.name}`;
  await page.waitForFunction((list) => location.hash === list || document.querySelector('main [role=alert]') !== null, list);
  const said = await page.locator('main [role=alert]').allTextContents();
  if (page.url().endsWith(list)) check((await call(page, 'GET', path)).status === 404, `${entity.name} ${id} is deleted`);
  else expectRefusal(`deleting ${entity.name} ${id}`, await call(page, 'DELETE', path), said);
}

/** The console shows what the server says of the same request. */
function expectRefusal(what, { status, body }, said) {
  check(status >= 400, `${what}: the console says ${said}, the server accepts it`);
  const details = body.errors?.length > 0 ? body.errors.map(({ detail }) => detail) : [body.detail];
  const missing = details.filter((detail) => !said.some((text) => text.includes(detail)));
  check(missing.length === 0, `${what}: the console says ${said.join(' | ')}, the server ${missing.join(' | ')}`);
}

function expectSame(what, found, expected) {
  const ordered = (value) => (typeof value !== 'object' || value === null ? value : Array.isArray(value) ? value.map(ordered) : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, ordered(member)])));
  const [is, wished] = [found, expected].map((value) => JSON.stringify(ordered(value)));
  check(is === wished, `${what} is ${is}, not ${wished}`);
}
