// Calls of the DynamoDB API, with its errors as problems.

import { Problem } from "../api";
import { type Json, isObject } from "../json";
import { keys, signature } from "./keys";

const MEDIA_TYPE = "application/x-amz-json-1.0";

export type Body = { [name: string]: Json };

/** Calls an operation. Numbers of items are texts in this protocol, so nothing is rounded. */
export async function call(operation: string, body: Body, signal?: AbortSignal): Promise<Body> {
  const [target, text] = [`DynamoDB_20120810.${operation}`, JSON.stringify(body)];
  const headers: { [name: string]: string } = { "Content-Type": MEDIA_TYPE, "X-Amz-Target": target };
  if (keys.id !== "") {
    // Browsers have no cryptography on pages that others could have changed.
    if (!isSecureContext) throw new Problem(0, "insecure", "Requests can be signed only on localhost or over HTTPS.");
    Object.assign(headers, await signature(target, MEDIA_TYPE, text, new Date()));
  }
  let response: Response;
  try {
    response = await fetch("/", { method: "POST", headers, body: text, signal: signal ?? null, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached: is it running?");
  }
  const answer = parsed(await response.text());
  if (response.ok) return answer;
  const code = String(answer["__type"] ?? response.status).split("#").pop() ?? "";
  throw new Problem(response.status, code, String(answer["message"] ?? answer["Message"] ?? `Status ${response.status}.`));
}

function parsed(text: string): Body {
  try {
    const body = JSON.parse(text) as Json;
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}
