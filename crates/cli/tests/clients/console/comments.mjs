// The console of the comments application: facets, counts, leaderboards, and the first token.

import { check, expect } from './driver.mjs';

export async function use(page, { visit }) {
  // A list that needs a value says so, and facets narrow it.
  await visit('#/entity/comment?.list=list_comment_by_product');
  await expect(page.getByText('Fill in product to read this list.'), 'what is missing is named');
  await visit('#/numbers/comment/board_leaders');
  await expect(page.locator('td.number'), 'the leaderboard is shown');
  const [product] = await page.evaluate(async () => {
    const { items } = await (await fetch('/boards/leaders')).json();
    return items.map(({ of }) => of);
  });
  check(product !== undefined, 'somebody leads');

  // Facets narrow the list to what they count: one by its control, one by a click on a value.
  await visit(`#/entity/comment?.list=list_comment_by_product&product=${encodeURIComponent(product)}&.total=true`);
  const total = async () => Number((await page.locator('.total').textContent()).replace(/\D/g, ''));
  const all = await total();
  await page.getByText('Values in this list').click();
  const five = page.getByRole('region', { name: 'rating', exact: true }).getByRole('button', { name: /^5/ });
  const counted = Number((await five.locator('.number').textContent()).replace(/\D/g, ''));
  check(counted > 0 && counted < all, `${counted} of ${all} are rated 5`);
  await five.click();
  await page.waitForFunction((counted) => Number(document.querySelector('.total').textContent.replace(/\D/g, '')) === counted, counted);
  const ratings = () => page.getByRole('region', { name: /^A page of/ }).locator('tbody tr').evaluateAll((rows) => {
    const at = [...document.querySelectorAll('main thead th')].findIndex((head) => head.textContent === 'rating');
    return rows.map((row) => row.children[at].textContent);
  });
  check((await ratings()).every((rating) => rating === '5'), `what is shown is rated 5: ${await ratings()}`);

  // A count is followed: it changes with what is counted.
  await visit('#/numbers/comment/count_comment_by_product');
  await page.getByLabel('product').fill(product);
  await page.getByLabel('product').press('Enter');
  const number = page.locator('dl.numbers dd').first();
  const isCounted = (count) => page.waitForFunction((count) => Number(document.querySelector('dl.numbers dd')?.textContent.replace(/\D/g, '')) === count, count);
  await expect(number, 'the count is shown');
  await isCounted(all);
  await page.getByLabel('live').check();
  await expect(page.getByText(/^connected/), 'it is followed');
  await page.evaluate(async (product) => {
    const body = JSON.stringify({ product, language: 'en', rating: 5, body: 'one more' });
    await fetch('/comments', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  }, product);
  await isCounted(all + 1);

  // The first token: from then on the console asks for one, and forgets it on request.
  await visit('#/tokens');
  await page.getByLabel('what it is for').fill('the console');
  await page.getByLabel('role').selectOption('admin');
  await page.getByRole('button', { name: 'Create a token' }).click();
  const secret = page.locator('.secret');
  await expect(secret, 'the token is shown once');
  const token = await secret.textContent();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Sign in' }), 'the console asks for a token');
  await page.getByLabel('token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.locator('[role=alert]'), 'a wrong one is refused');
  await page.getByLabel('token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Tokens' }), 'the right one is accepted');
  await page.getByLabel('what it is for').fill('a reader');
  await page.getByLabel('role').selectOption('reader');
  await page.getByRole('button', { name: 'Create a token' }).click();
  await expect(page.locator('td', { hasText: 'a reader' }), 'a second one is listed');
  await page.locator('tr', { hasText: 'a reader' }).getByRole('button', { name: 'Revoke' }).click();
  await page.locator('tr', { hasText: 'a reader' }).getByRole('button', { name: 'Revoke' }).click();
  await page.locator('td', { hasText: 'a reader' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { name: 'Sign in' }), 'signing out forgets it');
  // The rest of the test signs in again.
  await page.evaluate((token) => sessionStorage.setItem('keyloom-token', token), token);
  return token;
}
