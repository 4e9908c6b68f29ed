// A query that is followed: its result, as the events of the stream change it.

import { useEffect, useState } from "preact/hooks";

import { type Parameters, type StreamEvent, applied, follow } from "./api";
import type { Json } from "./json";

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
    const receive = (event: StreamEvent) => setBody((before) => applied(before, event));
    void follow(path, [...parameters, ["live", "true"]], aborting.signal, receive, setState);
    return () => aborting.abort();
  }, [key]);
  return { body, state };
}
