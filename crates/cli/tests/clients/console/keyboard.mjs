// A view with the keyboard alone: Tab reaches every control in the order of the page and gets stuck nowhere, and one sees
// where it is.

import { check } from './driver.mjs';

export async function walk(page, view) {
  const count = await page.evaluate(() => {
    const all = document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]');
    globalThis.controls = [...all].filter((control) => !control.disabled && control.checkVisibility({ visibilityProperty: true }));
    globalThis.reached = [];
    // From the beginning of the page.
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
    return controls.length;
  });
  // What scrolls can get the focus, too.
  for (let turn = 0; turn < 2 * count + 10; turn += 1) {
    await page.keyboard.press('Tab');
    const isOver = await page.evaluate(() => {
      const at = document.activeElement;
      if (at === document.body || reached.includes(at)) return true;
      reached.push(at);
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      // A box of a picture has a frame instead, which is thicker than that of one that was chosen.
      const frame = at.querySelector(':scope > rect');
      const isFramed = frame === null ? outlineStyle !== 'none' && parseFloat(outlineWidth) > 0 : parseFloat(getComputedStyle(frame).strokeWidth) > 2;
      const { bottom, right } = at.getBoundingClientRect();
      at.isSeen = isFramed && bottom > 0 && right > 0;
      return false;
    });
    if (isOver) break;
  }
  const found = await page.evaluate(() => {
    const named = (control) => control.outerHTML.slice(0, 120);
    // What others change meanwhile can replace some.
    const there = controls.filter((control) => control.isConnected && control.checkVisibility({ visibilityProperty: true }));
    const missed = there.filter((control) => !reached.includes(control));
    const order = reached.filter((control) => there.includes(control)).map((control) => there.indexOf(control));
    const astray = order.findIndex((at, index) => index > 0 && at < order[index - 1]);
    return {
      missed: missed.map(named),
      unseen: reached.filter((control) => !control.isSeen).map(named),
      astray: astray < 0 ? [] : [named(there[order[astray]])],
    };
  });
  check(found.missed.length === 0, `${view}: Tab does not reach ${found.missed.length} of ${count}:\n${found.missed.slice(0, 3).join('\n')}`);
  check(found.unseen.length === 0, `${view}: nobody sees where the keyboard is:\n${found.unseen.slice(0, 3).join('\n')}`);
  check(found.astray.length === 0, `${view}: Tab goes back:\n${found.astray[0]}`);
}
