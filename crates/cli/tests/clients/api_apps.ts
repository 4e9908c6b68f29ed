// Three applications through clients whose types come from their OpenAPI documents; `api_suite.ts` covers
// the fourth in more depth.

import createClient from 'openapi-fetch';
import type { paths as Comments } from './comments.js';
import type { paths as Oncall } from './oncall.js';
import type { paths as Tasks } from './tasks.js';

function check(truth: boolean, claim: string): asserts truth {
  if (!truth) throw new Error(claim);
}

async function tasks(baseUrl: string) {
  const client = createClient<Tasks>({ baseUrl });
  const made = await client.POST('/tasks', { body: { name: 'wash up', tags: { priority: 'high' } } });
  check(made.data !== undefined, 'a task is made');
  const read = await client.GET('/tasks/{id}', { params: { path: { id: made.data.id } } });
  check(read.data?.name === 'wash up' && read.data.done === false, 'it is read');
  const list = await client.GET('/tasks', { params: { query: { tag: ['priority:high'], total: true } } });
  check(list.data?.items[0]?.id === made.data.id && list.data.total === 1, 'it is in the list');
  const params = { path: { id: made.data.id } };
  const deleted = await client.DELETE('/tasks/{id}', { params });
  const gone = await client.GET('/tasks/{id}', { params });
  check(deleted.response.status === 204 && gone.error?.code === 'not-found', 'it is deleted');
}

async function comments(baseUrl: string) {
  const client = createClient<Comments>({ baseUrl });
  const body = { product: '1', language: 'en', rating: 4, body: 'fine' };
  const made = await client.POST('/comments', { body });
  check(made.data !== undefined, 'a comment is made');
  const read = await client.GET('/comments/{id}', { params: { path: { id: made.data.id } } });
  check(read.data?.body === 'fine' && read.data.rating === 4, 'it is read');
  const list = await client.GET('/products/{product}/comments', {
    params: { path: { product: '1' }, query: { rating: [4, 5] } },
  });
  check(list.data?.items[0]?.id === made.data.id, 'it is in the list');
  const params = { path: { id: made.data.id } };
  const deleted = await client.DELETE('/comments/{id}', { params });
  const gone = await client.GET('/comments/{id}', { params });
  check(deleted.response.status === 204 && gone.error?.code === 'not-found', 'it is deleted');
}

async function oncall(baseUrl: string) {
  const client = createClient<Oncall>({ baseUrl, headers: { 'Keyloom-Tenant': 'acme' } });
  const made = await client.POST('/contacts', { body: { name: 'Ann' } });
  check(made.data !== undefined, 'a contact is made');
  const read = await client.GET('/contacts/{id}', { params: { path: { id: made.data.id } } });
  check(read.data?.name === 'Ann', 'it is read');
  const list = await client.GET('/contacts');
  check(list.data?.items[0]?.id === made.data.id, 'it is in the list');
  const params = { path: { id: made.data.id } };
  const deleted = await client.DELETE('/contacts/{id}', { params });
  const gone = await client.GET('/contacts/{id}', { params });
  check(deleted.response.status === 204 && gone.error?.code === 'not-found', 'it is deleted');
}

const apps: Record<string, (baseUrl: string) => Promise<void>> = { tasks, comments, oncall };
const [app, url] = process.argv.slice(2);
check(app !== undefined && url !== undefined && app in apps, 'usage: api_apps.js APP URL');
await apps[app]!(url);
