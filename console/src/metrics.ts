// The text of `/metrics`, as samples.

export type Sample = { name: string; labels: { [name: string]: string }; value: number };

export function samples(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (match === null || line.startsWith("#")) return [];
    const [, name = "", labels = "", value = ""] = match;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    const named = pairs.map(([, label = "", text = ""]) => [label, text.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c))]);
    return [{ name, labels: Object.fromEntries(named) as { [name: string]: string }, value: Number(value) }];
  });
}

/** The value of a figure without labels. */
export function valueOf(all: Sample[], name: string): number | undefined {
  return all.find((sample) => sample.name === name)?.value;
}

/** The times of an operation, in seconds. */
export type Times = { name: string; requests: number; mean: number; p99: number; total: number };

const DURATION = "keyloom_request_duration_seconds";

/** Operations with the times of their requests. */
export function operations(all: Sample[]): Times[] {
  const byName = new Map<string, { requests: number; total: number; buckets: { bound: number; count: number }[] }>();
  for (const { name, labels, value } of all) {
    const operation = labels["operation"];
    if (operation === undefined || !name.startsWith(DURATION)) continue;
    const of = byName.get(operation) ?? { requests: 0, total: 0, buckets: [] };
    byName.set(operation, of);
    if (name === `${DURATION}_sum`) of.total = value;
    if (name === `${DURATION}_count`) of.requests = value;
    if (name === `${DURATION}_bucket`) of.buckets.push({ bound: bound(labels["le"]), count: value });
  }
  const rows = [...byName].map(([name, { requests, total, buckets }]) => {
    // A histogram knows an upper bound only.
    const enough = buckets.sort((a, b) => a.bound - b.bound).find(({ count }) => count >= requests * 0.99);
    return { name, requests, total, mean: requests === 0 ? 0 : total / requests, p99: enough?.bound ?? Infinity };
  });
  return rows.filter(({ requests }) => requests > 0);
}

function bound(text: string | undefined): number {
  return text === "+Inf" ? Infinity : Number(text);
}
