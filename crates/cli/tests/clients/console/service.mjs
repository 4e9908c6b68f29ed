// What a service has, by its OpenAPI document and its model.

import { call } from './api.mjs';

/** The operations and schemas of a service, by entity. */
export class Service {
  static async load(page) {
    const [document, model] = [await call(page, 'GET', '/openapi.json'), await call(page, 'GET', '/model')];
    return new Service(document.body, model.body.entities);
  }

  constructor(document, entities) {
    Object.assign(this, { document, entities });
  }

  operation(entity, method, path) {
    const operation = this.document.paths[path]?.[method];
    return operation?.tags?.[0] === entity.name ? operation : undefined;
  }

  /** The address of a list with the values of its parameters. */
  url(list, values) {
    const [path] = Object.entries(this.document.paths).find(([, { get }]) => get?.operationId === list);
    const rest = new URLSearchParams(Object.entries(values).filter(([name]) => !path.includes(`{${name}}`)));
    return `${path.replace(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(values[name]))}?${rest}`;
  }

  /** The fields that a document can set, with their schemas, and the example of one. */
  body(entity, method, path) {
    const content = Object.values(this.operation(entity, method, path)?.requestBody?.content ?? {})[0];
    if (content === undefined) return undefined;
    const { properties = {}, required = [] } = this.resolved(content.schema);
    const settable = entity.fields.filter(({ name }) => Object.hasOwn(properties, name) && !properties[name].readOnly);
    return { fields: settable.map((field) => ({ ...field, schema: this.absolute(properties[field.name]) })), required, example: content.example ?? {} };
  }

  resolved(schema) {
    const { $ref, ...beside } = schema;
    return this.numbered($ref === undefined ? schema : { ...this.resolved(this.document.components.schemas[decodeURIComponent($ref.split('/').pop())]), ...beside });
  }

  /** Limits are compared, so they can be numbers. */
  numbered(schema) {
    const limits = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
    return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, limits.includes(name) ? Number(String(value).replace('#', '')) : value]));
  }

  /** What a field is set to: patches also change fields relative to their values. */
  absolute(schema) {
    const { anyOf = [], ...beside } = this.resolved(schema);
    const isRelative = anyOf.some(({ properties = {} }) => '$add' in properties || '$append' in properties);
    const absolute = isRelative ? { ...this.numbered(anyOf[0]), ...beside } : { ...beside, ...(anyOf.length > 0 && { anyOf }) };
    for (const part of ['items', 'additionalProperties']) if (absolute[part]) absolute[part] = this.absolute(absolute[part]);
    return absolute;
  }

  /** Those that clients create; what others need to refer to comes first. */
  creatable() {
    const [sorted, waiting] = [[], this.entities.filter((entity) => this.body(entity, 'post', entity.path))];
    while (waiting.length > 0) {
      const isReady = (entity) => {
        const { fields, required } = this.body(entity, 'post', entity.path);
        return fields.every(({ name, target }) => !target || !required.includes(name) || !waiting.some((other) => other.name === target && other !== entity));
      };
      const next = Math.max(0, waiting.findIndex(isReady));
      sorted.push(...waiting.splice(next, 1));
    }
    return sorted;
  }
}
