// The entities of a kind, as one of the declared lists returns them.

import type { VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

import { type Parameters, Problem, request, url } from "./api";
import { ChangeMany, WholeList } from "./bulk";
import { Explain } from "./explain";
import { Export } from "./export";
import { type Json, isObject, shown } from "./json";
import { useLive } from "./live";
import { Alert, Danger, Empty, Heading, Table, count, problemOf, spoken, useLoaded } from "./parts";
import { FilterForm, type Values, parametersOf, valuesOf } from "./filters";
import { go, link } from "./route";
import { type Entity, type Operation, type Service, filled, filters, itemsOf, pageParameter } from "./service";
import { Values as FacetValues } from "./values";

/** The longest text that stays on one line of a table, in characters. */
const BRIEF_MAX = 24;
/** Which list is shown, in the address. A field can be called `list`, but not this. */
export const LIST = ".list";
/** The most changes of one transaction. */
const CHANGES_MAX = 100;

export function ListView({ service, entity, parameters }: { service: Service; entity: Entity; parameters: URLSearchParams }) {
  const lists = service.of(entity.name, "list");
  const queries = [...lists, ...service.of(entity.name, "find")];
  const query = queries.find(({ id }) => id === parameters.get(LIST)) ?? lists.find(isFree) ?? queries[0];
  return (
    <>
      <Heading title={spoken(entity.name)}>
        {service.creating(entity) && (
          <a class="button" href={link(["create", entity.name])}>
            Create
          </a>
        )}
        <a class="button" href={link(["model", entity.name])}>
          Model
        </a>
      </Heading>
      {lists.length === 0 && <ById entity={entity} />}
      {query && (
        <>
          {queries.length > 1 && <Tabs entity={entity} lists={queries} list={query} />}
          <Page key={query.id} service={service} entity={entity} list={query} parameters={parameters} />
        </>
      )}
    </>
  );
}

/** Whether a list needs no values. */
function isFree(list: Operation): boolean {
  return filters(list).every((parameter) => !parameter.required);
}

/** Whether a query returns the one entity with a unique value instead of a list. */
function isFind({ id }: Operation): boolean {
  return id.startsWith("find_");
}

/** Entities without a list can be opened. */
function ById({ entity }: { entity: Entity }) {
  const [id, setId] = useState("");
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        if (id !== "") go(["entity", entity.name, id]);
      }}
    >
      <p class="hint">The model declares no list of this kind.</p>
      <label>
        <span>id</span>
        <input value={id} onInput={(event) => setId(event.currentTarget.value)} />
      </label>
      <button>Open</button>
    </form>
  );
}

function Tabs({ entity, lists, list }: { entity: Entity; lists: Operation[]; list: Operation }) {
  return (
    <nav class="tabs" aria-label="Lists">
      {lists.map(({ id }) => (
        <a key={id} href={link(["entity", entity.name], [[LIST, id]])} aria-current={id === list.id ? "page" : undefined}>
          {listName(entity, id)}
        </a>
      ))}
    </nav>
  );
}

function listName(entity: Entity, id: string): string {
  if (id === `find_${entity.name}`) return "find one";
  return spoken(id.replace(/^list_/, "").replace(`${entity.name}_`, ""));
}

type PageProps = { service: Service; entity: Entity; list: Operation; parameters: URLSearchParams };

function Page({ service, entity, list, parameters }: PageProps) {
  const values = valuesOf(list, parameters);
  const lacking = missing(list, values);
  const path = lacking.length === 0 ? filled(list.path, values.path) : undefined;
  const [isLive, setIsLive] = useState(false);
  const wished = (name: string): Parameters => {
    const known = pageParameter(list, name);
    const value = parameters.get(`.${name}`);
    return known !== undefined && value !== null ? [[known, value]] : [];
  };
  const query: Parameters = [
    ...values.query,
    ...["limit", "cursor", "reverse", "total"].flatMap(wished),
    ...(isLive ? [] : ([["explain", "true"]] as Parameters)),
  ];
  const followed = useLive(isLive, path, query);
  const loaded = useLoaded(`${isLive} ${path} ${JSON.stringify(query)}`, async (signal) =>
    path === undefined || isLive ? null : request(url(path, query), { signal }),
  );
  const page = isLive ? (followed.body ?? null) : (loaded.value ?? null);
  // A path with several queries can need one of several values: the server says which.
  const isBlank = parametersOf(list, values).length === 0;
  const needed = isBlank && loaded.problem?.code === "bad-parameter" ? loaded.problem.message : undefined;
  const change = (changed: Values, options: { [name: string]: string | null } = {}) => {
    const kept = ["limit", "reverse", "total"].filter((name) => !(name in options));
    const all: [string, string | null][] = [...kept.map((name): [string, string | null] => [name, parameters.get(`.${name}`)]), ...Object.entries(options)];
    const set = all.filter((pair): pair is [string, string] => pair[1] !== null);
    go(["entity", entity.name], [[LIST, list.id], ...parametersOf(list, changed), ...set.map(([name, value]): [string, string] => [`.${name}`, value])]);
  };
  return (
    <>
      <FilterForm service={service} list={list} values={values} change={(changed) => change(changed)} />
      {path !== undefined && needed === undefined && <FacetValues service={service} list={list} values={values} change={(changed) => change(changed)} />}
      <div class="bar">
        {["reverse", "total"].filter((name) => pageParameter(list, name) !== undefined).map((name) => (
          <label key={name} class="inline">
            <input
              type="checkbox"
              checked={parameters.get(`.${name}`) === "true"}
              onChange={(event) => change(values, { [name]: event.currentTarget.checked ? "true" : null })}
            />
            {name === "reverse" ? "from the end" : "total"}
          </label>
        ))}
        <label class="inline">
          <input type="checkbox" checked={isLive} onChange={(event) => setIsLive(event.currentTarget.checked)} />
          live
        </label>
        {isLive && <span class="hint" role="status">{followed.state}</span>}
        {path !== undefined && !isFind(list) && <WholeList service={service} entity={entity} list={list} path={path} query={values.query} />}
        {path !== undefined && !isFind(list) && <Export list={list} path={path} query={values.query} name={entity.name} />}
        <span class="total" role="status">{totalOf(page)}</span>
      </div>
      <Alert problem={isLive || needed !== undefined ? undefined : loaded.problem} again={loaded.again} />
      {path === undefined ? (
        <Empty>Fill in {lacking.map(spoken).join(" and ")} to read this list.</Empty>
      ) : needed !== undefined ? (
        <Empty>{needed}</Empty>
      ) : (
        <Items service={service} entity={entity} page={page} isLoading={!isLive && loaded.isLoading} again={loaded.again} />
      )}
      {!isFind(list) && <Pager page={page} turn={(cursor) => change(values, { cursor })} />}
      {!isLive && <Explain page={page} />}
    </>
  );
}

/** The parameters without which the list cannot be read. */
export function missing(list: Operation, values: Values): string[] {
  const isGiven = (name: string) => (values.path[name] ?? "") !== "" || values.query.some(([other, value]) => other === name && value !== "");
  return filters(list).filter(({ name, required }) => required && !isGiven(name)).map(({ name }) => name);
}

function totalOf(page: Json): string {
  if (!isObject(page)) return "";
  if (typeof page["total"] === "number") return `${count(page["total"])} in total`;
  if (typeof page["total_at_least"] === "number") return `at least ${count(page["total_at_least"])} in total`;
  return "";
}

function Pager({ page, turn }: { page: Json; turn: (cursor: string) => void }) {
  if (!isObject(page)) return null;
  const button = (label: string, cursor: Json | undefined) => (
    <button type="button" disabled={typeof cursor !== "string"} onClick={() => turn(String(cursor))}>
      {label}
    </button>
  );
  return (
    <nav class="bar" aria-label="Pages">
      {button("Previous", page["previous"])}
      {button("Next", page["next"])}
    </nav>
  );
}

type ItemsProps = { service: Service; entity: Entity; page: Json; isLoading: boolean; again: () => void };

function Items({ service, entity, page, isLoading, again }: ItemsProps) {
  const items = itemsOf(page);
  const [selected, setSelected] = useState<string[]>([]);
  const [problem, setProblem] = useState<Problem | undefined>();
  const ids = items.map((item) => String(item["id"]));
  useLayoutEffect(() => setSelected((before) => before.filter((id) => ids.includes(id))), [ids.join()]);
  if (items.length === 0) return isLoading ? <Empty>Loading…</Empty> : <Empty>Nothing here.</Empty>;
  const columns = entity.fields.map(({ name }) => name).filter((name) => name !== "id");
  const [canChange, canDelete] = ["PATCH", "DELETE"].map((method) => service.ofOne(entity, method) !== undefined);
  const isSelectable = canChange || canDelete;
  /** Changes those that are selected. If it fails, some may be changed, so the page is read again in any case. */
  const apply = async (change: (id: string) => Json) => {
    try {
      for (let start = 0; start < selected.length; start += CHANGES_MAX) {
        const some = selected.slice(start, start + CHANGES_MAX);
        await request("/transaction", { method: "POST", isKeyed: true, body: { changes: some.map(change) } });
      }
      setProblem(undefined);
    } finally {
      again();
    }
  };
  const remove = () => apply((id) => ({ delete: entity.name, id })).catch((error: unknown) => setProblem(problemOf(error)));
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
      {isSelectable && selected.length > 0 && (
        <div class="bar">
          <span role="status">{count(selected.length)} selected</span>
          {canChange && <ChangeMany service={service} entity={entity} label="Set a field" run={(document) => apply((id) => ({ update: entity.name, id, document }))} />}
          {canDelete && (
            <Danger label="Delete" confirm={`Delete ${selected.length} of ${spoken(entity.name)}?`} act={() => void remove()} />
          )}
        </div>
      )}
      <Table label={`A page of ${spoken(entity.name)}`} head={[...(isSelectable ? [all] : []), "id", ...columns.map(spoken)]}>
        {items.map((item) => {
          const id = String(item["id"]);
          const select = (isIn: boolean) => setSelected((before) => (isIn ? [...before, id] : before.filter((other) => other !== id)));
          return (
            <tr key={id}>
              {isSelectable && (
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Select ${id}`}
                    checked={selected.includes(id)}
                    onChange={(event) => select(event.currentTarget.checked)}
                  />
                </td>
              )}
              <td class="id">
                <a href={link(["entity", entity.name, id])}>{id}</a>
              </td>
              {columns.map((name) => (
                <td key={name} class={typeof item[name] === "number" ? "number" : undefined}>
                  <Cell entity={entity} name={name} value={item[name]} />
                </td>
              ))}
            </tr>
          );
        })}
      </Table>
    </>
  );
}

/** The parts of a value, the first of them at once. */
function Chips({ parts, max }: { parts: VNode[]; max: number }) {
  const [isWhole, setIsWhole] = useState(false);
  return (
    <span class="chips">
      {isWhole ? parts : parts.slice(0, max)}
      {!isWhole && parts.length > max && (
        <button type="button" onClick={() => setIsWhole(true)}>
          Show all {count(parts.length)}
        </button>
      )}
    </span>
  );
}

/** The value of a field, with some of its parts at once. A reference is a link; of a long text only the beginning shows. */
export function Cell({ entity, name, value, max = 8 }: { entity: Entity; name: string; value: Json | undefined; max?: number }) {
  const target = entity.fields.find((field) => field.name === name)?.target;
  if (typeof value === "string" && target) return <a href={link(["entity", target, value])}>{value}</a>;
  if (Array.isArray(value) && target) return <Chips parts={value.map((id, index) => reference(target, shown(id), index))} max={max} />;
  if (isObject(value)) return <Chips parts={Object.entries(value).map(member)} max={max} />;
  const text = shown(value);
  return <span class={text.length > BRIEF_MAX ? "text long" : "text"} title={text.length > 60 ? text.slice(0, 2000) : undefined}>{text.length > 240 ? `${text.slice(0, 240)}…` : text}</span>;
}

/** An element of a list, which can be there twice. */
function reference(target: string, id: string, index: number): VNode {
  return (
    <a key={index} class="chip" href={link(["entity", target, id])} title={id.length > 60 ? id : undefined}>
      {id}
    </a>
  );
}

function member([key, value]: [string, Json]): VNode {
  return (
    <span key={key} class="chip" title={`${key}: ${shown(value)}`.slice(0, 2000)}>
      {key}: {shown(value)}
    </span>
  );
}
