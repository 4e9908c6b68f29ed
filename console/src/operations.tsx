// What an operator watches: health, changes of whole lists, jobs, and the figures of the server.

import { useState } from "preact/hooks";

import { Problem, request, send, url } from "./api";
import { Figures } from "./figures";
import { shown } from "./json";
import { Alert, Danger, Empty, Heading, Numbers, Table, count, problemOf, spoken } from "./parts";
import { usePolled } from "./polled";
import { link } from "./route";
import { type Service, itemsOf } from "./service";

/** How often the page is read again. */
const INTERVAL_MS = 3000;

export function OperationsView({ service }: { service: Service }) {
  return (
    <>
      <Heading title="Operations" />
      <Health />
      {service.operation("list_operations") && <Background />}
      {service.operation("list_job_by_status") && <Jobs service={service} />}
      {service.operation("metrics") && <Figures />}
    </>
  );
}

function Health() {
  const ready = usePolled("ready", INTERVAL_MS, (signal) => send("/readyz", { signal }));
  return (
    <p class={ready.problem ? "alert" : "good"} role="status">
      {ready.problem ? ready.problem.message : ready.value === undefined ? "…" : "The server reads and writes its data."}
    </p>
  );
}

function Background() {
  const [problem, setProblem] = useState<Problem | undefined>();
  const loaded = usePolled("operations", INTERVAL_MS, (signal) => request("/operations", { signal }));
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
function Jobs({ service }: { service: Service }) {
  const [status, setStatus] = useState("failed");
  const [problem, setProblem] = useState<Problem | undefined>();
  const list = service.operation("list_job_by_status");
  const choices = service.resolved(list?.parameters.find(({ name }) => name === "status")?.schema).enum ?? [];
  const loaded = usePolled(`jobs ${status}`, INTERVAL_MS, async (signal) => (list ? request(url(list.path, [["status", status], ["limit", "50"]]), { signal }) : null));
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
