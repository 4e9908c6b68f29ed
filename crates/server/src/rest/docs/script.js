// Fills the curl lines in as the forms are filled in, and sends what the forms say.
'use strict';

const token = document.getElementById('token');
const tenant = document.getElementById('tenant');
const operations = [...document.querySelectorAll('.operation')];

function quoted(text) {
  return /^[\w/:.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What the form of an operation says: a method, a URL, headers, a body. */
function requestOf(operation, settings) {
  const fields = [...operation.querySelectorAll('[data-place]')];
  const of = (place) => fields.filter((field) => field.dataset.place === place);
  const given = (place) => of(place).filter((field) => field.value !== '');
  let path = operation.dataset.path;
  for (const field of of('path')) {
    const value = field.value === '' ? field.name.toUpperCase() : encodeURIComponent(field.value);
    path = path.replace(`{${field.name}}`, value);
  }
  const query = new URLSearchParams();
  for (const field of given('query')) {
    // Two bounds of one field are written with a space or a comma between them.
    const values = /^[<>]/.test(field.value) ? field.value.split(/[ ,]+(?=[<>])/) : [field.value];
    values.forEach((value) => query.append(field.name, value));
  }
  const headers = {};
  if (settings.token) headers.Authorization = `Bearer ${settings.token}`;
  if (settings.tenant) headers['Keyloom-Tenant'] = settings.tenant;
  for (const field of given('header')) headers[field.name] = field.value;
  const search = query.size ? `?${query}` : '';
  const body = given('body').map((field) => field.value)[0];
  return { method: operation.dataset.method, url: location.origin + path + search, headers, body };
}

function curlOf({ method, url, headers, body }) {
  const parts = ['curl'];
  if (method !== (body === undefined ? 'GET' : 'POST')) parts.push('-X', method);
  parts.push(quoted(url));
  for (const [name, value] of Object.entries(headers)) parts.push('-H', quoted(`${name}: ${value}`));
  if (body !== undefined) parts.push('--json', quoted(oneLine(body)));
  return parts.join(' ');
}

function oneLine(json) {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
}

/** Whose data an operation is about. */
function tenantOf(operation) {
  return 'tenant' in operation.dataset ? tenant?.value || 'acme' : '';
}

function show(operation) {
  const settings = { token: token.value && 'TOKEN', tenant: tenantOf(operation) };
  const line = curlOf(requestOf(operation, settings));
  operation.querySelector('.curl').textContent = line;
  for (const copy of document.querySelectorAll(`[data-curl="${operation.id}"]`)) copy.textContent = line;
}

/** What was made is what the next request is probably about. */
function remember(operation, entity) {
  const group = operation.dataset.group;
  for (const other of operations) {
    for (const field of other.querySelectorAll('[data-place]')) {
      const isOwn = other.dataset.group === group && field.dataset.place === 'path';
      if (isOwn && field.name === 'id') field.value = entity.id;
      if (field.dataset.place === 'path' && field.name === group) field.value = entity.id;
      field.value = field.value.replaceAll(`ID OF ${group}`, entity.id);
    }
    show(other);
  }
}

async function send(operation) {
  const output = operation.querySelector('output');
  output.textContent = '…';
  const settings = { token: token.value, tenant: tenantOf(operation) };
  const { method, url, headers, body } = requestOf(operation, settings);
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const head = document.createElement('h5');
  const pre = document.createElement('pre');
  try {
    const answer = await fetch(url, { method, headers, body });
    const text = await answer.text();
    const tag = answer.headers.get('etag');
    head.textContent = `Answer, ${answer.status}${tag ? `, ETag ${tag}` : ''}`;
    head.className = answer.ok ? '' : 'failed';
    const isJson = (answer.headers.get('content-type') || '').includes('json');
    pre.textContent = isJson && text ? JSON.stringify(JSON.parse(text), null, 2) : text;
    if (answer.status === 201 && isJson) remember(operation, JSON.parse(text));
  } catch (error) {
    head.textContent = 'No answer';
    head.className = 'failed';
    pre.textContent = String(error);
  }
  output.replaceChildren(head, ...(pre.textContent ? [pre] : []));
}

for (const operation of operations) {
  operation.addEventListener('input', () => show(operation));
  operation.querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    send(operation);
  });
  show(operation);
}
for (const field of [token, tenant]) {
  field?.addEventListener('input', () => operations.forEach(show));
}

/** A link to an operation opens it. */
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === 'DETAILS') target.open = true;
}
addEventListener('hashchange', reveal);
reveal();
