// Uses the console of a service as an administrator would: `node console.mjs SERVICE URL [TENANT]`. Every view of every
// entity is opened; it must load without a problem, keep to the width of phones and desktops, and have no findings of
// axe. What can be done with entities is done with those of any model by `console/entities.mjs`, and the rest by the
// steps of `console/SERVICE.mjs`, if there are any.

import { existsSync } from 'node:fs';
import { get } from 'node:http';
import { chromium } from 'playwright-core';
import { findings } from './axe.mjs';
import { manage } from './console/entities.mjs';

const [, , service, url, tenant] = process.argv;
/** The token of the steps, once they have made one. */
let token;

function check(truth, claim) {
  if (!truth) throw new Error(claim);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const mishaps = [];

async function open(options) {
  const page = await browser.newPage({ bypassCSP: options?.bypassCSP ?? false, ...options });
  page.on('pageerror', (error) => mishaps.push(`the console failed: ${error.message}`));
  page.on('console', (line) => {
    if (/Content Security Policy/i.test(line.text())) mishaps.push(line.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(blob|data):/.test(request.url())) mishaps.push(`it asks elsewhere: ${request.url()}`);
  });
  const session = { 'keyloom-token': token ?? '', 'keyloom-tenant': tenant ?? '' };
  await page.addInitScript((session) => {
    if (location.protocol === 'about:') return;
    for (const [name, value] of Object.entries(session)) if (value !== '') sessionStorage.setItem(name, value);
  }, session);
  return page;
}

/** Opens a view of the console, or another page of the service, and waits until it is there. */
async function visit(page, view) {
  await page.goto('about:blank');
  if (view.startsWith('/')) return page.goto(`${url}${view}`);
  await page.goto(`${url}/console${view}`);
  // Keyboards and screen readers start at the heading.
  await page.waitForFunction(() => document.activeElement === document.querySelector('main h1'));
  await loaded(page);
}

/** Streams never end, so the network is never idle: what is loading says so. */
async function loaded(page) {
  await page.waitForFunction(() => !/Loading…/.test(document.querySelector('main').textContent));
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

/** What is wider than the page. */
function wide() {
  const right = document.documentElement.clientWidth + 1;
  const scrolls = (element) => element.closest('pre, .scroll, svg, .skip, .help') !== null;
  const all = [...document.querySelectorAll('body *')].filter((element) => !scrolls(element));
  const sticksOut = (element) => element.checkVisibility() && element.getBoundingClientRect().right > right;
  return all.filter(sticksOut).map((element) => element.outerHTML.slice(0, 140));
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
      await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => { details.open = true; }));
      await page.waitForTimeout(150);
      await loaded(page);
      await elements(page, view);
      const alerts = await page.locator('main [role=alert]').filter({ visible: true }).allTextContents();
      check(alerts.length === 0, `${view}: ${alerts.join(' ')}`);
      const found = await findings(page);
      check(found.length === 0, `${view}, ${colorScheme}: axe finds\n${found.join('\n')}`);
      for (const width of [390, 768, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const parts = await page.evaluate(wide);
        check(parts.length === 0, `${view} at ${width} pixels: wider than the page:\n${parts.slice(0, 3).join('\n')}`);
        if (process.env.SCREENSHOTS) {
          const name = view === '/' ? 'welcome' : view.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'home';
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/${service}-${name.slice(0, 60)}-${width}-${colorScheme}.png`, fullPage: true });
        }
      }
      await page.setViewportSize({ width: 1280, height: 900 });
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
  await page.waitForTimeout(300);
  const shifted = await page.evaluate(() => globalThis.shifted);
  check(shifted < 0.05, `${view} shifts by ${shifted} while it loads`);
  await page.close();
}

const page = await open({ viewport: { width: 1280, height: 900 } });
try {
  const all = await views(page);
  if (existsSync(new URL(`./console/${service}.mjs`, import.meta.url))) {
    const { use } = await import(`./console/${service}.mjs`);
    token = await use(page, { url, check, all, elements: (view) => elements(page, view), visit: (view) => visit(page, view) });
  }
  // A list of any length is managed by the steps of its own.
  if (service !== 'large') console.log(await manage(page, { check, visit: (view) => visit(page, view) }));
  await inspect(all);
  for (const view of ['#/', '/'].filter((view) => all.includes(view))) await paint(view);
  check(mishaps.length === 0, mishaps.join('\n'));
  console.log(`${all.length} views`);
} catch (failure) {
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
  throw failure;
} finally {
  await browser.close();
}
