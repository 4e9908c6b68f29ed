// Reading again and again what has no stream.

import { useEffect, useState } from "preact/hooks";

/** A number that grows every so many milliseconds, while the page is visible. */
export function useTicks(intervalMs: number): number {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    const tick = () => document.visibilityState === "visible" && setTicks((before) => before + 1);
    const timer = setInterval(tick, intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs]);
  return ticks;
}
