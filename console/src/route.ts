// Where the user is: the part of the address after `#`.

import { useLayoutEffect, useState } from "preact/hooks";

export type Route = { path: string[]; parameters: URLSearchParams };

export function useRoute(): Route {
  const [route, setRoute] = useState(current);
  useLayoutEffect(() => {
    const listen = () => setRoute(current());
    addEventListener("hashchange", listen);
    return () => removeEventListener("hashchange", listen);
  }, []);
  return route;
}

export function link(path: string[], parameters: [string, string][] = []): string {
  const query = new URLSearchParams(parameters).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`;
}

export function go(path: string[], parameters: [string, string][] = []): void {
  location.hash = link(path, parameters);
}

function current(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const segments = path.split("/").filter((segment) => segment !== "");
  return { path: segments.map(decoded), parameters: new URLSearchParams(query) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
