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

/** Operations with their requests and mean time, the slowest first. */
export function operations(all: Sample[]): { name: string; requests: number; mean: number }[] {
  const byName = new Map<string, { requests: number; seconds: number }>();
  for (const { name, labels, value } of all) {
    const operation = labels["operation"];
    const isSum = name.endsWith("_seconds_sum");
    if (operation === undefined || !(isSum || name.endsWith("_seconds_count")) || !name.includes("request")) continue;
    const of = byName.get(operation) ?? { requests: 0, seconds: 0 };
    if (isSum) of.seconds += value;
    else of.requests += value;
    byName.set(operation, of);
  }
  const rows = [...byName].map(([name, { requests, seconds }]) => ({ name, requests, mean: requests === 0 ? 0 : seconds / requests }));
  return rows.filter(({ requests }) => requests > 0).sort((a, b) => b.mean - a.mean);
}
