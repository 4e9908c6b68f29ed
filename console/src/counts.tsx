// Counts and leaderboards, as they are declared.

import { useState } from "preact/hooks";

import { request, url } from "./api";
import { Explain } from "./explain";
import { FilterForm, type Values } from "./filters";
import { type Json, isObject, shown } from "./json";
import { missing } from "./lists";
import { useLive } from "./live";
import { Alert, Empty, Heading, Table, count, spoken, useLoaded } from "./parts";
import { link } from "./route";
import { type Entity, type Operation, type Service, filled, itemsOf } from "./service";

/** The queries of an entity that return numbers. */
export function numbersOf(service: Service, entity: string): Operation[] {
  return ["count", "board", "rank"].flatMap((word) => service.of(entity, word));
}

export function NumbersView({ service, entity, id }: { service: Service; entity: Entity; id: string | undefined }) {
  const all = numbersOf(service, entity.name);
  const query = all.find((operation) => operation.id === id) ?? all[0];
  return (
    <>
      <Heading title={`${spoken(entity.name)}: numbers`} />
      <nav class="tabs" aria-label="Numbers">
        {all.map((operation) => (
          <a key={operation.id} href={link(["numbers", entity.name, operation.id])} aria-current={operation === query ? "page" : undefined}>
            {titleOf(entity, operation)}
          </a>
        ))}
      </nav>
      {query === undefined ? <Empty>The model declares no counts of this kind.</Empty> : <Numbers key={query.id} service={service} query={query} />}
    </>
  );
}

function titleOf(entity: Entity, { id }: Operation): string {
  return spoken(id.replace(/^(count|board)_/, "").replace(/^rank_/, "rank on ").replace(`${entity.name}_`, ""));
}

function Numbers({ service, query }: { service: Service; query: Operation }) {
  const [values, setValues] = useState<Values>({ path: {}, query: [] });
  const [isLive, setIsLive] = useState(false);
  const lacking = missing(query, values);
  const path = lacking.length === 0 ? filled(query.path, values.path) : undefined;
  const asked: [string, string][] = [...values.query, ...(isLive ? [] : ([["explain", "true"]] as [string, string][]))];
  const followed = useLive(isLive, path, asked);
  const loaded = useLoaded(`${isLive} ${path} ${JSON.stringify(asked)}`, async (signal) => (path === undefined || isLive ? null : request(url(path, asked), { signal })));
  const result: Json = isLive ? (followed.body ?? null) : (loaded.value ?? null);
  return (
    <>
      <FilterForm service={service} list={query} values={values} change={setValues} />
      <div class="bar">
        <label class="inline">
          <input type="checkbox" checked={isLive} onChange={(event) => setIsLive(event.currentTarget.checked)} />
          live
        </label>
        {isLive && <span class="hint" role="status">{followed.state}</span>}
      </div>
      <Alert problem={isLive ? undefined : loaded.problem} />
      {path === undefined ? <Empty>Fill in {lacking.map((name) => `“${spoken(name)}”`).join(" and ")} to read this.</Empty> : <Result result={result} />}
      {!isLive && <Explain page={result} />}
    </>
  );
}

function Result({ result }: { result: Json }) {
  if (!isObject(result)) return <Empty>…</Empty>;
  const items = itemsOf(result);
  if (!Array.isArray(result["items"])) {
    const members = Object.entries(result).filter(([name]) => name !== "explain");
    return (
      <dl class="numbers">
        {members.map(([name, value]) => (
          <div key={name}>
            <dt>{spoken(name)}</dt>
            <dd>{typeof value === "number" ? count(value) : shown(value)}</dd>
          </div>
        ))}
      </dl>
    );
  }
  if (items.length === 0) return <Empty>Nothing is counted here.</Empty>;
  const flat = items.map((item) => ({ ...(isObject(item["values"]) ? item["values"] : {}), ...Object.fromEntries(Object.entries(item).filter(([name]) => name !== "values")) }));
  const columns = [...new Set(flat.flatMap((item) => Object.keys(item)))];
  return (
    <Table label="Numbers" head={columns.map(spoken)}>
      {flat.map((item, index) => (
        <tr key={index}>
          {columns.map((name) => {
            const value = (item as { [name: string]: Json })[name];
            return (
              <td key={name} class={typeof value === "number" ? "number" : undefined}>
                {typeof value === "number" ? count(value) : shown(value)}
              </td>
            );
          })}
        </tr>
      ))}
    </Table>
  );
}
