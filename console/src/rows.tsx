// The rows of an entity as they are in the table, each with the reason.

import { useState } from "preact/hooks";

import { request, url } from "./api";
import { type Json, isObject } from "./json";
import { Alert, Numbers, Table, bytes, useLoaded } from "./parts";
import { type Entity, itemsOf } from "./service";

type Row = {
  what: string;
  why: string;
  index: string | null;
  partition: string[];
  sort: string[];
  is_stored: boolean;
  bytes: number | null;
  attributes: { [name: string]: Json };
};

export function Rows({ entity, id, version }: { entity: Entity; id: string; version: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="rows" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Rows in the table</summary>
      {isOpen && <Shown entity={entity} id={id} version={version} />}
    </details>
  );
}

function Shown({ entity, id, version }: { entity: Entity; id: string; version: string }) {
  const loaded = useLoaded(`${entity.name} ${id} ${version}`, (signal) => request(url("/model/rows", [["entity", entity.name], ["id", id]]), { signal }));
  const rows = itemsOf(loaded.value ?? null) as unknown as Row[];
  return (
    <>
      <Alert problem={loaded.problem} />
      <Table label="Rows in the table" head={["What", "Why", "Where", "Partition key", "Sort key", new Numbers("Size")]}>
        {rows.map((row, index) => (
          <tr key={index} class={row.is_stored ? undefined : "missing"}>
            <td>{row.what}</td>
            <td class="why">
              {row.why}
              {!row.is_stored && <strong class="error"> missing: run keyloom verify</strong>}
            </td>
            <td>{row.what === "set" ? "set" : (row.index ?? "table")}</td>
            <td>
              <Key parts={row.partition} />
            </td>
            <td>
              <Key parts={row.sort} />
            </td>
            <td class="number">{row.bytes === null ? "" : <Attributes row={row} />}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function Key({ parts }: { parts: string[] }) {
  return (
    <code class="key">
      {parts.map((part, index) => (
        <span key={index}>{part === "" ? "(empty)" : part}</span>
      ))}
    </code>
  );
}

function Attributes({ row }: { row: Row }) {
  const attributes = isObject(row.attributes) ? Object.entries(row.attributes) : [];
  return (
    <details>
      <summary>{bytes(row.bytes ?? 0)}</summary>
      <dl class="attributes">
        {attributes.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{String(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
