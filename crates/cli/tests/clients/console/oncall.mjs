// The console of on-call paging: jobs that wait are canceled, and those that ended are replayed.

export async function use(page, { check, visit }) {
  const expect = async (locator, claim) => {
    await locator.first().waitFor({ timeout: 20_000 }).catch(() => check(false, claim));
  };
  await visit('#/operations');
  // A search that somebody begins has a job that waits for its next step.
  const begun = await page.evaluate(async () => {
    const headers = { 'Content-Type': 'application/json', 'Keyloom-Tenant': 'acme' };
    const { items } = await (await fetch('/contacts?with=methods&limit=100', { headers })).json();
    const contact = items.find(({ methods }) => (methods?.items ?? methods ?? []).length > 0) ?? items[0];
    const response = await fetch('/searches', { method: 'POST', headers, body: JSON.stringify({ contact: contact.id }) });
    return response.status;
  });
  check(begun === 201, `a search begins: ${begun}`);
  const jobs = page.getByRole('region', { name: 'Jobs' });
  const status = page.getByLabel('status');
  const statuses = await status.locator('option').evaluateAll((all) => all.map((option) => option.value));
  check(statuses.includes('failed') && statuses.includes('canceled'), `jobs have a status: ${statuses}`);
  await status.selectOption('waiting');
  const cancel = jobs.getByRole('button', { name: 'Cancel' });
  await expect(cancel, 'a job waits');
  const waiting = await cancel.count();
  await cancel.first().click();
  await page.waitForFunction((before) => document.querySelectorAll('[aria-label=Jobs] tbody tr').length < before, waiting);
  await status.selectOption('canceled');
  const replay = jobs.getByRole('button', { name: 'Replay' });
  await expect(replay, 'it is canceled');
  await replay.first().click();
  await expect(page.getByText('There is none.'), 'and replayed');
  // Dead letters have a word of their own, and the handlers of the service are consumers.
  check((await status.locator('option', { hasText: 'failed: dead letters' }).count()) === 1, 'dead letters are named');
  await expect(page.getByRole('region', { name: 'Consumers of changes' }).locator('td'), 'consumers are listed with their lag');
}
