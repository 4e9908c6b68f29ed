// A list as a file: all of its pages, one entity on each line.

import { useRef, useState } from "preact/hooks";

import { type Parameters, Problem, request, url } from "./api";
import { isObject, stringify } from "./json";
import { Alert, count, problemOf } from "./parts";
import { type Operation, itemsOf, pageParameter } from "./service";

/** More than a browser should hold: `keyloom export` has no limit. */
const ITEMS_MAX = 100_000;
const PAGE = "1000";

export function Export({ list, path, query, name }: { list: Operation; path: string; query: Parameters; name: string }) {
  const [done, setDone] = useState<number | undefined>();
  const [problem, setProblem] = useState<Problem | undefined>();
  const aborting = useRef<AbortController | undefined>(undefined);
  const run = async () => {
    const stop = new AbortController();
    aborting.current = stop;
    setProblem(undefined);
    const lines: string[] = [];
    try {
      const [limit, cursor] = [pageParameter(list, "limit") ?? "limit", pageParameter(list, "cursor") ?? "cursor"];
      for (let at: string | undefined = ""; at !== undefined; ) {
        const parameters: Parameters = [...query, [limit, PAGE], ...(at === "" ? [] : ([[cursor, at]] as Parameters))];
        const page = await request(url(path, parameters), { signal: stop.signal });
        lines.push(...itemsOf(page).map((item) => stringify(item)));
        setDone(lines.length);
        if (lines.length > ITEMS_MAX) throw new Problem(0, "too-large", `A browser exports at most ${count(ITEMS_MAX)} entities: use keyloom export.`);
        at = isObject(page) && typeof page["next"] === "string" ? page["next"] : undefined;
      }
      save(`${name}.jsonl`, `${lines.join("\n")}\n`);
    } catch (error) {
      if (!stop.signal.aborted) setProblem(problemOf(error));
    }
    setDone(undefined);
  };
  return (
    <>
      {done === undefined ? (
        <button type="button" onClick={() => void run()}>
          Export
        </button>
      ) : (
        <button type="button" onClick={() => aborting.current?.abort()}>
          Stop the export at {count(done)}
        </button>
      )}
      <Alert problem={problem} />
    </>
  );
}

function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
