// The page of the comments application, with 2,000 sample comments.

export async function use(page, url, { check, until, number, sum }) {
  const total = async () => number((await page.locator('#total').textContent()).split(' ')[0]);
  const texts = () => page.locator('.comment').allTextContents();
  const ratings = async () => (await page.locator('#ratings b').allTextContents()).map(number);
  const language = (name) => page.locator('#languages .chip').filter({ hasText: new RegExp(`^${name} `) });

  await page.goto(`${url}/?product=1`);
  await until('comments are there', async () => (await page.locator('.comment').count()) === 20);
  const all = await total();
  check(sum(await ratings()) === all, 'the ratings add up to all');

  const english = number(await language('en').locator('b').textContent());
  await language('en').click();
  await until('a language narrows', async () => (await total()) === english && sum(await ratings()) === english);
  const [five, , , , one] = await ratings();
  await page.getByRole('button', { name: /^Rating 5:/ }).click();
  await until('so does a rating', async () => (await total()) === five);
  await page.getByRole('button', { name: /^Rating 1:/ }).click();
  await until('two ratings are both', async () => (await total()) === five + one);
  check((await ratings())[0] === five, 'counts of ratings tell what could be chosen');
  const shown = await page.locator('.comment .stars').evaluateAll((all) => all.map((one) => one.ariaLabel));
  check(shown.every((label) => label === '5 of 5' || label === '1 of 5'), 'no other is listed');

  await page.goto(`${url}/?product=1`);
  await until('everything again', async () => (await total()) === all);
  const first = await texts();
  await page.locator('#next').click();
  await until('there is another page', async () => (await texts()).join() !== first.join());
  await page.locator('#previous').click();
  await until('and the way back', async () => (await texts()).join() === first.join());

  const loved = async () => (await page.locator('.leader b').allTextContents()).map(number);
  const scores = await loved();
  check(scores.length === 10 && scores.every((score, at) => at === 0 || score <= scores[at - 1]), 'leaders lead');
  const second = await page.locator('.leader a').nth(1).textContent();
  await page.locator('.leader a').nth(1).click();
  await until('a leader is a link', async () => (await page.locator('#product').textContent()) === second);
  await until('its comments are there', async () => (await page.locator('.comment').count()) > 0);

  const before = await total();
  const evil = '<b onmouseover=alert(1)>good</b>';
  await page.locator('#new textarea').fill(evil);
  await page.locator('#new button').click();
  await until('a new comment is counted', async () => (await total()) === before + 1);
  check((await texts())[0].includes(evil), 'it is the newest');
  await until('its product is loved more', async () => {
    const at = (await page.locator('.leader a').allTextContents()).indexOf(second);
    return (await loved())[at] === scores[1] + 1;
  });

  const data = { product: second, language: 'en', rating: 5, body: 'by somebody else' };
  await page.request.post(`${url}/comments`, { data });
  await until('what others write appears', async () => (await texts())[0].includes('by somebody else'));
  await until('and counts', async () => (await total()) === before + 2 && sum(await ratings()) === before + 2);
  await language('en').click();
  await until('a language narrows again', async () => (await total()) < before + 2);
  await page.request.post(`${url}/comments`, { data: { ...data, language: 'xx' } });
  await until('what the filter leaves out counts, too', async () => (await language('xx').count()) === 1);
}
