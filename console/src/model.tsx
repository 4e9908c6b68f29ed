// The model: a picture, the declaration and the requests of an entity, and what another model would change.

import { useState } from "preact/hooks";

import { Problem, request } from "./api";
import { Costs } from "./cost";
import { type Json, isObject } from "./json";
import { Alert, Heading, Numbers, Table, problemOf, spoken } from "./parts";
import { Picture } from "./picture";
import { link } from "./route";
import type { Entity, Service } from "./service";

export function ModelView({ service, name }: { service: Service; name: string | undefined }) {
  const entity = name === undefined ? undefined : service.entity(name);
  return (
    <>
      <Heading title="Model" />
      <Picture entities={service.entities} chosen={entity?.name} />
      {entity ? <Declared service={service} entity={entity} /> : <WholeText service={service} />}
      <Compare service={service} />
    </>
  );
}

function WholeText({ service }: { service: Service }) {
  return (
    <details>
      <summary>Text of the model</summary>
      <pre tabIndex={0}>{service.text}</pre>
    </details>
  );
}

function Declared({ service, entity }: { service: Service; entity: Entity }) {
  const operations = service.documented.filter(({ group }) => group === entity.name);
  return (
    <section aria-label={spoken(entity.name)}>
      <h2>{spoken(entity.name)}</h2>
      {service.readable().includes(entity) && (
        <p class="links">
          <a href={link(["entity", entity.name])}>Open its entities</a>
        </p>
      )}
      <pre tabIndex={0}>{entity.declaration || `# ${entity.name} follows from other declarations.`}</pre>
      <Table label={`Requests about ${spoken(entity.name)}`} head={["Request", "What it does"]}>
        {operations.map((operation) => (
          <tr key={operation.id}>
            <td>
              <code>
                {operation.method} {operation.path}
              </code>
            </td>
            <td>
              <a href={`/docs#${operation.id}`}>{operation.summary}</a>
            </td>
          </tr>
        ))}
      </Table>
      <Costs key={entity.name} service={service} entity={entity} />
    </section>
  );
}

type Compared = {
  errors: { code: string; line: number; column: number; reason: string; help: string | null }[];
  changes: string[];
  refusals: string[];
  rewritten: string[];
  unavailable: string[];
};

function Compare({ service }: { service: Service }) {
  const [text, setText] = useState(service.text);
  const [compared, setCompared] = useState<Compared | undefined>();
  const [problem, setProblem] = useState<Problem | undefined>();
  const compare = async () => {
    try {
      const answer: Json = await request("/model", { method: "POST", body: { text } });
      setCompared(isObject(answer) ? (answer as unknown as Compared) : undefined);
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <section>
      <h2>Try a change</h2>
      <p class="hint">Nothing is changed. Edit the model, or paste another one, and see what moving to it would do.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void compare();
        }}
      >
        <label>
          <span>Another model</span>
          <textarea class="code" rows={16} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button class="primary">Compare</button>
          <button type="button" onClick={() => setText(service.text)}>
            Reset
          </button>
        </div>
      </form>
      <Alert problem={problem} />
      <div role="status">{compared && <Result compared={compared} />}</div>
    </section>
  );
}

function Result({ compared }: { compared: Compared }) {
  if (compared.errors.length > 0)
    return (
      <Table label="Errors" head={[new Numbers("Line"), "Error", "Help"]}>
        {compared.errors.map((error, index) => (
          <tr key={index}>
            <td class="number">
              {error.line}:{error.column}
            </td>
            <td>
              <strong>{error.code}</strong> {error.reason}
            </td>
            <td>{error.help}</td>
          </tr>
        ))}
      </Table>
    );
  const parts: [string, string[]][] = [
    ["Refused", compared.refusals],
    ["Changes", compared.changes],
    ["Rewritten", compared.rewritten.map((name) => `all of ${spoken(name)}`)],
    ["Unavailable until all is rewritten", compared.unavailable],
  ];
  const shown = parts.filter(([, lines]) => lines.length > 0);
  if (shown.length === 0) return <p>This is the model that is served.</p>;
  return (
    <>
      {shown.map(([title, lines]) => (
        <div key={title} class={title === "Refused" ? "alert" : undefined}>
          <h3>{title}</h3>
          <ul>
            {lines.map((line, index) => (
              <li key={index}>{line}</li>
            ))}
          </ul>
        </div>
      ))}
      <p class="hint">
        <code>keyloom migrate --plan</code> counts what is rewritten, and finds values that do not fit.
      </p>
    </>
  );
}
