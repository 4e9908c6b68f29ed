// The console of a service with a dead letter: it is shown with its error, and is another job when it is replayed.

import { call } from './api.mjs';
import { check } from './driver.mjs';

export async function use(page, { visit }) {
  await visit('#/operations');
  const jobs = page.getByRole('region', { name: 'Jobs' });
  const status = page.getByLabel('status');
  check((await status.inputValue()) === 'failed', 'dead letters come first');
  check((await status.locator('option:checked').textContent()) === 'failed: dead letters', 'and are called so');
  await jobs.locator('td', { hasText: 'the post office is closed' }).waitFor();
  const statusOf = async () => (await call(page, 'GET', '/jobs/letter')).body.status;
  check((await statusOf()) === 'failed', 'the job has failed');
  await jobs.getByRole('button', { name: 'Replay' }).press('Enter');
  await page.getByText('There is none.').waitFor();
  check(['waiting', 'queued'].includes(await statusOf()), `it is to run again: ${await statusOf()}`);
  await status.selectOption(await statusOf());
  await jobs.getByRole('link', { name: 'mail' }).waitFor();
  await jobs.getByRole('button', { name: 'Cancel' }).press('Enter');
  await page.getByText('There is none.').waitFor();
  check((await statusOf()) === 'canceled', 'and is canceled');
}
