// One item: as the protocol has it, to read, change, create and delete.

import { useState } from "preact/hooks";

import { Problem } from "../api";
import { type Json, isObject } from "../json";
import { Alert, Danger, Empty, Heading, problemOf, useLoaded } from "../parts";
import { go, link } from "../route";
import { type Body, call } from "./call";
import { type Item, type Table, keyOf } from "./tables";

export function ItemView({ table, text }: { table: Table; text: string }) {
  const key = read(text);
  const loaded = useLoaded(text, async (signal) => (key ? ((await call("GetItem", { TableName: table.name, Key: key, ConsistentRead: true }, signal))["Item"] ?? null) : null));
  const [problem, setProblem] = useState<Problem | undefined>();
  const item = isObject(loaded.value) ? loaded.value : undefined;
  const remove = async () => {
    try {
      await call("DeleteItem", { TableName: table.name, Key: key ?? {} });
      go(["table", table.name]);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <>
      <Heading title={<Title table={table} of="item" />}>{item && <Danger label="Delete" confirm="Delete this item?" act={() => void remove()} />}</Heading>
      <Alert problem={problem ?? loaded.problem} />
      {loaded.isLoading && <p class="hint">Loading…</p>}
      {!loaded.isLoading && !loaded.problem && !item && <Empty>There is no item with this key.</Empty>}
      {item && <Editor key={JSON.stringify(item)} table={table} before={item} saved={loaded.again} />}
    </>
  );
}

export function NewItem({ table }: { table: Table }) {
  return (
    <>
      <Heading title={<Title table={table} of="new item" />} />
      <Editor table={table} before={undefined} saved={(item) => go(["item", table.name, JSON.stringify(keyOf(table, item))])} />
    </>
  );
}

function Title({ table, of }: { table: Table; of: string }) {
  return (
    <>
      <a href={link(["table", table.name])}>{table.name}</a> <span class="hint">{of}</span>
    </>
  );
}

type EditorProps = { table: Table; before: Item | undefined; saved: (item: Item) => void };

function Editor({ table, before, saved }: EditorProps) {
  const parts = [table.keys.partition, ...(table.keys.sort ? [table.keys.sort] : [])];
  const blank = Object.fromEntries(parts.map(({ name, type }) => [name, { [type]: "" }]));
  const [text, setText] = useState(JSON.stringify(before ?? blank, null, 2));
  const [problem, setProblem] = useState<Problem | undefined>();
  const [isSaved, setIsSaved] = useState(false);
  const save = async () => {
    setIsSaved(false);
    try {
      const item = read(text);
      if (item === undefined) throw new Problem(0, "invalid", "This is not a JSON object. Not sent.");
      await call("PutItem", put(table, before, item));
      setProblem(undefined);
      setIsSaved(true);
      saved(item);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label>
        <span>Attributes with their types, as the API has them</span>
        <textarea class="code" rows={Math.min(30, text.split("\n").length + 1)} spellcheck={false} value={text} aria-invalid={problem !== undefined} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <Alert problem={problem} />
      {isSaved && (
        <p class="good" role="status">
          Saved.
        </p>
      )}
      <div class="actions">
        <button class="primary">{before ? "Save" : "Create"}</button>
        <a class="button" href={link(["table", table.name])}>
          Cancel
        </a>
      </div>
    </form>
  );
}

/** A change must not overwrite that of somebody else, nor a new item another one. */
function put(table: Table, before: Item | undefined, item: Item): Body {
  const request = { TableName: table.name, Item: item };
  if (before === undefined) return { ...request, ConditionExpression: "attribute_not_exists(#k)", ExpressionAttributeNames: { "#k": table.keys.partition.name } };
  const attributes = Object.entries(before);
  const condition = attributes.map((_, index) => `#a${index} = :a${index}`).join(" AND ");
  const names = Object.fromEntries(attributes.map(([name], index) => [`#a${index}`, name]));
  const values = Object.fromEntries(attributes.map(([, value], index): [string, Json] => [`:a${index}`, value]));
  // An expression has at most 4 kB: an item with more attributes is compared by its key alone.
  if (condition.length > 4000) return { ...request, ConditionExpression: "attribute_exists(#k)", ExpressionAttributeNames: { "#k": table.keys.partition.name } };
  return { ...request, ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values };
}

function read(text: string): Item | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
