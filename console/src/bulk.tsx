// Changes of many entities: those that are selected, or all that a list returns.

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { type Parameters, Problem, request, url } from "./api";
import { type Document, valueOf } from "./form";
import { isObject, shown } from "./json";
import { Alert, Danger, problemOf, spoken } from "./parts";
import { link } from "./route";
import type { Entity, Operation, Service } from "./service";

type ChangeProps = { service: Service; entity: Entity; label: string; run: (document: Document) => Promise<void> };

/** Sets one field to one value. */
export function ChangeMany({ service, entity, label, run }: ChangeProps) {
  const schema = service.resolved(service.ofOne(entity, "PATCH")?.body);
  const fields = Object.entries(schema.properties ?? {}).filter(([name, field]) => !field.readOnly && !["version", "id"].includes(name));
  const [isOpen, setIsOpen] = useState(false);
  const [name, setName] = useState(fields[0]?.[0] ?? "");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Problem | undefined>();
  const about = useId();
  const first = useRef<HTMLSelectElement>(null);
  useEffect(() => {
    if (isOpen) first.current?.focus();
  }, [isOpen]);
  const field = service.resolved(fields.find(([other]) => other === name)?.[1]);
  const choices = field.enum ?? (field.type === "boolean" ? [true, false] : undefined);
  if (!isOpen)
    return (
      <button type="button" onClick={() => setIsOpen(true)}>
        {label}
      </button>
    );
  const submit = async () => {
    try {
      await run({ [name]: valueOf(name, field, text) });
      setProblem(undefined);
      setIsOpen(false);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <form
      class="bar"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => event.key === "Escape" && setIsOpen(false)}
    >
      <label class="inline">
        <span>set</span>
        <select
          value={name}
          ref={first}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setText("");
          }}
        >
          {fields.map(([name]) => (
            <option key={name} value={name}>
              {spoken(name)}
            </option>
          ))}
        </select>
      </label>
      <label class="inline">
        <span>to</span>
        {choices ? (
          <select value={text} onChange={(event) => setText(event.currentTarget.value)}>
            <option value="">nothing</option>
            {choices.map((choice) => (
              <option key={shown(choice)} value={shown(choice)}>
                {shown(choice)}
              </option>
            ))}
          </select>
        ) : (
          <input value={text} aria-describedby={about} onInput={(event) => setText(event.currentTarget.value)} />
        )}
      </label>
      <span id={about} class="help">
        {field.description}
      </span>
      <button class="primary">Set</button>
      <button type="button" onClick={() => setIsOpen(false)}>
        Cancel
      </button>
      <Alert problem={problem} />
    </form>
  );
}

type WholeProps = { service: Service; entity: Entity; list: Operation; path: string; query: Parameters };

/** Starts a background operation for everything that a list returns, if the server has one for it. */
export function WholeList({ service, entity, list, path, query }: WholeProps) {
  const [started, setStarted] = useState<string | undefined>();
  const [problem, setProblem] = useState<Problem | undefined>();
  const of = (method: string) => service.operations.find((operation) => operation.method === method && operation.path === list.path);
  const [change, remove] = [of("PATCH"), of("DELETE")];
  // The server refuses to change everything at once.
  const isLimited = query.length > 0 || list.path.includes("{");
  if ((change === undefined && remove === undefined) || !isLimited) return null;
  const start = async (method: string, body?: Document) => {
    setStarted(undefined);
    const answer = await request(url(path, query), { method, isKeyed: true, ...(body && { body }) });
    setProblem(undefined);
    setStarted(isObject(answer) ? shown(answer["state"]) : "");
  };
  return (
    <>
      {change && <ChangeMany service={service} entity={entity} label="Change all that match" run={(document) => start("PATCH", document)} />}
      {remove && (
        <Danger
          label="Delete all that match"
          confirm={`Delete every ${spoken(entity.name)} that matches?`}
          act={() => void start("DELETE").catch((error: unknown) => setProblem(problemOf(error)))}
        />
      )}
      <Alert problem={problem} />
      {started !== undefined && (
        <span role="status">
          Started: <a href={link(["operations"])}>see its progress</a>
        </span>
      )}
    </>
  );
}
