// One entity: its fields, what belongs to it, and its rows in the table.

import { useState } from "preact/hooks";

import { Problem, request, url } from "./api";
import { Explain } from "./explain";
import type { Values } from "./filters";
import { type Document, EntityForm } from "./form";
import { startAtHeading } from "./frame";
import { type Json, isObject } from "./json";
import { Cell, LIST, missing } from "./lists";
import { useLive } from "./live";
import { Alert, Danger, Empty, Heading, problemOf, spoken, useLoaded } from "./parts";
import { go, link } from "./route";
import { Rows } from "./rows";
import { type Entity, type Operation, type Parameter, type Schema, type Service, filters } from "./service";

type Props = { service: Service; entity: Entity; id: string };

export function Detail({ service, entity, id }: Props) {
  const path = `${entity.path}/${encodeURIComponent(id)}`;
  /** The entity as it was when editing began: what others do meanwhile is a conflict, and keeps what is typed. */
  const [edited, setEdited] = useState<Document | undefined>();
  const [isLive, setIsLive] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const loaded = useLoaded(`${isLive} ${path}`, (signal) => request(url(path, [["explain", "true"]]), { signal }));
  const followed = useLive(isLive, path, []);
  const body: Json = isLive && followed.body !== undefined ? followed.body : (loaded.value ?? null);
  const version = isObject(body) ? String(body["version"]) : "";
  const change = service.ofOne(entity, "PATCH");
  const remove = async () => {
    try {
      await request(path, { method: "DELETE", version, isKeyed: true });
      go(["entity", entity.name]);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  const save = async (document: Document) => {
    await request(path, { method: "PATCH", version: String(edited?.["version"]), isKeyed: true, body: document });
    close();
  };
  const close = () => {
    setEdited(undefined);
    loaded.again();
    startAtHeading();
  };
  return (
    <>
      <Heading
        title={
          <>
            <a href={link(["entity", entity.name])}>{spoken(entity.name)}</a> <span class="id">{id}</span>
          </>
        }
      >
        {change && isObject(body) && edited === undefined && (
          <button type="button" class="primary" onClick={() => setEdited(body)}>
            Edit
          </button>
        )}
        {service.ofOne(entity, "DELETE") && isObject(body) && <Danger label="Delete" confirm={`Delete this ${spoken(entity.name)}?`} act={() => void remove()} />}
        <label class="inline">
          <input type="checkbox" checked={isLive} onChange={(event) => setIsLive(event.currentTarget.checked)} />
          live
        </label>
      </Heading>
      <Alert problem={problem ?? loaded.problem} />
      {isLive && followed.body === null && <Empty>It was deleted.</Empty>}
      {isObject(body) &&
        (edited !== undefined && change?.body ? (
          <EntityForm service={service} entity={entity} schema={service.resolved(change.body)} before={edited} save={save} cancel={close} />
        ) : (
          <Fields entity={entity} body={body} />
        ))}
      {isObject(body) && <Explain page={body} />}
      {isObject(body) && <Related service={service} entity={entity} id={id} body={body} />}
      {isObject(body) && service.operation("entity_rows") && <Rows entity={entity} id={id} version={version} />}
    </>
  );
}

function Fields({ entity, body }: { entity: Entity; body: { [name: string]: Json } }) {
  const names = [...entity.fields.map(({ name }) => name).filter((name) => name !== "id"), "version"];
  return (
    <dl class="fields">
      {names.map((name) => (
        <div key={name}>
          <dt>{spoken(name)}</dt>
          <dd>{body[name] === undefined ? <span class="hint">absent</span> : <Whole entity={entity} name={name} value={body[name]} />}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A long text as a whole, other values as in a list. */
function Whole({ entity, name, value }: { entity: Entity; name: string; value: Json }) {
  const isText = typeof value === "string" && !entity.fields.find((field) => field.name === name)?.target;
  return isText ? <span class="whole">{value}</span> : <Cell entity={entity} name={name} value={value} max={50} />;
}

/** The lists that this entity, or one of its values, is a parameter of. */
function Related({ service, entity, id, body }: { service: Service; entity: Entity; id: string; body: { [name: string]: Json } }) {
  const links: { label: string; href: string }[] = [];
  for (const other of service.entities) {
    const refers = other.fields.filter(({ target }) => target === entity.name).map(({ name }) => name);
    for (const list of service.of(other.name, "list")) {
      const named = filters(list).find(({ name }) => refers.includes(name));
      if (named === undefined) continue;
      if (isReadBy(other, list, named)) links.push({ label: `${spoken(other.name)} by ${spoken(named.name)}`, href: link(["entity", other.name], [[LIST, list.id], [named.name, id]]) });
    }
  }
  for (const list of service.of(entity.name, "list")) {
    const values = inPath(list).map((name): [string, Json | undefined] => [name, name === "id" ? id : body[name]]);
    const isKnown = values.length > 0 && values.every(([, value]) => typeof value === "string" || typeof value === "number");
    if (isKnown) links.push({ label: `beside others: ${spoken(list.id.replace(/^list_/, ""))}`, href: link(["entity", entity.name], [[LIST, list.id], ...values.map(([name, value]): [string, string] => [name, String(value)])]) });
  }
  if (links.length === 0) return null;
  return (
    <section>
      <h2>Related</h2>
      <ul class="links">
        {links.map(({ label, href }) => (
          <li key={href}>
            <a href={href}>{label}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Whether a list can be read by the value of one parameter: it needs no other, and is not ordered by another one first. */
function isReadBy(entity: Entity, list: Operation, { name, in: where }: Parameter): boolean {
  const values: Values = where === "path" ? { path: { [name]: "…" }, query: [] } : { path: {}, query: [[name, "…"]] };
  const declared = entity.lists.find((one) => list.id === `list_${entity.name}_${one.name}`);
  const isLater = declared?.order.slice(1).some((order) => order.replace(/^-/, "") === name) ?? false;
  return missing(list, values).length === 0 && (!isLater || (declared?.facets.includes(name) ?? false));
}

function inPath(list: Operation): string[] {
  return filters(list).filter(({ in: where }) => where === "path").map(({ name }) => name);
}

export function Create({ service, entity }: { service: Service; entity: Entity }) {
  const create = service.creating(entity);
  return (
    <>
      <Heading title={`New ${spoken(entity.name)}`} />
      {create?.body === undefined ? <Empty>You cannot create one.</Empty> : <NewEntity service={service} entity={entity} path={create.path} body={create.body} />}
    </>
  );
}

function NewEntity({ service, entity, path, body }: { service: Service; entity: Entity; path: string; body: Schema }) {
  const save = async (document: Document) => {
    const created = await request(path, { method: "POST", isKeyed: true, body: document });
    go(["entity", entity.name, isObject(created) ? String(created["id"]) : ""]);
  };
  return <EntityForm service={service} entity={entity} schema={service.resolved(body)} before={undefined} save={save} cancel={() => go(["entity", entity.name])} />;
}
