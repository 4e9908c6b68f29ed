// Small parts that several views have.

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Problem } from "./api";

/** Something that is loaded: it is there, it failed, or it is on its way. */
export type Loaded<T> = { value: T | undefined; problem: Problem | undefined; isLoading: boolean; again: () => void };

/** Loads something, again whenever the key changes. The last value stays until the next one is there. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ value?: T; problem?: Problem; of?: string }>({});
  const [round, setRound] = useState(0);
  const of = `${round} ${key}`;
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const aborting = new AbortController();
    const set = (change: (before: { value?: T }) => { value?: T; problem?: Problem }) => {
      if (!aborting.signal.aborted) setState((before) => ({ ...change(before), of }));
    };
    latest.current(aborting.signal).then(
      (value) => set(() => ({ value })),
      (error: unknown) => set(({ value }) => ({ ...(value !== undefined && { value }), problem: problemOf(error) })),
    );
    return () => aborting.abort();
  }, [of]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  // By what the result is of: an effect runs after the next frame, which would show the old one as if it were the new one.
  return { value: state.value, problem: state.problem, isLoading: state.of !== of, again };
}

export function problemOf(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, "error", String(error));
}

/** Why something does not work. It is announced by screen readers. */
export function Alert({ problem, again }: { problem: Problem | undefined; again?: () => void }) {
  if (problem === undefined) return null;
  return (
    <p class="alert" role="alert">
      <strong>{problem.code}</strong> {problem.message}{" "}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </p>
  );
}

/** A heading with actions beside it. */
export function Heading({ title, children }: { title: ComponentChildren; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // One that appears when its view has been loaded is where keyboards start, unless somebody is elsewhere by then.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class="heading">
      <h1 tabIndex={-1} ref={heading}>
        {title}
      </h1>
      <div class="actions">{children}</div>
    </div>
  );
}

/** The heading of a column of numbers. */
export class Numbers {
  constructor(readonly title: string) {}
}

type TableProps = { label: string; head: (ComponentChildren | Numbers)[]; children: ComponentChildren };

/** A table that scrolls on its own when it is wider than the page. */
export function Table({ label, head, children }: TableProps) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} scope="col" class={cell instanceof Numbers ? "number" : undefined}>
                {cell instanceof Numbers ? cell.title : cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** A button that asks once more before it acts. */
export function Danger({ label, confirm, act }: { label: string; confirm: string; act: () => void }) {
  const [isAsked, setIsAsked] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  /** Whether the button was there before as what it is now. */
  const was = useRef(isAsked);
  useLayoutEffect(() => {
    // What was pressed is gone. Only then: who has moved on to another button stays there, whatever is drawn again.
    if (was.current !== isAsked) button.current?.focus();
    was.current = isAsked;
  }, [isAsked]);
  if (!isAsked)
    return (
      <button type="button" class="danger" ref={button} onClick={() => setIsAsked(true)}>
        {label}
      </button>
    );
  return (
    <span class="confirm" role="group" aria-label={confirm}>
      {confirm}{" "}
      <button
        type="button"
        class="danger"
        ref={button}
        onClick={() => {
          setIsAsked(false);
          act();
        }}
      >
        {label}
      </button>{" "}
      <button type="button" onClick={() => setIsAsked(false)}>
        Cancel
      </button>
    </span>
  );
}

/** A name as people say it: `menu_item` is “menu item”. */
export function spoken(name: string): string {
  return name.replaceAll("_", " ");
}

export function count(number: number): string {
  return number.toLocaleString("en");
}

/** A number of things: “1 row”, “2 rows”. */
export function things(number: number, one: string): string {
  return `${count(number)} ${one}${number === 1 ? "" : "s"}`;
}

export function bytes(number: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; number >= 1000 && unit < units.length - 1; unit += 1) number /= 1000;
  return `${unit === 0 ? count(number) : number.toPrecision(3)} ${units[unit]}`;
}

/** A time in seconds, in the unit that suits it. */
export function duration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return `${(seconds * 1e6).toPrecision(3)} µs`;
  if (seconds < 1) return `${(seconds * 1000).toPrecision(3)} ms`;
  if (seconds < 120) return `${seconds.toPrecision(3)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** A cheap request costs a fraction of a cent: the price of a million is easier to compare. */
export function dollars(amount: number): string {
  return `$${(amount * 1e6).toPrecision(3)} a million`;
}
