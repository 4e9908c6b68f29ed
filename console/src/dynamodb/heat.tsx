// The heat page: what the partitions of tables and indexes consume, in strict mode.

import { Problem, request } from "../api";
import type { Json } from "../json";
import { Alert, Empty, Heading, Numbers, Table, count, things } from "../parts";
import { usePolled } from "../polled";

type Rates = { units: number; perSecond: number; busiestSecond: number };
type Partition = { start: string; read: Rates; write: Rates; throttled: number; notSplit?: string };
type Space = { table: string; index?: string; splits: number; partitions: Partition[]; keys: { key: string; units: number }[] };
type Heat = { conflicts: number; spaces: Space[] };

/** Units that a partition has a second. */
const CAPACITY = { read: 3000, write: 1000 };

export function HeatView() {
  // Without strict mode, and on other machines than the server's, there is none.
  const loaded = usePolled("heat", 2000, async (signal): Promise<Heat | null> => {
    try {
      return (await request("/heat.json", { signal })) as unknown as Heat & Json;
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    }
  });
  const heat = loaded.value;
  return (
    <>
      <Heading title="Heat" />
      <Alert problem={loaded.problem} />
      {heat === null && (
        <Empty>
          Only a server that was started with <code>--strict</code> measures the heat of partitions, and shows it on its own machine.
        </Empty>
      )}
      {heat && (
        <>
          <p class="hint">
            Capacity units by partition, a second, over the last minute and in the busiest second. A partition has {count(CAPACITY.write)} write units and{" "}
            {count(CAPACITY.read)} read units a second. {things(heat.conflicts, "transaction conflict")} so far.
          </p>
          {heat.spaces.length === 0 && <Empty>No request has been answered yet.</Empty>}
          {heat.spaces.map((space) => (
            <OfSpace key={`${space.table} ${space.index}`} space={space} />
          ))}
        </>
      )}
    </>
  );
}

function OfSpace({ space }: { space: Space }) {
  const name = space.index === undefined ? space.table : `${space.table}, index ${space.index}`;
  const most = Math.max(1, ...space.keys.map(({ units }) => units));
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      <Table label={`Partitions of ${name}`} head={["Starts at", new Numbers("Write units/s"), new Numbers("Busiest"), new Numbers("Read units/s"), new Numbers("Busiest"), new Numbers("Throttled"), "Splitting"]}>
        {space.partitions.map(({ start, read, write, throttled, notSplit }) => (
          <tr key={start} class={throttled > 0 ? "missing" : undefined}>
            <td>
              <code class="key">
                <span>{start}</span>
              </code>
            </td>
            {[write, read].flatMap((rates, index) => [
              <td key={`${index} mean`} class="number">
                {rates.perSecond.toFixed(1)}
              </td>,
              <td key={`${index} most`} class="number">
                {count(Math.round(rates.busiestSecond))} <meter min={0} max={index === 0 ? CAPACITY.write : CAPACITY.read} value={rates.busiestSecond} aria-hidden="true" />
              </td>,
            ])}
            <td class="number">{count(throttled)}</td>
            <td>{notSplit === undefined ? "" : `not split: ${notSplit}`}</td>
          </tr>
        ))}
      </Table>
      <p class="hint">{things(space.splits, "split")} so far.</p>
      {space.keys.length > 0 && (
        <Table label={`Heaviest keys of ${name}`} head={["Partition key", new Numbers("Units"), "Share"]}>
          {space.keys.map(({ key, units }) => (
            <tr key={key}>
              <td class="id">{key}</td>
              <td class="number">{count(Math.round(units))}</td>
              <td>
                <meter min={0} max={most} value={units} aria-hidden="true" />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
