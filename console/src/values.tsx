// The values that the entities of a list have, each with its number: facets and tags. One click narrows the list.

import { useState } from "preact/hooks";

import { request, url } from "./api";
import { type Json, isObject, shown } from "./json";
import { Alert, count, spoken, useLoaded } from "./parts";
import type { Values as Chosen } from "./filters";
import { type Operation, type Service, filled, itemsOf } from "./service";

/** How many values of each kind are shown. */
const LIMIT = 12;

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
  const takes = (operation: Operation, name: string) => operation.parameters.some((parameter) => parameter.name === name);
  const query = (operation: Operation): [string, string][] => [...values.query.filter(([name]) => takes(operation, name)), ["limit", String(LIMIT)]];
  const loaded = useLoaded(`${path} ${JSON.stringify(values.query)} ${tagKey}`, async (signal) => {
    if (path === undefined) return { facets: null, tags: null };
    const ofTags = tagKey === undefined ? `${path}/tags` : `${path}/tags/${encodeURIComponent(tagKey)}`;
    return {
      facets: facets ? await request(url(`${path}/facets`, query(facets)), { signal }) : null,
      tags: tags ? await request(url(ofTags, query(tags)), { signal }) : null,
    };
  });
  const add = (name: string, value: string) => {
    const others = values.query.filter(([other, given]) => other !== name || (name === "tag" && given !== value));
    change({ ...values, query: [...others, [name, value]] });
  };
  const ofFacets: Json = isObject(loaded.value?.facets) ? (loaded.value.facets["facets"] ?? null) : null;
  return (
    <>
      <Alert problem={loaded.problem} />
      <div class="columns">
        {isObject(ofFacets) &&
          Object.entries(ofFacets).map(([facet, page]) => (
            <Counted key={facet} title={spoken(facet)} items={itemsOf(page)} choose={(value) => add(facet, escaped(value))} />
          ))}
        {tags && (
          <Counted
            title={tagKey === undefined ? "tag keys" : `tags ${tagKey}`}
            items={itemsOf(loaded.value?.tags ?? null)}
            back={tagKey === undefined ? undefined : () => setTagKey(undefined)}
            choose={(value) => (tagKey === undefined ? setTagKey(value) : add("tag", `${tagEscaped(tagKey)}:${tagEscaped(value)}`))}
          />
        )}
      </div>
    </>
  );
}

type CountedProps = { title: string; items: { [name: string]: Json }[]; choose: (value: string) => void; back?: (() => void) | undefined };

function Counted({ title, items, choose, back }: CountedProps) {
  const most = Math.max(1, ...items.map((item) => Number(item["count"])));
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
      {items.length === 0 && <p class="hint">none</p>}
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
