// JSON that keeps numbers which JavaScript would round: they stay texts, marked as numbers.

export type Json = null | boolean | number | string | Exact | Json[] | { [name: string]: Json };

/** A number that a JavaScript number cannot hold. */
export class Exact {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

type Source = { source?: string };
type RawJson = { rawJSON?: (text: string) => unknown };

export function parse(text: string): Json {
  const revive = (_: string, value: unknown, context?: Source): unknown => {
    const source = context?.source;
    const isRounded = typeof value === "number" && source !== undefined && !isSame(value, source);
    return isRounded ? new Exact(source) : value;
  };
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown) as Json;
}

export function stringify(value: Json, indent?: number): string {
  const raw = (JSON as RawJson).rawJSON;
  const replace = (_: string, member: unknown): unknown =>
    member instanceof Exact ? (raw ? raw(member.text) : Number(member.text)) : member;
  return JSON.stringify(value, replace, indent);
}

/** The number that somebody has typed, or its text if it is none. */
export function numberOf(text: string): Json {
  const isNumber = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/.test(text);
  if (!isNumber) return text;
  const value = Number(text);
  return isSame(value, text) ? value : new Exact(text);
}

/** Up to 15 digits survive, unless the number is too large or too small for a JavaScript number. */
function isSame(value: number, text: string): boolean {
  const digits = text.replace(/[eE].*$/, "").replace(/[^0-9]/g, "").replace(/^0+/, "");
  const isInRange = Number.isFinite(value) && (value !== 0) === /[1-9]/.test(digits);
  return String(value) === text || (isInRange && digits.length <= 15);
}

export function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);
}

/** A value in a cell or a field. */
export function shown(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object" && !(value instanceof Exact)) return stringify(value);
  return String(value);
}
