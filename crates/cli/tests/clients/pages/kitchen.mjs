// The page of the kitchen, used as a person would. It needs the sample data: menus with dishes, and
// recipes with ingredients.

const EVIL = '<img src=x onerror=alert(1)>';

export async function use(page, url, { check, until }) {
  const get = async (path) => (await fetch(url + path)).json();
  const title = () => page.locator('#title').textContent();
  const isTitle = async (text) => (await page.locator('#title').count()) === 1 && (await title()) === text;
  const kitchen = { page, url, check, until, get, isTitle };

  await page.goto(url);
  const { items } = await get('/menus?limit=12');
  await until('the menus are listed', async () => (await page.locator('.menu').count()) === items.length);
  const names = await page.locator('.menu h3').allTextContents();
  check(names.join() === items.map((menu) => menu.name).join(), `the newest menu is first: ${names}`);

  await page.locator('.menu a').first().click();
  await until('a menu opens', () => isTitle(items[0].name));
  check(page.url().includes(`menu=${items[0].id}`), 'the address names the menu');
  await listMatches(kitchen, items[0].id);
  await dishesAddUp(kitchen);
  await servingsChange(kitchen, items[0].id);
  await dishComesAndGoes(kitchen, items[0].id);
  await ticksStay(kitchen, items[0].id);

  await page.goBack();
  await until('back leads to the menus', () => isTitle('Menus'));
  await page.goForward();
  await until('forward leads to the menu', () => isTitle(items[0].name));

  await othersAreSeen(kitchen, items[0].id);
  await menuIsMadeAndDeleted(kitchen);
  await ingredientsOfOthersAppear(kitchen);
  await takenNameIsRefused(kitchen);
  await recipeIsWritten(kitchen);
}

/** What others write appears at once, but does not take away what the user is typing. */
async function othersAreSeen({ page, url, until, get, isTitle }, menu) {
  const { name, with: { menu_items: dishes } } = await get(`/menus/${menu}?with=menu_items`);
  const [dish] = dishes.items;
  const rename = (data) => page.request.patch(`${url}/menus/${menu}`, { data });
  await rename({ name: 'By somebody else' });
  await until('a change of others appears', () => isTitle('By somebody else'));
  const recipe = await get(`/recipes/${dish.recipe}`);
  await page.request.patch(`${url}/recipes/${dish.recipe}`, { data: { name: 'Renamed dish' } });
  await until('so does one of a dish', async () => (await page.getByText('Renamed dish').count()) > 0);
  await page.request.patch(`${url}/recipes/${dish.recipe}`, { data: { name: recipe.name } });
  await page.getByRole('link', { name: 'Menus', exact: true }).click();
  await until('the menus are shown', () => isTitle('Menus'));
  await page.locator('#menu-name').fill('half a na');
  await rename({ name });
  await page.getByRole('button', { name: 'Show' }).waitFor();
  if ((await page.locator('#menu-name').inputValue()) !== 'half a na') throw new Error('the text is gone');
  await page.getByRole('button', { name: 'Show' }).click();
  await until('and appears on demand', async () => (await page.locator('.menu h3').allTextContents()).includes(name));
  await page.goto(`${url}/?menu=${menu}`);
  await until('the menu is shown', () => isTitle(name));
}

/** The shopping list on the page, in the form that the server returns. */
function shownList(page) {
  return page.locator('#categories > section').evaluateAll((sections) =>
    sections.map((section) => ({
      category: section.querySelector('h4').textContent,
      items: [...section.querySelectorAll('label')].map((label) => {
        const { value, textContent } = label.querySelector('data');
        const [, ...unit] = textContent.split(' ');
        return { ingredient: label.querySelector('span').textContent, amount: Number(value), unit: unit.join(' ') };
      }),
    })),
  );
}

const text = (categories) =>
  JSON.stringify(
    categories.map(({ category, items }) => [category, items.map((item) => [item.ingredient, item.amount, item.unit])]),
  );

/** Waits until the list on the page equals the server's, with categories in shop order. */
async function listMatches({ page, check, until, get }, menu) {
  await until('the shopping list is what the server answers', async () => {
    const { categories } = await get(`/menus/${menu}/shopping-list`);
    return categories.length > 0 && text(await shownList(page)) === text(categories);
  });
  const shop = (await get('/categories?limit=1000')).items.map((category) => category.name);
  const places = (await shownList(page)).map(({ category }) => shop.indexOf(category));
  check(
    places.every((place, at) => at === 0 || places[at - 1] < place),
    `the order of the shop: ${places}`,
  );
}

/** Checks that the list has what the dishes need for their servings. */
async function dishesAddUp({ page, check }) {
  for (const name of await page.locator('.dish .name').all()) await name.click();
  check(await page.locator('.dish .needs').first().isVisible(), 'a dish opens');
  const needs = await page.locator('.dish .amounts > li').evaluateAll((rows) =>
    rows.map((row) => {
      const { value, textContent } = row.querySelector('data');
      const name = row.querySelector('span').firstChild.textContent;
      return [`${name}|${textContent.split(' ').slice(1).join(' ')}`, Number(value)];
    }),
  );
  const sums = new Map();
  for (const [key, amount] of needs) sums.set(key, (sums.get(key) ?? 0) + amount);
  const list = (await shownList(page)).flatMap(({ items }) => items);
  check(list.length === sums.size && list.length > 0, `${list.length} things for ${sums.size} needs`);
  for (const { ingredient, unit, amount } of list) {
    const sum = sums.get(`${ingredient}|${unit}`);
    check(Math.abs(sum - amount) < 1e-4, `${ingredient}: the dishes need ${sum}, the list says ${amount}`);
  }
}

async function servingsChange(kitchen, menu) {
  const { page, check, until } = kitchen;
  const before = text(await shownList(page));
  const input = page.locator('.servings').first();
  const servings = Number(await input.inputValue());
  const more = page.getByRole('button', { name: /^More servings/ }).first();
  await more.click();
  await more.click();
  await until('more servings need more', async () => text(await shownList(page)) !== before);
  await listMatches(kitchen, menu);
  check(Number(await input.inputValue()) === servings + 2, 'two clicks are two servings');
  const focused = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  check(/^More servings/.test(focused), `the focus stays on the button, and not on ${focused}`);
  await page.reload();
  await until(
    'they are saved',
    async () => (await input.count()) === 1 && Number(await input.inputValue()) === servings + 2,
  );
  await input.fill(String(servings));
  await input.press('Enter');
  await until('what was typed is saved, too', async () => text(await shownList(page)) === before);
  await listMatches(kitchen, menu);
}

async function dishComesAndGoes(kitchen, menu) {
  const { page, check, until, get } = kitchen;
  const before = text(await shownList(page));
  const recipe = (await get('/recipes?limit=1000')).items.at(-1);
  const day = page.getByRole('region', { name: 'Thursday' });
  const dish = day.locator('.dish').filter({ hasText: recipe.name });
  const count = await dish.count();
  await day.getByRole('button', { name: /^Add a dish/ }).click();
  await day.getByLabel('Recipe').selectOption(recipe.id);
  check(
    (await day.getByLabel('Servings', { exact: true }).inputValue()) === String(recipe.servings),
    'the servings of the recipe are suggested',
  );
  await day.getByLabel('Servings', { exact: true }).fill('2');
  await day.getByRole('button', { name: 'Add', exact: true }).click();
  await until('the dish is there', async () => (await dish.count()) === count + 1);
  await until('its ingredients are listed', async () => text(await shownList(page)) !== before);
  await listMatches(kitchen, menu);
  const all = await get(`/menus/${menu}/items?limit=1000`);
  check(
    all.items.some((item) => item.day === 'thursday' && item.recipe === recipe.id && item.servings === 2),
    'the server has it',
  );

  const remove = dish.last().getByRole('button', { name: /^Remove/ });
  await remove.click();
  await until('the dish is gone', async () => (await dish.count()) === count && text(await shownList(page)) === before);
  await page.getByRole('button', { name: 'Undo' }).click();
  await until('it comes back', async () => (await dish.count()) === count + 1);
  await remove.click();
  await until('and goes again', async () => (await dish.count()) === count && text(await shownList(page)) === before);
}

async function ticksStay({ page, check, until }) {
  const things = (await shownList(page)).flatMap(({ items }) => items).length;
  const box = page.locator('#categories input').first();
  const progress = (count) => async () =>
    (await page.locator('#progress').count()) === 1 &&
    (await page.locator('#progress').textContent()) === `${count} of ${things} in the basket`;
  await until('nothing is ticked', progress(0));
  await box.check();
  await until('one is ticked off', progress(1));
  await page.reload();
  await until('it still is after a reload', progress(1));
  check(await box.isChecked(), 'the same one');
  await page.getByRole('button', { name: 'Clear ticks' }).click();
  await until('nothing is ticked any more', progress(0));
  check(!(await box.isChecked()), 'not this one either');
}

async function menuIsMadeAndDeleted({ page, url, check, until, get, isTitle }) {
  await page.goto(url);
  await page.getByLabel('New menu').fill(EVIL);
  await page.getByLabel('First day').fill('2031-01-01');
  await page.getByRole('button', { name: 'Create menu' }).click();
  await until('the new menu opens', () => isTitle(EVIL));
  const days = await page.locator('.day h3').allTextContents();
  check(days[0] === 'Wednesday 1 Jan' && days[6] === 'Tuesday 7 Jan', `its days begin with its first: ${days}`);
  check(await page.getByText('its ingredients appear here').isVisible(), 'there is nothing to buy');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await until('the menus are listed again', () => isTitle('Menus'));
  check(!(await get('/menus')).items.some((menu) => menu.name === EVIL), 'it is deleted');
}

async function ingredientsOfOthersAppear({ page, url, until, get }) {
  const [category] = (await get('/categories?limit=1')).items;
  const name = 'by somebody else';
  await page.getByRole('link', { name: 'Ingredients' }).click();
  await page.getByRole('region', { name: category.name, exact: true }).waitFor();
  const made = await page.request.post(`${url}/ingredients`, { data: { name, category: category.id } });
  await until('what others add appears', async () => (await page.getByText(name).count()) === 1);
  await page.request.delete(`${url}/ingredients/${(await made.json()).id}`);
  await until('and goes when they delete it', async () => (await page.getByText(name).count()) === 0);
}

async function takenNameIsRefused({ page, check, until, get }) {
  const [first, second] = (await get('/ingredients?limit=2')).items;
  const edit = (name) => page.getByRole('button', { name: `Edit ${name}`, exact: true });
  const name = page.locator('#edit-name');
  await page.getByRole('link', { name: 'Ingredients' }).click();
  await edit(first.name).click();
  await name.fill(second.name);
  await name.press('Enter');
  const error = page.locator('#edit-name-error');
  await until('a taken name is refused', () => error.isVisible());
  const refused = await fetch(new URL(`/ingredients/${first.id}`, page.url()), {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: second.name }),
  });
  check(refused.status === 409, `the server answers ${refused.status}`);
  check((await error.textContent()) === (await refused.json()).detail, 'the message is the server’s');
  check((await name.getAttribute('aria-invalid')) === 'true', 'the field is marked');
  check((await get(`/ingredients/${first.id}`)).name === first.name, 'nothing has changed');

  await name.fill(`${first.name} (fresh)`);
  await name.press('Enter');
  await until('a free name is not', () => edit(`${first.name} (fresh)`).isVisible());
  await edit(`${first.name} (fresh)`).click();
  await name.fill(first.name);
  await page.getByRole('button', { name: 'Save' }).click();
  await until('the old name was freed', () => edit(first.name).isVisible());
}

async function recipeIsWritten({ page, check, until, get, isTitle }) {
  const [first, second] = (await get('/ingredients?limit=2')).items;
  const rows = page.locator('.need');
  const row = async (at, ingredient, amount, unit) => {
    await rows.nth(at).getByLabel('Ingredient', { exact: true }).selectOption(ingredient);
    await rows.nth(at).getByLabel('Amount').fill(amount);
    await rows.nth(at).getByLabel('Unit').fill(unit);
  };
  const shown = () => page.locator('.recipe .amounts').first().locator('li').allTextContents();
  await page.getByRole('link', { name: 'Recipes' }).click();
  await page.getByRole('link', { name: 'New recipe' }).click();
  await page.getByLabel('Name').fill(EVIL);
  await page.getByLabel('Servings').fill('2');
  await row(0, first.id, '0.1', 'kg');
  await row(1, second.id, '3', '');
  await page.getByLabel(/^Instructions/).fill('Chop.\nServe.');
  await page.getByRole('button', { name: 'Save recipe' }).click();
  await until('the recipe is there', () => isTitle(EVIL));
  check((await shown()).join() === `${first.name}0.1 kg,${second.name}3`, `with its ingredients: ${await shown()}`);
  check((await page.locator('.steps li').allTextContents()).join() === 'Chop.,Serve.', 'and its steps');
  await page.getByLabel('Servings').fill('6');
  await until(
    'amounts follow the servings',
    async () => (await shown()).join() === `${first.name}0.3 kg,${second.name}9`,
  );

  await page.getByRole('link', { name: 'Edit' }).click();
  await rows.first().getByRole('button', { name: 'Remove this ingredient' }).click();
  await row(0, second.id, '4', '');
  await page.getByRole('button', { name: 'Save recipe' }).click();
  await until(
    'a change is one, too',
    async () => (await isTitle(EVIL)) && (await shown()).join() === `${second.name}4`,
  );
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await until('the recipe is gone', () => isTitle('Recipes'));
  check((await page.getByText(EVIL).count()) === 0, 'from the list as well');
}
