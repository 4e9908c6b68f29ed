// The kitchen through a client whose types come from its OpenAPI document: code that does not match the
// document does not compile.

import createClient from 'openapi-fetch';
import type { components, paths } from './kitchen.js';

type Category = components['schemas']['category'];

function check(truth: boolean, claim: string): asserts truth {
  if (!truth) throw new Error(claim);
}

const client = createClient<paths>({ baseUrl: process.argv[2] });

const made = await client.POST('/categories', { body: { name: 'pasta', shop_order: 2 } });
check(made.response.status === 201 && made.data !== undefined, 'a category is made');
const category: Category = made.data;
check(category.name === 'pasta' && category.shop_order === 2, 'it is what was given');

const noodles = { name: 'noodles', category: category.id };
const ingredient = await client.POST('/ingredients', { body: noodles });
check(ingredient.data !== undefined, 'an ingredient is made');
check(ingredient.data.category === category.id, 'it is in the category');

const list = await client.GET('/categories/{category}/ingredients', {
  params: { path: { category: category.id }, query: { limit: 10, name: ['>=n', '<o'] } },
});
check(list.data?.items.length === 1 && list.data.next === undefined, 'it is in the list');

const related = await client.GET('/ingredients/{id}', {
  params: { path: { id: ingredient.data.id }, query: { with: 'category' } },
});
const shelf: string | undefined = related.data?.with?.category?.name;
check(shelf === 'pasta', 'an ingredient is read with its category');
const whole = await client.GET('/categories/{id}', {
  params: { path: { id: category.id }, query: { with: 'ingredients', explain: true } },
});
const below: string | undefined = whole.data?.with?.ingredients?.items[0]?.name;
check(below === 'noodles', 'a category is read with its ingredients');
const units: number | undefined = whole.data?.explain?.dynamodb.read_units;
check(units !== undefined && units > 0, 'the cost of a read has a type');

const id = category.id;
const renamed = await client.PATCH('/categories/{id}', {
  params: { path: { id }, header: { 'If-Match': `"${category.version}"` } },
  body: { name: 'noodles' },
});
check(renamed.data?.name === 'noodles', 'the version that it has lets it be changed');
const late = await client.PATCH('/categories/{id}', {
  params: { path: { id }, header: { 'If-Match': `"${category.version}"` } },
  body: { name: 'pasta' },
});
check(late.response.status === 412 && late.error?.code === 'version-mismatch', 'an old one does not');

const twin = await client.POST('/ingredients', { body: noodles });
check(twin.response.status === 409 && twin.error?.code === 'taken', 'a name that is taken is refused');
const gone = await client.DELETE('/categories/{id}', { params: { path: { id } } });
check(gone.response.status === 409 && gone.error?.code === 'in-use', 'what is in use stays');

// @ts-expect-error A category needs a name.
const nameless = await client.POST('/categories', { body: { shop_order: 1 } });
check(nameless.error?.errors?.[0]?.field === 'name', 'the compiler and the server agree');
