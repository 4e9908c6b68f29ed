// The console of the comments application: facets, counts, leaderboards, and the first token.

export async function use(page, { check, visit }) {
  const expect = async (locator, claim) => {
    await locator.first().waitFor({ timeout: 20_000 }).catch(() => check(false, claim));
  };

  // A list that needs a value says so, and facets narrow it.
  await visit('#/entity/comment?list=list_comment_by_product');
  await expect(page.getByText('Fill in product to read this list.'), 'what is missing is named');
  await visit('#/numbers/comment/board_leaders');
  await expect(page.locator('td.number'), 'the leaderboard is shown');
  const [product] = await page.evaluate(async () => {
    const { items } = await (await fetch('/boards/leaders')).json();
    return items.map(({ of }) => of);
  });
  check(product !== undefined, 'somebody leads');

  // The ids of products are in the sample comments.
  const sample = await page.evaluate(async () => {
    const model = await (await fetch('/model')).json();
    return model.entities.length;
  });
  check(sample > 0, 'the model has entities');

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
