// The form of the parameters that choose what a list returns.

import { useId, useLayoutEffect, useState } from "preact/hooks";

import type { Parameters } from "./api";
import { shown } from "./json";
import { spoken } from "./parts";
import { type Operation, type Parameter, type Service, filters } from "./service";

/** The values of the parameters of a list. */
export type Values = { path: { [name: string]: string }; query: Parameters };

/** The values in the address of the console. */
export function valuesOf(list: Operation, parameters: URLSearchParams): Values {
  const values: Values = { path: {}, query: [] };
  for (const { name, in: where } of filters(list)) {
    const given = parameters.getAll(name).filter((value) => value !== "");
    if (where === "path") values.path[name] = given[0] ?? "";
    else values.query.push(...given.map((value): [string, string] => [name, value]));
  }
  return values;
}

/** The parameters for the address of the console. */
export function parametersOf(list: Operation, values: Values): Parameters {
  const inPath = filters(list).filter(({ in: where }) => where === "path");
  const path = inPath.map(({ name }): [string, string] => [name, values.path[name] ?? ""]);
  return [...path.filter(([, value]) => value !== ""), ...values.query];
}

type FormProps = { service: Service; list: Operation; values: Values; change: (values: Values) => void };

export function FilterForm({ service, list, values, change }: FormProps) {
  const all = filters(list);
  const [typed, setTyped] = useState(values);
  const key = JSON.stringify(values);
  useLayoutEffect(() => setTyped(values), [key]);
  if (all.length === 0) return null;
  const set = (parameter: Parameter, given: string[]) => {
    const { name, in: where } = parameter;
    if (where === "path") setTyped({ ...typed, path: { ...typed.path, [name]: given[0] ?? "" } });
    else {
      const others = typed.query.filter(([other]) => other !== name);
      setTyped({ ...typed, query: [...others, ...given.map((value): [string, string] => [name, value])] });
    }
  };
  return (
    <form
      class="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault();
        const query = typed.query.filter(([, value]) => value !== "");
        change({ ...typed, query });
      }}
    >
      {all.map((parameter) => {
        const { name, in: where } = parameter;
        const given = where === "path" ? [typed.path[name] ?? ""] : typed.query.filter(([other]) => other === name).map(([, value]) => value);
        return <Control key={name} service={service} parameter={parameter} given={given} set={(values) => set(parameter, values)} />;
      })}
      <div class="actions">
        <button>Apply</button>
        {values.query.length > 0 && (
          <button type="button" onClick={() => change({ ...values, query: [] })}>
            Clear
          </button>
        )}
      </div>
    </form>
  );
}

type ControlProps = { service: Service; parameter: Parameter; given: string[]; set: (values: string[]) => void };

/** What a parameter is entered with: a choice, the two ends of a range, several values, or a text. */
function Control({ service, parameter, given, set }: ControlProps) {
  const about = useId();
  const { name, required, description = "", explode } = parameter;
  const schema = service.resolved(parameter.schema);
  const choices = schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined);
  const title = spoken(name.replace(/^\$/, ""));
  const label = (
    <span>
      {title}
      {required && <em> required</em>}
    </span>
  );
  const help = (
    <span id={about} class="help">
      {description}
    </span>
  );
  if (choices !== undefined)
    return (
      <label title={description}>
        {label}
        <select value={given[0] ?? ""} onChange={(event) => set(event.currentTarget.value === "" ? [] : [event.currentTarget.value])}>
          <option value="">any</option>
          {choices.map((choice) => (
            <option key={shown(choice)} value={shown(choice)}>
              {shown(choice)}
            </option>
          ))}
        </select>
      </label>
    );
  const input = (index: number, named?: string) => (
    <input
      aria-label={named}
      aria-describedby={about}
      value={given[index] ?? ""}
      onInput={(event) => {
        const values = [...given];
        values[index] = event.currentTarget.value;
        set(Array.from(values, (value) => value ?? ""));
      }}
    />
  );
  if (schema.type === "array" && schema.maxItems === 2)
    return (
      <div class="control" role="group" title={description}>
        {label}
        <div class="pair">
          {input(0, `${name}: a value, or one end such as >=5`)}
          {input(1, `${name}: the other end, such as <9`)}
        </div>
        {help}
      </div>
    );
  if (schema.type === "array" && explode)
    return (
      <div class="control" role="group" title={description}>
        {label}
        {[...given, ""].map((_, index) => (
          <span key={index}>{input(index, `${name} ${index + 1}`)}</span>
        ))}
        {help}
      </div>
    );
  // The help is in the label, where a click on it leads to the input, and is its description, not its name.
  return (
    <label title={description}>
      {label}
      {input(0, required ? `${title} required` : title)}
      {help}
    </label>
  );
}
