// The form of an entity, from the schema that the server checks it with. The server's messages stand beside the fields.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Problem } from "./api";
import { FieldControl } from "./control";
import { type Draft, type Editor, draftOf, editorOf, isSame, patched, valueOf } from "./draft";
import type { Json } from "./json";
import { Alert, problemOf } from "./parts";
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

/** A field of the form, with what it held when the form was opened. */
type Field = { name: string; schema: Schema; editor: Editor; initial: Draft; isRequired: boolean };

export function EntityForm({ service, entity, schema, before, save, cancel }: Props) {
  const [fields] = useState(() => fieldsOf(service, entity, schema, before));
  const [drafts, setDrafts] = useState(() => new Map(fields.map(({ name, initial }): [string, Draft] => [name, initial])));
  const [problem, setProblem] = useState<Problem | undefined>();
  const [isSaving, setIsSaving] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  // At once: what is typed next belongs to the field that has the focus.
  useLayoutEffect(() => {
    // The button that has opened the form is gone.
    if (before !== undefined) form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus();
  }, []);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), [problem]);
  const submit = async () => {
    if (isSaving) return;
    setIsSaving(true);
    try {
      await save(documentOf(fields, drafts, before));
    } catch (error) {
      setProblem(problemOf(error));
    }
    setIsSaving(false);
  };
  const errors = problem?.errors ?? [];
  const isPlaced = ({ field }: { field: string }) => fields.some(({ name }) => isWithin(field, name));
  const isWhole = problem !== undefined && (errors.length === 0 || !errors.every(isPlaced));
  return (
    <form
      class="entity"
      noValidate
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") cancel();
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
    >
      {isWhole && <Alert problem={problem} />}
      {fields.map(({ name, schema, editor, isRequired }) => (
        <FieldControl
          key={name}
          name={name}
          schema={schema}
          editor={editor}
          isRequired={isRequired}
          draft={drafts.get(name) ?? ""}
          set={(draft) => setDrafts((before) => new Map(before).set(name, draft))}
          errors={errors.filter(({ field }) => isWithin(field, name)).map(({ field, detail }) => (field === name ? detail : `${field}: ${detail}`))}
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

function fieldsOf(service: Service, entity: Entity, schema: Schema, before: Document | undefined): Field[] {
  return service.settable(entity, schema).map(([name, field]) => {
    const value = before !== undefined && Object.hasOwn(before, name) ? before[name] : undefined;
    const editor = editorOf(field, value);
    return { name, schema: field, editor, initial: draftOf(editor, value), isRequired: schema.required?.includes(name) ?? false };
  });
}

/** What was changed. A new entity also has the lists and maps that it cannot do without, empty as they may be. */
function documentOf(fields: Field[], drafts: Map<string, Draft>, before: Document | undefined): Document {
  const isNeeded = ({ editor, isRequired }: Field) => before === undefined && isRequired && (editor === "list" || editor === "map");
  const sent = fields.filter((field) => isNeeded(field) || !isSame(drafts.get(field.name) ?? "", field.initial));
  const members = sent.map(({ name, schema, editor }): [string, Json] => {
    const value = valueOf(name, schema, editor, drafts.get(name) ?? "");
    return [name, before === undefined ? value : patched(name, before[name], value)];
  });
  return Object.fromEntries(members);
}

/** Whether an error is about a field, or about a part of its value. */
function isWithin(error: string, name: string): boolean {
  return error === name || error.startsWith(`${name}.`) || error.startsWith(`${name}[`);
}
