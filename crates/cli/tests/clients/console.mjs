// Uses the console of a service as an administrator would: `node console.mjs SERVICE URL [TENANT]`. Every view of every
// entity is opened; it must load without a problem, keep to the width of phones and desktops, and have no findings of
// axe. What can be done with entities is done with those of any model by `console/entities.mjs`, and the rest by the
// steps of `console/SERVICE.mjs`, if there are any.

import { existsSync } from 'node:fs';
import { get } from 'node:http';
import { findings } from './axe.mjs';
import { Driver, check, checkWidths, settled } from './console/driver.mjs';
import { manage } from './console/entities.mjs';
import { walk } from './console/keyboard.mjs';

const [, , service, url, tenant] = process.argv;
/** The token of the steps, once they have made one. */
let token;

const driver = await Driver.start(url);

async function open(options) {
  const page = await driver.open(options);
  const session = { 'keyloom-token': token ?? '', 'keyloom-tenant': tenant ?? '' };
  await page.addInitScript((session) => {
    if (location.protocol === 'about:') return;
    for (const [name, value] of Object.entries(session)) if (value !== '') sessionStorage.setItem(name, value);
  }, session);
  return page;
}

/** Opens a view of the console, or another page of the service, and waits until it is there. */
async function visit(page, view) {
  return view.startsWith('/') ? page.goto(`${url}${view}`) : driver.visit(page, view);
}

/** A page is one response, with its style and its script. */
const BYTES_MAX = 100_000;

/** More elements than any view has, whatever is stored: nobody reads a table of ten thousand rows. */
const ELEMENTS_MAX = 8000;

/** How many elements a view has. */
async function elements(page, view) {
  const found = await page.evaluate(() => document.querySelectorAll('*').length);
  check(found < ELEMENTS_MAX, `${view} has ${found} elements`);
  return found;
}

/** The views of the console, from its own navigation, and the welcome page of the service. */
async function views(page) {
  await visit(page, '#/');
  const links = await page.locator('nav.side a[href^="#"]').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
  const found = ['#/', ...links];
  for (const link of links.filter((link) => link.startsWith('#/entity/'))) {
    await visit(page, link);
    const tabs = await page.locator('.tabs a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    const create = await page.getByRole('link', { name: 'Create', exact: true }).evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    const first = await page.locator('td.id a').first().evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    found.push(...tabs, ...create, ...first, link.replace('#/entity/', '#/model/'));
  }
  // An application may have a page of its own, which has its own tests.
  await visit(page, '/');
  if ((await page.locator('body.welcome').count()) > 0) found.push('/');
  return [...new Set(found)];
}

async function inspect(all) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open({ colorScheme, bypassCSP: true, viewport: { width: 1280, height: 900 } });
    for (const view of all) {
      await visit(page, view);
      await settled(page);
      await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => { details.open = true; }));
      await settled(page);
      await elements(page, view);
      const alerts = await page.locator('main [role=alert]').filter({ visible: true }).allTextContents();
      check(alerts.length === 0, `${view}: ${alerts.join(' ')}`);
      const found = await findings(page);
      check(found.length === 0, `${view}, ${colorScheme}: axe finds\n${found.join('\n')}`);
      if (colorScheme === 'light') await walk(page, view);
      await checkWidths(page, `${service} ${view === '/' ? 'welcome' : view === '#/' ? 'home' : view}`, colorScheme);
    }
    await page.close();
  }
}

/** The bytes of a page as they are sent to browsers. */
function sent(path) {
  return new Promise((resolve, reject) => {
    const answer = (response) => {
      let bytes = 0;
      response.on('data', (chunk) => { bytes += chunk.length; }).on('end', () => resolve({ bytes, encoding: response.headers['content-encoding'] }));
    };
    get(`${url}${path}`, { headers: { 'Accept-Encoding': 'gzip' } }, answer).on('error', reject);
  });
}

/** The first view is small, and does not shift while it loads, as browsers measure it. */
async function paint(view) {
  const { bytes, encoding } = await sent(view === '/' ? '/' : '/console');
  // A page of a few bytes is not compressed.
  check(bytes < 1500 || encoding === 'gzip', `${view} is sent as ${encoding}`);
  check(bytes < BYTES_MAX, `${view} has ${bytes} bytes`);
  const page = await open({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(() => {
    globalThis.shifted = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => { globalThis.shifted += entry.value; })).observe({ type: 'layout-shift', buffered: true });
  });
  await visit(page, view);
  await settled(page);
  const shifted = await page.evaluate(() => globalThis.shifted);
  check(shifted < 0.05, `${view} shifts by ${shifted} while it loads`);
  await page.close();
}

const page = await open({ viewport: { width: 1280, height: 900 } });
await driver.run(page, async () => {
  const all = await views(page);
  if (existsSync(new URL(`./console/${service}.mjs`, import.meta.url))) {
    const { use } = await import(`./console/${service}.mjs`);
    token = await use(page, { url, all, open, elements: (view) => elements(page, view), visit: (view) => visit(page, view) });
  }
  // A list of any length is managed by the steps of its own.
  if (service !== 'large') console.log(await manage(page, { visit: (view) => visit(page, view) }));
  await inspect(all);
  for (const view of ['#/', '/'].filter((view) => all.includes(view))) await paint(view);
  console.log(`${all.length} views`);
});
