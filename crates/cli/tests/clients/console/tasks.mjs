// The console of the tasks application, with 300 sample tasks: what an administrator does with data.

export async function use(page, { url, check, visit }) {
  const rows = page.getByRole('region', { name: /^A page of/ }).locator('tbody tr');
  const alert = page.locator('main [role=alert]');
  const expect = async (locator, claim) => {
    await locator.first().waitFor({ timeout: 20_000 }).catch(() => check(false, claim));
  };

  // Filters, values with their numbers, totals, and pages.
  await visit('#/entity/task?list=list_task_all&.total=true');
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

  // Creating, with the server's own words about what is wrong, beside the field; by keyboard alone.
  await visit('#/create/task');
  await page.getByLabel('name').focus();
  await page.keyboard.press('Enter');
  await expect(page.locator('.field .error'), 'a missing name is reported');
  check((await page.getByLabel('name').getAttribute('aria-invalid')) === 'true', 'at its field');
  const evil = `<img src=x onerror=alert(1)> ${'long '.repeat(38)}`.trim();
  await page.getByLabel('name').fill(evil.slice(0, 200));
  await page.getByLabel('tags').fill('room: kitchen\nodd:key: a|b');
  await page.getByLabel('name').press('Enter');
  await expect(page.getByRole('button', { name: 'Edit' }), 'it is created and opened');
  check((await page.locator('h1 + * , .fields').first().textContent()) !== null, 'its fields are shown');
  check((await page.locator('main img').count()) === 0, 'texts are texts');

  // Its rows in the table.
  await page.getByText('Rows in the table').click();
  await expect(page.getByText('tag room:kitchen'), 'each row has a reason');
  check((await page.locator('tr.missing').count()) === 0, 'and none is missing');

  // Editing: the live view follows, tags are removed by leaving them out.
  await page.getByLabel('live').check();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('tags').fill('room: attic');
  await page.getByLabel('done').selectOption('true');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('.chip', { hasText: 'room: attic' }), 'the change is shown');
  check((await page.locator('.chip', { hasText: 'kitchen' }).count()) === 0, 'the old tag is gone');
  const id = decodeURIComponent(page.url().split('/').pop());

  // A change by somebody else in between is not overwritten.
  await page.getByLabel('live').uncheck();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('description').fill('mine');
  await page.evaluate(async (id) => {
    await fetch(`/tasks/${id}`, { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: '{"description":"theirs"}' });
  }, id);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(alert, 'the conflict is reported');
  await page.getByRole('button', { name: 'Cancel' }).click();

  // A list follows changes; selected entities are deleted together.
  await visit('#/entity/task?list=list_task_all&tag=room%3Aattic&.total=true');
  await expect(page.getByText('1 in total'), 'the tag finds it');
  await page.getByLabel('live').check();
  await page.evaluate(async () => {
    const body = JSON.stringify({ name: 'another', tags: { room: 'attic' } });
    await fetch('/tasks', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  });
  await expect(page.getByText('2 in total'), 'what enters is shown without a reload');
  await page.getByLabel('live').uncheck();
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('Nothing here.'), 'both are deleted');

  // Export.
  await visit('#/entity/task?list=list_task_all');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
  const { readFileSync } = await import('node:fs');
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\n');
  check(lines.length === 300 && JSON.parse(lines[0]).name !== undefined, `${lines.length} lines are exported`);

  // The model: picture, declaration, errors with their lines, and what a change would do.
  await visit('#/model');
  await page.getByRole('link', { name: /^task.*2 lists/ }).focus();
  await page.keyboard.press('Enter');
  await expect(page.locator('pre', { hasText: '[entity.task]' }), 'the declaration is shown');
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
  await page.evaluate(async () => {
    const body = JSON.stringify({ description: 'all of them' });
    await fetch('/tasks?tag=priority:high', { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body });
  });
  await visit('#/operations');
  await expect(page.getByText('update task'), 'the operation is listed');
  await expect(page.locator('td', { hasText: /^done$/ }), 'and ends');
  await expect(page.locator('code', { hasText: 'list_task_all' }), 'operations are measured');

  // An unknown address, and an unknown entity.
  await visit('#/entity/nothing');
  check((await page.locator('h1').textContent()) === 'Nothing here', 'an unknown entity is reported');
  await visit('#/entity/task/nobody');
  await expect(alert, 'an unknown id is reported');
  check(url.startsWith('http://127.0.0.1'), 'the server is local');
}
