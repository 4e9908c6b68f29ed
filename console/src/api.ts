// Requests to the server: with the token and the tenant of the user, and with problems as errors.
//
// The console does not use a generated client. A generated client is of one model, and the console of whatever model is
// served, which it reads when it is opened. And a generated client rounds numbers that JavaScript cannot hold, which
// the console would then write back.

import { type Json, isObject, parse, stringify } from "./json";

const TOKEN = "keyloom-token";
const TENANT = "keyloom-tenant";

/** Who the user of the console is. A token lives as long as the tab. */
export const session = {
  get token(): string {
    return sessionStorage.getItem(TOKEN) ?? "";
  },
  set token(token: string) {
    sessionStorage.setItem(TOKEN, token);
  },
  get tenant(): string {
    return sessionStorage.getItem(TENANT) ?? "";
  },
  set tenant(tenant: string) {
    sessionStorage.setItem(TENANT, tenant);
  },
};

/** Why a request has failed, as the server says it. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly errors: { field: string; detail: string }[] = [],
  ) {
    super(detail);
  }
}

export type Parameters = [string, string][];

export type Sent = {
  method?: string;
  body?: Json;
  version?: string;
  signal?: AbortSignal;
};

export function url(path: string, parameters: Parameters = []): string {
  const query = new URLSearchParams(parameters).toString();
  return query === "" ? path : `${path}?${query}`;
}

/** Sends a request, and returns the JSON of the response. */
export async function request(path: string, sent: Sent = {}): Promise<Json> {
  const text = await send(path, sent);
  return text === "" ? null : parse(text);
}

/** The headers that say who asks. */
function identity(): Headers {
  const headers = new Headers();
  if (session.token !== "") headers.set("Authorization", `Bearer ${session.token}`);
  // Headers are bytes: a name in another script is sent as UTF-8.
  const tenant = String.fromCharCode(...new TextEncoder().encode(session.tenant));
  if (tenant !== "") headers.set("Keyloom-Tenant", tenant);
  return headers;
}

/** Sends a request, and returns the text of the response. */
export async function send(path: string, sent: Sent = {}): Promise<string> {
  const headers = identity();
  if (sent.body !== undefined) headers.set("Content-Type", "application/json");
  if (sent.version !== undefined) headers.set("If-Match", `"${sent.version}"`);
  const body = sent.body === undefined ? null : stringify(sent.body);
  const { method = "GET", signal = null } = sent;
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body, signal, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached: is it running?");
  }
  const text = await response.text();
  if (!response.ok) throw problem(response.status, text);
  return text;
}

function problem(status: number, text: string): Problem {
  let body: Json = null;
  try {
    body = parse(text);
  } catch {
    // Not of this server: a proxy, perhaps.
  }
  const of = isObject(body) ? body : {};
  const errors = Array.isArray(of["errors"]) ? of["errors"].filter(isObject) : [];
  const fields = errors.map((error) => ({ field: String(error["field"]), detail: String(error["detail"]) }));
  return new Problem(status, String(of["code"] ?? status), String(of["detail"] ?? `Status ${status}.`), fields);
}

/** An event of a stream. */
export type StreamEvent = { name: string; id: string; data: Json };

/**
 * Follows a stream of events until the signal aborts, with the headers that `EventSource` cannot send. After a
 * failure it goes on at the last event.
 */
export async function follow(
  path: string,
  parameters: Parameters,
  signal: AbortSignal,
  receive: (event: StreamEvent) => void,
  say: (state: string) => void,
): Promise<void> {
  let last = "";
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 10_000)) {
    try {
      const headers = identity();
      headers.set("Accept", "text/event-stream");
      if (last !== "") headers.set("Last-Event-ID", last);
      const response = await fetch(url(path, parameters), { headers, signal, cache: "no-store" });
      if (!response.ok || response.body === null) throw problem(response.status, await response.text());
      say("connected");
      pause = 500;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const event = parsed(text.slice(0, end));
          text = text.slice(end + 2);
          if (event === undefined) continue;
          last = event.id || last;
          receive(event);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      // These do not go away by trying again.
      if (error instanceof Problem && error.status >= 400 && error.status < 500) {
        say(error.message);
        return;
      }
    }
    say("disconnected: trying again");
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function parsed(text: string): StreamEvent | undefined {
  const event = { name: "message", id: "", data: "" };
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    if (field === "event") event.name = value;
    if (field === "id") event.id = value;
    if (field === "data") event.data += event.data === "" ? value : `\n${value}`;
  }
  return event.data === "" ? undefined : { ...event, data: parse(event.data) };
}
