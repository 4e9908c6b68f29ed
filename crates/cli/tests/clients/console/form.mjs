// The form of the console, used with the keyboard alone.

import { jsonOf, typed } from './samples.mjs';

export function fieldOf(page, name) {
  const spoken = name.replaceAll('_', ' ');
  const title = page.locator('label, legend').filter({ hasText: new RegExp(`^${spoken}( required)?$`) });
  return page.locator('form.entity .field').filter({ has: title });
}

/** Types a value over that of a field. */
export async function enter(page, name, value) {
  const field = fieldOf(page, name);
  if ((await field.locator('.members').count()) > 0) return enterRows(page, field, value);
  const control = field.locator('input, textarea, select');
  await put(page, control, value, /As JSON\./.test(await field.locator('.about').textContent()));
}

async function put(page, control, value, isJson) {
  await control.focus();
  if ((await control.evaluate((element) => element.tagName)) === 'SELECT') return control.selectOption(value === null ? '' : typed(value));
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(value === null ? '' : isJson ? jsonOf(value) : typed(value));
}

/** Rows that are to stay are left alone; the others are removed, and new ones added. */
async function enterRows(page, field, value) {
  const isMap = !Array.isArray(value);
  const rows = field.locator('.member');
  const missing = new Map(Object.entries(value));
  for (let at = (await rows.count()) - 1; at >= 0; at -= 1) {
    const row = rows.nth(at);
    const key = isMap ? await row.locator('textarea').first().inputValue() : undefined;
    if (key === undefined || !missing.has(key)) await row.getByRole('button').press('Enter');
    else {
      await put(page, row.locator('input, textarea, select').last(), missing.get(key), false);
      missing.delete(key);
    }
  }
  for (const [key, member] of missing) {
    const count = await rows.count();
    await field.getByRole('button', { name: /^Add to / }).press('Enter');
    // The new row has the focus.
    await rows.nth(count).locator(':focus').waitFor();
    if (isMap) {
      await page.keyboard.insertText(key);
      await page.keyboard.press('Tab');
    }
    await put(page, rows.nth(count).locator('input, textarea, select').last(), member, false);
  }
}

/** Adds rows faster than frames are drawn, and says whether each is there and the last one has the focus. */
export async function addsQuickly(page) {
  return page.locator('form.entity .members').first().evaluate(async (members) => {
    const rows = () => [...members.querySelectorAll('.member')];
    const before = rows().length;
    for (let added = 0; added < 3; added += 1) {
      members.lastElementChild.querySelector('button').click();
      // The row is made when this task has ended, and drawn later.
      await Promise.resolve();
    }
    return rows().length === before + 3 && rows().at(-1).contains(document.activeElement);
  });
}

/** Submits the form from where the focus is, once, and waits for what becomes of it: the messages, none if it was accepted. */
export async function submit(page, key = 'Control+Enter') {
  if ((await page.locator('form.entity :focus').count()) === 0) await page.locator('form.entity button.primary').focus();
  const sent = [];
  const count = (request) => request.method() !== 'GET' && sent.push(request.method());
  page.on('request', count);
  await page.keyboard.press(key);
  const isAnswered = () => {
    const form = document.querySelector('form.entity');
    return form === null || (form.querySelector('.error, [role=alert]') !== null && !form.querySelector('button.primary').disabled);
  };
  await page.waitForFunction(isAnswered);
  page.off('request', count);
  if (sent.length > 1) throw new Error(`the form is sent more than once: ${sent}`);
  return page.locator('form.entity').locator('.error, [role=alert]').allTextContents();
}
