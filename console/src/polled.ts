// Reading again and again what has no stream.

import { useEffect } from "preact/hooks";

import { type Loaded, useLoaded } from "./parts";

/**
 * Loads something, and again whenever the last result has been there for so many milliseconds and the page is visible. A
 * slow server is asked once at a time, so that its response is shown however late it is.
 */
export function usePolled<T>(key: string, intervalMs: number, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const loaded = useLoaded(key, load);
  const { isLoading, again } = loaded;
  useEffect(() => {
    if (isLoading) return undefined;
    const timer = setInterval(() => document.visibilityState === "visible" && again(), intervalMs);
    return () => clearInterval(timer);
  }, [isLoading, again, intervalMs]);
  return loaded;
}
