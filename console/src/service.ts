// What the service has: its entities and operations, from its OpenAPI document and its model. Operations that the token
// does not allow are documented, but not offered.

import { request } from "./api";
import { type Json, isObject } from "./json";

export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: Json[];
  items?: Schema;
  properties?: { [name: string]: Schema };
  additionalProperties?: Schema | boolean;
  required?: string[];
  readOnly?: boolean;
  description?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  format?: string;
  pattern?: string;
  default?: Json;
  anyOf?: Schema[];
};

export type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  explode?: boolean;
  schema: Schema;
};

export type Operation = {
  id: string;
  method: string;
  path: string;
  group: string;
  summary: string;
  description: string;
  parameters: Parameter[];
  body: Schema | undefined;
  /** An example of the body. */
  example: Json;
};

/** A field. The target is the entity that it, or each element of it, refers to. */
export type Field = { name: string; type: string; target: string | null };
export type List = { name: string; by: string[]; order: string[]; facets: string[] };

/** An entity as the model declares it. */
export type Entity = {
  name: string;
  path: string;
  parent: string | null;
  has_tenant: boolean;
  /** Its part of the text; empty if it follows from others. */
  declaration: string;
  fields: Field[];
  lists: List[];
  uniques: string[][];
  counts: { name: string; by: string[] }[];
  boards: string[];
};

export class Service {
  private constructor(
    readonly name: string,
    readonly text: string,
    readonly entities: Entity[],
    /** The tenant that the token is limited to. */
    readonly tenant: string | null,
    /** All operations. */
    readonly documented: Operation[],
    /** Those that the token allows. */
    readonly operations: Operation[],
    private readonly schemas: { [name: string]: Schema },
  ) {}

  static async load(): Promise<Service> {
    const [document, model] = await Promise.all([request("/openapi.json"), request("/model")]);
    const { info, paths, components } = document as unknown as Document;
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => operationOf(path, method, operation)),
    );
    const { text, entities, tenant, operations } = model as unknown as Model;
    const allowed = new Set(operations);
    const offered = documented.filter(({ id }) => allowed.has(id));
    return new Service(info.title, text, entities, tenant, documented, offered, components.schemas);
  }

  entity(name: string): Entity | undefined {
    return this.entities.find((entity) => entity.name === name);
  }

  operation(id: string): Operation | undefined {
    return this.operations.find((operation) => operation.id === id);
  }

  /** The entities that can be read. */
  readable(): Entity[] {
    return this.entities.filter((entity) => this.ofOne(entity, "GET") !== undefined);
  }

  /** The operations of an entity whose name begins with a word: `list`, `find`, `count`, `board`, `rank`. */
  of(entity: string, word: string): Operation[] {
    const isSuch = ({ group, id, method }: Operation) =>
      group === entity && method === "GET" && id.startsWith(`${word}_`);
    return this.operations.filter(isSuch);
  }

  /** The operation with a method at the path of one entity. */
  ofOne(entity: Entity, method: string): Operation | undefined {
    return this.operations.find((operation) => operation.method === method && operation.path === `${entity.path}/{id}`);
  }

  creating(entity: Entity): Operation | undefined {
    const isSuch = ({ method, path, group }: Operation) =>
      method === "POST" && path === entity.path && group === entity.name;
    return this.operations.find(isSuch);
  }

  /** A schema without its reference. What stands beside one, such as the description of a field, holds too. */
  resolved(schema: Schema | undefined): Schema {
    if (schema === undefined) return {};
    const { $ref, ...beside } = schema;
    const name = $ref?.split("/").pop();
    return name === undefined ? schema : { ...this.resolved(this.schemas[decodeURIComponent(name)]), ...beside };
  }

  /** The fields that a document can set, in the order of the model. */
  settable(entity: Entity, document: Schema): [string, Schema][] {
    const properties = new Map(Object.entries(document.properties ?? {}));
    return entity.fields.flatMap(({ name }): [string, Schema][] => {
      const field = properties.get(name);
      return field === undefined || field.readOnly ? [] : [[name, absolute(this.resolved(field))]];
    });
  }
}

/** What a field is set to. A patch can also change a number or a list relative to its value. */
function absolute(schema: Schema): Schema {
  const { anyOf = [], ...beside } = schema;
  const isRelative = anyOf.some(({ properties = {} }) => "$add" in properties || "$append" in properties);
  return isRelative ? { ...anyOf[0], ...beside } : schema;
}

type Model = { text: string; entities: Entity[]; tenant: string | null; operations: string[] };

type Document = {
  info: { title: string };
  paths: { [path: string]: { [method: string]: DocumentOperation } };
  components: { schemas: { [name: string]: Schema } };
};

type DocumentOperation = {
  operationId: string;
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content: { [type: string]: { schema: Schema; example?: Json } } };
};

function operationOf(path: string, method: string, operation: DocumentOperation): Operation {
  const content = operation.requestBody?.content ?? {};
  const body = content["application/json"] ?? Object.values(content)[0];
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    group: operation.tags?.[0] ?? "",
    summary: operation.summary ?? "",
    description: operation.description ?? "",
    parameters: operation.parameters ?? [],
    body: body?.schema,
    example: body?.example ?? null,
  };
}

/** The parameters of a list that choose entities; the others are about pages. */
export function filters(operation: Operation): Parameter[] {
  const others = ["limit", "cursor", "reverse", "total", "fields", "with", "live", "explain"];
  const isOther = (name: string) => others.includes(name.replace(/^\$/, ""));
  return operation.parameters.filter(({ name, in: where }) => where === "path" || (where === "query" && !isOther(name)));
}

/** What a parameter about pages is called by an operation: `limit`, or `$limit` beside a field of that name. */
export function pageParameter(operation: Operation, name: string): string | undefined {
  const names = operation.parameters.filter(({ in: where }) => where === "query").map((parameter) => parameter.name);
  return names.includes(`$${name}`) ? `$${name}` : names.find((other) => other === name);
}

/** A path with its parameters filled in; undefined if one is missing. */
export function filled(path: string, values: { [name: string]: string }): string | undefined {
  let isComplete = true;
  const text = path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = values[name] ?? "";
    isComplete &&= value !== "";
    return encodeURIComponent(value);
  });
  return isComplete ? text : undefined;
}

export function itemsOf(page: Json): { [name: string]: Json }[] {
  const items = isObject(page) ? page["items"] : undefined;
  return Array.isArray(items) ? items.filter(isObject) : [];
}
