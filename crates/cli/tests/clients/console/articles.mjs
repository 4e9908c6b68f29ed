// The console of a model with a text search: words and beginnings of words find entities.

import { check } from './driver.mjs';

export async function use(page, { visit }) {
  await visit('#/');
  await page.evaluate(async () => {
    for (const title of ['Tea is ready', 'The roof leaks', 'Teapots of the north']) {
      await fetch('/articles', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ title }) });
    }
  });
  const rows = page.getByRole('region', { name: /^A page of/ }).locator('tbody tr');
  for (const [words, titles] of [['tea ', ['Tea is ready']], ['tea', ['Tea is ready', 'Teapots of the north']], ['the roof', ['The roof leaks']]]) {
    await visit('#/entity/article?.list=list_article_all&.total=true');
    await page.getByLabel('q', { exact: true }).fill(words);
    await page.getByLabel('q', { exact: true }).press('Enter');
    await page.waitForFunction((count) => document.querySelector('.total')?.textContent === `${count} in total`, titles.length);
    const shown = await rows.allTextContents();
    check(titles.every((title, index) => shown[index]?.includes(title)), `“${words}” finds ${shown}`);
  }
}
