// The pages of the applications, used as a person would: `node browser.mjs tasks|comments URL`.

import { chromium } from 'playwright-core';

const [, , app, url] = process.argv;

function check(truth, claim) {
  if (!truth) throw new Error(claim);
}

/** Waits until something holds that the page makes true by and by. */
async function until(claim, holds) {
  const asked = Date.now();
  for (;;) {
    const problem = await page.locator('#problem').textContent();
    check(problem === '' || (await page.locator('#problem').isHidden()), `${claim}: the page says “${problem}”`);
    if (await holds()) return;
    check(Date.now() - asked < 60_000, `${claim}: it does not become true`);
    await page.waitForTimeout(20);
  }
}

const number = (text) => Number(text.replace(/[^0-9]/g, ''));
const total = async () => number((await page.locator('#total').textContent()).split(' ')[0]);
const sum = (numbers) => numbers.reduce((left, right) => left + right, 0);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage();
const mishaps = [];
page.on('pageerror', (error) => mishaps.push(`the page failed: ${error.message}`));
page.on('console', (line) => {
  if (/Content Security Policy/i.test(line.text())) mishaps.push(line.text());
});
page.on('request', (request) => {
  if (!request.url().startsWith(url)) mishaps.push(`it asks elsewhere: ${request.url()}`);
});

async function tasks() {
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

  await page.locator('#new [name=name]').fill('no tag');
  await page.locator('#new [name=tags]').fill('nothing');
  await page.locator('#new button').click();
  await page.locator('#problem').waitFor({ state: 'visible' });
  check(/key and a value/.test(await page.locator('#problem').textContent()), 'what is wrong is said');
}

async function comments() {
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
}

try {
  await { tasks, comments }[app]();
  check(mishaps.length === 0, mishaps.join('\n'));
} catch (failure) {
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
  throw failure;
} finally {
  await browser.close();
}
