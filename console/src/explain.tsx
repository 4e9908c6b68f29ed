// What a page has cost: its plan, its reads and its price.

import { type Json, isObject, shown } from "./json";
import { Numbers, Table, bytes, count, dollars, things } from "./parts";

type Step = { step: string; members?: number; parts?: Step[] };
type Reads = { best: number; worst: number };
/** A way to find the page, with the rows that it is likely to read. */
type Way = { step: string; rows: number; is_chosen: boolean };
/** A request to the store. */
type Call = { call: string; index: string | null; rows: number; bytes: number; read_units: number };
type Cost = {
  lists: { plan: Step; bound: { rows: number; bytes: number }; one_by_one?: { tags: Reads; planned: Reads; entities: number }; considered?: Way[] }[];
  rows: number;
  bytes: number;
  requests: Call[];
  dynamodb: { read_units: number; dollars: number };
};

export function Explain({ page }: { page: Json }) {
  if (!isObject(page) || !isObject(page["explain"])) return null;
  const cost = page["explain"] as unknown as Cost;
  const summary = `${things(cost.rows, "row")}, ${bytes(cost.bytes)}; on DynamoDB ${things(cost.dynamodb.read_units, "read unit")}, ${dollars(cost.dynamodb.dollars)}`;
  return (
    <details class="explain">
      <summary>
        <span class="label">Cost</span> {summary}
      </summary>
      {cost.lists.map((list, index) => (
        <section key={index}>
          <ul class="plan">
            <PlanStep step={list.plan} />
          </ul>
          <p class="hint">
            At most {count(list.bound.rows)} rows and {bytes(list.bound.bytes)}, wherever in the list the page is.
          </p>
          {list.considered && (
            <Table label="Ways to find the page" head={["Ways to find the page", new Numbers("Expected rows"), "Chosen"]}>
              {list.considered.map(({ step, rows, is_chosen }) => (
                <tr key={step}>
                  <td>{step}</td>
                  <td class="number">{count(rows)}</td>
                  <td>{is_chosen ? "chosen" : ""}</td>
                </tr>
              ))}
            </Table>
          )}
          {list.one_by_one && (
            <p class="hint">
              Not chosen: every tag on its own, {range(list.one_by_one.tags)} rows; the planned lists one by one, {range(list.one_by_one.planned)} rows; then{" "}
              {count(list.one_by_one.entities)} entities.
            </p>
          )}
        </section>
      ))}
      <Table label="Requests to the store" head={["Request", "Index", new Numbers("Times"), new Numbers("Rows"), new Numbers("Bytes"), new Numbers("Read units")]}>
        {alike(cost.requests).map(({ times, ...request }, index) => (
          <tr key={index}>
            <td>{request.call}</td>
            <td>{shown(request.index) || "table"}</td>
            <td class="number">{count(times)}</td>
            <td class="number">{count(request.rows)}</td>
            <td class="number">{count(request.bytes)}</td>
            <td class="number">{count(request.read_units)}</td>
          </tr>
        ))}
      </Table>
    </details>
  );
}

function PlanStep({ step }: { step: Step }) {
  return (
    <li>
      {step.step}
      {step.members !== undefined && <span class="hint"> {count(step.members)} entities</span>}
      {step.parts && (
        <ul>
          {step.parts.map((part, index) => (
            <PlanStep key={index} step={part} />
          ))}
        </ul>
      )}
    </li>
  );
}

/** Requests of one kind together: a page of tags that many entities have reads hundreds of sets. */
function alike(requests: Call[]): (Call & { times: number })[] {
  const all = new Map<string, Call & { times: number }>();
  for (const one of requests) {
    const key = `${one.call} ${one.index}`;
    const { times, rows, bytes, read_units } = all.get(key) ?? { times: 0, rows: 0, bytes: 0, read_units: 0 };
    all.set(key, { ...one, times: times + 1, rows: rows + one.rows, bytes: bytes + one.bytes, read_units: read_units + one.read_units });
  }
  return [...all.values()];
}

function range({ best, worst }: Reads): string {
  return best === worst ? count(best) : `${count(best)} to ${count(worst)}`;
}
