// The console of the tasks application, with 300 sample tasks: what an administrator does with data.

import { call } from './api.mjs';
import { check, expect, settled, until } from './driver.mjs';
import { enter } from './form.mjs';

export async function use(page, { url, open, visit }) {
  const rows = page.getByRole('region', { name: /^A page of/ }).locator('tbody tr');
  const alert = page.locator('main [role=alert]');

  // Filters, values with their numbers, totals, and pages.
  await visit('#/entity/task?.list=list_task_all&.total=true');
  await expect(page.getByText('300 in total'), 'the total is shown');
  await page.getByText('Values in this list').click();
  await page.getByRole('button', { name: /^priority/ }).click();
  await page.getByRole('button', { name: /^high/ }).click();
  await page.waitForFunction(() => /^[12]?\d{1,2} in total$/.test(document.querySelector('.total').textContent));
  check((await rows.filter({ hasText: 'priority: high' }).count()) === (await rows.count()), 'all of them match');
  await expect(page.getByText(/^Cost/), 'its cost is shown');
  const first = await rows.first().textContent();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.waitForFunction((first) => document.querySelector('main tbody tr')?.textContent !== first, first);
  await page.getByRole('button', { name: 'Previous' }).click();
  await page.waitForFunction((first) => document.querySelector('main tbody tr')?.textContent === first, first);

  // Creating: what is wrong is said at its field, and texts are texts.
  await visit('#/create/task');
  await page.getByLabel('name').press('Enter');
  await expect(page.locator('.field .error'), 'a missing name is reported');
  check((await page.getByLabel('name').getAttribute('aria-invalid')) === 'true', 'at its field');
  await page.getByLabel('name').fill(`<img src=x onerror=alert(1)> ${'long '.repeat(38)}`.trim().slice(0, 200));
  await enter(page, 'tags', { room: 'kitchen' });
  await page.getByLabel('name').press('Enter');
  await expect(page.getByRole('button', { name: 'Edit' }), 'it is created and opened');
  check((await page.locator('main img').count()) === 0, 'texts are texts');
  const id = decodeURIComponent(page.url().split('/').pop());

  // What is edited while the entity is followed is shown, without the tags that were left out.
  await page.getByLabel('live').check();
  await page.getByRole('button', { name: 'Edit' }).click();
  await enter(page, 'tags', { room: 'attic' });
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('.chip', { hasText: 'room: attic' }), 'the change is shown');
  check((await page.locator('.chip', { hasText: 'kitchen' }).count()) === 0, 'the old tag is gone');

  // Whoever has gone on to cancel a deletion stays there, whatever others change meanwhile.
  await page.getByRole('button', { name: 'Delete', exact: true }).press('Enter');
  await page.locator('.confirm .danger:focus').press('Tab');
  await call(page, 'PATCH', `/tasks/${id}`, { description: 'changed meanwhile' });
  await expect(page.getByText('changed meanwhile'), 'the change is shown');
  await page.keyboard.press('Enter');
  await page.locator('.confirm').waitFor({ state: 'detached' });
  await expect(page.locator('main button.danger:focus'), 'where the keyboard was before');
  check((await call(page, 'GET', `/tasks/${id}`)).status === 200, 'nothing is deleted');

  // A list follows changes; selected entities are deleted together.
  await visit('#/entity/task?.list=list_task_all&tag=room%3Aattic&.total=true');
  await expect(page.getByText('1 in total'), 'the tag finds it');
  await page.getByLabel('live').check();
  await page.evaluate(async () => {
    const body = JSON.stringify({ name: 'another', tags: { room: 'attic' } });
    await fetch('/tasks', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  });
  await expect(page.getByText('2 in total'), 'what enters is shown without a reload');
  await page.getByLabel('live').uncheck();
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(page.getByText('Nothing here.'), 'both are deleted');

  // A field of the selected ones is set together; what the model refuses is reported.
  await visit('#/entity/task?.list=list_task_all');
  await page.getByLabel('Select all on this page').check();
  const onPage = await rows.count();
  await page.getByRole('button', { name: 'Set a field' }).click();
  await page.getByRole('combobox', { name: 'set', exact: true }).selectOption('name');
  await page.getByRole('textbox', { name: 'to', exact: true }).fill('x'.repeat(201));
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await expect(page.locator('.field .error'), 'a name that is too long is refused');
  await page.getByRole('textbox', { name: 'to', exact: true }).fill('set together');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await page.waitForFunction((count) => [...document.querySelectorAll('main tbody tr')].filter((row) => /set together/.test(row.textContent)).length === count, onPage);

  // Ways to find a page that were not chosen, and the one that was.
  await visit('#/entity/task?.list=list_task_all&tag=priority%3Ahigh');
  await page.getByText(/^Cost/).click();
  await expect(page.getByRole('region', { name: 'Ways to find the page' }).locator('td', { hasText: /^chosen$/ }), 'the chosen way is marked');
  check((await page.getByRole('region', { name: 'Ways to find the page' }).locator('tbody tr').count()) > 1, 'beside others');

  // Export.
  await visit('#/entity/task?.list=list_task_all');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
  const { readFileSync } = await import('node:fs');
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\n');
  check(lines.length === 300 && JSON.parse(lines[0]).name !== undefined, `${lines.length} lines are exported`);

  // Import: what was exported, with a line that the model refuses and one that is no JSON.
  await visit('#/transfer');
  const file = await download.path();
  const some = [...lines.slice(0, 120), '{"name": ""}', 'nonsense'].join('\n');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(`${file}.more`, some);
  await page.getByLabel('file', { exact: true }).setInputFiles(`${file}.more`);
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await expect(page.getByText('122 lines read, 120 written, 2 refused.'), 'lines are written or refused');
  const refused = await page.getByRole('region', { name: 'Refused lines' }).locator('tbody tr').allTextContents();
  check(/^121/.test(refused[0]) && /^122/.test(refused[1]), `refused lines are numbered: ${refused}`);
  const exported = JSON.parse(lines[0]).id;
  writeFileSync(`${file}.again`, JSON.stringify({ ...JSON.parse(lines[0]), description: 'replaced' }));
  await page.getByLabel('file', { exact: true }).setInputFiles(`${file}.again`);
  await page.getByLabel('what to do').selectOption('put');
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await expect(page.getByText('1 line read, 1 written, 0 refused.'), 'a line replaces its entity');
  const after = await page.evaluate(async (id) => (await fetch(`/tasks/${id}`)).json(), exported);
  check(after.description === 'replaced', 'it is replaced');

  // A backup, into the folder of the operator.
  await page.getByRole('button', { name: 'Back up now' }).click();
  await expect(page.getByText(/^Done: [\d,]+ rows in backup-/), 'the backup ends');
  await expect(page.getByRole('region', { name: 'Backups' }).locator('td.id', { hasText: /^backup-/ }), 'and is listed');

  // A response that is lost: the request is sent again with its key, and takes effect once.
  const keys = [];
  await page.route(`${url}/tasks`, async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await visit('#/create/task');
  await page.getByLabel('name').fill('sent twice');
  await enter(page, 'tags', { room: 'cellar' });
  await page.getByLabel('name').press('Enter');
  await expect(page.getByRole('button', { name: 'Edit' }), 'it is created and opened');
  await page.unroute(`${url}/tasks`);
  check(keys.length === 2 && keys[0] !== undefined && keys[0] === keys[1], `the keys are ${keys}`);
  await visit('#/entity/task?.list=list_task_all&tag=room%3Acellar&.total=true');
  await expect(page.getByText('1 in total'), 'there is one');

  // What a server cannot do now is said at once, although it names a time to wait: nobody waits for a second answer.
  const full = { code: 'writes-refused', title: 'Writes are refused', status: 503, detail: 'The disk is full.' };
  let isAnswered = false;
  await page.route(`${url}/readyz`, async (route) => {
    if (isAnswered) return;
    isAnswered = true;
    await route.fulfill({ status: 503, contentType: 'application/problem+json', headers: { 'Retry-After': '1' }, body: JSON.stringify(full) });
  });
  await visit('#/operations');
  await expect(page.getByText('The disk is full.'), 'the server cannot write');
  await page.unroute(`${url}/readyz`);

  // A slow server is asked once at a time: its response is shown however late it is.
  const slow = await open();
  await slow.clock.install();
  const asked = [];
  let answer;
  const isSlow = new Promise((resolve) => { answer = resolve; });
  await slow.route(`${url}/metrics`, async (route) => {
    asked.push(route.request());
    await isSlow;
    await route.continue().catch(() => {});
  });
  await slow.goto(`${url}/console#/operations`);
  await until('the figures are asked for', () => asked.length, (count) => count > 0);
  for (let tick = 0; tick < 3; tick += 1) await slow.clock.runFor(4_000);
  check(asked.length === 1 && asked[0].failure() === null, `the figures are asked for ${asked.length} times, until ${asked[0].failure()?.errorText}`);
  answer();
  await expect(slow.getByRole('region', { name: 'Disk' }), 'and shown');
  await slow.close();

  // The model: picture, declaration, errors with their lines, and what a change would do.
  await visit('#/model');
  await page.getByRole('link', { name: /^task.*2 lists/ }).focus();
  await page.keyboard.press('Enter');
  await expect(page.locator('pre', { hasText: '[entity.task]' }), 'the declaration is shown');
  const measured = page.getByRole('region', { name: 'What it costs' }).locator('tr');
  await expect(measured.filter({ hasText: 'create one' }).locator('td.number'), 'creating one has a price');
  await expect(measured.filter({ hasText: 'list_task_all' }).locator('td.number'), 'so has a page');
  const svg = page.locator('.picture svg');
  const before = await svg.getAttribute('viewBox');
  await page.getByRole('button', { name: 'Zoom in' }).press('Enter');
  check((await svg.getAttribute('viewBox')) !== before, 'the picture is zoomed by keyboard');
  const text = page.getByLabel('Another model');
  const served = await text.inputValue();
  await text.fill(served.replace('list.all', 'list.al l'));
  await page.getByRole('button', { name: 'Compare' }).click();
  await expect(page.getByRole('region', { name: 'Errors' }), 'errors have lines');
  await text.fill(`${served}\n[entity.room]\nfields.name = "text 1..80"\nlist.all = {}\n`);
  await page.getByRole('button', { name: 'Compare' }).click();
  await expect(page.getByRole('heading', { name: 'Changes' }), 'changes are previewed');
  await text.fill(served);
  await page.getByRole('button', { name: 'Compare' }).click();
  await expect(page.getByText('This is the model that is served.'), 'the same model changes nothing');

  // Live changes.
  await visit('#/changes');
  await expect(page.getByText(/^connected/), 'the stream is open');
  const seen = await page.evaluate(async () => {
    const sent = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"name":"seen live"}' };
    return (await (await fetch('/tasks', sent)).json()).id;
  });
  await expect(page.getByRole('link', { name: `task ${seen}` }), 'a change is shown');
  await page.evaluate(async (id) => fetch(`/tasks/${id}`, { method: 'DELETE' }), seen);
  await expect(page.locator('td', { hasText: /^(remove|delete)$/ }), 'so is its deletion');

  // A change of a whole list, and its progress.
  await visit('#/entity/task?.list=list_task_all');
  check((await page.getByRole('button', { name: 'Change all that match' }).count()) === 0, 'not without a condition');
  await visit('#/entity/task?.list=list_task_all&tag=priority%3Ahigh');
  await page.getByRole('button', { name: 'Change all that match' }).click();
  await page.getByRole('combobox', { name: 'set', exact: true }).selectOption('description');
  await page.getByRole('textbox', { name: 'to', exact: true }).fill('all of them');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await page.getByRole('link', { name: 'see its progress' }).click();
  await expect(page.getByText('update task'), 'the operation is listed');
  await expect(page.locator('td', { hasText: /^done$/ }), 'and ends');
  await expect(page.locator('code', { hasText: 'list_task_all' }), 'operations are measured');
  await expect(page.getByRole('region', { name: 'Disk' }).getByText(/^[\d.]+ [kMG]?B$/), 'the disk is shown');
  await expect(page.getByText('Consumers of changes'), 'so are those who read changes');

  // A task with as many tags as the model allows: the list and the task stay usable.
  const tags = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`key ${index} of many`, `value ${index} `.padEnd(20, 'v')]));
  const many = await page.evaluate(async (tags) => {
    const sent = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ name: 'many tags', tags }) };
    return (await (await fetch('/tasks', sent)).json());
  }, tags);
  check(many.id !== undefined, `a task with 200 tags is created: ${JSON.stringify(many).slice(0, 200)}`);
  await visit(`#/entity/task/${many.id}`);
  await expect(page.locator('.chip'), 'its tags are shown');
  await page.getByRole('button', { name: /^Show all/ }).click();
  check((await page.locator('.chip').count()) === 200, 'all of them');

  // What others wrote runs nowhere: names, values, tags.
  await page.evaluate(async () => {
    const evil = '"><script>globalThis.hacked = 1</script><img src=x onerror="globalThis.hacked = 1">';
    const body = JSON.stringify({ name: evil, description: `javascript:globalThis.hacked=1 ${evil}`, tags: { [evil.slice(0, 60)]: evil.slice(0, 60), room: 'evil' } });
    await fetch('/tasks', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  });
  await visit('#/entity/task?.list=list_task_all&tag=room%3Aevil');
  await rows.first().locator('td.id a').click();
  await page.getByText('Rows in the table').click();
  await visit('#/entity/task?.list=list_task_all');
  await page.getByText('Values in this list').click();
  await expect(page.locator('.counted li'), 'values are listed');
  check((await page.evaluate(() => globalThis.hacked)) === undefined, 'nothing of it ran');

  // A server that goes away is reported, and the view comes back with it.
  await visit('#/entity/task?.list=list_task_all');
  await page.route('**/tasks?*', (route) => route.abort());
  await page.getByRole('button', { name: 'Next' }).click();
  await expect(alert.filter({ hasText: 'cannot be reached' }), 'a server that is gone is reported');
  await page.unroute('**/tasks?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await alert.waitFor({ state: 'detached' });
  // A slow one: the view stays usable, and a late answer of another view is dropped.
  let arrive;
  const isLate = new Promise((resolve) => { arrive = resolve; });
  await page.route('**/tasks?*', async (route) => {
    await isLate;
    await route.continue().catch(() => {});
  });
  await page.goto(`${url}/console#/entity/task?.list=list_task_all`);
  await page.getByRole('link', { name: 'Tokens' }).click();
  await expect(page.getByRole('heading', { name: 'Tokens' }), 'another view opens meanwhile');
  arrive();
  await settled(page);
  await expect(page.getByRole('heading', { name: 'Tokens' }), 'and stays');
  await page.unroute('**/tasks?*');

  // An unknown address, and an unknown entity.
  await visit('#/entity/nothing');
  check((await page.locator('h1').textContent()) === 'Nothing here', 'an unknown entity is reported');
  await visit('#/entity/task/nobody');
  await expect(alert, 'an unknown id is reported');
  check(url.startsWith('http://127.0.0.1'), 'the server is local');
}
