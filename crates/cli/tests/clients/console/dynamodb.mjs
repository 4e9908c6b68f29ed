// The console of `keyloom dynamodb`: `node console/dynamodb.mjs URL [KEY SECRET]`. Without a key, tables are made first.

import { findings } from '../axe.mjs';
import { Driver, check, checkWidths, expect, settled } from './driver.mjs';
import { walk } from './keyboard.mjs';

const [, , url, key, secret] = process.argv;
const driver = await Driver.start(url);

async function open(options) {
  const page = await driver.open(options);
  page.on('request', (request) => {
    if (secret && (request.url().includes(secret) || JSON.stringify(request.headers()).includes(secret))) driver.mishaps.push('the secret leaves the page');
  });
  return page;
}

async function call(page, operation, body) {
  return page.evaluate(
    async ([operation, body]) => {
      const headers = { 'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': `DynamoDB_20120810.${operation}` };
      const response = await fetch('/', { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    },
    [operation, body],
  );
}

const visit = (page, view) => driver.visit(page, view);

const EVIL = '"><img src=x onerror="globalThis.hacked = 1">';

/** A table with an index, and items: more than a page, one of them wide, one of them hostile. */
async function fill(page) {
  await visit(page, '#/');
  const attribute = (name, type) => ({ AttributeName: name, AttributeType: type });
  const schema = (hash, range) => [{ AttributeName: hash, KeyType: 'HASH' }, ...(range ? [{ AttributeName: range, KeyType: 'RANGE' }] : [])];
  const made = await call(page, 'CreateTable', {
    TableName: 'things',
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [attribute('owner', 'S'), attribute('number', 'N'), attribute('kind', 'S')],
    KeySchema: schema('owner', 'number'),
    GlobalSecondaryIndexes: [{ IndexName: 'by_kind', KeySchema: schema('kind', 'number'), Projection: { ProjectionType: 'ALL' } }],
  });
  check(made.status === 200, `the table is made: ${JSON.stringify(made)}`);
  for (let active = false; !active; ) active = (await call(page, 'DescribeTable', { TableName: 'things' })).body.Table.TableStatus === 'ACTIVE';
  for (let number = 0; number < 120; number += 1) {
    const Item = { owner: { S: number < 100 ? 'ada' : 'bob' }, number: { N: String(number) }, kind: { S: number % 2 ? 'odd' : 'even' }, note: { S: `note ${number} `.padEnd(200, 'long text ') } };
    if (number === 1) Item.evil = { M: { [EVIL]: { L: [{ S: EVIL }, { N: '12345678901234567890123456789012345678' }] } } };
    const put = await call(page, 'PutItem', { TableName: 'things', Item });
    check(put.status === 200, `an item is put: ${JSON.stringify(put)}`);
  }
}

async function use(page) {
  const rows = page.getByRole('region', { name: /^A page of/ }).locator('tbody tr');
  const alert = page.locator('main [role=alert]');
  await visit(page, '#/');
  await page.getByRole('link', { name: 'things' }).first().press('Enter');
  await expect(rows, 'items are shown');
  check((await rows.count()) === 50, 'a page of them');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.waitForFunction(() => /from=/.test(location.hash));
  await page.getByRole('button', { name: 'Back' }).click();
  await page.waitForFunction(() => !/from=/.test(location.hash));
  // A query of the table, and one of the index.
  await page.getByLabel('owner (partition key)').fill('bob');
  await page.getByLabel('number (sort key) is').selectOption('>=');
  await page.getByLabel('its value').fill('110');
  await page.getByLabel('its value').press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length === 10);
  await expect(page.getByText(/^query: 10 items read, [\d.]+ read units?$/), 'its cost is shown');
  await page.getByRole('link', { name: 'by_kind' }).click();
  await page.getByLabel('kind (partition key)').fill('odd');
  await page.getByLabel('from the end').check();
  await page.getByLabel('from the end').press('Enter');
  await page.waitForFunction(() => /119/.test(document.querySelector('main tbody tr')?.textContent ?? ''));
  // Creating, with the service's own words; then changing, unless somebody else has meanwhile.
  await page.getByRole('link', { name: 'Create an item' }).click();
  const text = page.getByLabel('Attributes with their types, as the API has them');
  await text.fill('{"owner": {"S": "eve"}}');
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(alert, 'a missing key is refused');
  await text.fill('{"owner": {"S": "eve"}, "number": {"N": "1"}, "note": {"S": "one"}}');
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('button', { name: 'Save' }), 'it is created and opened');
  const item = { owner: { S: 'eve' }, number: { N: '1' }, note: { S: 'theirs' } };
  if (!key) {
    await call(page, 'PutItem', { TableName: 'things', Item: item });
    await text.fill('{"owner": {"S": "eve"}, "number": {"N": "1"}, "note": {"S": "mine"}}');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(alert.filter({ hasText: 'ConditionalCheckFailed' }), 'a change by somebody else is not overwritten');
  }
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.waitForFunction(() => /#\/table\/things$/.test(location.hash));
  // Several are deleted together.
  await visit(page, '#/table/things?partition=bob');
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(page.getByText('Nothing here.'), 'all of them are deleted');
  // What others wrote runs nowhere, and numbers keep their digits.
  await visit(page, '#/item/things/' + encodeURIComponent(JSON.stringify({ owner: { S: 'ada' }, number: { N: '1' } })));
  check((await text.inputValue()).includes('12345678901234567890123456789012345678'), 'long numbers are whole');
  check((await page.evaluate(() => globalThis.hacked)) === undefined, 'nothing ran');
  await visit(page, '#/heat');
  await expect(page.getByRole('region', { name: 'Partitions of things', exact: true }), 'partitions are shown');
  await expect(page.getByRole('region', { name: 'Heaviest keys of things', exact: true }).locator('td', { hasText: 'ada' }), 'with the heaviest keys');
  await visit(page, '#/figures');
  await expect(page.locator('code', { hasText: 'PutItem' }), 'operations are measured');
}

async function inspect() {
  const one = '#/item/things/' + encodeURIComponent(JSON.stringify({ owner: { S: 'ada' }, number: { N: '1' } }));
  for (const colorScheme of ['light', 'dark']) {
    const page = await open({ colorScheme, bypassCSP: true, viewport: { width: 1280, height: 900 } });
    await signIn(page);
    for (const view of ['#/', '#/table/things', '#/table/things?index=by_kind', one, '#/create/things', '#/heat', '#/figures']) {
      await visit(page, view);
      await settled(page);
      const found = await findings(page);
      check(found.length === 0, `${view}, ${colorScheme}: axe finds\n${found.join('\n')}`);
      if (colorScheme === 'light') await walk(page, view);
      await checkWidths(page, `dynamodb ${view}`, colorScheme);
    }
    await page.close();
  }
}

async function signIn(page) {
  if (!key) return;
  await page.goto(`${url}/console`);
  await page.getByLabel('access key id').fill(key);
  await page.getByLabel('secret access key').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.locator('main [role=alert]'), 'a wrong secret is refused');
  await page.getByLabel('secret access key').fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Tables' }), 'the right one is accepted');
}

const page = await open({ viewport: { width: 1280, height: 900 } });
await driver.run(page, async () => {
  if (key) return signIn(page);
  await fill(page);
  await use(page);
  await inspect();
});
