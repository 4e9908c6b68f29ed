// The live changes of a domain: `GET /changes`, read with fetch, because an EventSource cannot send the
// header that selects the domain.

const RETRY_MS = 2000;

/**
 * Calls `changed` with the kind of entity for each change, and `connected` with whether the stream is up.
 * Only while the page is visible: a browser has few connections to one server. Returns a function that reconnects.
 */
export function follow({ headers, entities, changed, connected }) {
  let controller = null;

  async function read(signal) {
    const query = entities.map((entity) => `entity=${entity}`).join("&");
    const response = await fetch(`/changes?${query}`, { headers: headers(), signal });
    if (!response.ok) throw new Error(`The server answered ${response.status}.`);
    connected(true);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const kind = /^event: (\w+)\./.exec(line)?.[1];
        if (kind) changed(kind);
      }
    }
  }

  async function run() {
    if (controller !== null || document.hidden) return;
    controller = new AbortController();
    const { signal } = controller;
    try {
      await read(signal);
    } catch {
      // Whatever the error, the next connection shows whether it persists.
    }
    controller = null;
    connected(false);
    setTimeout(run, signal.aborted ? 0 : RETRY_MS);
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? controller?.abort() : run()));
  run();
  return () => controller?.abort();
}
