// The frame of a console: a title, the navigation at the side, and the view.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

import { type Route, link } from "./route";

type FrameProps = {
  title: string;
  /** What stands at the right of the title. */
  who: ComponentChildren;
  /** The navigation; its place is kept while there is none, so that nothing shifts. */
  side: ComponentChildren;
  children: ComponentChildren;
};

export function Frame({ title, who, side, children }: FrameProps) {
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>("main h1")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="#/">
          {title}
        </a>
        {who}
      </header>
      <div class="frame">
        {side || <div class="side" />}
        <main id="content">{children}</main>
      </div>
    </>
  );
}

/** Goes to the heading of the view. */
export function startAtHeading(): void {
  document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
}

/** Goes to the heading of a new view, so that keyboards and screen readers start there. */
export function useStartAtHeading(view: string): void {
  useLayoutEffect(() => {
    startAtHeading();
    scrollTo(0, 0);
  }, [view]);
}

/** A link of the navigation: to a view, or to another page. */
export type Entry = { path: string[]; label: string } | { href: string; label: string };

export type Group = { title: string; entries: Entry[] };

export function Side({ label, groups, route }: { label: string; groups: Group[]; route: Route }) {
  const [isOpen, setIsOpen] = useState(false);
  const here = route.path.join("/");
  useLayoutEffect(() => setIsOpen(false), [here, route.parameters.toString()]);
  const isHere = (entry: Entry) => {
    if ("href" in entry) return false;
    const path = entry.path.join("/");
    return here === path || here.startsWith(`${path}/`);
  };
  return (
    <nav class={isOpen ? "side open" : "side"} aria-label={label}>
      <button type="button" class="menu" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        Menu
      </button>
      <div class="items">
        {groups
          .filter(({ entries }) => entries.length > 0)
          .map(({ title, entries }) => (
            <div key={title}>
              <h2>{title}</h2>
              <ul>
                {entries.map((entry) => {
                  const href = "href" in entry ? entry.href : link(entry.path);
                  return (
                    <li key={href}>
                      <a href={href} aria-current={isHere(entry) ? "page" : undefined}>
                        {entry.label}
                      </a>
                    </li>
                  );
                })}
              </ul>
            </div>
          ))}
      </div>
    </nav>
  );
}
