// Changes as they happen.

import { useEffect, useState } from "preact/hooks";

import { type StreamEvent, follow } from "./api";
import { type Json, isObject, shown } from "./json";
import { Empty, Heading, Table, spoken, things } from "./parts";
import { link } from "./route";
import type { Service } from "./service";

/** How many changes stay on the page. */
const KEPT = 200;

type Change = { position: string; entity: string; id: string; change: string; time: string; fields: string[] };

export function ChangesView({ service }: { service: Service }) {
  const [entity, setEntity] = useState("");
  const [isPaused, setIsPaused] = useState(false);
  const [changes, setChanges] = useState<Change[]>([]);
  const [seen, setSeen] = useState(0);
  const [state, setState] = useState("");
  useEffect(() => {
    if (isPaused) return undefined;
    const aborting = new AbortController();
    const receive = (event: StreamEvent) => {
      setSeen((before) => before + 1);
      setChanges((before) => [changeOf(event), ...before].slice(0, KEPT));
    };
    const parameters: [string, string][] = entity === "" ? [] : [["entity", entity]];
    void follow("/changes", parameters, aborting.signal, receive, setState);
    return () => aborting.abort();
  }, [entity, isPaused]);
  const followed = service.operation("changes")?.parameters.find(({ name }) => name === "entity");
  const names = service.resolved(followed?.schema).items?.enum ?? [];
  return (
    <>
      <Heading title="Live changes">
        <label class="inline">
          <span>of</span>
          <select value={entity} onChange={(event) => setEntity(event.currentTarget.value)}>
            <option value="">all entities</option>
            {names.map((name) => (
              <option key={shown(name)} value={shown(name)}>
                {spoken(shown(name))}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? "Resume" : "Pause"}
        </button>
      </Heading>
      <p class="hint" role="status">
        {isPaused ? "paused" : state}; {things(seen, "change")} since this page was opened
      </p>
      {changes.length === 0 ? (
        <Empty>Waiting for a change…</Empty>
      ) : (
        <Table label="Changes" head={["Time", "Change", "Entity", "Fields"]}>
          {changes.map((change) => (
            <tr key={change.position}>
              <td>{change.time.replace("T", " ").replace("Z", "")}</td>
              <td>{change.change}</td>
              <td>
                <a href={link(["entity", change.entity, change.id])}>
                  {spoken(change.entity)} {change.id}
                </a>
              </td>
              <td class="text">{change.fields.join(", ")}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

function changeOf(event: StreamEvent): Change {
  const data = isObject(event.data) ? event.data : {};
  const text = (name: string) => shown(data[name]);
  return {
    position: text("position") || event.id,
    entity: text("entity"),
    id: text("id"),
    change: text("change"),
    time: text("time"),
    fields: changed(data["old"] ?? null, data["new"] ?? null),
  };
}

/** The fields that differ, with their new values. */
function changed(before: Json, after: Json): string[] {
  const [old, now] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((name) => !["id", "version"].includes(name));
  const differing = names.filter((name) => shown(old[name]) !== shown(now[name]));
  if (!isObject(after)) return [];
  return differing.map((name) => `${name}: ${shown(now[name]).slice(0, 80) || "absent"}`);
}
