// The model as a picture: a box for each entity, an arrow for each reference.

import { useRef, useState } from "preact/hooks";

import { link } from "./route";
import type { Entity } from "./service";

const WIDTH = 190;
const LINE = 18;
const HEAD = 30;
const GAP = { x: 90, y: 28 };
/** How many fields a box shows. */
const FIELDS_MAX = 8;

type Box = { entity: Entity; lines: string[]; x: number; y: number; height: number };

/** Entities in columns: those that others refer to are further left. */
function layout(entities: Entity[]): Box[] {
  const depths = new Map<string, number>();
  const depth = (entity: Entity, path: string[]): number => {
    const known = depths.get(entity.name);
    if (known !== undefined) return known;
    const targets = entity.fields.flatMap(({ target }) => (target === null || path.includes(target) || target === entity.name ? [] : [target]));
    const deepest = targets.map((name) => {
      const target = entities.find((other) => other.name === name);
      return target === undefined ? 0 : depth(target, [...path, entity.name]) + 1;
    });
    const own = Math.max(0, ...deepest);
    depths.set(entity.name, own);
    return own;
  };
  const bottoms: number[] = [];
  return entities.map((entity) => {
    const column = depth(entity, []);
    const lines = summary(entity);
    const height = HEAD + lines.length * LINE + 10;
    const y = bottoms[column] ?? 20;
    bottoms[column] = y + height + GAP.y;
    return { entity, lines, x: 20 + column * (WIDTH + GAP.x), y, height };
  });
}

function summary(entity: Entity): string[] {
  const fields = entity.fields.filter(({ name }) => name !== "id");
  const shown = fields.slice(0, FIELDS_MAX).map(({ name, type, target }) => `${name}: ${target === null ? type : `${type === "list" ? "list " : ""}→ ${target}`}`);
  if (fields.length > FIELDS_MAX) shown.push(`and ${fields.length - FIELDS_MAX} more fields`);
  const queries = [
    [entity.lists.length, "list"],
    [entity.uniques.length, "unique"],
    [entity.counts.length, "count"],
    [entity.boards.length, "board"],
  ] as const;
  const counted = queries.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}${number === 1 ? "" : "s"}`);
  return [...shown, counted.join(", ")].filter((line) => line !== "");
}

type View = { x: number; y: number; scale: number };

export function Picture({ entities, chosen }: { entities: Entity[]; chosen: string | undefined }) {
  const boxes = layout(entities);
  const width = Math.max(...boxes.map(({ x }) => x + WIDTH)) + 20;
  const height = Math.max(...boxes.map(({ y, height }) => y + height)) + 20;
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const dragged = useRef<{ x: number; y: number } | undefined>(undefined);
  /** The middle stays where it is. */
  const zoom = (factor: number) =>
    setView((before) => {
      const scale = Math.min(8, Math.max(0.5, before.scale * factor));
      const shift = (1 / before.scale - 1 / scale) / 2;
      return { x: before.x + width * shift, y: before.y + height * shift, scale };
    });
  /** Shows a box that a keyboard has reached. */
  const reveal = (box: Box) =>
    setView((before) => {
      const [seen, far] = [{ width: width / before.scale, height: height / before.scale }, { x: box.x + WIDTH, y: box.y + box.height }];
      const isSeen = box.x >= before.x && box.y >= before.y && far.x <= before.x + seen.width && far.y <= before.y + seen.height;
      return isSeen ? before : { ...before, x: (box.x + far.x - seen.width) / 2, y: (box.y + far.y - seen.height) / 2 };
    });
  const arrows = boxes.flatMap((box) =>
    box.entity.fields.flatMap(({ target, name }, index) => {
      const to = boxes.find(({ entity }) => entity.name === target);
      return to === undefined ? [] : [{ key: `${box.entity.name}.${name}`, path: arrow(box, to, Math.min(index, FIELDS_MAX)), isParent: box.entity.parent === name }];
    }),
  );
  return (
    <figure class="picture">
      <div class="zoom">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.25)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(0.8)}>
          −
        </button>
        <button type="button" onClick={() => setView({ x: 0, y: 0, scale: 1 })}>
          Reset
        </button>
      </div>
      <svg
        viewBox={`${view.x} ${view.y} ${width / view.scale} ${height / view.scale}`}
        height={Math.min(height, 560)}
        role="group"
        aria-label="The entities of the model and their references"
        onPointerDown={(event) => {
          dragged.current = { x: event.clientX, y: event.clientY };
        }}
        onPointerMove={(event) => {
          const from = dragged.current;
          if (from === undefined || event.buttons === 0) return;
          // The picture keeps its proportions: the narrower side decides.
          const { clientWidth, clientHeight } = event.currentTarget;
          const unit = Math.max(width / clientWidth, height / clientHeight);
          const [x, y] = [event.clientX - from.x, event.clientY - from.y];
          dragged.current = { x: event.clientX, y: event.clientY };
          setView((before) => ({ ...before, x: before.x - (x * unit) / before.scale, y: before.y - (y * unit) / before.scale }));
        }}
        onWheel={(event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          zoom(event.deltaY < 0 ? 1.1 : 0.9);
        }}
        onPointerUp={() => {
          dragged.current = undefined;
        }}
        onPointerLeave={() => {
          dragged.current = undefined;
        }}
      >
        <defs>
          <marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">
            <path d="M0 0 8 4 0 8z" class="tip" />
          </marker>
        </defs>
        {arrows.map(({ key, path, isParent }) => (
          <path key={key} d={path} class={isParent ? "arrow parent" : "arrow"} marker-end="url(#tip)" />
        ))}
        {boxes.map((box) => (
          <Drawn key={box.entity.name} box={box} isChosen={box.entity.name === chosen} reveal={() => reveal(box)} />
        ))}
      </svg>
      <figcaption class="hint">
        A bold arrow leads to the parent. Open a box with a click or with Enter; drag to move the picture, zoom with the buttons or with Ctrl and the wheel.
      </figcaption>
    </figure>
  );
}

function Drawn({ box, isChosen, reveal }: { box: Box; isChosen: boolean; reveal: () => void }) {
  const { entity, lines, x, y, height } = box;
  return (
    <a class={isChosen ? "box chosen" : "box"} href={link(["model", entity.name])} onFocus={reveal}>
      <rect x={x} y={y} width={WIDTH} height={height} rx={8} />
      <text x={x + 12} y={y + 21} class="name">
        {cut(entity.name, 22)}
      </text>
      {lines.map((line, index) => (
        <text key={index} x={x + 12} y={y + HEAD + 14 + index * LINE}>
          {cut(line, 27)}
        </text>
      ))}
    </a>
  );
}

function arrow(from: Box, to: Box, line: number): string {
  const start = { x: from.x, y: from.y + HEAD + line * LINE };
  const end = { x: to.x + WIDTH, y: to.y + HEAD / 2 };
  if (from === to || start.x <= to.x) {
    // Within a column, or back: around the left side.
    const out = from.x - 30;
    return `M${from.x} ${start.y}C${out} ${start.y} ${out} ${end.y} ${to.x} ${end.y}`;
  }
  const middle = (start.x + end.x) / 2;
  return `M${start.x} ${start.y}C${middle} ${start.y} ${middle} ${end.y} ${end.x} ${end.y}`;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
