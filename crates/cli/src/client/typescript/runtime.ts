/** A bearer token, or a function that returns one for each request. */
export type Token = string | (() => string | Promise<string>);

export interface ClientOptions {
  /** The address of the server: `https://api.example.com`. */
  baseUrl: string;
  token?: Token;
  /** Sent as `Keyloom-Tenant`. */
  tenant?: string;
  /** How long an attempt of a request may take. Default: 30 seconds. */
  timeoutMs?: number;
  /** How often a request is sent again after an overload or a network failure. Default: 4. */
  retries?: number;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
  /** Replaces the global `JSON`, for instance to keep numbers that JavaScript would round. */
  json?: JsonCodec;
}

/** Reads and writes JSON. */
export interface JsonCodec {
  parse(text: string): unknown;
  stringify(value: unknown): string;
}

/** Options of one request. */
export interface RequestOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  tenant?: string;
}

/** Options of a change. */
export interface ChangeOptions extends RequestOptions {
  /** Applies the change once, however often it is sent. Default: a new one for each call. */
  idempotencyKey?: string;
}

/** Options of a change of one entity. */
export interface MatchOptions extends ChangeOptions {
  /** Changes it only if it has this version: a version, or the entity as it was read. */
  ifMatch?: string | { version: string };
}

/** Options of a replacement. */
export interface PutOptions extends MatchOptions {
  /** Creates the entity only if its id is free. */
  ifNoneMatch?: "*";
}

/** Options of a request that no method covers. */
export interface SendOptions extends PutOptions {
  /** Parameters by name. A list is sent as one parameter for each value; what is undefined is not sent. */
  query?: { [name: string]: unknown };
  /** Sent as JSON. */
  body?: unknown;
}

/** In a transaction, stands for the id of an entity that an earlier change creates `as` this name. */
export interface Named {
  $ref: string;
}

/** Bounds of a value. */
export interface Bounds<T> {
  lt?: T;
  lte?: T;
  gt?: T;
  gte?: T;
}

/** Whether there is a value at all. */
export interface Presence {
  present: boolean;
}

declare const queryOf: unique symbol;

/** Where a page of a query begins. The cursor of one query is no cursor of another. */
export type Cursor<Q extends string> = string & { readonly [queryOf]: Q };

/** A page of a query. */
export interface Page<Q extends string, T> {
  items: T[];
  /** Absent at the end. */
  next?: Cursor<Q>;
  /** Absent on the first page. */
  previous?: Cursor<Q>;
  /** The number of all matches, if requested. */
  total?: number;
  /** A lower bound of the total, if not everything was counted. */
  total_at_least?: number;
  /** Ranks are about to change, on boards with `shards`. */
  settling?: boolean;
  /** The query plan, if requested. */
  explain?: { [name: string]: unknown };
}

/** The server refused a request. */
export class ApiError extends Error {
  /** Identifies the problem; `unknown` if the response was none of the server's. */
  readonly code: ProblemCode | "unknown";
  readonly status: number;
  /** What is wrong and how to fix it, for people. */
  readonly detail: string;
  /** Every invalid field. */
  readonly errors: { field: string; detail: string }[];
  readonly requestId: string | undefined;

  constructor(status: number, problem: Partial<ApiError> & { request_id?: string }) {
    super(problem.detail ?? `The server answered with status ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.code = problem.code ?? "unknown";
    this.detail = this.message;
    this.errors = problem.errors ?? [];
    this.requestId = problem.request_id;
  }
}

/** No response has arrived. `cause` is the error of the last attempt. */
export class NetworkError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "NetworkError";
  }
}

/** A filter by a tag: any of the values, or any value if there is none. */
export function tag(key: string, ...values: string[]): string {
  const escaped = (text: string) => text.replace(/[\\!:|*,]/g, "\\$&");
  return `${escaped(key)}:${values.length === 0 ? "*" : values.map(escaped).join("|")}`;
}

/** A filter by the absence of a tag. */
export function withoutTag(key: string, ...values: string[]): string {
  return `!${tag(key, ...values)}`;
}

type Wire = "text" | "each" | "joined" | "value" | "facet";
type Given = [name: string, wire: Wire, value: unknown];

interface Call {
  method: string;
  path: string;
  query?: Given[];
  body?: unknown;
  mediaType?: string;
  isKeyed?: boolean;
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** A value that could be read as an operator gets one before it. */
function literal(text: string): string {
  return /^([<>=]|!?\*$|$)/.test(text) ? `=${text}` : text;
}

const OPERATORS = [["lt", "<"], ["lte", "<="], ["gt", ">"], ["gte", ">="]] as const;

function written(wire: Wire, value: unknown): string[] {
  const all = Array.isArray(value) ? value : [value];
  if (wire === "each") return all.map(textOf);
  if (wire === "joined") return all.length === 0 ? [] : [all.map(textOf).join(",")];
  if (wire === "text") return [textOf(value)];
  if (typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)) {
    if ("present" in value) return [value.present ? "*" : "!*"];
    const bounds = value as Bounds<unknown>;
    const given = OPERATORS.filter(([name]) => bounds[name] !== undefined);
    return given.map(([name, operator]) => operator + textOf(bounds[name]));
  }
  if (wire === "value") return [literal(textOf(value))];
  return [literal(all.map((one) => textOf(one).replace(/[\\,]/g, "\\$&")).join(","))];
}

function queryText(given: Given[]): string {
  const pairs: string[] = [];
  for (const [name, wire, value] of given) {
    if (value === undefined || value === null) continue;
    for (const text of written(wire, value)) {
      pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(text)}`);
    }
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** A value as a segment of a path. */
function segment(value: unknown): string {
  const text = textOf(value);
  if (text === "" || text === "." || text === "..") {
    throw new TypeError(`"${text}" cannot be part of a path.`);
  }
  return encodeURIComponent(text);
}

/** Waits; rejects at once if the signal is aborted. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A server that wants a longer pause is given up. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Exponential, with full jitter: clients that failed together do not come back together. */
function pauseBefore(attempt: number): number {
  return Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
}

function retryAfterMs(response: Response): number | undefined {
  const text = response.headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = Number(text);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Headers are bytes: a name in another script is sent as UTF-8. */
function headerText(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

async function problemOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === "object" && problem !== null) return new ApiError(response.status, problem);
  } catch {
    // A proxy may have answered.
  }
  return new ApiError(response.status, {});
}

/** Aborts with a signal of the caller, or when time is up. */
class Deadline {
  readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly signal: AbortSignal | undefined;
  private readonly abort = () => this.controller.abort(this.signal?.reason);

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal;
    if (signal?.aborted) this.abort();
    signal?.addEventListener("abort", this.abort, { once: true });
  }

  in(ms: number): void {
    clearTimeout(this.timer);
    const stop = () => this.controller.abort(new Error(`No response within ${ms} ms.`));
    this.timer = setTimeout(stop, ms);
  }

  pause(): void {
    clearTimeout(this.timer);
  }

  end(): void {
    this.pause();
    this.signal?.removeEventListener("abort", this.abort);
  }
}

/** The outcome of an attempt: the text of the response, or an error. */
interface Attempt {
  text?: string;
  error?: unknown;
  /** How long to wait before the next attempt; absent if there must be none. */
  pauseMs?: number | undefined;
}

/** Sends requests: authentication, time limits, retries. */
class Transport {
  readonly options: ClientOptions;

  constructor(options: ClientOptions) {
    this.options = options;
  }

  get json(): JsonCodec {
    return this.options.json ?? JSON;
  }

  /** Sends a request, and again if that is safe, and returns the body of the response. */
  async send<T>(call: Call, options: PutOptions = {}): Promise<T> {
    const text = await this.text(call, options);
    return (text === "" ? undefined : this.json.parse(text)) as T;
  }

  /** The same as text. */
  async text(call: Call, options: PutOptions = {}): Promise<string> {
    const headers = await this.headers(call, options);
    for (let attempt = 0; ; attempt += 1) {
      const { text, error, pauseMs } = await this.attempt(call, headers, options);
      if (text !== undefined) return text;
      if (pauseMs === undefined || attempt >= (this.options.retries ?? 4)) throw error;
      await pause(Math.max(pauseMs, pauseBefore(attempt)), options.signal);
    }
  }

  private async attempt(call: Call, headers: Headers, options: RequestOptions): Promise<Attempt> {
    const isRepeatable = ["GET", "PUT"].includes(call.method) || call.isKeyed === true;
    const deadline = new Deadline(options.signal);
    try {
      deadline.in(options.timeoutMs ?? this.options.timeoutMs ?? 30_000);
      const response = await this.fetch(call, headers, deadline.controller.signal);
      if (response.ok) return { text: await response.text() };
      const error = await problemOf(response);
      return { error, pauseMs: this.pauseAfter(response, error, isRepeatable) };
    } catch (cause) {
      if (options.signal?.aborted) return { error: options.signal.reason };
      const error = new NetworkError(`${call.method} ${call.path} has failed: ${String(cause)}`, cause);
      return { error, pauseMs: isRepeatable ? 0 : undefined };
    } finally {
      deadline.end();
    }
  }

  /** How long to wait before the request is sent again; undefined if it must not be. */
  private pauseAfter(response: Response, problem: ApiError, isRepeatable: boolean): number | undefined {
    const isBusy = response.status === 429 || response.status === 503;
    const ms = retryAfterMs(response);
    // The request may have been applied, or be running still.
    const isUnclear = ["overdue", "unknown", "writes-refused"].includes(problem.code) || ms === undefined;
    if (!isBusy || (isUnclear && !isRepeatable)) return undefined;
    if (ms === undefined) return 0;
    return ms > LONGEST_RETRY_AFTER_MS ? undefined : ms;
  }

  async fetch(call: Call, headers: Headers, signal: AbortSignal): Promise<Response> {
    const url = this.options.baseUrl.replace(/\/+$/, "") + call.path + queryText(call.query ?? []);
    const body = call.body === undefined ? {} : { body: this.json.stringify(call.body) };
    return (this.options.fetch ?? fetch)(url, { method: call.method, headers, signal, ...body });
  }

  async headers(call: Call, options: PutOptions): Promise<Headers> {
    const headers = new Headers({ accept: "application/json" });
    const { token } = this.options;
    const bearer = typeof token === "function" ? await token() : token;
    if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
    const tenant = options.tenant ?? this.options.tenant;
    if (tenant !== undefined) headers.set("keyloom-tenant", headerText(tenant));
    if (call.body !== undefined) headers.set("content-type", call.mediaType ?? "application/json");
    if (call.isKeyed) headers.set("idempotency-key", options.idempotencyKey ?? newKey());
    const { ifMatch, ifNoneMatch } = options;
    const version = typeof ifMatch === "object" ? ifMatch.version : ifMatch;
    if (version !== undefined) headers.set("if-match", version === "*" ? "*" : `"${version}"`);
    if (ifNoneMatch !== undefined) headers.set("if-none-match", ifNoneMatch);
    return headers;
  }
}

/** A change of the result of a live query. */
export interface LiveEvent {
  /** `page`, `enter`, `move`, `change`, `leave`, `set`, `total`, `count` or `rank`. */
  event: string;
  /** The position after it; begins with `~` if others of the same position follow. */
  id: string;
  data: LiveData;
}

/** What a live event says; which members it has depends on the event. */
export interface LiveData {
  commit?: string;
  body?: unknown;
  id?: unknown;
  from?: number;
  at?: number;
  item?: unknown;
  member?: string;
  value?: unknown;
}

/** The longest event that is received. */
const LONGEST_EVENT = 64 * 1024 * 1024;
/** Servers send something, if only a comment, well within this time. */
const SILENCE_MS = 60_000;

/** Takes server-sent events out of text as it arrives. */
class EventReader {
  private rest = "";
  private event = "message";
  private data: string[] = [];
  private id = "";
  /** The last position of which everything was received. */
  position: string;
  private readonly json: JsonCodec;

  constructor(json: JsonCodec, position: string) {
    this.json = json;
    this.position = position;
  }

  /** The events that this text completes. */
  read(text: string): LiveEvent[] {
    // A carriage return at the end may be the first half of a line end.
    const whole = this.rest + text;
    const lines = whole.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    if (this.rest.length > LONGEST_EVENT) throw new Error("A live event is too long.");
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): LiveEvent[] {
    if (line === "") return this.end();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.event = value;
    if (name === "data") this.data.push(value);
    if (name === "id") this.id = value;
    return [];
  }

  private end(): LiveEvent[] {
    const { event, data, id } = this;
    this.event = "message";
    this.data = [];
    if (id !== "" && !id.startsWith("~")) this.position = id;
    if (data.length === 0) return [];
    return [{ event, id, data: this.json.parse(data.join("\n")) as LiveData }];
  }
}

/** The body of a response after an event; undefined if what was read is gone. */
function applied(body: unknown, { event, data }: LiveEvent): unknown {
  if (event === "page") return data.body;
  if (typeof body !== "object" || body === null) return body;
  const members = new Map<string, unknown>(Object.entries(body));
  const items = members.get("items");
  switch (event) {
    case "enter":
    case "move":
    case "change":
    case "leave": {
      if (!Array.isArray(items)) return event === "leave" ? undefined : data.item ?? body;
      members.set("items", changedItems(items, event, data));
      break;
    }
    default: {
      if (data.member === undefined) return body;
      if ("value" in data) members.set(data.member, data.value);
      else members.delete(data.member);
    }
  }
  return Object.fromEntries(members);
}

function changedItems(items: unknown[], event: string, data: LiveData): unknown[] {
  const changed = [...items];
  // Some codecs read all integers as bigint.
  const [at, from, item] = [Number(data.at ?? 0), Number(data.from ?? 0), data.item];
  if (event === "leave" || event === "move") changed.splice(event === "move" ? from : at, 1);
  if (event === "enter" || event === "move") changed.splice(at, 0, item);
  if (event === "change") changed[at] = item;
  return changed;
}

/** Receives the events of a live query, in groups of one position, and connects again when it must. */
async function* liveEvents(
  transport: Transport,
  call: Call,
  { beginsWithAll = true, ...options }: RequestOptions & { beginsWithAll?: boolean },
): AsyncGenerator<LiveEvent[], void, undefined> {
  let position = "";
  let failures = 0;
  let hasBegun = false;
  for (;;) {
    let failure: unknown = new Error("The server ended the stream at once.");
    const deadline = new Deadline(options.signal);
    try {
      deadline.in(options.timeoutMs ?? transport.options.timeoutMs ?? 30_000);
      const headers = await transport.headers(call, options);
      headers.set("accept", "text/event-stream");
      if (position !== "") headers.set("last-event-id", position);
      const response = await transport.fetch(call, headers, deadline.controller.signal);
      if (!response.ok) throw await problemOf(response);
      // Nothing may happen for a long time.
      hasBegun ||= !beginsWithAll;
      const decoder = new TextDecoder();
      const events = new EventReader(transport.json, position);
      const reader = response.body?.getReader();
      if (reader === undefined) throw new Error("The response has no body.");
      // A group that is interrupted is dropped: it is sent again.
      let group: LiveEvent[] = [];
      receiving: for (;;) {
        deadline.in(SILENCE_MS);
        const { done, value } = await reader.read();
        // The caller may take any time.
        deadline.pause();
        if (done) break;
        for (const event of events.read(decoder.decode(value, { stream: true }))) {
          // The response to the next request says why.
          if (event.event === "error") break receiving;
          group.push(event);
          if (event.id.startsWith("~")) continue;
          position = event.id;
          failures = 0;
          hasBegun = true;
          yield group;
          group = [];
        }
        // A server that has nothing new says how far it is: less is read again.
        if (events.position === position) continue;
        position = events.position;
        failures = 0;
      }
    } catch (error) {
      failure = error;
      if (options.signal?.aborted) throw options.signal.reason;
      if (error instanceof ApiError) {
        // A position that is gone: begin again with a page.
        if (error.status === 410 && position !== "" && beginsWithAll) position = "";
        else if (error.status < 500 && error.status !== 429 && error.status !== 408) throw error;
      }
    } finally {
      deadline.end();
      deadline.controller.abort();
    }
    // A stream that has never begun is given up, one that broke is not.
    if (!hasBegun && failures >= (transport.options.retries ?? 4)) {
      if (failure instanceof ApiError) throw failure;
      throw new NetworkError(`${call.path} cannot be followed: ${String(failure)}`, failure);
    }
    await pause(pauseBefore(failures), options.signal);
    failures += 1;
  }
}

/** A change of an entity. */
export interface Change<E extends string, T> {
  entity: E;
  id: string;
  /** The tenant of the entity; null if it has none. */
  tenant: unknown;
  change: "insert" | "update" | "delete";
  /** The entity before; null if it was created. */
  old: T | null;
  /** The entity after; null if it was deleted. */
  new: T | null;
  /** The position in the feed, to go on `after`. */
  position: string;
  time: string;
}

/** Which changes to follow. */
export interface ChangesParams<E extends string> {
  /** Only those of this kind of entity, or of any of several. */
  entity?: E | E[];
  /** Those after this position, instead of those that happen from now on. */
  after?: string;
}

/** Follows the change feed. */
async function* followedChanges<C>(
  transport: Transport,
  params: ChangesParams<string>,
  options: RequestOptions,
): AsyncGenerator<C, void, undefined> {
  const query: Given[] = [["entity", "each", params.entity]];
  // A connection that breaks before anything was received goes on where it began.
  const now: Call = { method: "GET", path: "/changes/page", query };
  const after = params.after ?? (await transport.send<{ next: string }>(now, options)).next;
  const call: Call = { method: "GET", path: "/changes", query: [...query, ["after", "text", after]] };
  // Changes that are not kept any more are missed, and nothing replaces them.
  for await (const group of liveEvents(transport, call, { ...options, beginsWithAll: false })) {
    for (const { data } of group) yield data as C;
  }
}

/** Sends a request that no method covers. */
function sendOther<T>(transport: Transport, method: string, path: string, options: SendOptions): Promise<T> {
  const { query = {}, body, ...others } = options;
  const given = Object.entries(query).map(([name, value]): Given => [name, "each", value]);
  // What applies a request once is a key that it comes with.
  const isKeyed = others.idempotencyKey !== undefined;
  return transport.send<T>({ method, path, query: given, body, isKeyed }, others);
}

/** A query: `await` it, or follow it with `live()`. Nothing is sent before. */
export class Query<T> implements PromiseLike<T> {
  protected readonly transport: Transport;
  protected readonly call: Call;
  protected readonly options: RequestOptions;

  constructor(transport: Transport, call: Call, options: RequestOptions) {
    this.transport = transport;
    this.call = call;
    this.options = options;
  }

  /** Sends the query. */
  get(): Promise<T> {
    return this.transport.send<T>(this.call, this.options);
  }

  then<A = T, B = never>(
    done?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.get().then(done, failed);
  }

  /** The result now, and again after each change of it. Ends if what was read is deleted. */
  async *live(): AsyncGenerator<T, void, undefined> {
    let body: unknown;
    for await (const group of this.liveEvents()) {
      body = group.reduce(applied, body);
      if (body === undefined) return;
      yield body as T;
    }
  }

  /** The events of `live()` as the server sends them, in groups of one position. */
  liveEvents(): AsyncGenerator<LiveEvent[], void, undefined> {
    const query: Given[] = [...(this.call.query ?? []), ["$live", "text", true]];
    return liveEvents(this.transport, { ...this.call, query }, this.options);
  }

  protected with(name: string, wire: Wire, value: unknown): Call {
    const others = (this.call.query ?? []).filter(([other]) => other !== name);
    return { ...this.call, query: [...others, [name, wire, value]] };
  }
}

/** What `only` returns: some fields of an entity, and related ones, of which fields can be chosen, too. */
export type Only<T, F extends keyof T> =
  & Pick<T, Exclude<F, "with"> | (keyof T & ("id" | "version" | "explain"))>
  & ("with" extends keyof T ? { with?: Parts<Exclude<T["with" & keyof T], undefined>> } : unknown);

/** The same with members that may be absent, at any depth. */
export type Parts<T> =
  T extends (infer I)[] ? Parts<I>[] : T extends object ? { [K in keyof T]?: Parts<T[K]> } : T;

/** A field of a related entity: `author.name`. */
export type RelatedField = `${string}.${string}`;

/** A query for one entity. */
export class EntityQuery<T> extends Query<T> {
  private readonly fields: string;

  constructor(transport: Transport, call: Call, options: RequestOptions, fields: string) {
    super(transport, call, options);
    this.fields = fields;
  }

  /** The same query for these fields only, besides `id` and `version`. */
  only<F extends keyof T & string>(...fields: (F | RelatedField)[]): EntityQuery<Only<T, F>> {
    const call = this.with(this.fields, "joined", fields);
    return new EntityQuery<Only<T, F>>(this.transport, call, this.options, this.fields);
  }
}

/** A query with pages: `await` it for the first one, or iterate over `items()` or `pages()`. */
export class PagesQuery<Q extends string, T> extends Query<Page<Q, T>> {
  protected readonly cursor: string;

  constructor(transport: Transport, call: Call, options: RequestOptions, cursor: string) {
    super(transport, call, options);
    this.cursor = cursor;
  }

  /** The query for the page at a cursor: `next` or `previous` of another page. */
  page(cursor: Cursor<Q>): Query<Page<Q, T>> {
    return new Query(this.transport, this.with(this.cursor, "text", cursor), this.options);
  }

  /** All pages, from one on. */
  async *pages(from?: Cursor<Q>): AsyncGenerator<Page<Q, T>, void, undefined> {
    let cursor = from;
    do {
      const page: Page<Q, T> = await (cursor === undefined ? this.get() : this.page(cursor));
      yield page;
      cursor = page.next;
    } while (cursor !== undefined);
  }

  /** The items of all pages. */
  async *items(from?: Cursor<Q>): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages(from)) yield* page.items;
  }
}

/** A query with pages of entities. */
export class EntityPagesQuery<Q extends string, T> extends PagesQuery<Q, T> {
  private readonly fields: string;

  constructor(
    transport: Transport,
    call: Call,
    options: RequestOptions,
    cursor: string,
    fields: string,
  ) {
    super(transport, call, options, cursor);
    this.fields = fields;
  }

  /** The same query for these fields only, besides `id` and `version`. */
  only<F extends keyof T & string>(...fields: (F | RelatedField)[]): EntityPagesQuery<Q, Only<T, F>> {
    const call = this.with(this.fields, "joined", fields);
    return new EntityPagesQuery<Q, Only<T, F>>(
      this.transport, call, this.options, this.cursor, this.fields,
    );
  }
}
