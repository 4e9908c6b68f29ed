// The console of a service without lists: entities are found by their unique values, and on a leaderboard by their ids.

import { call } from './api.mjs';
import { check } from './driver.mjs';

export async function use(page, { visit }) {
  await visit('#/');
  const created = async (path, document) => (await call(page, 'POST', path, document)).body.id;
  const ann = await created('/guests', { name: 'Ann', email: 'ann@a.example' });
  const ben = await created('/guests', { name: 'Ben: “B, C”', email: 'ben@a.example' });
  for (const [guest, room] of [[ann, '1'], [ben, '2'], [ben, '3']]) await created('/stays', { guest, room });

  await visit('#/entity/guest');
  await page.locator('.empty', { hasText: 'give `name`' }).waitFor();
  check((await page.locator('main [role=alert]').count()) === 0, 'what a query needs is no failure');
  const rows = page.getByRole('region', { name: /^A page of/ }).locator('tbody tr');
  for (const [field, value, id] of [['name', 'Ben: “B, C”', ben], ['email', 'ann@a.example', ann]]) {
    await visit('#/entity/guest');
    await page.getByLabel(field).fill(value);
    await page.getByLabel(field).press('Enter');
    await rows.first().waitFor();
    check((await rows.locator('td.id').allTextContents()).join() === id, `${field} finds ${id}`);
  }
  await page.getByLabel('email').fill('nobody@a.example');
  await page.getByLabel('email').press('Enter');
  await page.getByText('Nothing here.').waitFor();
  check((await page.getByRole('button', { name: 'Next' }).count()) === 0, 'there are no other pages');

  // One path for a list and for a unique value: either is enough.
  await visit('#/entity/stay');
  await page.locator('.empty', { hasText: 'give `guest`' }).waitFor();
  for (const [field, value, count] of [['guest', ben, 2], ['room', '1', 1]]) {
    await visit('#/entity/stay');
    await page.getByLabel(field).fill(value);
    await page.getByLabel(field).press('Enter');
    await rows.first().waitFor();
    check((await rows.count()) === count, `${field} finds ${count}`);
  }

  await visit('#/numbers/stay');
  await page.getByRole('link', { name: 'rank on frequent' }).press('Enter');
  await page.getByLabel('of', { exact: false }).fill(ben);
  await page.getByLabel('of', { exact: false }).press('Enter');
  const numbers = page.locator('dl.numbers');
  await numbers.waitFor();
  const shown = (await numbers.locator('dt').allTextContents()).map((name, at) => [name, at]);
  const values = await numbers.locator('dd').allTextContents();
  const of = Object.fromEntries(shown.map(([name, at]) => [name, values[at]]));
  check(of.rank === '1' && of.score === '2', `the rank is ${JSON.stringify(of)}`);
}
