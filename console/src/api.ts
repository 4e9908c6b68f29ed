// Requests to the server, by what all generated clients have in common (`client.ts`, which the build writes): with the
// token and the tenant of the user, exact numbers, and every failure as a problem.

import { ApiError, type Call, type Given, type LiveData, NetworkError, Transport, applied as appliedTo, liveEvents, queryText } from "./client";
import { type Json, parse, stringify } from "./json";

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
  /** Whether the operation takes idempotency keys: it then is applied once, and sent again if no response arrives. */
  isKeyed?: boolean;
  signal?: AbortSignal;
};

/** How long an attempt may take. The server limits most requests itself. */
const TIMEOUT_MS = 300_000;

/** What sends requests for the user of the console. */
function transport(more: { retries?: number; fetch?: typeof fetch } = {}): Transport {
  const send = more.fetch ?? fetch;
  return new Transport({
    baseUrl: "",
    timeoutMs: TIMEOUT_MS,
    json: { parse, stringify: (value) => stringify(value as Json) },
    ...more,
    ...(session.token === "" ? {} : { token: session.token }),
    ...(session.tenant === "" ? {} : { tenant: session.tenant }),
    fetch: (address, options) => send(address, { ...options, cache: "no-store" }),
  });
}

function given(parameters: Parameters): Given[] {
  return parameters.map(([name, value]) => [name, "text", value]);
}

export function url(path: string, parameters: Parameters = []): string {
  return path + queryText(given(parameters));
}

/** Sends a request, and returns the JSON of the response. */
export async function request(path: string, sent: Sent = {}): Promise<Json> {
  const text = await send(path, sent);
  return text === "" ? null : parse(text);
}

/** Sends a request, and returns the text of the response. */
export async function send(path: string, sent: Sent = {}): Promise<string> {
  const { method = "GET", body, isKeyed = false, signal, version } = sent;
  const call: Call = { method, path, isKeyed, ...(body === undefined ? {} : { body }) };
  // Without a key, nothing is sent twice: an answer such as "the disk is full" is for the user to see, now.
  const sender = transport(isKeyed ? {} : { retries: 0 });
  try {
    return await sender.text(call, { ...(signal && { signal }), ...(version !== undefined && { ifMatch: version }) });
  } catch (error) {
    throw problem(error);
  }
}

/** What the user reads of an error. */
function problem(error: unknown): unknown {
  if (error instanceof NetworkError) return new Problem(0, "unreachable", "The server cannot be reached: is it running?");
  if (!(error instanceof ApiError)) return error;
  const { status, code, detail, errors } = error;
  return new Problem(status, code === "unknown" ? String(status) : code, detail, errors);
}

/** An event of a stream. */
export type StreamEvent = { name: string; id: string; data: Json };

/** The result of a live query after an event; null if what was read is gone, which can come back. */
export function applied(body: Json | undefined, { name, id, data }: StreamEvent): Json {
  return (appliedTo(body ?? {}, { event: name, id, data: data as LiveData }) ?? null) as Json;
}

/**
 * Follows a stream of events until the signal aborts, with the headers that `EventSource` cannot send. After a
 * failure it goes on at the last event, however often, unless the server refuses.
 */
export async function follow(
  path: string,
  parameters: Parameters,
  signal: AbortSignal,
  receive: (event: StreamEvent) => void,
  say: (state: string) => void,
): Promise<void> {
  let isFirst = true;
  const watched: typeof fetch = async (address, options) => {
    if (!isFirst) say("disconnected: trying again");
    isFirst = false;
    const response = await fetch(address, options);
    if (response.ok) say("connected");
    return response;
  };
  const call: Call = { method: "GET", path, query: given(parameters) };
  const sender = transport({ retries: Infinity, fetch: watched });
  // Changes that are not kept any more are missed, and nothing replaces them.
  const beginsWithAll = path !== "/changes";
  try {
    for await (const group of liveEvents(sender, call, { signal, beginsWithAll })) {
      for (const { event, id, data } of group) receive({ name: event, id, data: data as Json });
    }
  } catch (error) {
    const refused = problem(error);
    if (!signal.aborted) say(refused instanceof Error ? refused.message : String(refused));
  }
}
