// The tables of a server, and the items of one: all of them, or those of a partition, in the table or in an index.

import { useLayoutEffect, useState } from "preact/hooks";

import type { Problem } from "../api";
import { type Json, isObject } from "../json";
import { Alert, Danger, Empty, Heading, Numbers, Table as Rows, bytes, count, problemOf, spoken, things, useLoaded } from "../parts";
import { go, link } from "../route";
import { type Body, call } from "./call";
import { type Item, type KeyPart, type Keys, type Table, describeTable, keyOf, objects, plain } from "./tables";

/** Items on a page. */
const LIMIT = 50;
/** The most deletions of one request. */
const DELETIONS_MAX = 25;
/** How many attributes have a column: those that most items of the page have. */
const COLUMNS_MAX = 12;

export function Home({ names }: { names: string[] }) {
  const shown = names.slice(0, 100);
  const loaded = useLoaded(shown.join(), (signal) => Promise.all(shown.map((name) => describeTable(name, signal))));
  return (
    <>
      <Heading title="Tables" />
      <Alert problem={loaded.problem} />
      {names.length === 0 && <Empty>There is no table yet. Create one with any client of DynamoDB.</Empty>}
      {names.length > 0 && (
        <Rows label="Tables" head={["Table", "Status", "Partition key", "Sort key", "Indexes", new Numbers("Items"), new Numbers("Size")]}>
          {(loaded.value ?? []).map((table) => (
            <tr key={table.name}>
              <td class="id">
                <a href={link(["table", table.name])}>{table.name}</a>
              </td>
              <td>{table.status}</td>
              <td>{typed(table.keys.partition)}</td>
              <td>{table.keys.sort && typed(table.keys.sort)}</td>
              <td class="text">{table.indexes.map(({ index }) => index).join(", ")}</td>
              <td class="number">{count(table.items)}</td>
              <td class="number">{bytes(table.bytes)}</td>
            </tr>
          ))}
        </Rows>
      )}
      {names.length > shown.length && <p class="hint">The other tables are in the navigation.</p>}
    </>
  );
}

function typed({ name, type }: KeyPart) {
  const types = { S: "text", N: "number", B: "bytes" };
  return (
    <>
      {name} <span class="hint">{types[type]}</span>
    </>
  );
}

type ViewProps = { table: Table; parameters: URLSearchParams; described: () => void; changed: () => void };

export function TableView({ table, parameters, described, changed }: ViewProps) {
  const [problem, setProblem] = useState<Problem | undefined>();
  const keys = table.indexes.find(({ index }) => index === parameters.get("index")) ?? table.keys;
  const drop = async () => {
    try {
      await call("DeleteTable", { TableName: table.name });
      changed();
      go([]);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <>
      <Heading title={table.name}>
        <a class="button" href={link(["create", table.name])}>
          Create an item
        </a>
        <Danger label="Delete the table" confirm={`Delete ${table.name} with all of its items?`} act={() => void drop()} />
      </Heading>
      <Alert problem={problem} />
      <p class="hint">
        {table.status}; {things(table.items, "item")}, {bytes(table.bytes)}
      </p>
      <nav class="tabs" aria-label="Table and indexes">
        {[table.keys, ...table.indexes].map((one) => (
          <a key={one.index ?? ""} href={link(["table", table.name], one.index === undefined ? [] : [["index", one.index]])} aria-current={one === keys ? "page" : undefined}>
            {one.index ?? "table"}
          </a>
        ))}
      </nav>
      <Search key={keys.index} table={table} keys={keys} parameters={parameters} />
      <Page table={table} keys={keys} parameters={parameters} described={described} />
    </>
  );
}

const CONDITIONS = ["=", "begins with", "<", "<=", ">", ">="];

function Search({ table, keys, parameters }: { table: Table; keys: Keys; parameters: URLSearchParams }) {
  const [typedIn, setTyped] = useState(Object.fromEntries(parameters));
  const key = parameters.toString();
  useLayoutEffect(() => setTyped(Object.fromEntries(parameters)), [key]);
  const input = (name: string, label: string) => (
    <label>
      <span>{label}</span>
      <input value={typedIn[name] ?? ""} onInput={(event) => setTyped({ ...typedIn, [name]: event.currentTarget.value })} />
    </label>
  );
  const isWhole = (typedIn["partition"] ?? "") === "";
  return (
    <form
      class="filters"
      aria-label="Search"
      onSubmit={(event) => {
        event.preventDefault();
        const all = Object.entries(typedIn).filter(([name, value]) => ["index", "partition", "sort", "condition", "reverse"].includes(name) && value !== "");
        go(["table", table.name], all as [string, string][]);
      }}
    >
      {input("partition", `${keys.partition.name} (partition key)`)}
      {keys.sort && (
        <>
          <label>
            <span>{keys.sort.name} (sort key) is</span>
            <select value={typedIn["condition"] ?? "="} disabled={isWhole} onChange={(event) => setTyped({ ...typedIn, condition: event.currentTarget.value })}>
              {CONDITIONS.filter((condition) => keys.sort?.type !== "N" || condition !== "begins with").map((condition) => (
                <option key={condition}>{condition}</option>
              ))}
            </select>
          </label>
          {input("sort", "its value")}
          <label class="inline">
            <input
              type="checkbox"
              disabled={isWhole}
              checked={typedIn["reverse"] === "true"}
              onChange={(event) => setTyped({ ...typedIn, reverse: event.currentTarget.checked ? "true" : "" })}
            />
            from the end
          </label>
        </>
      )}
      <div class="actions">
        <button>Search</button>
      </div>
      <p class="hint">Without a partition key, all items are read, page by page: a scan.</p>
    </form>
  );
}

/** The request for a page: of a partition, or of everything. */
function requestOf(table: Table, keys: Keys, parameters: URLSearchParams): [string, Body] {
  const from = parameters.get("from");
  const common: Body = {
    TableName: table.name,
    Limit: LIMIT,
    ReturnConsumedCapacity: "TOTAL",
    ...(keys.index === undefined ? {} : { IndexName: keys.index }),
    ...(from === null ? {} : { ExclusiveStartKey: JSON.parse(from) as Json }),
  };
  const partition = parameters.get("partition") ?? "";
  if (partition === "") return ["Scan", common];
  const sort = parameters.get("sort") ?? "";
  const isSorted = keys.sort !== undefined && sort !== "";
  const condition = parameters.get("condition") ?? "=";
  const ofSort = condition === "begins with" ? "begins_with(#s, :s)" : `#s ${CONDITIONS.includes(condition) ? condition : "="} :s`;
  return [
    "Query",
    {
      ...common,
      ScanIndexForward: parameters.get("reverse") !== "true",
      KeyConditionExpression: isSorted ? `#p = :p AND ${ofSort}` : "#p = :p",
      ExpressionAttributeNames: { "#p": keys.partition.name, ...(isSorted && keys.sort ? { "#s": keys.sort.name } : {}) },
      ExpressionAttributeValues: { ":p": { [keys.partition.type]: partition }, ...(isSorted && keys.sort ? { ":s": { [keys.sort.type]: sort } } : {}) },
    },
  ];
}

function Page({ table, keys, parameters, described }: { table: Table; keys: Keys; parameters: URLSearchParams; described: () => void }) {
  const [operation, body] = requestOf(table, keys, parameters);
  const loaded = useLoaded(JSON.stringify([operation, body]), (signal) => call(operation, body, signal));
  const items: Item[] = objects(loaded.value?.["Items"]);
  const next = loaded.value?.["LastEvaluatedKey"];
  const consumed = loaded.value?.["ConsumedCapacity"];
  const units = isObject(consumed) ? Number(consumed["CapacityUnits"]) : undefined;
  const turn = (from: Json) => {
    const others = [...parameters].filter(([name]) => name !== "from");
    go(["table", table.name], [...others, ["from", JSON.stringify(from)]]);
  };
  const again = () => {
    loaded.again();
    described();
  };
  return (
    <>
      <Alert problem={loaded.problem} />
      {items.length === 0 ? <Empty>{loaded.isLoading ? "Loading…" : isObject(next) ? "Nothing on this page; there are more." : "Nothing here."}</Empty> : <Items table={table} keys={keys} items={items} again={again} />}
      <nav class="bar" aria-label="Pages">
        <button type="button" disabled={!parameters.has("from")} onClick={() => history.back()}>
          Back
        </button>
        <button type="button" disabled={!isObject(next)} onClick={() => isObject(next) && turn(next)}>
          Next
        </button>
        {units !== undefined && (
          <span class="total" role="status">
            {operation === "Scan" ? "scan" : "query"}: {things(Number(loaded.value?.["ScannedCount"] ?? 0), "item")} read, {count(units)} read units
          </span>
        )}
      </nav>
    </>
  );
}

function Items({ table, keys, items, again }: { table: Table; keys: Keys; items: Item[]; again: () => void }) {
  const [selected, setSelected] = useState<string[]>([]);
  const [problem, setProblem] = useState<Problem | undefined>();
  const ids = items.map((item) => JSON.stringify(keyOf(table, item)));
  useLayoutEffect(() => setSelected((before) => before.filter((id) => ids.includes(id))), [ids.join()]);
  const columns = columnsOf(table, keys, items);
  const remove = async () => {
    try {
      for (let start = 0; start < selected.length; start += DELETIONS_MAX) {
        let left: Body[] = selected.slice(start, start + DELETIONS_MAX).map((id) => ({ DeleteRequest: { Key: JSON.parse(id) as Json } }));
        // In strict mode some may be refused for now.
        for (let attempt = 0; left.length > 0 && attempt < 8; attempt += 1) {
          if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
          const answer = await call("BatchWriteItem", { RequestItems: { [table.name]: left } });
          const refused = answer["UnprocessedItems"];
          left = isObject(refused) ? objects(refused[table.name]) : [];
        }
      }
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
    again();
  };
  const all = (
    <input
      type="checkbox"
      aria-label="Select all on this page"
      checked={selected.length === ids.length}
      onChange={(event) => setSelected(event.currentTarget.checked ? ids : [])}
    />
  );
  return (
    <>
      <Alert problem={problem} />
      {selected.length > 0 && (
        <div class="bar" role="status">
          {count(selected.length)} selected
          <Danger label="Delete" confirm={`Delete ${things(selected.length, "item")}?`} act={() => void remove()} />
        </div>
      )}
      <Rows label={`A page of ${spoken(table.name)}`} head={[all, ...columns]}>
        {items.map((item, index) => {
          const id = ids[index] ?? "";
          const select = (isIn: boolean) => setSelected((before) => (isIn ? [...before, id] : before.filter((other) => other !== id)));
          return (
            <tr key={id}>
              <td>
                <input type="checkbox" aria-label={`Select item ${index + 1}`} checked={selected.includes(id)} onChange={(event) => select(event.currentTarget.checked)} />
              </td>
              {columns.map((name, column) => {
                const text = plain(item[name]);
                const short = text.length > 240 ? `${text.slice(0, 240)}…` : text;
                return (
                  <td key={name} class={column === 0 ? "id" : undefined}>
                    {column === 0 ? <a href={link(["item", table.name, id])}>{short || "(empty)"}</a> : <span class="text">{short}</span>}
                  </td>
                );
              })}
            </tr>
          );
        })}
      </Rows>
    </>
  );
}

/** The keys, and the attributes that most items have. */
function columnsOf(table: Table, keys: Keys, items: Item[]): string[] {
  const parts = [table.keys.partition, table.keys.sort, keys.partition, keys.sort].flatMap((part) => (part ? [part.name] : []));
  const often = new Map<string, number>();
  for (const name of items.flatMap((item) => Object.keys(item))) often.set(name, (often.get(name) ?? 0) + 1);
  const others = [...often].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return [...new Set([...parts, ...others])].slice(0, COLUMNS_MAX);
}
