// The console of the tasks application, with as many tasks as `large-data.mjs` has made: everything that must stay as
// usable as with a few. Prints how long each view takes; nothing here depends on it.

import { check, expect } from './driver.mjs';

export async function use(page, { visit, all, elements }) {
  const rows = page.getByRole('region', { name: /^A page of/ }).locator('tbody tr');
  const firstId = () => rows.first().locator('td.id').textContent();
  console.log('| view | ms | requests | bytes | elements | slowest request |');
  console.log('|---|---:|---:|---:|---:|---|');
  /** Measures from here until `act` has seen what it waits for. */
  const timed = async (view, act) => {
    await page.evaluate(() => performance.clearResourceTimings());
    const start = performance.now();
    await act();
    const ms = Math.round(performance.now() - start);
    const requests = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name, duration, encodedBodySize }) => ({ name, duration, bytes: encodedBodySize })));
    const slowest = requests.reduce((most, one) => (one.duration > most.duration ? one : most), { name: '', duration: 0 });
    const { pathname, search } = slowest.name === '' ? { pathname: '', search: '' } : new URL(slowest.name);
    const path = `${pathname}${search.replace(/cursor=[^&]*/, 'cursor=…')}`.slice(0, 80);
    const bytes = requests.reduce((sum, one) => sum + one.bytes, 0);
    console.log(`| ${view} | ${ms} | ${requests.length} | ${bytes} | ${await elements(view)} | ${Math.round(slowest.duration)} ms ${path} |`);
    check((await page.locator('main [role=alert]').count()) === 0, `${view}: ${await page.locator('main [role=alert]').allTextContents()}`);
  };
  const list = (parameters) => `#/entity/task?.list=list_task_all${parameters}`;
  const opened = (view, parameters, until) => timed(view, async () => {
    await visit(list(parameters));
    await until();
  });
  const total = async (number) => expect(page.getByText(`${number.toLocaleString('en')} in total`, { exact: true }), `${number} in total`);

  // Pages, from either end.
  await opened('first page', '', () => expect(rows, 'tasks are listed'));
  await opened('first page and total', '&.total=true', () => expect(page.getByText(/in total$/), 'the total is shown'));
  const count = Number((await page.locator('.total').textContent()).replace(/\D/g, ''));
  check(count >= 20_000, `${count} tasks`);
  const last = `t${String(count - 1).padStart(8, '0')}`;
  await opened('last page and total', '&.reverse=true&.total=true', () => total(count));
  // Tasks that are imported at the same time can be in either order.
  const end = await firstId();
  for (const [button, isEnd] of [['Next', false], ['Next', false], ['Previous', false], ['Previous', true]]) {
    await timed(`${button.toLowerCase()} page`, async () => {
      const before = await firstId();
      await page.getByRole('button', { name: button }).click();
      await page.waitForFunction((before) => document.querySelector('main tbody td.id')?.textContent !== before, before);
    });
    check(((await firstId()) === end) === isEnd, 'pages lead on and back');
  }

  // Tags: of few, of half, together.
  await opened('tag of 3 at the end', '&tag=rare%3Alast&.total=true', () => total(3));
  const found = await rows.locator('td.id').allTextContents();
  check(found.length === 3 && found.includes(last), `the last three: ${found}`);
  await opened('tag of 3 at the beginning, from the end', '&tag=rare%3Afirst&.reverse=true&.total=true', () => total(3));
  await opened('tag of half', '&tag=priority%3Ahigh&.total=true', () => total(count / 2));
  await opened('half, but 3 at the end', '&tag=priority%3Ahigh&tag=rare%3Alast&.total=true', () => total(2));
  await opened('half, one key of 300', '&tag=priority%3Ahigh&tag=key%20101%3A*&.total=true', () => expect(page.getByText(/in total$/), 'a key is found'));
  await opened('half, none of another half', '&tag=priority%3Ahigh&tag=!rare%3A*&.total=true', () => total(count / 2 - 3));
  await timed('list of those that are open', async () => {
    await visit('#/entity/task?.list=list_task_open&.total=true');
    await expect(page.getByText(/in total$/), 'open tasks are counted');
  });

  // Values with their numbers: of 300 keys, and of a key with 10,000 values.
  const values = page.locator('.counted li');
  await visit(list('&.total=true'));
  await timed('values in this list', async () => {
    await page.getByText('Values in this list').click();
    await expect(values, 'keys are listed');
  });
  await timed('keys by their beginning', async () => {
    await page.getByRole('searchbox').fill('she');
    await expect(values.filter({ hasText: /^shelf/ }), 'a key is found by its beginning');
  });
  await timed('10,000 values', async () => {
    await page.getByRole('button', { name: /^shelf/ }).click();
    await expect(values.filter({ hasText: 'shelf 0000' }), 'its values are listed');
  });
  const more = page.getByRole('button', { name: 'More', exact: true });
  await timed('20 × more values', async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      const before = await values.last().textContent();
      await more.click();
      await page.waitForFunction((before) => [...document.querySelectorAll('.counted li')].at(-1)?.textContent !== before, before);
    }
  });
  check((await values.last().textContent()).startsWith('shelf 2011'), 'each page is shown once');
  await timed('values by their beginning', async () => {
    await page.getByRole('searchbox').fill('shelf 12');
    await expect(values.filter({ hasText: 'shelf 1200' }), 'values are found by their beginning');
  });
  check((await values.count()) === 12, 'some of them');
  await timed('more of those', async () => {
    await more.click();
    await expect(values.filter({ hasText: 'shelf 1299' }), 'all of them on request');
  });
  check((await values.count()) === 100 && (await more.count()) === 0, 'and no others');
  await timed('a value is chosen', async () => {
    await values.filter({ hasText: 'shelf 1234' }).getByRole('button').click();
    await total(count / 10_000);
  });
  await visit(list('&tag=priority%3Ahigh'));
  await timed('values among half', async () => {
    await page.getByText('Values in this list').click();
    await expect(values, 'keys are listed');
  });
  await timed('10,000 values among half', async () => {
    await page.getByRole('searchbox').fill('shelf');
    await values.filter({ hasText: /^shelf/ }).getByRole('button').click();
    await expect(values.filter({ hasText: 'shelf 0001' }), 'those that occur are listed');
  });

  // One task, with as many tags as there can be, and its rows.
  await timed('a task with 200 tags', async () => {
    await visit('#/entity/task/t00000005');
    await expect(page.locator('.chip'), 'its tags are shown');
  });
  await timed('its rows in the table', async () => {
    await page.getByText('Rows in the table').click();
    await expect(page.getByText('tag many 196:value 196'), 'each row has a reason');
  });
  check((await page.locator('tr.missing').count()) === 0, 'and none is missing');
  await timed('the last task', async () => {
    await visit(`#/entity/task/${last}`);
    await expect(page.locator('.chip', { hasText: 'rare: last' }), 'it is shown');
    await page.getByText('Rows in the table').click();
    await expect(page.getByText('tag rare:last'), 'with its rows');
  });

  // A live list, of few and of all.
  const send = (method, path, body) => page.evaluate(async ([method, path, body]) => {
    const response = await fetch(path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    return response.status === 204 ? null : response.json();
  }, [method, path, body]);
  await visit(list('&tag=rare%3Alast&.total=true'));
  await total(3);
  await timed('live list of 3', async () => {
    await page.getByLabel('live').check();
    await expect(page.getByText('connected'), 'the stream is open');
  });
  let added;
  await timed('one enters', async () => {
    added = await send('POST', '/tasks', { name: 'added', tags: { rare: 'last', priority: 'low' } });
    await total(4);
  });
  await timed('and leaves', async () => {
    await send('DELETE', `/tasks/${added.id}`);
    await total(3);
  });
  await visit(list('&.total=true'));
  await timed('live list of all', async () => {
    await page.getByLabel('live').check();
    await total(count);
  });
  await timed('one changes', async () => {
    await send('PATCH', '/tasks/t00000003', { description: 'changed by another' });
    await expect(page.getByText('changed by another'), 'the change is shown');
  });

  // Selected tasks, and all that match.
  await opened('a value of 10,000', '&tag=shelf%3Ashelf%204321&.total=true', () => total(count / 10_000));
  await page.getByLabel('Select all on this page').check();
  const onPage = await rows.count();
  await page.getByRole('button', { name: 'Set a field' }).click();
  await page.getByRole('combobox', { name: 'set', exact: true }).selectOption('description');
  await page.getByRole('textbox', { name: 'to', exact: true }).fill('selected');
  await timed('a field of those on the page is set', async () => {
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await page.waitForFunction((count) => [...document.querySelectorAll('main tbody tr')].filter((row) => /selected/.test(row.textContent)).length === count, onPage);
  });
  await page.getByRole('button', { name: 'Change all that match' }).click();
  await page.getByRole('combobox', { name: 'set', exact: true }).last().selectOption('description');
  await page.getByRole('textbox', { name: 'to', exact: true }).last().fill('all that match');
  await timed('a field of all that match is set', async () => {
    await page.getByRole('button', { name: 'Set', exact: true }).first().click();
    await page.getByRole('link', { name: 'see its progress' }).click();
    await expect(page.locator('td', { hasText: /^done$/ }), 'the operation ends');
  });

  // Views that are of no list.
  await timed('operations', async () => {
    await visit('#/operations');
    await expect(page.getByRole('region', { name: 'Disk' }).getByText(/^[\d.]+ [kMG]?B$/), 'the disk is shown');
    await expect(page.locator('code', { hasText: 'list_task_all' }), 'operations are measured');
  });
  await timed('model', async () => {
    await visit('#/model');
    await expect(page.locator('.picture svg'), 'the picture is drawn');
  });
  await timed('cost of tasks', async () => {
    await visit('#/model/task');
    await expect(page.getByRole('region', { name: 'What it costs' }).locator('td.number'), 'requests are measured');
  });

  // These are inspected too, besides those of every service; `/` is the page of the application.
  const shown = ['&.total=true&tag=priority%3Ahigh', '&.reverse=true', '&tag=remark%3A*', '&tag=rare%3Alast'];
  all.push(...shown.map(list), '#/entity/task/t00000003', '#/entity/task/t00000005', '/');
}
