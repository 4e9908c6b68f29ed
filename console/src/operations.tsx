// What an operator watches: health, background operations, jobs, tokens, and the figures of the server.

import { useEffect, useState } from "preact/hooks";

import { Problem, request, send, url } from "./api";
import { type Json, isObject, shown } from "./json";
import { type Sample, operations, samples } from "./metrics";
import { Alert, Danger, Empty, Heading, Numbers, Table, bytes, count, problemOf, spoken, useLoaded } from "./parts";
import { link } from "./route";
import { type Service, itemsOf } from "./service";

/** How often the page is read again. */
const INTERVAL_MS = 3000;

/** A number that grows every few seconds, while the page is visible. */
function useTicks(): number {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    const tick = () => document.visibilityState === "visible" && setTicks((before) => before + 1);
    const timer = setInterval(tick, INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  return ticks;
}

export function OperationsView({ service }: { service: Service }) {
  const ticks = useTicks();
  return (
    <>
      <Heading title="Operations" />
      <Health ticks={ticks} />
      <Background ticks={ticks} />
      {service.entity("job") && <Jobs service={service} ticks={ticks} />}
      <Figures ticks={ticks} />
    </>
  );
}

function Health({ ticks }: { ticks: number }) {
  const ready = useLoaded(`ready ${ticks}`, (signal) => send("/readyz", { signal }));
  return (
    <p class={ready.problem ? "alert" : "good"} role="status">
      {ready.problem ? ready.problem.message : ready.value === undefined ? "…" : "The server reads and writes its data."}
    </p>
  );
}

function Background({ ticks }: { ticks: number }) {
  const [problem, setProblem] = useState<Problem | undefined>();
  const loaded = useLoaded(`operations ${ticks}`, (signal) => request("/operations", { signal }));
  const items = itemsOf(loaded.value ?? null);
  const cancel = async (id: string) => {
    try {
      await request(`/operations/${encodeURIComponent(id)}`, { method: "DELETE" });
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
    loaded.again();
  };
  return (
    <section>
      <h2>Changes of whole lists</h2>
      <Alert problem={problem ?? loaded.problem} />
      {items.length === 0 ? (
        <Empty>None is running, and none has ended lately.</Empty>
      ) : (
        <Table label="Changes of whole lists" head={["Operation", "State", "Progress", new Numbers("Failed"), "Started", "Actions"]}>
          {items.map((item) => {
            const done = ["changed", "unchanged", "skipped", "failed"].reduce((sum, name) => sum + Number(item[name] ?? 0), 0);
            const isOpen = ["collecting", "running"].includes(shown(item["state"]));
            return (
              <tr key={shown(item["id"])}>
                <td>
                  {shown(item["kind"])} {spoken(shown(item["entity"]))}
                </td>
                <td>{shown(item["state"])}</td>
                <td>
                  <progress max={Math.max(1, Number(item["matched"]))} value={done} aria-label="Progress" /> {count(done)} of {count(Number(item["matched"]))}
                </td>
                <td class="number">{count(Number(item["failed"]))}</td>
                <td>{shown(item["started"])}</td>
                <td>{isOpen && <Danger label="Cancel" confirm="Stop this change where it is?" act={() => void cancel(shown(item["id"]))} />}</td>
              </tr>
            );
          })}
        </Table>
      )}
    </section>
  );
}

/** What can be done with a job, by its status. */
const STEPS: { [status: string]: string } = { failed: "replay", canceled: "replay", waiting: "cancel", queued: "cancel" };

/** Jobs by their status; those that failed for good are the dead letters. */
function Jobs({ service, ticks }: { service: Service; ticks: number }) {
  const [status, setStatus] = useState("failed");
  const [problem, setProblem] = useState<Problem | undefined>();
  const list = service.operation("list_job_by_status");
  const choices = service.resolved(list?.parameters.find(({ name }) => name === "status")?.schema).enum ?? [];
  const loaded = useLoaded(`jobs ${status} ${ticks}`, async (signal) => (list ? request(url(list.path, [["status", status], ["limit", "50"]]), { signal }) : null));
  const step = service.operation(`${STEPS[status]}_job`);
  const run = async (id: string) => {
    try {
      await request((step?.path ?? "").replace("{id}", encodeURIComponent(id)), { method: "POST" });
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
    loaded.again();
  };
  const items = itemsOf(loaded.value ?? null);
  return (
    <section>
      <h2>Jobs</h2>
      <label class="inline">
        <span>status</span>
        <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
          {choices.map((choice) => (
            <option key={shown(choice)} value={shown(choice)}>
              {shown(choice) === "failed" ? "failed: dead letters" : shown(choice)}
            </option>
          ))}
        </select>
      </label>
      <Alert problem={problem ?? loaded.problem} />
      {items.length === 0 ? (
        <Empty>There is none.</Empty>
      ) : (
        <Table label="Jobs" head={["Job", "Due", new Numbers("Attempts"), "Error", "Actions"]}>
          {items.map((item) => {
            const id = shown(item["id"]);
            return (
              <tr key={id}>
                <td>
                  <a href={link(["entity", "job", id])}>{shown(item["kind"])}</a>
                </td>
                <td>{shown(item["due"])}</td>
                <td class="number">{shown(item["attempts"])}</td>
                <td class="text">{shown(item["error"])}</td>
                <td>
                  {step && (
                    <button type="button" onClick={() => void run(id)}>
                      {STEPS[status] === "replay" ? "Replay" : "Cancel"}
                    </button>
                  )}
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </section>
  );
}

function Figures({ ticks }: { ticks: number }) {
  const loaded = useLoaded(`metrics ${ticks}`, async (signal) => samples(await send("/metrics", { signal })));
  const all = loaded.value ?? [];
  const slowest = operations(all).slice(0, 12);
  return (
    <>
      <Alert problem={loaded.problem} />
      <section>
        <h2>Slowest operations</h2>
        {slowest.length === 0 ? (
          <Empty>No request has been answered yet.</Empty>
        ) : (
          <Table label="Slowest operations" head={["Operation", new Numbers("Requests"), new Numbers("Mean time")]}>
            {slowest.map(({ name, requests, mean }) => (
              <tr key={name}>
                <td>
                  <code>{name}</code>
                </td>
                <td class="number">{count(requests)}</td>
                <td class="number">{(mean * 1000).toFixed(2)} ms</td>
              </tr>
            ))}
          </Table>
        )}
      </section>
      <section>
        <h2>Figures</h2>
        <Table label="Figures" head={["Figure", new Numbers("Value")]}>
          {all.filter(isFigure).map((sample, index) => (
            <tr key={index}>
              <td>{figureName(sample)}</td>
              <td class="number">{figure(sample)}</td>
            </tr>
          ))}
        </Table>
      </section>
    </>
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
  if (/_seconds(_total)?$/.test(name)) return `${value.toPrecision(3)} s`;
  return count(value);
}

export function TokensView() {
  const loaded = useLoaded("tokens", (signal) => request("/tokens", { signal }));
  const [problem, setProblem] = useState<Problem | undefined>();
  const [made, setMade] = useState<string | undefined>();
  const items = itemsOf(loaded.value ?? null);
  const attempt = async (act: () => Promise<void>) => {
    try {
      await act();
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
    loaded.again();
  };
  const revoke = (id: string) => attempt(async () => void (await request(`/tokens/${encodeURIComponent(id)}`, { method: "DELETE" })));
  return (
    <>
      <Heading title="Tokens" />
      <Alert problem={problem ?? loaded.problem} />
      {items.length === 0 && loaded.problem === undefined && (
        <p class="hint">There is no token yet: everybody on this machine is an administrator. Once the first token exists, every request needs one, also those of this console.</p>
      )}
      {items.length > 0 && (
        <Table label="Tokens" head={["Name", "Role", "User", "Tenant", "Created", "Expires", "Actions"]}>
          {items.map((item) => (
            <tr key={shown(item["id"])}>
              <td>{shown(item["name"]) || <span class="id">{shown(item["id"])}</span>}</td>
              <td>{shown(item["role"])}</td>
              <td>{shown(item["subject"])}</td>
              <td>{shown(item["tenant"])}</td>
              <td>{shown(item["created"]).slice(0, 10)}</td>
              <td>{shown(item["expires"]).slice(0, 10)}</td>
              <td>
                <Danger label="Revoke" confirm="Revoke this token?" act={() => void revoke(shown(item["id"]))} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {made !== undefined && (
        <p class="good" role="status">
          The new token, shown this once: <code class="secret">{made}</code>
        </p>
      )}
      <NewToken create={(body) => attempt(async () => {
        const created = await request("/tokens", { method: "POST", body });
        setMade(isObject(created) ? shown(created["token"]) : undefined);
      })} />
    </>
  );
}

function NewToken({ create }: { create: (body: { [name: string]: Json }) => Promise<void> }) {
  const [values, setValues] = useState<{ [name: string]: string }>({ role: "reader" });
  const input = (name: string, label: string) => (
    <label>
      <span>{label}</span>
      <input value={values[name] ?? ""} onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })} />
    </label>
  );
  return (
    <form
      class="filters"
      aria-label="Create a token"
      onSubmit={(event) => {
        event.preventDefault();
        void create(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")));
      }}
    >
      {input("name", "what it is for")}
      <label>
        <span>role</span>
        <select value={values["role"]} onChange={(event) => setValues({ ...values, role: event.currentTarget.value })}>
          {["user", "reader", "writer", "admin"].map((role) => (
            <option key={role}>{role}</option>
          ))}
        </select>
      </label>
      {values["role"] === "user" && input("subject", "user")}
      {input("tenant", "tenant")}
      {input("expires", "expires, such as 2030-01-01T00:00:00Z")}
      <div class="actions">
        <button>Create a token</button>
      </div>
    </form>
  );
}
