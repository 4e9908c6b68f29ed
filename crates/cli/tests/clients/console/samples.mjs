// Values of fields, from the schemas of an OpenAPI document. Numbers are `#` and their text.

const TEXT = 'one "two"\n <b>three</b> ä😀: ';
const KEYS = ['a:b', ' outer spaces ', 'two\nlines', 'constructor', '🗝'];

/** A value of a field; another one for another `turn`. Undefined if nobody can know which values are allowed. */
export function sample(schema, turn) {
  const choices = (schema.enum ?? (typesOf(schema)[0] === 'boolean' ? [true, false] : [])).filter((choice) => choice !== null);
  if (choices.length > 0) return choices[turn % choices.length];
  switch (typesOf(schema)[0]) {
    case 'integer':
      return number(schema, [`9007199254740993`, `-9007199254740993`], turn);
    case 'number':
      return number(schema, ['0.1234567890123456789', '-12345678901234567890.125', '0.30000000000000004'], turn);
    case 'string':
      return text(schema, turn);
    case 'array':
      return list(schema, turn);
    case 'object':
      return schema.additionalProperties ? map(schema, turn) : undefined;
    default:
      return schema.anyOf?.length > 2 ? { odd: [`#${9007199254740990n + BigInt(turn)}1`, { 'a:b': ['x', turn % 2 === 0] }], turn: `#${turn}` } : undefined;
  }
}

export function typesOf({ type }) {
  return [type].flat().filter((name) => name !== undefined && name !== 'null');
}

function number({ minimum = -Infinity, maximum = Infinity }, wished, turn) {
  // Limits that JavaScript rounds are far away.
  const isNear = (limit) => Math.abs(limit) < 1e15;
  const small = [0, 1, 2, 3, 4, 5].map((step) => (isNear(minimum) ? minimum + step : isNear(maximum) ? maximum - step : step));
  const all = [...wished, ...small.map(String)].filter((text) => Number(text) >= minimum && Number(text) <= maximum && !/e/.test(text));
  return all.length === 0 ? undefined : `#${all[turn % all.length]}`;
}

function text({ format, contentEncoding, pattern, minLength = 0, maxLength = 1000 }, turn) {
  if (format === 'date-time') return `2031-02-0${1 + (turn % 9)}T04:05:06.789Z`;
  if (contentEncoding === 'base64') {
    // Limits are of the encoded text, which has as many characters for up to two bytes less.
    const bytes = Math.max(Math.floor((minLength * 3) / 4), Math.min(3 + (turn % 3), Math.floor(maxLength / 4) * 3 - 2));
    return Buffer.alloc(bytes, 1 + turn).toString('base64');
  }
  if (format !== undefined || pattern !== undefined) return undefined;
  const signs = [...`${turn}${TEXT}`].slice(0, Math.min(maxLength, 40)).join('');
  return signs.padEnd(signs.length + Math.max(0, minLength - [...signs].length), 'x');
}

function list({ items = {}, minItems = 0, maxItems = 3 }, turn) {
  const count = Math.max(minItems, Math.min(maxItems, 2));
  const elements = Array.from({ length: count }, (_, index) => sample(items, turn + index));
  return elements.includes(undefined) ? undefined : elements;
}

function map({ additionalProperties, minProperties = 0, maxProperties = 5 }, turn) {
  const count = Math.max(minProperties, Math.min(maxProperties, KEYS.length - 1));
  // Some keys of one turn are in the next one, too.
  const keys = Array.from({ length: count }, (_, index) => (index < KEYS.length ? KEYS[(index + turn) % KEYS.length] : `k${index}`));
  const members = keys.map((key, index) => [key, sample({ maxLength: 60, ...additionalProperties }, turn + index)]);
  return members.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(members);
}

/** The text of a value in JSON, with its numbers as they are. */
export function jsonOf(value) {
  return JSON.stringify(value, null, 1).replace(/"#(-?[0-9][^"]*)"/g, '$1');
}

/** The text of a value in a control for a text or a number. */
export function typed(value) {
  return typeof value === 'string' ? value.replace(/^#(?=-?[0-9])/, '') : typeof value === 'object' ? jsonOf(value) : String(value);
}
