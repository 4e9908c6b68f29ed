// The page of the tasks application, with 300 sample tasks.

export async function use(page, url, { check, until, number, sum }) {
  const total = async () => number((await page.locator('#total').textContent()).split(' ')[0]);
  const names = () => page.locator('.task .name').allTextContents();
  const key = (name) => page.locator('#keys > div').filter({ has: page.locator('h2', { hasText: new RegExp(`^${name}$`) }) });
  const counts = async (name) => (await key(name).locator('.chip b').allTextContents()).map(number);
  const value = (name, text) => key(name).locator('.chip').filter({ hasText: new RegExp(`^${text} `) });

  await page.goto(url);
  await until('all tasks are counted', async () => (await total()) === 300);
  await until('all of them have a priority', async () => sum(await counts('priority')) === 300);

  const high = number(await value('priority', 'high').locator('b').textContent());
  check(high > 20 && high < 300, 'some have a high one');
  await value('priority', 'high').click();
  await until('the list narrows to what the count said', async () => (await total()) === high);
  await until('so do the other counts', async () => sum(await counts('severity')) === high);

  const low = number(await value('severity', 'low').locator('b').textContent());
  await value('severity', 'low').click();
  await until('and again', async () => (await total()) === low);
  check((await page.locator('#chosen .chip').count()) === 2, 'both tags are shown as chosen');
  await page.goBack();
  await until('back is back', async () => (await total()) === high);
  await page.locator('#chosen .chip').click();
  await until('what is chosen can be left', async () => (await total()) === 300);

  const first = await names();
  check(first.length === 20, 'a page has twenty');
  check(await page.locator('#previous').isDisabled(), 'nothing is newer than the newest');
  await page.locator('#next').click();
  await until('there is another page', async () => (await names()).join() !== first.join());
  const pageOf = async (query) => (await page.request.get(`${url}/tasks?limit=20&reverse=true${query}`)).json();
  const { next } = await pageOf('');
  const [older] = (await pageOf(`&cursor=${encodeURIComponent(next)}`)).items;
  await page.request.patch(`${url}/tasks/${older.id}`, { data: { name: 'by somebody else' } });
  await until('what others change on it appears', async () => (await names())[0] === 'by somebody else');
  await page.locator('#previous').click();
  await until('and the way back', async () => (await names()).join() === first.join());

  const evil = '<img src=x onerror=alert(1)>';
  await page.locator('#new [name=name]').fill(evil);
  await page.locator('#new [name=tags]').fill('url:http://x, mood:a|b*');
  await page.locator('#new button').click();
  await until('a new task is the first', async () => (await names())[0] === evil);
  await page.locator('#prefix').fill('http://x');
  await value('url', 'http://x').click();
  await until('its tag finds it', async () => (await names()).join() === evil);
  await page.locator('#prefix').fill('a|');
  await value('mood', 'a\\|b\\*').click();
  await until('so do signs that mean something', async () => (await total()) === 1);

  page.once('dialog', (dialog) => dialog.accept('url:http://x, mood:calm'));
  await page.getByRole('button', { name: 'Tags', exact: true }).click();
  await until('a tag that was changed finds it no more', async () => (await total()) === 0);
  await page.goto(`${url}/?tag=mood:calm`);
  await until('the new one does', async () => (await total()) === 1);
  await page.locator('.task input').check();
  await until('it is done', async () => (await page.locator('.task.done').count()) === 1);
  await page.getByRole('button', { name: 'Delete' }).click();
  await until('it is gone', async () => (await total()) === 0);

  await page.goto(url);
  await until('all are shown again', async () => (await total()) === 300);
  const made = await page.request.post(`${url}/tasks`, { data: { name: 'by somebody else', tags: { priority: 'high' } } });
  await until('what others add appears', async () => (await names())[0] === 'by somebody else');
  await until('and counts', async () => sum(await counts('priority')) === 301);
  await page.request.delete(`${url}/tasks/${(await made.json()).id}`);
  await until('and what they delete goes', async () => (await total()) === 300);

  await page.locator('#new [name=name]').fill('no tag');
  await page.locator('#new [name=tags]').fill('nothing');
  await page.locator('#new button').click();
  await page.locator('#problem').waitFor({ state: 'visible' });
  check(/a key and a value/.test(await page.locator('#problem').textContent()), 'the error is shown');
}
