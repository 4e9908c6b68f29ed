// Data in and out: importing a file, and backups into the folder that the operator has chosen.

import { useRef, useState } from "preact/hooks";

import { Problem, request } from "./api";
import { type Json, isObject, parse, shown } from "./json";
import { Alert, Empty, Heading, Numbers, Table, bytes, count, problemOf, spoken, things } from "./parts";
import { usePolled } from "./polled";
import { type Entity, type Service, itemsOf } from "./service";

/** The most requests of a batch. */
const BATCH_MAX = 100;
/** How many lines that were refused are shown. */
const REFUSED_MAX = 100;

export function TransferView({ service }: { service: Service }) {
  return (
    <>
      <Heading title="Import and backup" />
      {importable(service).length > 0 && <Import service={service} />}
      {service.operation("list_backups") && <Backups />}
    </>
  );
}

/** The entities that lines of a file can be. */
export function importable(service: Service): Entity[] {
  return service.entities.filter((entity) => service.creating(entity) !== undefined);
}

type Refused = { line: number; code: string; detail: string };
type Progress = { read: number; written: number; refused: number; problems: Refused[] };
const NOTHING: Progress = { read: 0, written: 0, refused: 0, problems: [] };

function Import({ service }: { service: Service }) {
  const entities = importable(service);
  const [name, setName] = useState(entities[0]?.name ?? "");
  const [mode, setMode] = useState<"create" | "put">("create");
  const [progress, setProgress] = useState<Progress | undefined>();
  const [isRunning, setIsRunning] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>();
  const file = useRef<HTMLInputElement>(null);
  const stopping = useRef<AbortController | undefined>(undefined);
  const run = async () => {
    const chosen = file.current?.files?.[0];
    const entity = service.entity(name);
    if (chosen === undefined || entity === undefined) return setProblem(new Problem(0, "invalid", "Choose a file."));
    const stop = new AbortController();
    stopping.current = stop;
    setProblem(undefined);
    setIsRunning(true);
    let done = NOTHING;
    setProgress(done);
    try {
      for await (const lines of chunks(chosen)) {
        done = await send(service, entity, mode, lines, done, stop.signal);
        setProgress(done);
      }
    } catch (error) {
      if (!stop.signal.aborted) {
        const { code, message, status } = problemOf(error);
        const where = `Stopped after line ${count(done.read)}: it is not known whether the next ${BATCH_MAX} lines were written.`;
        setProblem(new Problem(status, code, `${message} ${where}`));
      }
    }
    setIsRunning(false);
  };
  return (
    <section aria-label="Import">
      <h2>Import</h2>
      <p class="hint">
        A file of JSON Lines, as the console and <code>keyloom export</code> write them. Each line is checked as any other change; those that the model does not allow
        are listed, the others are written. <code>keyloom import</code> is faster, and keeps all ids.
      </p>
      <form
        class="filters"
        aria-label="Import a file"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <label>
          <span>file</span>
          <input type="file" accept=".jsonl,.ndjson,.json,.txt" ref={file} />
        </label>
        <label>
          <span>entity of lines that name none</span>
          <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {entities.map((entity) => (
              <option key={entity.name} value={entity.name}>
                {spoken(entity.name)}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>what to do</span>
          <select value={mode} onChange={(event) => setMode(event.currentTarget.value as "create" | "put")}>
            <option value="create">create them</option>
            <option value="put">replace those with the same id</option>
          </select>
        </label>
        <div class="actions">
          {isRunning ? (
            <button type="button" onClick={() => stopping.current?.abort()}>
              Stop
            </button>
          ) : (
            <button class="primary">Import</button>
          )}
        </div>
      </form>
      <Alert problem={problem} />
      <div role="status">
        {progress && (
          <p class={isRunning ? "hint" : "good"}>
            {things(progress.read, "line")} read, {count(progress.written)} written, {count(progress.refused)} refused{isRunning ? "…" : "."}
          </p>
        )}
      </div>
      {progress && progress.problems.length > 0 && (
        <Table label="Refused lines" head={[new Numbers("Line"), "Problem"]}>
          {progress.problems.map(({ line, code, detail }) => (
            <tr key={line}>
              <td class="number">{count(line)}</td>
              <td>
                <strong>{code}</strong> {detail}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

type Line = { line: number; text: string };

/** The lines of a file, as many at a time as a batch has. The file is never in memory as a whole. */
async function* chunks(file: File): AsyncGenerator<Line[]> {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let [rest, line]: [string, number] = ["", 0];
  let waiting: Line[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? (done ? "\n" : ""))).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      line += 1;
      if (text.trim() !== "") waiting.push({ line, text });
      if (waiting.length === BATCH_MAX) {
        yield waiting;
        waiting = [];
      }
    }
    if (done) break;
  }
  if (waiting.length > 0) yield waiting;
}

/** Sends lines as one batch, and adds what became of them. */
async function send(service: Service, entity: Entity, mode: "create" | "put", lines: Line[], before: Progress, signal: AbortSignal): Promise<Progress> {
  const refused: Refused[] = [];
  const requests: { line: number; request: Json }[] = [];
  for (const { line, text } of lines) {
    try {
      requests.push({ line, request: requestOf(service, entity, mode, parse(text)) });
    } catch (error) {
      refused.push({ line, code: "invalid", detail: error instanceof Error ? error.message : String(error) });
    }
  }
  let written = 0;
  if (requests.length > 0) {
    const answer = await request("/batch", { method: "POST", body: { requests: requests.map(({ request }) => request) }, signal });
    const results = isObject(answer) && Array.isArray(answer["results"]) ? answer["results"].filter(isObject) : [];
    results.forEach((result, index) => {
      const problem = isObject(result["problem"]) ? result["problem"] : undefined;
      if (problem === undefined) written += 1;
      else refused.push({ line: requests[index]?.line ?? 0, code: shown(problem["code"]), detail: shown(problem["detail"]) });
    });
  }
  return {
    read: before.read + lines.length,
    written: before.written + written,
    refused: before.refused + refused.length,
    problems: [...before.problems, ...refused.sort((a, b) => a.line - b.line)].slice(0, REFUSED_MAX),
  };
}

/** The request for a line: a document, or what `keyloom export` writes. */
function requestOf(service: Service, entity: Entity, mode: "create" | "put", value: Json): Json {
  if (!isObject(value)) throw new Error("It is not an object.");
  const isEntry = typeof value["entity"] === "string" && isObject(value["fields"]);
  const of = isEntry ? service.entity(shown(value["entity"])) : entity;
  if (of === undefined) throw new Error(`The model has no entity ${shown(value["entity"])}.`);
  const fields = isEntry && isObject(value["fields"]) ? value["fields"] : value;
  const create = service.creating(of);
  const properties = service.resolved(create?.body).properties ?? {};
  // What the server sets itself cannot be given.
  const isGiven = (name: string) => !["id", "version", "explain"].includes(name) && properties[name]?.readOnly !== true;
  const document: { [name: string]: Json } = Object.fromEntries(Object.entries(fields).filter(([name]) => isGiven(name)));
  const id = shown(value["id"]);
  if (mode === "put") return { put: of.name, id, document };
  return { create: of.name, document: properties["id"] !== undefined && id !== "" ? { ...document, id } : document };
}

function Backups() {
  const [problem, setProblem] = useState<Problem | undefined>();
  const loaded = usePolled("backups", 2000, (signal) => request("/console/backups", { signal }));
  const latest = isObject(loaded.value) && isObject(loaded.value["latest"]) ? loaded.value["latest"] : undefined;
  const start = async () => {
    try {
      await request("/console/backups", { method: "POST" });
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
    loaded.again();
  };
  const isUnavailable = loaded.problem?.code === "wrong-state";
  return (
    <section aria-label="Backups">
      <h2>Backups</h2>
      {isUnavailable ? (
        <Empty>{loaded.problem?.message}</Empty>
      ) : (
        <>
          <p class="hint">A copy of all data, of every tenant, in the folder that the operator has chosen.</p>
          <Alert problem={problem ?? loaded.problem} />
          <div class="bar">
            <button type="button" class="primary" disabled={shown(latest?.["state"]) === "running"} onClick={() => void start()}>
              Back up now
            </button>
            <span role="status">{latest && stateOf(latest)}</span>
          </div>
          <Kept items={itemsOf(loaded.value ?? null)} />
        </>
      )}
    </section>
  );
}

function stateOf(latest: { [name: string]: Json }): string {
  const rows = things(Number(latest["rows"] ?? 0), "row");
  switch (shown(latest["state"])) {
    case "running":
      return `Running: ${rows} copied…`;
    case "done":
      return `Done: ${rows} in ${shown(latest["name"])}.`;
    default:
      return `Failed: ${shown(latest["problem"])}`;
  }
}

function Kept({ items }: { items: { [name: string]: Json }[] }) {
  if (items.length === 0) return <Empty>There is none yet.</Empty>;
  return (
    <Table label="Kept backups" head={["Backup", new Numbers("Size")]}>
      {items.map((item) => (
        <tr key={shown(item["name"])}>
          <td class="id">{shown(item["name"])}</td>
          <td class="number">{bytes(Number(item["bytes"]))}</td>
        </tr>
      ))}
    </Table>
  );
}
