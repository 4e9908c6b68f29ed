// The changes of a domain, from the change feed: what the page shows of several kinds of entities follows from it.

import { CLIENT_OPTIONS, follow } from "/api.js";
import { Client } from "/client.js";

const ENTITIES = ["contact", "method", "search", "attempt"];
const RETRY_MS = 2000;

/**
 * Calls `changed` with the kind of entity of each change, and with null when anything may have changed; and `connected`
 * with whether changes arrive. `tenant` returns the domain, as options of a request.
 */
export function followChanges({ tenant, changed, connected }) {
  const fetch = async (address, options) => {
    const response = await CLIENT_OPTIONS.fetch(address, options).catch((failure) => {
      connected(false);
      throw failure;
    });
    connected(response.ok);
    return response;
  };
  const client = new Client({ ...CLIENT_OPTIONS, fetch });
  const changes = (options) => changesFromNow(client, { ...options, ...tenant() });
  follow("changes", changes, (change) => changed(change?.entity ?? null));
}

/** The changes from now on, after a null. After an error, the next request shows whether it persists. */
async function* changesFromNow(client, options) {
  for (;;) {
    try {
      const { next } = await client.send("GET", "/changes/page", options);
      yield null;
      yield* client.changes({ entity: ENTITIES, after: next }, options);
    } catch (problem) {
      if (options.signal.aborted) throw problem;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
