// The form of an entity, from the schema that the server checks it with. The server's messages stand beside the fields.

import { useId, useState } from "preact/hooks";

import { Problem } from "./api";
import { type Json, isObject, numberOf, parse, shown, stringify } from "./json";
import { Alert, problemOf, spoken } from "./parts";
import type { Entity, Schema, Service } from "./service";

export type Document = { [name: string]: Json };

type Props = {
  service: Service;
  entity: Entity;
  schema: Schema;
  /** The entity as it is, or nothing for a new one. */
  before: Document | undefined;
  save: (document: Document) => Promise<void>;
  cancel: () => void;
};

export function EntityForm({ service, entity, schema, before, save, cancel }: Props) {
  const fields = Object.entries(schema.properties ?? {}).filter(([name, field]) => !field.readOnly && !["version", "id"].includes(name));
  const initial = Object.fromEntries(fields.map(([name, field]) => [name, textOf(service.resolved(field), before?.[name])]));
  const [texts, setTexts] = useState<{ [name: string]: string }>(initial);
  const [problem, setProblem] = useState<Problem | undefined>();
  const [isSaving, setIsSaving] = useState(false);
  const submit = async () => {
    setIsSaving(true);
    try {
      const changed = fields.filter(([name]) => before === undefined ? texts[name] !== "" : texts[name] !== initial[name]);
      const document = changed.map(([name, field]): [string, Json] => {
        const value = valueOf(name, service.resolved(field), texts[name] ?? "");
        return [name, before === undefined ? value : patched(before[name], value, service.resolved(field))];
      });
      await save(Object.fromEntries(document));
    } catch (error) {
      setProblem(problemOf(error));
      setIsSaving(false);
    }
  };
  const errorOf = (name: string) => problem?.errors.find(({ field }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`));
  const isPlaced = ({ field }: { field: string }) => fields.some(([name]) => errorOf(name)?.field === field);
  const isWhole = problem !== undefined && (problem.errors.length === 0 || !problem.errors.every(isPlaced));
  return (
    <form
      class="entity"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => event.key === "Escape" && cancel()}
    >
      {isWhole && <Alert problem={problem} />}
      {fields.map(([name, field]) => (
        <FieldControl
          key={name}
          name={name}
          schema={service.resolved(field)}
          isRequired={schema.required?.includes(name) ?? false}
          target={entity.fields.find((other) => other.name === name)?.target ?? null}
          text={texts[name] ?? ""}
          set={(text) => setTexts({ ...texts, [name]: text })}
          error={errorOf(name)?.detail}
        />
      ))}
      <div class="actions">
        <button class="primary" disabled={isSaving}>
          {before === undefined ? "Create" : "Save"}
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

type ControlProps = {
  name: string;
  schema: Schema;
  isRequired: boolean;
  target: string | null;
  text: string;
  set: (text: string) => void;
  error: string | undefined;
};

function FieldControl({ name, schema, isRequired, target, text, set, error }: ControlProps) {
  const id = useId();
  const choices = schema.enum ?? (isOf(schema, "boolean") ? [true, false] : undefined);
  const common = {
    id,
    "aria-describedby": `${id}-about`,
    "aria-invalid": error !== undefined,
    "aria-required": isRequired,
    value: text,
    onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
  };
  const isLong = isStructure(schema) || (isOf(schema, "string") && (schema.maxLength ?? 1000) > 200 && schema.format === undefined);
  return (
    <div class="field">
      <label for={id}>
        {spoken(name)}
        {isRequired && <em> required</em>}
      </label>
      {choices !== undefined ? (
        <select {...common}>
          <option value="">—</option>
          {choices.map((choice) => (
            <option key={shown(choice)} value={shown(choice)}>
              {shown(choice)}
            </option>
          ))}
        </select>
      ) : isLong ? (
        <textarea {...common} rows={isStructure(schema) ? Math.min(12, text.split("\n").length + 1) : 3} />
      ) : (
        <input {...common} inputMode={isOf(schema, "integer") || isOf(schema, "number") ? "decimal" : "text"} />
      )}
      <p class="about" id={`${id}-about`}>
        {error !== undefined && <strong class="error">{error} </strong>}
        {schema.description}
        {target !== null && ` The id of a ${spoken(target)}.`}
        {isMap(schema) && " One on each line, as key: value."}
        {isStructure(schema) && !isMap(schema) && " As JSON."}
      </p>
    </div>
  );
}

function isOf(schema: Schema, type: string): boolean {
  return Array.isArray(schema.type) ? schema.type.includes(type) : schema.type === type;
}

/** Tags: texts by keys. */
function isMap(schema: Schema): boolean {
  const values = schema.additionalProperties;
  return isOf(schema, "object") && typeof values === "object" && isOf(values, "string");
}

function isStructure(schema: Schema): boolean {
  return isOf(schema, "object") || isOf(schema, "array") || schema.type === undefined;
}

/** A value as the user edits it. */
function textOf(schema: Schema, value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (isMap(schema) && isObject(value)) return Object.entries(value).map(([key, of]) => `${key}: ${shown(of)}`).join("\n");
  return isStructure(schema) ? stringify(value, 2) : shown(value);
}

/** What the user has typed, as a value. */
export function valueOf(name: string, schema: Schema, text: string): Json {
  if (text === "") return isOf(schema, "string") && !isOf(schema, "null") && schema.enum === undefined ? "" : null;
  if (isMap(schema)) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return Object.fromEntries(lines.map((line) => {
      const colon = line.indexOf(":");
      const [key, value] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1)];
      return [key.trim(), value.replace(/^ /, "")];
    }));
  }
  if (isStructure(schema)) {
    try {
      return parse(text);
    } catch (error) {
      throw new Problem(0, "invalid", "Not sent.", [{ field: name, detail: `This is not JSON: ${error instanceof Error ? error.message : ""}.` }]);
    }
  }
  if (isOf(schema, "boolean")) return text === "true";
  return isOf(schema, "integer") || isOf(schema, "number") ? numberOf(text) : text;
}

/** A patch of a map removes keys by setting them to null. */
function patched(before: Json | undefined, after: Json, schema: Schema): Json {
  if (!isMap(schema) || !isObject(before) || !isObject(after)) return after;
  const gone = Object.keys(before).filter((key) => !(key in after));
  return { ...after, ...Object.fromEntries(gone.map((key): [string, Json] => [key, null])) };
}
