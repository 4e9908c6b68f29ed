// The console of the kitchen: references lead to what they name, and from there to what refers to it.

import { check } from './driver.mjs';

export async function use(page, { visit }) {
  const get = (path) => page.evaluate(async (path) => (await fetch(path)).json(), path);
  await visit('#/');
  const [ingredient] = (await get('/ingredients?limit=1&with=category')).items;
  const { category } = ingredient.with;
  const isOpen = async (id, claim) => {
    await page.waitForFunction((id) => decodeURIComponent(location.hash).endsWith(`/${id}`), id);
    await page.locator('dl.fields').waitFor().catch(() => check(false, claim));
  };

  // From a list to an ingredient, and to its category.
  await visit('#/entity/ingredient?list=list_ingredient_by_name');
  await page.getByRole('link', { name: ingredient.id, exact: true }).first().press('Enter');
  await isOpen(ingredient.id, 'the ingredient is shown');
  await page.locator('dl.fields').getByRole('link', { name: category.id, exact: true }).press('Enter');
  await isOpen(category.id, 'its category is shown');
  check((await page.locator('dl.fields').textContent()).includes(category.name), 'with its name');

  // To the children of the category, which are its ingredients and no others.
  await page.getByRole('link', { name: 'ingredient by category' }).press('Enter');
  const rows = page.getByRole('region', { name: /^A page of/ }).locator('tbody tr');
  await rows.first().waitFor();
  const shown = await rows.locator('td.id').allTextContents();
  const { items } = await get(`/categories/${category.id}/ingredients`);
  check(shown.join() === items.map(({ id }) => id).join(), `the ingredients of the category: ${shown}`);

  // What needs the ingredient refuses its deletion, in the words of the server.
  const [need] = (await get('/recipes?limit=1&with=recipe_ingredients')).items[0].with.recipe_ingredients.items;
  await visit(`#/entity/ingredient/${need.ingredient}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('main [role=alert]').filter({ hasText: /recipe_ingredient/ }).first().waitFor().catch(() => check(false, 'the refusal is shown'));
  check((await get(`/ingredients/${need.ingredient}`)).id === need.ingredient, 'it is still there');
}
