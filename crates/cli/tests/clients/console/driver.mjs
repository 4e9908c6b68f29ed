// A browser for the tests of consoles. It notes what goes wrong beside the steps of a test, and waits for what a step has
// begun: a test needs no luck, however busy the machine is.

import { chromium } from 'playwright-core';

/** How long to wait for what must happen. Only a failing test waits that long. */
const PATIENCE_MS = 120_000;

export function check(truth, claim) {
  if (!truth) throw new Error(claim);
}

/** Waits until something is shown. */
export async function expect(locator, claim) {
  await locator.first().waitFor().catch((error) => check(false, `${claim}: ${error.message}`));
}

/** Waits until something holds, which `read` finds out; what it found last is part of the failure. */
export async function until(claim, read, holds) {
  const begun = Date.now();
  for (;;) {
    const found = await read();
    if (holds(found)) return found;
    check(Date.now() - begun < PATIENCE_MS, `${claim}, but it is ${JSON.stringify(found)}`);
    // Anything that changes what is read takes a while, so the machine is left to it.
    await new Promise((done) => setTimeout(done, 20));
  }
}

export class Driver {
  /** What went wrong, whatever the steps were. */
  mishaps = [];

  constructor(browser, url) {
    Object.assign(this, { browser, url });
  }

  static async start(url) {
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    return new Driver(browser, url);
  }

  async open(options) {
    const page = await this.browser.newPage(options);
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('pageerror', (error) => this.mishaps.push(`the console failed: ${error.message}`));
    page.on('console', (line) => {
      if (/Content Security Policy/i.test(line.text())) this.mishaps.push(line.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(this.url) && !/^(blob|data):/.test(request.url())) this.mishaps.push(`it asks elsewhere: ${request.url()}`);
    });
    page.asked = new Set();
    page.on('request', (request) => isStream(request) || page.asked.add(request));
    for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => page.asked.delete(request));
    return page;
  }

  /** Opens a view of the console, and waits until it is there. */
  async visit(page, view) {
    await page.goto('about:blank');
    await page.goto(`${this.url}/console${view}`);
    // Keyboards and screen readers start at the heading.
    await page.waitForFunction(() => document.activeElement === document.querySelector('main h1'));
    await page.waitForFunction(() => !/Loading…/.test(document.querySelector('main').textContent));
  }

  /** Runs the steps of a test, and ends the browser. */
  async run(page, steps) {
    try {
      await steps();
      check(this.mishaps.length === 0, this.mishaps.join('\n'));
    } catch (failure) {
      if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
      console.error(`At ${page.url()}:\n${await page.locator('main').innerText({ timeout: 1000 }).catch(() => 'no view')}`);
      throw failure;
    } finally {
      await this.browser.close();
    }
  }
}

/** Requests whose responses never end. */
function isStream(request) {
  return /[?&](\$|%24)?live=true|\/changes(\?|$)/.test(request.url());
}

/** Waits until everything that was done has had its effect: it is drawn, and each response that was asked for is, too. */
export async function settled(page) {
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
  const begun = Date.now();
  // What the last response brings can ask for more.
  for (let quiet = 0; quiet < 2; ) {
    check(Date.now() - begun < PATIENCE_MS, `${page.url()} is still waiting for ${[...page.asked].map((request) => request.url())}`);
    await drawn();
    quiet = page.asked.size === 0 ? quiet + 1 : 0;
  }
}

/** What is wider than the page, at the width of a phone, a tablet and a desktop. Pictures are kept if somebody wants them. */
export async function checkWidths(page, name, colorScheme) {
  for (const width of [390, 768, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    const parts = await page.evaluate(wide);
    check(parts.length === 0, `${name} at ${width} pixels: wider than the page:\n${parts.slice(0, 3).join('\n')}`);
    if (process.env.SCREENSHOTS) {
      const file = name.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '').slice(0, 60);
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/${file}-${width}-${colorScheme}.png`, fullPage: true });
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

function wide() {
  const right = document.documentElement.clientWidth + 1;
  const scrolls = (element) => element.closest('pre, .scroll, svg, .skip, .help') !== null;
  const all = [...document.querySelectorAll('body *')].filter((element) => !scrolls(element));
  const sticksOut = (element) => element.checkVisibility() && element.getBoundingClientRect().right > right;
  return all.filter(sticksOut).map((element) => element.outerHTML.slice(0, 140));
}
