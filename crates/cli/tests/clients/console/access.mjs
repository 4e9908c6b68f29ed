// The console with the tokens of readers and writers, and of one tenant: `node console/access.mjs URL [TENANT OTHER]`. What
// a token allows is offered, nothing that is offered is refused, and what is refused meanwhile says why, beside what was done.

import { call } from './api.mjs';
import { Driver, check, expect, settled } from './driver.mjs';
import { enter, submit } from './form.mjs';
import { sample } from './samples.mjs';
import { Service } from './service.mjs';

const [, , url, tenant, other] = process.argv;
const driver = await Driver.start(url);

/** Signs in as a user does. Refused requests are noted from then on. */
async function signIn(token, name) {
  const page = await driver.open({ viewport: { width: 1280, height: 900 } });
  page.refused = [];
  page.on('response', (response) => {
    if ([401, 403].includes(response.status())) page.refused.push(`${response.request().method()} ${response.url()}`);
  });
  await page.goto(`${url}/console`);
  await expect(page.getByRole('heading', { name: 'Sign in' }), 'the console asks for a token');
  await page.getByLabel('token').fill(token);
  await page.getByLabel('token').press('Enter');
  await expect(page.locator('nav.side'), `${name} is signed in`);
  page.refused = [];
  return page;
}

/** Opens everything that is offered; the server refuses none of it. What can be done with entities, by their names. */
async function offered(page, name) {
  await driver.visit(page, '#/');
  const links = await page.locator('nav.side a[href^="#"]').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
  const found = { views: links.filter((link) => !/^#\/(entity|numbers)\//.test(link)), creates: [], edits: [], deletes: [], selects: [] };
  for (const link of links) {
    await driver.visit(page, link);
    await settled(page);
    await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => { details.open = true; }));
    await settled(page);
    const alerts = await page.locator('main [role=alert]').filter({ visible: true }).allTextContents();
    check(alerts.length === 0, `${name}, ${link}: ${alerts}`);
    if (!link.startsWith('#/entity/')) continue;
    const entity = link.split('/').pop();
    if ((await page.getByRole('link', { name: 'Create', exact: true }).count()) > 0) found.creates.push(entity);
    if ((await page.getByLabel('Select all on this page').count()) > 0) found.selects.push(entity);
    const first = page.locator('td.id a').first();
    if ((await first.count()) === 0) continue;
    await driver.visit(page, await first.getAttribute('href'));
    await page.locator('dl.fields').waitFor();
    await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => { details.open = true; }));
    await settled(page);
    for (const [button, into] of [['Edit', found.edits], ['Delete', found.deletes]]) {
      if ((await page.getByRole('button', { name: button, exact: true }).count()) > 0) into.push(entity);
    }
  }
  check(page.refused.length === 0, `${name} is offered what is refused: ${page.refused}`);
  return found;
}

function same(found, expected, claim) {
  check([...found].sort().join() === [...expected].sort().join(), `${claim}: ${found}, not ${expected}`);
}

/** A document that creates an entity without references, of a company if there are any. */
function documentOf(service, entity, turn, company) {
  const { fields, required, example } = service.body(entity, 'post', entity.path);
  const needed = fields.filter(({ name }) => required.includes(name));
  const value = ({ name, schema }) => (name === 'company' ? company : name === 'id' ? `given ${turn}` : (sample(schema, turn) ?? example[name]));
  return Object.fromEntries(needed.map((field) => [field.name, value(field)]));
}

const admin = await driver.open({ viewport: { width: 1280, height: 900 } });
await driver.run(admin, async () => {
  await driver.visit(admin, '#/');
  const service = await Service.load(admin);
  const one = service.entities.find((entity) => service.operation(entity, 'post', entity.path) && (!tenant || entity.has_tenant));
  const shared = service.entities.find((entity) => service.operation(entity, 'post', entity.path) && !entity.has_tenant);
  if (tenant) {
    // Entities that belong to tenants are not asked for before one is named.
    for (const view of [`#/entity/${one.name}`, `#/create/${one.name}`, `#/entity/${one.name}/x`]) {
      await driver.visit(admin, view);
      await expect(admin.getByText('Each belongs to a tenant: name one at the top.'), `${view} says what is missing`);
    }
    for (const [turn, of] of [[1, tenant], [2, other]]) {
      await admin.getByLabel('tenant').fill(of);
      await admin.getByLabel('tenant').press('Enter');
      await settled(admin);
      check((await call(admin, 'POST', one.path, documentOf(service, one, turn, of))).status === 201, `${of} has a ${one.name}`);
    }
    check((await call(admin, 'POST', shared.path, documentOf(service, shared, 1))).status === 201, `there is a ${shared.name} for all`);
  }
  const create = async (role, of) => (await call(admin, 'POST', '/tokens', { role, name: `${role} of ${of}`, ...(of && { tenant: of }) })).body;
  const first = await create('admin');
  await admin.evaluate((token) => sessionStorage.setItem('keyloom-token', token), first.token);

  const creatable = service.entities.filter((entity) => service.operation(entity, 'post', entity.path)).map(({ name }) => name);
  const [reader, writer] = [await create('reader', tenant), await create('writer', tenant)];

  // A reader sees everything that is no administrator's, and changes nothing.
  const reading = await signIn(reader.token, 'a reader');
  const seen = await offered(reading, 'a reader');
  same(seen.views, ['#/model', '#/changes', '#/operations'], 'the views of a reader');
  for (const name of ['creates', 'edits', 'deletes', 'selects']) same(seen[name], [], `${name} of a reader`);
  await driver.visit(reading, `#/create/${one.name}`);
  await expect(reading.getByText('You cannot create one.'), 'a form that must fail is not shown');
  await driver.visit(reading, '#/tokens');
  await expect(reading.locator('main [role=alert]').filter({ hasText: 'requires the role `admin`' }), 'an address that was typed says why it is refused');

  // A writer changes what belongs to the tenant of the token, or everything.
  const writing = await signIn(writer.token, 'a writer');
  const changed = await offered(writing, 'a writer');
  same(changed.views, ['#/model', '#/changes', '#/operations', '#/transfer'], 'the views of a writer');
  const own = creatable.filter((name) => !tenant || service.entities.find((entity) => entity.name === name).has_tenant);
  same(changed.creates, own, 'what a writer creates');
  check(changed.edits.includes(one.name) && changed.deletes.includes(one.name) && changed.selects.includes(one.name), `a writer changes ${one.name}: ${JSON.stringify(changed)}`);
  if (tenant) {
    check(!changed.edits.includes(shared.name) && !changed.selects.includes(shared.name), `nobody changes ${shared.name} for other tenants`);
    await expect(writing.getByText(`tenant ${tenant}`), 'the tenant of the token is shown');
    check((await writing.getByLabel('tenant', { exact: true }).count()) === 0, 'and cannot be changed');
    await driver.visit(writing, `#/entity/${one.name}`);
    const ids = await writing.locator('td.id').allTextContents();
    check(ids.join() === 'given 1', `only those of the tenant are listed: ${ids}`);
    await driver.visit(writing, `#/entity/${one.name}/given 2`);
    await expect(writing.locator('main [role=alert]').filter({ hasText: 'not-found' }), 'those of another one do not exist');
  }

  // A token that is revoked meanwhile: what was typed stays, beside the words of the server.
  await driver.visit(writing, `#/create/${one.name}`);
  const fields = Object.entries(documentOf(service, one, 3, tenant));
  for (const [name, value] of fields) await enter(writing, name, value);
  const editing = await signIn(writer.token, 'a writer');
  await driver.visit(editing, `#/entity/${one.name}`);
  check((await call(admin, 'DELETE', `/tokens/${writer.id}`)).status === 204, 'the token is revoked');
  const said = await submit(writing);
  check(said.some((text) => /unauthorized/.test(text)), `the form says why nothing is saved: ${said}`);
  const typed = await writing.locator('form.entity').locator('input, textarea, select').evaluateAll((all) => all.filter(({ value }) => value !== '').length);
  check(typed >= fields.length, 'what was typed stays');
  const selected = editing.getByLabel('Select all on this page');
  await selected.check();
  await editing.getByRole('button', { name: 'Delete', exact: true }).press('Enter');
  await editing.locator('.confirm .danger:focus').press('Enter');
  await expect(editing.locator('main [role=alert]').filter({ hasText: 'unauthorized' }), 'so does the list, of a deletion');
  check((await call(admin, 'GET', '/tokens')).body.items.length === 2, 'there are two tokens');
});
