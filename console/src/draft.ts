// Values as the user edits them: texts, and rows of texts for lists and for maps of texts. A value that nobody has
// touched is never sent, and what is sent of one that was touched is what differs.

import { Problem } from "./api";
import { type Json, isObject, numberOf, parse, shown, stringify } from "./json";
import type { Schema } from "./service";

/** One element of a list, whose key is empty, or one member of a map. */
export type Row = { key: string; text: string };
export type Draft = string | Row[];

/**
 * What a value is edited with. Numbers are typed as text, because the number inputs of browsers drop what is no number
 * before the server can say what is wrong with it, and round when they count.
 */
export type Editor = "choice" | "number" | "line" | "text" | "json" | "list" | "map";

/** The editor of a field that has a value, or none yet. One that would change a value unasked is not taken. */
export function editorOf(schema: Schema, value: Json | undefined): Editor {
  const editor = editorOfType(schema);
  const values = isObject(value) ? Object.entries(value).flat() : Array.isArray(value) ? value : [value];
  const has = (sign: string) => values.some((text) => typeof text === "string" && text.includes(sign));
  // Text areas turn every line break into a line feed, and inputs drop them.
  if (has("\r")) return "json";
  return editor === "line" && has("\n") ? "text" : editor;
}

function editorOfType(schema: Schema): Editor {
  if (choicesOf(schema) !== undefined) return "choice";
  const [type] = typesOf(schema);
  switch (type) {
    case "integer":
    case "number":
      return "number";
    case "string":
      // Such texts have one line: ids, times, bytes and what has a format.
      return schema.format === undefined && schema.pattern === undefined ? "text" : "line";
    case "array":
      return schema.items !== undefined && isScalar(schema.items) ? "list" : "json";
    case "object":
      return isTexts(schema.additionalProperties) ? "map" : "json";
    default:
      return "json";
  }
}

function isScalar(schema: Schema): boolean {
  return !["json", "list", "map"].includes(editorOfType(schema));
}

function isTexts(values: Schema | boolean | undefined): boolean {
  return typeof values === "object" && editorOfType(values) === "text";
}

function typesOf({ type }: Schema): string[] {
  return (Array.isArray(type) ? type : [type]).filter((name) => name !== undefined && name !== "null") as string[];
}

/** Whether a field can be absent. */
function isOptional({ type }: Schema): boolean {
  return Array.isArray(type) && type.includes("null");
}

/** The values that a field is limited to. */
export function choicesOf(schema: Schema): Json[] | undefined {
  const choices = schema.enum?.filter((choice) => choice !== null);
  return choices ?? (typesOf(schema)[0] === "boolean" ? [true, false] : undefined);
}

/** The schema of an element of a list, or of a member of a map. */
export function schemaOfRow(schema: Schema): Schema {
  const values = schema.additionalProperties;
  return schema.items ?? (typeof values === "object" ? values : {});
}

export function draftOf(editor: Editor, value: Json | undefined): Draft {
  const isAbsent = value === undefined || value === null;
  switch (editor) {
    case "list":
      return Array.isArray(value) ? value.map((element) => ({ key: "", text: shown(element) })) : [];
    case "map":
      return isObject(value) ? Object.entries(value).map(([key, member]) => ({ key, text: shown(member) })) : [];
    case "json":
      return isAbsent ? "" : stringify(value, 2);
    case "choice":
    case "number":
    case "line":
    case "text":
      return shown(value);
  }
}

export function isSame(one: Draft, other: Draft): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What the user has entered for a field, as a value. What only the server can judge is sent as it is. */
export function valueOf(name: string, schema: Schema, editor: Editor, draft: Draft): Json {
  const of = schemaOfRow(schema);
  if (typeof draft === "string") return scalar(name, schema, editor, draft);
  if (editor === "list") return draft.map(({ text }) => scalar(name, of, editorOfType(of), text));
  const named = draft.filter(({ key, text }) => key !== "" || text !== "");
  const twice = named.find(({ key }, index) => named.findIndex((row) => row.key === key) !== index);
  if (twice !== undefined) throw notSent(name, `“${twice.key}” is there twice.`);
  return Object.fromEntries(named.map(({ key, text }): [string, Json] => [key, text]));
}

function scalar(name: string, schema: Schema, editor: Editor, text: string): Json {
  switch (editor) {
    case "choice":
      return choicesOf(schema)?.find((choice) => shown(choice) === text) ?? null;
    case "number":
      return text.trim() === "" ? null : numberOf(text.trim());
    case "line":
    case "text":
      return text === "" && isOptional(schema) ? null : text;
    case "json":
    case "list":
    case "map":
      return text.trim() === "" ? null : parsed(name, text);
  }
}

function parsed(name: string, text: string): Json {
  try {
    return parse(text);
  } catch (error) {
    throw notSent(name, `This is not JSON: ${error instanceof Error ? error.message : ""}.`);
  }
}

function notSent(field: string, detail: string): Problem {
  return new Problem(0, "invalid", "Not sent.", [{ field, detail }]);
}

/** The patch that turns a value into another. Patches are merged into objects: null removes a member. */
export function patched(name: string, before: Json | undefined, after: Json): Json {
  if (!isObject(after)) return after;
  const old = isObject(before) ? before : {};
  const gone = Object.keys(old).filter((key) => !Object.hasOwn(after, key));
  const changed = Object.entries(after).filter(([key, value]) => !Object.hasOwn(old, key) || stringify(old[key] ?? null) !== stringify(value));
  const members = changed.map(([key, value]): [string, Json] => {
    if (value === null) throw notSent(name, `A change cannot set “${key}” to null: that removes it.`);
    return [key, patched(name, Object.hasOwn(old, key) ? old[key] : undefined, value)];
  });
  return Object.fromEntries([...members, ...gone.map((key): [string, Json] => [key, null])]);
}
