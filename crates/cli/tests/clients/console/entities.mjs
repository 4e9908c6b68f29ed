// What an administrator does with the entities of any model, by its OpenAPI document alone and with the keyboard alone:
// creates one of each kind, edits every field, meets a conflict, follows references, opens rows and plans, and deletes.
// What the console refuses, the server must refuse, in the same words.

import { call } from './api.mjs';
import { check, expect, settled } from './driver.mjs';
import { addsQuickly, enter, fieldOf, submit } from './form.mjs';
import { sample, typesOf } from './samples.mjs';
import { Service } from './service.mjs';

/** Edits of one field: from any value to another, and from there to a third. */
const TURNS = [1, 2];
/** Types whose values hardly any rule limits: some edit must be accepted. */
const FREE = ['tags', 'int', 'number', 'bool', 'time', 'any', 'list', 'map'];

export async function manage(page, { visit }) {
  await visit('#/');
  const service = await Service.load(page);
  const tested = { page, visit, service, created: [], tried: new Set(), edited: new Set() };
  for (const entity of service.creatable()) await addRows(tested, entity);
  for (const entity of service.creatable()) await create(tested, entity);
  for (const one of tested.created) await edit(tested, one);
  for (const one of tested.created) await look(tested, one);
  for (const one of tested.created) await lookBeside(tested, one);
  for (const one of tested.created) await meetConflict(tested, one);
  // What others need is refused, so those that were created last go first in the end.
  for (const one of [...tested.created, ...tested.created.toReversed()]) await remove(tested, one);
  const refused = FREE.filter((type) => tested.tried.has(type) && !tested.edited.has(type));
  check(refused.length === 0, `no edit of ${refused} is accepted`);
  return `${tested.created.length} entities, edited: ${[...tested.edited].sort().join(', ')}`;
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
  const isNeeded = ({ name }) => required.includes(name);
  const drawn = async (turn) => {
    const values = {};
    for (const field of fields) values[field.name] = field.name === 'id' ? `given ${turn}: ${entity.name} é/?#%` : await valueOf(tested, field, example, turn);
    return values;
  };
  const first = await drawn(0);
  // Everything, then what an entity cannot do without, by the example of the service. Values that somebody has can be unique.
  const plain = Object.fromEntries(fields.filter(isNeeded).map(({ name, target }) => [name, target || name === 'id' ? first[name] : example[name]]));
  const refusals = [];
  for (const document of [first, plain, await drawn(1), await drawn(2)]) {
    if (refusals.length > 1 && !refusals.includes('taken')) break;
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
    refusals.push(body.code);
  }
  // Nothing exists yet that it needs, nobody can know which values are allowed, or what the server sets has to be unique.
  const isHopeless = fields.some((field) => isNeeded(field) && plain[field.name] === undefined) || refusals.at(-1) === 'taken';
  check(isHopeless, `${entity.name} can be created like its example: ${refusals}`);
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

/** The lists beside an entity have what refers to it, and what it stands beside. */
async function lookBeside(tested, { entity, id }) {
  const { page, visit, service } = tested;
  const view = `#/entity/${entity.name}/${encodeURIComponent(id)}`;
  await visit(view);
  await settled(page);
  const hrefs = await page.locator('main ul.links a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
  for (const href of hrefs) {
    await visit(view);
    await page.locator(`main ul.links a[href="${href}"]`).press('Enter');
    await page.waitForFunction((href) => location.hash === href, href);
    await settled(page);
    const { '.list': list, ...values } = Object.fromEntries(new URLSearchParams(href.split('?')[1]));
    const { status, body } = await call(page, 'GET', service.url(list, values));
    check(status === 200, `${href}: ${JSON.stringify(body)}`);
    const shown = await page.locator('main td.id').allTextContents();
    check(shown.join() === body.items.map(({ id }) => id).join(), `${href} shows ${shown}`);
    const back = page.locator(`main tbody a[href="${view}"]`).first();
    if ((await back.count()) === 0) continue;
    await back.press('Enter');
    await page.waitForFunction((view) => location.hash === view, view);
  }
}

/** A change by somebody else is not overwritten, and what was typed stays. */
async function meetConflict(tested, one) {
  const { page, service } = tested;
  const { entity, id } = one;
  const path = `${entity.path}/${encodeURIComponent(id)}`;
  for (const field of service.body(entity, 'patch', `${entity.path}/{id}`)?.fields ?? []) {
    const [theirs, mine] = [await valueOf(tested, field, {}, 3), await valueOf(tested, field, {}, 4)];
    if (mine === undefined || typeof mine === 'object' || mine === theirs) continue;
    await opened(tested, one);
    await enter(page, field.name, mine);
    const control = fieldOf(page, field.name).locator('input, textarea, select');
    const typed = await control.inputValue();
    const { version } = (await call(page, 'GET', path)).body;
    const changed = await call(page, 'PATCH', path, { [field.name]: theirs });
    // A value that it has already changes nothing.
    if (changed.status !== 200 || changed.body.version === version) continue;
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
  const { status, body } = await call(page, 'GET', path);
  const alert = page.locator('main [role=alert]');
  if (status === 404) {
    // It belonged to what was deleted before, since an edit of its references.
    await expect(alert.filter({ hasText: body.detail }), `${entity.name} ${id} is gone, and the console says so`);
    check((await page.getByRole('button').filter({ hasText: /^(Edit|Delete)$/ }).count()) === 0, 'nothing can be done with it');
    return;
  }
  await page.getByRole('button', { name: 'Delete', exact: true }).press('Enter');
  // The button that asks once more has the focus.
  await page.locator('.confirm .danger:focus').waitFor();
  await page.keyboard.press('Enter');
  const list = `#/entity/${entity.name}`;
  await page.waitForFunction((list) => location.hash === list || document.querySelector('main [role=alert]') !== null, list);
  if (page.url().endsWith(list)) check((await call(page, 'GET', path)).status === 404, `${entity.name} ${id} is deleted`);
  else expectRefusal(`deleting ${entity.name} ${id}`, await call(page, 'DELETE', path), await alert.allTextContents());
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
