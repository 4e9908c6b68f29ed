// A query that is followed: its result, as the events of the stream change it.

import { useEffect, useState } from "preact/hooks";

import { type Parameters, type StreamEvent, follow } from "./api";
import { type Json, isObject } from "./json";

type Body = { [name: string]: Json };

/** Applies an event to a result, and returns the new one. */
export function applied(body: Json, event: StreamEvent): Json {
  const data = isObject(event.data) ? event.data : {};
  if (event.name === "page") return data["body"] ?? null;
  const before: Body = isObject(body) ? body : {};
  const [at, from, item] = [Number(data["at"]), Number(data["from"]), data["item"] ?? null];
  if (!Array.isArray(before["items"])) return ofOne(before, event.name, data);
  const items = [...before["items"]];
  switch (event.name) {
    case "leave":
      items.splice(at, 1);
      break;
    case "enter":
      items.splice(at, 0, item);
      break;
    case "move":
      items.splice(from, 1);
      items.splice(at, 0, item);
      break;
    case "change":
      items[at] = item;
      break;
    default:
      return withMember(before, data);
  }
  return { ...before, items };
}

/** The result is one entity, or has no items. */
function ofOne(body: Body, name: string, data: Body): Json {
  switch (name) {
    case "leave":
      return null;
    case "enter":
    case "change":
      return data["item"] ?? null;
    default:
      return withMember(body, data);
  }
}

function withMember(body: Body, data: Body): Body {
  const { [String(data["member"])]: _, ...rest } = body;
  return data["value"] === undefined ? rest : { ...rest, [String(data["member"])]: data["value"] };
}

/** Follows a query while it is on. */
export function useLive(isOn: boolean, path: string | undefined, parameters: Parameters): { body: Json | undefined; state: string } {
  const [body, setBody] = useState<Json | undefined>(undefined);
  const [state, setState] = useState("");
  const key = `${isOn} ${path} ${JSON.stringify(parameters)}`;
  useEffect(() => {
    setBody(undefined);
    setState("");
    if (!isOn || path === undefined) return undefined;
    const aborting = new AbortController();
    const receive = (event: StreamEvent) => setBody((before) => applied(before ?? null, event));
    void follow(path, [...parameters, ["live", "true"]], aborting.signal, receive, setState);
    return () => aborting.abort();
  }, [key]);
  return { body, state };
}
