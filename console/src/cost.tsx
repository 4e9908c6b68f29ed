// What an entity costs: creating one, reading one, and the first page of each list, as the server explains them with
// the data that it has. Nothing is written.

import { request, url } from "./api";
import { type Json, isObject } from "./json";
import { Numbers, Table, bytes, count, dollars, problemOf, useLoaded } from "./parts";
import { type Entity, type Service, filters, itemsOf, pageParameter } from "./service";

type Measured = { what: string; rows?: number; bytes?: number; units?: number; dollars?: number; problem?: string };

export function Costs({ service, entity }: { service: Service; entity: Entity }) {
  const loaded = useLoaded(`costs ${entity.name}`, (signal) => measure(service, entity, signal));
  return (
    <>
      <h3>What it costs</h3>
      <Table label="What it costs" head={["Request", new Numbers("Rows"), new Numbers("Bytes"), new Numbers("DynamoDB units"), new Numbers("Price")]}>
        {(loaded.value ?? []).map((one) => (
          <tr key={one.what}>
            <td>{one.what}</td>
            {one.problem !== undefined ? (
              <td colSpan={4} class="hint">
                {one.problem}
              </td>
            ) : (
              <>
                <td class="number">{count(one.rows ?? 0)}</td>
                <td class="number">{bytes(one.bytes ?? 0)}</td>
                <td class="number">{count(one.units ?? 0)}</td>
                <td class="number">{dollars(one.dollars ?? 0)}</td>
              </>
            )}
          </tr>
        ))}
      </Table>
      {loaded.isLoading && <p class="hint">Loading…</p>}
    </>
  );
}

async function measure(service: Service, entity: Entity, signal: AbortSignal): Promise<Measured[]> {
  const free = service.of(entity.name, "list").filter((list) => filters(list).every(({ required }) => !required));
  const lists = free.map((list) =>
    attempt(`first page of ${list.id}`, async () => {
      const limit = pageParameter(list, "limit") ?? "limit";
      return ofRead(await request(url(list.path, [[limit, "20"], ["explain", "true"]]), { signal }));
    }),
  );
  const all = [attempt("create one, like the example", () => created(service, entity, signal)), attempt("read one", () => read(service, entity, signal)), ...lists];
  return Promise.all(all);
}

async function attempt(what: string, measure: () => Promise<Omit<Measured, "what">>): Promise<Measured> {
  try {
    return { what, ...(await measure()) };
  } catch (error) {
    return { what, problem: problemOf(error).message };
  }
}

/** The example of the API reference, with references to entities that exist. */
async function created(service: Service, entity: Entity, signal: AbortSignal): Promise<Omit<Measured, "what">> {
  const example = service.creating(entity)?.example;
  if (!isObject(example)) return { problem: "You cannot create one." };
  const document: { [name: string]: Json } = { ...example };
  for (const { name, target } of entity.fields) {
    const referred = target === null || document[name] === undefined ? undefined : service.entity(target);
    if (referred === undefined) continue;
    const found = await first(service, referred, signal);
    if (found === undefined) return { problem: `There is no ${target} yet that it could refer to.` };
    document[name] = Array.isArray(document[name]) ? document[name].map(() => found) : found;
  }
  const answer = await request(url("/transaction", [["explain", "true"]]), { method: "POST", body: { changes: [{ create: entity.name, document }] }, signal });
  const explained = isObject(answer) && isObject(answer["explain"]) ? answer["explain"] : {};
  const rows = Array.isArray(explained["rows"]) ? explained["rows"].filter(isObject) : [];
  const dynamodb = isObject(explained["dynamodb"]) ? explained["dynamodb"] : {};
  const written = rows.reduce((sum, row) => sum + Number(row["bytes"] ?? 0), 0);
  return { rows: rows.length, bytes: written, units: Number(dynamodb["write_units"]), dollars: Number(dynamodb["dollars"]) };
}

async function read(service: Service, entity: Entity, signal: AbortSignal): Promise<Omit<Measured, "what">> {
  if (service.ofOne(entity, "GET") === undefined) return { problem: "You cannot read one." };
  const id = await first(service, entity, signal);
  if (id === undefined) return { problem: "There is none yet." };
  return ofRead(await request(url(`${entity.path}/${encodeURIComponent(id)}`, [["explain", "true"]]), { signal }));
}

/** The id of some entity of a kind. */
async function first(service: Service, entity: Entity, signal: AbortSignal): Promise<string | undefined> {
  const list = service.of(entity.name, "list").find((list) => filters(list).every(({ required }) => !required));
  if (list === undefined) return undefined;
  const limit = pageParameter(list, "limit") ?? "limit";
  const id = itemsOf(await request(url(list.path, [[limit, "1"]]), { signal }))[0]?.["id"];
  return typeof id === "string" ? id : undefined;
}

function ofRead(answer: Json): Omit<Measured, "what"> {
  const explained = isObject(answer) && isObject(answer["explain"]) ? answer["explain"] : {};
  const dynamodb = isObject(explained["dynamodb"]) ? explained["dynamodb"] : {};
  return { rows: Number(explained["rows"]), bytes: Number(explained["bytes"]), units: Number(dynamodb["read_units"]), dollars: Number(dynamodb["dollars"]) };
}
