// Uses a page as a person would, then checks it at three widths, in light and dark mode, also with axe:
// `node browser.mjs tasks|comments|kitchen|oncall|tutorial URL`.

import { chromium } from 'playwright-core';
import { findings } from './axe.mjs';

const [, , app, url] = process.argv;
const { use } = await import(`./pages/${app}.mjs`);

function check(truth, claim) {
  if (!truth) throw new Error(claim);
}

/** Waits until a condition holds. */
async function until(claim, holds) {
  const asked = Date.now();
  for (;;) {
    const problem = page.locator('#problem');
    if ((await problem.count()) > 0 && (await problem.isVisible())) {
      check(false, `${claim}: the page says “${await problem.textContent()}”`);
    }
    if (await holds()) return;
    check(Date.now() - asked < 60_000, `${claim}: it does not become true`);
    await page.waitForTimeout(20);
  }
}

const number = (text) => Number(text.replace(/[^0-9]/g, ''));
const sum = (numbers) => numbers.reduce((left, right) => left + right, 0);

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const mishaps = [];

/** Requests of pages whose responses stream changes. */
const isStream = (request) => /live=true|\/changes(\?|$)/.test(request.url());

async function open(options) {
  const page = await browser.newPage(options);
  page.streams = new Set();
  page.on('request', (request) => isStream(request) && page.streams.add(request));
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => page.streams.delete(request));
  page.on('pageerror', (error) => mishaps.push(`the page failed: ${error.message}`));
  page.on('console', (line) => {
    if (/Content Security Policy/i.test(line.text())) mishaps.push(line.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) mishaps.push(`it asks elsewhere: ${request.url()}`);
  });
  return page;
}

/** Checks that nothing is cut off or overflows at the widths of a phone, a tablet and a desktop, and that everybody can use it. */
async function look(colorScheme, width) {
  const page = await open({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
  await page.goto(url);
  // Does not wait for an idle network: a page may stream changes all the time.
  await page.waitForTimeout(700);
  const wide = await page.evaluate(() => {
    const right = document.documentElement.clientWidth + 1;
    const scrolls = (element) => element.closest('pre, .scroll') !== null;
    const all = [...document.querySelectorAll('body *')].filter((element) => !scrolls(element));
    const sticksOut = (element) => element.checkVisibility() && element.getBoundingClientRect().right > right;
    return all.filter(sticksOut).map((element) => element.outerHTML.slice(0, 120));
  });
  check(wide.length === 0, `at ${width} pixels, ${colorScheme}: wider than the page:\n${wide.slice(0, 3).join('\n')}`);
  // Text can be wider than its element.
  const scrolls = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  check(!scrolls, `at ${width} pixels, ${colorScheme}: the page scrolls sideways`);
  // Browsers have six connections to a server, for all windows.
  check(page.streams.size === 1 || page.streams.size === 2, `at ${width} pixels: ${page.streams.size} streams are open`);
  const found = await findings(page);
  check(found.length === 0, `at ${width} pixels, ${colorScheme}: axe finds\n${found.join('\n')}`);
  if (process.env.SCREENSHOTS) {
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/${app}-${width}-${colorScheme}.png` });
  }
  await page.close();
}

const page = await open();
try {
  await use(page, url, { check, until, number, sum, open });
  for (const width of [390, 768, 1280]) {
    for (const colorScheme of ['light', 'dark']) await look(colorScheme, width);
  }
  check(mishaps.length === 0, mishaps.join('\n'));
} catch (failure) {
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
  throw failure;
} finally {
  await browser.close();
}
