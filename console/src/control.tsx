// The control that a field is edited with. It can be used with the keyboard alone, and loses nothing of a value.

import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { type Draft, type Editor, type Row, choicesOf, editorOf, schemaOfRow } from "./draft";
import { shown } from "./json";
import { spoken } from "./parts";
import type { Schema } from "./service";

/** The longest text that is edited on a single line at first, in characters. */
const BRIEF_MAX = 200;
/** The most lines that a text area shows at once. */
const LINES_MAX = 12;

type Props = {
  name: string;
  /** What it is called, if not by its name. */
  label?: string;
  schema: Schema;
  editor: Editor;
  isRequired: boolean;
  draft: Draft;
  set: (draft: Draft) => void;
  /** What is wrong with the value. */
  errors: string[];
};

export function FieldControl(props: Props) {
  const { name, label = spoken(name), schema, editor, isRequired, draft, set, errors } = props;
  const id = useId();
  const about = `${id}-about`;
  const title = (
    <>
      {label}
      {isRequired && <em> required</em>}
    </>
  );
  const help = (
    <p class="about" id={about}>
      {errors.map((error) => (
        <strong key={error} class="error">
          {error}{" "}
        </strong>
      ))}
      {schema.description}
      {editor === "json" && " As JSON."}
      {editor === "map" && " Shift+Enter begins a new line in a key or value."}
    </p>
  );
  const state = { "aria-describedby": about, "aria-invalid": errors.length > 0 };
  if (typeof draft === "string")
    return (
      <div class="field">
        <label for={id}>{title}</label>
        <Scalar {...state} id={id} aria-required={isRequired} schema={schema} editor={editor} text={draft} set={set} />
        {help}
      </div>
    );
  return (
    <fieldset class="field" aria-describedby={about}>
      <legend>{title}</legend>
      <Rows name={spoken(name)} schema={schema} editor={editor} rows={draft} set={set} isInvalid={errors.length > 0} />
      {help}
    </fieldset>
  );
}

type ScalarProps = {
  id?: string;
  "aria-label"?: string;
  "aria-describedby"?: string;
  "aria-invalid": boolean;
  "aria-required"?: boolean;
  placeholder?: string;
  schema: Schema;
  editor: Editor;
  text: string;
  set: (text: string) => void;
};

function Scalar({ schema, editor, text, set, ...others }: ScalarProps) {
  const common = { ...others, value: text, onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value) };
  switch (editor) {
    case "choice":
      return (
        <select {...common}>
          <option value="">—</option>
          {choicesOf(schema)?.map((choice) => (
            <option key={shown(choice)} value={shown(choice)}>
              {shown(choice)}
            </option>
          ))}
        </select>
      );
    case "number":
      return <input {...common} inputMode="decimal" autocomplete="off" />;
    case "line":
      return <input {...common} autocomplete="off" />;
    case "text": {
      const isBrief = (schema.maxLength ?? Infinity) <= BRIEF_MAX;
      return <textarea {...common} rows={lines(text, isBrief ? 1 : 3)} onKeyDown={isBrief ? submitOnEnter : undefined} />;
    }
    case "json":
    case "list":
    case "map":
      return <textarea {...common} class="code" spellcheck={false} rows={lines(text, 2)} />;
  }
}

function lines(text: string, least: number): number {
  return Math.min(LINES_MAX, Math.max(least, text.split("\n").length));
}

/** Enter in a text that is mostly short does what it does in an input. With Shift, it begins a new line. */
function submitOnEnter(event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

type RowsProps = { name: string; schema: Schema; editor: Editor; rows: Row[]; set: (rows: Row[]) => void; isInvalid: boolean };

/** The elements of a list, or the members of a map, each on a row of its own. */
function Rows({ name, schema, editor, rows, set, isInvalid }: RowsProps) {
  // Elements are mostly short, whatever is allowed.
  const of = { ...schemaOfRow(schema), maxLength: BRIEF_MAX };
  const list = useRef<HTMLDivElement>(null);
  /** The row that gets the focus when it is there. */
  const next = useRef<number | undefined>(undefined);
  // Before anything else happens: an effect that waits for the next frame would run after another key, for the rows before it.
  useLayoutEffect(() => {
    const row = next.current === undefined ? undefined : list.current?.children[next.current];
    row?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
    next.current = undefined;
  });
  const change = (at: number, changed: Partial<Row>) => set(rows.map((row, index) => (index === at ? { ...row, ...changed } : row)));
  const add = () => {
    next.current = rows.length;
    set([...rows, { key: "", text: "" }]);
  };
  const remove = (at: number) => {
    // The next row, or the button behind the last one.
    next.current = at;
    set(rows.filter((_, index) => index !== at));
  };
  return (
    <div class="members" ref={list}>
      {rows.map(({ key, text }, index) => {
        const label = (what: string) => ({ "aria-label": `${name}: ${what} ${index + 1}`, "aria-invalid": isInvalid, ...(editor === "map" && { placeholder: what }) });
        return (
          <div key={index} class={`member ${editor}`} role="group" aria-label={`${name} ${index + 1}`}>
            {editor === "map" && <Scalar {...label("key")} schema={of} editor="text" text={key} set={(key) => change(index, { key })} />}
            <Scalar {...label("value")} schema={of} editor={editorOf(of, undefined)} text={text} set={(text) => change(index, { text })} />
            <button type="button" aria-label={`Remove ${name} ${index + 1}`} onClick={() => remove(index)}>
              ×
            </button>
          </div>
        );
      })}
      <div>
        <button type="button" aria-label={`Add to ${name}`} onClick={add}>
          Add
        </button>
      </div>
    </div>
  );
}
