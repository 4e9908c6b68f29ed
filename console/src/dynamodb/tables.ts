// What tables are: their keys, their indexes and their sizes.

import { type Json, isObject } from "../json";
import { type Body, call } from "./call";

/** The type of a key: a text, a number or bytes. */
export type KeyType = "S" | "N" | "B";

/** An attribute of a key. */
export type KeyPart = { name: string; type: KeyType };

/** A key schema: that of a table, or of one of its indexes. */
export type Keys = { index: string | undefined; partition: KeyPart; sort: KeyPart | undefined };

export type Table = {
  name: string;
  status: string;
  items: number;
  bytes: number;
  keys: Keys;
  indexes: Keys[];
};

/** An item as the protocol has it: attributes with their types. */
export type Item = { [name: string]: Json };

export async function tableNames(signal: AbortSignal): Promise<string[]> {
  const names: string[] = [];
  for (let from: string | undefined = ""; from !== undefined; ) {
    const page: Body = await call("ListTables", from === "" ? {} : { ExclusiveStartTableName: from }, signal);
    if (Array.isArray(page["TableNames"])) names.push(...page["TableNames"].map(String));
    const last: Json | undefined = page["LastEvaluatedTableName"];
    from = typeof last === "string" ? last : undefined;
  }
  return names;
}

export async function describeTable(name: string, signal: AbortSignal): Promise<Table> {
  const answer = await call("DescribeTable", { TableName: name }, signal);
  const described = isObject(answer["Table"]) ? answer["Table"] : {};
  const types = new Map(objects(described["AttributeDefinitions"]).map((one) => [String(one["AttributeName"]), String(one["AttributeType"]) as KeyType]));
  const keysOf = (of: Body, index: string | undefined): Keys => {
    const part = (kind: string): KeyPart | undefined => {
      const found = objects(of["KeySchema"]).find((one) => one["KeyType"] === kind);
      const name = String(found?.["AttributeName"]);
      return found && { name, type: types.get(name) ?? "S" };
    };
    return { index, partition: part("HASH") ?? { name: "", type: "S" }, sort: part("RANGE") };
  };
  const indexes = [...objects(described["GlobalSecondaryIndexes"]), ...objects(described["LocalSecondaryIndexes"])];
  return {
    name,
    status: String(described["TableStatus"]),
    items: Number(described["ItemCount"]),
    bytes: Number(described["TableSizeBytes"]),
    keys: keysOf(described, undefined),
    indexes: indexes.map((index) => keysOf(index, String(index["IndexName"]))),
  };
}

/** The key of an item. */
export function keyOf(table: Table, item: Item): Item {
  const parts = [table.keys.partition, ...(table.keys.sort ? [table.keys.sort] : [])];
  return Object.fromEntries(parts.map(({ name }) => [name, item[name] ?? null]));
}

export function objects(list: Json | undefined): Body[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** A value as people read it: without the types of the protocol. */
export function plain(value: Json | undefined): string {
  if (!isObject(value)) return "";
  const [type, of] = Object.entries(value)[0] ?? ["", null];
  switch (type) {
    case "S":
    case "N":
    case "B":
    case "BOOL":
      return String(of);
    case "NULL":
      return "null";
    default:
      return JSON.stringify(untyped(value));
  }
}

/** A value as JSON. Numbers stay texts, as they may be too long for JavaScript. */
function untyped(value: Json): Json {
  if (!isObject(value)) return value;
  const [type, of] = Object.entries(value)[0] ?? ["", null];
  if (type === "L" && Array.isArray(of)) return of.map(untyped);
  if (type === "M" && isObject(of)) return Object.fromEntries(Object.entries(of).map(([name, member]) => [name, untyped(member)]));
  return type === "NULL" ? null : (of ?? null);
}
