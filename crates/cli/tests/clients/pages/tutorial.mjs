// The page that the tutorial makes, used as its reader would, in two windows. It needs the tools of the tutorial.

const EVIL = '<img src=x onerror=alert(1)>';

export async function use(page, url, { check, until, open }) {
  const shown = (window) => window.locator('li').allTextContents();
  const shows = (window, ...tools) => async () => (await shown(window)).join() === tools.join();
  const lend = async (window, name, owner) => {
    await window.getByLabel('Tool').fill(name);
    await window.getByLabel('Owner').fill(owner);
    await window.getByLabel('Owner').press('Enter');
  };
  const other = await open();
  await page.goto(url);
  await other.goto(url);
  check((await page.title()) === 'Tools of our street', `the title: ${await page.title()}`);
  const tools = ['axe of bo', 'drill of ann', 'saw of ann'];
  for (const window of [page, other]) await until('the tools are listed', shows(window, ...tools));

  await lend(page, 'hammer', EVIL);
  const more = [...tools.slice(0, 2), `hammer of ${EVIL}`, tools[2]];
  for (const window of [page, other]) await until('a new tool is there in both windows', shows(window, ...more));
  check((await page.getByLabel('Tool').inputValue()) === '', 'the form is empty again');

  await lend(page, 'drill', 'ann');
  const problem = page.getByRole('alert');
  await until('a second drill of the same owner is refused', async () => /must be unique/.test(await problem.textContent()));
  check((await page.getByLabel('Tool').inputValue()) === 'drill', 'what was typed stays');
  check(await shows(page, ...more)(), 'nothing has changed');

  const { items } = await (await fetch(`${url}/tools`)).json();
  const hammer = items.find(({ name }) => name === 'hammer');
  await fetch(`${url}/tools/${hammer.id}`, { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: '{"owner": "cy"}' });
  for (const window of [page, other]) await until('a change is shown', shows(window, tools[0], tools[1], 'hammer of cy', tools[2]));
  await fetch(`${url}/tools/${hammer.id}`, { method: 'DELETE' });
  for (const window of [page, other]) await until('a deletion, too', shows(window, ...tools));
  // A name as long as the model allows has to fit, too.
  await lend(page, 'x'.repeat(80), 'y'.repeat(40));
  await until('it is listed', async () => (await shown(page)).length === 4);
  await other.close();
}
