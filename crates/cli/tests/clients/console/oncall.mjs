// The console of on-call paging, a program with handlers: they are consumers of changes. What is done with jobs is done with
// those of `letters.mjs`, which no program runs meanwhile.

import { check, expect } from './driver.mjs';

export async function use(page, { visit }) {
  await visit('#/operations');
  await expect(page.getByRole('region', { name: 'Consumers of changes' }).locator('td', { hasText: 'hunt' }), 'consumers are listed with their lag');
  const statuses = await page.getByLabel('status').locator('option').evaluateAll((all) => all.map((option) => option.value));
  check(['failed', 'canceled', 'waiting'].every((status) => statuses.includes(status)), `jobs have a status: ${statuses}`);
}
