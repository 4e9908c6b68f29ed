// The values that the entities of a list have, each with its number: facets and tags. One click narrows the list.

import { useRef, useState } from "preact/hooks";

import { type Parameters, type Problem, request, url } from "./api";
import { type Json, isObject, shown } from "./json";
import { Alert, count, problemOf, spoken, useLoaded } from "./parts";
import type { Values as Chosen } from "./filters";
import { type Operation, type Service, filled, itemsOf } from "./service";

/** How many values of each kind are shown at once. */
const LIMIT = 12;
/** How many further pages stay on the screen: a menu of ten thousand values has as many elements as one of a few. */
const PAGES_MAX = 5;

type Props = { service: Service; list: Operation; values: Chosen; change: (values: Chosen) => void };

export function Values(props: Props) {
  const { service, list } = props;
  const at = (suffix: string) => service.operations.find(({ method, path }) => method === "GET" && path === `${list.path}/${suffix}`);
  const [facets, tags] = [at("facets"), at("tags")];
  const [isOpen, setIsOpen] = useState(false);
  if (facets === undefined && tags === undefined) return null;
  return (
    <details class="values" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Values in this list</summary>
      {isOpen && <Shown {...props} facets={facets} tags={tags} />}
    </details>
  );
}

type ShownProps = Props & { facets: Operation | undefined; tags: Operation | undefined };

function Shown({ list, values, change, facets, tags }: ShownProps) {
  const path = filled(list.path, values.path);
  const [tagKey, setTagKey] = useState<string | undefined>();
  const query = (operation: Operation) => values.query.filter(([name]) => operation.parameters.some((parameter) => parameter.name === name));
  const ofFacets = useLoaded(`${path} ${JSON.stringify(values.query)}`, async (signal) => {
    if (path === undefined || facets === undefined) return null;
    const answer = await request(url(`${path}/facets`, [...query(facets), ["limit", String(LIMIT)]]), { signal });
    return isObject(answer) && isObject(answer["facets"]) ? answer["facets"] : null;
  });
  const add = (name: string, value: string) => {
    const others = values.query.filter(([other, given]) => other !== name || (name === "tag" && given !== value));
    change({ ...values, query: [...others, [name, value]] });
  };
  if (path === undefined) return null;
  const tagPath = tagKey === undefined ? `${path}/tags` : `${path}/tags/${encodeURIComponent(tagKey)}`;
  return (
    <>
      <Alert problem={ofFacets.problem} />
      <div class="columns">
        {Object.entries(ofFacets.value ?? {}).map(([facet, page]) => (
          <Counted
            key={`${facet} ${JSON.stringify(values.query)}`}
            title={spoken(facet)}
            path={`${path}/facets/${encodeURIComponent(facet)}`}
            query={facets ? query(facets) : []}
            first={page}
            choose={(value) => add(facet, escaped(value))}
          />
        ))}
        {tags && (
          <Counted
            key={`${tagKey} ${JSON.stringify(values.query)}`}
            title={tagKey === undefined ? "tag keys" : `tags ${tagKey}`}
            path={tagPath}
            query={query(tags)}
            isSearched
            back={tagKey === undefined ? undefined : () => setTagKey(undefined)}
            choose={(value) => (tagKey === undefined ? setTagKey(value) : add("tag", `${tagEscaped(tagKey)}:${tagEscaped(value)}`))}
          />
        )}
      </div>
    </>
  );
}

type CountedProps = {
  title: string;
  path: string;
  query: Parameters;
  /** The first page, if it is there already. */
  first?: Json;
  /** Whether the beginning of values can be searched for. */
  isSearched?: boolean;
  choose: (value: string) => void;
  back?: (() => void) | undefined;
};

/** Values with their numbers: the first of them, and more on request. There may be any number. */
function Counted({ title, path, query, first, isSearched, choose, back }: CountedProps) {
  const [prefix, setPrefix] = useState("");
  const [more, setMore] = useState<Json[]>([]);
  const [isBeginning, setIsBeginning] = useState(true);
  const isBusy = useRef(false);
  /** How often the values were read from the beginning. */
  const round = useRef(0);
  const [problem, setProblem] = useState<Problem | undefined>();
  const search: Parameters = prefix === "" ? [] : [["prefix", prefix]];
  const loaded = useLoaded(`${path} ${prefix}`, async (signal) => first ?? request(url(path, [...query, ...search, ["limit", String(LIMIT)]]), { signal }));
  const pages: Json[] = isBeginning ? [first ?? loaded.value ?? null, ...more] : more;
  const items = pages.flatMap(itemsOf);
  const last = pages[pages.length - 1];
  const next = isObject(last) && typeof last["next"] === "string" ? last["next"] : undefined;
  const most = Math.max(1, ...items.map((item) => Number(item["count"])));
  const load = async (cursor: string) => {
    // A second click would read the same page again.
    if (isBusy.current || loaded.isLoading) return;
    isBusy.current = true;
    const asked = round.current;
    try {
      const page = await request(url(path, [...query, ...search, ["limit", "100"], ["cursor", cursor]]));
      // Another search may have begun meanwhile.
      if (round.current !== asked) return;
      if (more.length === PAGES_MAX) setIsBeginning(false);
      setMore([...more, page].slice(-PAGES_MAX));
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      isBusy.current = false;
    }
  };
  const begin = () => {
    round.current += 1;
    setMore([]);
    setIsBeginning(true);
  };
  return (
    <section class="counted" aria-label={title}>
      <h2 class="small">
        {title}{" "}
        {back && (
          <button type="button" onClick={back}>
            All keys
          </button>
        )}
      </h2>
      {isSearched && (
        <input
          type="search"
          aria-label={`${title} that begin with`}
          placeholder="begins with"
          value={prefix}
          onInput={(event) => {
            setPrefix(event.currentTarget.value);
            begin();
          }}
        />
      )}
      <Alert problem={problem ?? loaded.problem} />
      {!isBeginning && (
        <button type="button" onClick={begin}>
          From the beginning
        </button>
      )}
      <ul>
        {items.map((item) => {
          const value = shown(item["value"] ?? item["key"]);
          return (
            <li key={value}>
              <button type="button" onClick={() => choose(value)}>
                <span class="text">{value === "" ? "(empty)" : value}</span>
                <meter min={0} max={most} value={Number(item["count"])} aria-hidden="true" />
                <span class="number">{count(Number(item["count"]))}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {next !== undefined && (
        <button type="button" onClick={() => void load(next)}>
          More
        </button>
      )}
      {items.length === 0 && <p class="hint">{loaded.isLoading ? "Loading…" : "none"}</p>}
    </section>
  );
}

/** A value of a facet as a parameter. */
function escaped(value: string): string {
  const text = value.replace(/[\\,]/g, "\\$&");
  return /^[<>=]/.test(text) ? `=${text}` : text;
}

function tagEscaped(text: string): string {
  return text.replace(/[\\!:|*]/g, "\\$&");
}
