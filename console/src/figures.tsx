// The figures of a server, from its metrics: what is slow, what lags, what fills the disk.

import { useState } from "preact/hooks";

import { Problem, send } from "./api";
import { type Sample, operations, samples, valueOf } from "./metrics";
import { Alert, Empty, Heading, Numbers, Table, bytes, count, duration, spoken } from "./parts";
import { usePolled } from "./polled";

const INTERVAL_MS = 3000;

/** All figures, as a view of its own. */
export function FiguresView() {
  return (
    <>
      <Heading title="Figures" />
      <Figures />
    </>
  );
}

export function Figures() {
  // Only clients on the machine of a server without tokens can read them.
  const loaded = usePolled("metrics", INTERVAL_MS, async (signal): Promise<Sample[] | null> => {
    try {
      return samples(await send("/metrics", { signal }));
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    }
  });
  if (loaded.value === null) return <Empty>This server shows its figures on its own machine only.</Empty>;
  const all = loaded.value ?? [];
  return (
    <>
      <Alert problem={loaded.problem} />
      <Disk all={all} />
      <Consumers all={all} />
      <Background all={all} />
      <Slowest all={all} />
      <details>
        <summary>All figures</summary>
        <Table label="All figures" head={["Figure", new Numbers("Value")]}>
          {all.filter(isFigure).map((sample, index) => (
            <tr key={index}>
              <td>{figureName(sample)}</td>
              <td class="number">{figure(sample)}</td>
            </tr>
          ))}
        </Table>
      </details>
    </>
  );
}

/** How full the disk is, and with what. */
function Disk({ all }: { all: Sample[] }) {
  const [size, free] = [valueOf(all, "keyloom_engine_disk_bytes"), valueOf(all, "keyloom_engine_disk_free_bytes")];
  const [tree, log] = [valueOf(all, "keyloom_engine_tree_bytes"), valueOf(all, "keyloom_engine_log_bytes")];
  const damages = valueOf(all, "keyloom_engine_damages") ?? 0;
  if (tree === undefined) return null;
  const parts: [string, string][] = [
    ["rows", bytes(tree)],
    ["log", bytes(log ?? 0)],
    ...(free === undefined ? [] : [["free", bytes(free)] as [string, string]]),
    ["damage found", count(damages)],
  ];
  return (
    <section aria-label="Disk">
      <h2>Disk</h2>
      <dl class="numbers">
        {parts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {size !== undefined && free !== undefined && size > 0 && (
        <p class="hint">
          <meter min={0} max={size} high={size * 0.9} value={size - free} aria-label="How full the disk is" /> {Math.round((1 - free / size) * 100)}% of {bytes(size)} in use
        </p>
      )}
    </section>
  );
}

/** How far those that read changes are behind. */
function Consumers({ all }: { all: Sample[] }) {
  const consumers = all.filter(({ name }) => name === "keyloom_consumer_events_behind");
  if (!all.some(({ name }) => name === "keyloom_jobs_late_seconds")) return null;
  const of = (name: string, consumer: string | undefined) => all.find((sample) => sample.name === name && sample.labels["consumer"] === consumer)?.value ?? 0;
  return (
    <section aria-label="Consumers of changes">
      <h2>Consumers of changes</h2>
      {consumers.length === 0 ? (
        <Empty>No handler and no webhook reads changes.</Empty>
      ) : (
        <Table label="Lag of consumers" head={["Consumer", new Numbers("Events behind"), new Numbers("Oldest"), "State"]}>
          {consumers.map(({ labels, value }) => {
            const consumer = labels["consumer"];
            const isLost = of("keyloom_consumer_lost", consumer) > 0;
            return (
              <tr key={consumer} class={isLost ? "missing" : undefined}>
                <td>{consumer}</td>
                <td class="number">{value >= 1000 ? "1,000 or more" : count(value)}</td>
                <td class="number">{duration(of("keyloom_consumer_age_seconds", consumer))}</td>
                <td>{isLost ? "stopped: changes that it needs are gone" : value === 0 ? "up to date" : "behind"}</td>
              </tr>
            );
          })}
        </Table>
      )}
    </section>
  );
}

/** Work that runs on its own: deletions, rebuilding rows, expiry. */
function Background({ all }: { all: Sample[] }) {
  const of = (name: string, kind: string | undefined) => all.find((sample) => sample.name === `keyloom_operations${name}` && sample.labels["kind"] === kind)?.value ?? 0;
  const running = all.filter(({ name, value }) => name === "keyloom_operations" && value > 0);
  if (!all.some(({ name }) => name === "keyloom_operations")) return null;
  return (
    <section aria-label="Background operations">
      <h2>Background operations</h2>
      {running.length === 0 ? (
        <Empty>None is running.</Empty>
      ) : (
        <Table label="Progress of operations" head={["Kind", new Numbers("Running"), "Progress", new Numbers("Since")]}>
          {running.map(({ labels, value }) => {
            const kind = labels["kind"];
            const [done, left] = [of("_done", kind), of("_left", kind)];
            return (
              <tr key={kind}>
                <td>{kind}</td>
                <td class="number">{count(value)}</td>
                <td>
                  <progress max={Math.max(1, done + left)} value={done} aria-label="Progress" /> {count(done)} of {count(done + left)}
                </td>
                <td class="number">{duration(of("_age_seconds", kind))}</td>
              </tr>
            );
          })}
        </Table>
      )}
    </section>
  );
}

const ORDERS = { p99: "of 99 in 100", mean: "on average", total: "together" } as const;

function Slowest({ all }: { all: Sample[] }) {
  const [order, setOrder] = useState<keyof typeof ORDERS>("p99");
  const slowest = operations(all)
    .sort((a, b) => b[order] - a[order])
    .slice(0, 12);
  return (
    <section aria-label="Slowest queries">
      <h2>Slowest queries</h2>
      <label class="inline">
        <span>by the time</span>
        <select value={order} onChange={(event) => setOrder(event.currentTarget.value as keyof typeof ORDERS)}>
          {Object.entries(ORDERS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {slowest.length === 0 ? (
        <Empty>No request has been answered yet.</Empty>
      ) : (
        <Table label="Time of operations" head={["Operation", new Numbers("Requests"), new Numbers("99 in 100 within"), new Numbers("Mean"), new Numbers("Together")]}>
          {slowest.map(({ name, requests, mean, p99, total }) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td class="number">{count(requests)}</td>
              <td class="number">{p99 === Infinity ? "over 10 s" : duration(p99)}</td>
              <td class="number">{duration(mean)}</td>
              <td class="number">{duration(total)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

/** Numbers that mean something on their own: no parts of histograms, and of many kinds only those that occur. */
function isFigure({ name, labels, value }: Sample): boolean {
  if (value === 0 && Object.keys(labels).length > 0) return false;
  return !/_(bucket|sum|count)$/.test(name) && labels["operation"] === undefined && labels["quantile"] === undefined;
}

function figureName({ name, labels }: Sample): string {
  const values = Object.values(labels).join(", ");
  const text = spoken(name.replace(/^keyloom_/, "").replace(/_(bytes|seconds)(_total)?$|_total$/, ""));
  return values === "" ? text : `${text} (${values})`;
}

function figure({ name, value }: Sample): string {
  if (/_bytes(_total)?$/.test(name)) return bytes(value);
  if (/_seconds(_total)?$/.test(name)) return duration(value);
  return count(value);
}
