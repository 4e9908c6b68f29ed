// Requests of a test as the user of the console's page makes them, with its token and tenant. Numbers are `#` and their
// text, because JavaScript would round some.

import { jsonOf } from './samples.mjs';

export async function call(page, method, path, body) {
  const sent = body === undefined ? undefined : jsonOf(body);
  const { status, text } = await page.evaluate(async ([method, path, body]) => {
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const [token, tenant] = ['keyloom-token', 'keyloom-tenant'].map((name) => sessionStorage.getItem(name) ?? '');
    if (token !== '') headers.Authorization = `Bearer ${token}`;
    if (tenant !== '') headers['Keyloom-Tenant'] = tenant;
    const response = await fetch(path, { method, headers, ...(body === undefined ? {} : { body }) });
    const exact = (_, value, { source }) => (typeof value === 'number' ? `#${source}` : value);
    const text = await response.text();
    return { status: response.status, text: text === '' ? 'null' : JSON.stringify(JSON.parse(text, exact)) };
  }, [method, path, sent]);
  return { status, body: JSON.parse(text) };
}
