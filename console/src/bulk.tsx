// Changes of many entities: those that are selected, or all that a list returns.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { type Parameters, type Problem, request, url } from "./api";
import { FieldControl } from "./control";
import { type Draft, draftOf, editorOf, valueOf } from "./draft";
import type { Document } from "./form";
import { isObject, shown } from "./json";
import { Alert, Danger, problemOf, spoken } from "./parts";
import { link } from "./route";
import type { Entity, Operation, Service } from "./service";

type ChangeProps = { service: Service; entity: Entity; label: string; run: (document: Document) => Promise<void> };

/** Sets one field to one value. */
export function ChangeMany({ service, entity, label, run }: ChangeProps) {
  const [isOpen, setIsOpen] = useState(false);
  if (!isOpen)
    return (
      <button type="button" onClick={() => setIsOpen(true)}>
        {label}
      </button>
    );
  return <ChangeForm service={service} entity={entity} label={label} run={run} close={() => setIsOpen(false)} />;
}

function ChangeForm({ service, entity, label, run, close }: ChangeProps & { close: () => void }) {
  const fields = service.settable(entity, service.resolved(service.ofOne(entity, "PATCH")?.body));
  const [name, setName] = useState(fields[0]?.[0] ?? "");
  const [draft, setDraft] = useState<Draft | undefined>();
  const [problem, setProblem] = useState<Problem | undefined>();
  const first = useRef<HTMLSelectElement>(null);
  useLayoutEffect(() => first.current?.focus(), []);
  const [, schema] = fields.find(([other]) => other === name) ?? [name, {}];
  const editor = editorOf(schema, undefined);
  const value = draft ?? draftOf(editor, undefined);
  const errors = [...new Set(problem?.errors.map(({ detail }) => detail))];
  const submit = async () => {
    try {
      await run({ [name]: valueOf(name, schema, editor, value) });
      close();
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <form
      class="bar"
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <label class="inline">
        <span>set</span>
        <select
          value={name}
          ref={first}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setDraft(undefined);
            setProblem(undefined);
          }}
        >
          {fields.map(([name]) => (
            <option key={name} value={name}>
              {spoken(name)}
            </option>
          ))}
        </select>
      </label>
      <FieldControl
        key={name}
        name={name}
        label="to"
        schema={schema}
        editor={editor}
        isRequired={false}
        draft={value}
        set={setDraft}
        errors={errors}
      />
      <button class="primary">Set</button>
      <button type="button" onClick={close}>
        Cancel
      </button>
      {errors.length === 0 && <Alert problem={problem} />}
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
