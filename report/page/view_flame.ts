// SPDX-License-Identifier: MIT
//
// Flame graphs: callees of the program or of a function, callers, or both. A call graph holds no stacks: a box is exact
// where the bounds of its path agree, else it is hatched and shows both.
import { Flame, NONE, Of, Side } from "./core";
import type { FlameLimits, Value } from "./core";
import type { Name, Stack, Stacks } from "./api";
import { funcOf, highlighter, missing, sideNames } from "./app";
import type { App, Shown, View } from "./app";
import { button, h, number, percent, save } from "./element";
import { Picture } from "./picture";
import type { Item } from "./picture";
import { zoomOf } from "./state";
import { Table } from "./table";
import type { Row } from "./table";

const ROW = 19, MOST = 20000, LEAST = 1 / 3000; // boxes; the least width of one: a third of a pixel

const kinds: Record<string, string> = { down: "top-down", up: "inverted", sandwich: "sandwich" };

interface Box extends Stack { level: number; of: Value } // its row; the value of width 1
interface Boxes { boxes: Box[]; total: Value; rest: Value; restCount: number }

async function boxes(app: App, kind: string, root: number, side: Side, limits: FlameLimits): Promise<Boxes> {
  const ask = (k: Flame, r: number): Promise<Stacks> => app.client.ask("flame", app.event,
    side, r, k, limits, MOST, { ...app.filter, text: "" }); // a text would leave only paths of its functions
  if (kind !== "sandwich") {
    const all = await ask(kind === "up" ? Flame.Up : Flame.Down, NONE);
    return { ...all, boxes: all.boxes.map((b) => ({ ...b, level: b.depth, of: all.total })) };
  }
  const above = await ask(Flame.Up, root), below = await ask(Flame.Down, root), out: Box[] = [];
  const high = above.boxes.reduce((most, b) => Math.max(most, b.depth), 0);
  above.boxes.forEach((b) => out.push({ ...b, level: high - b.depth, of: above.total }));
  const shift = above.boxes.length - 1; // the function itself is there only once
  below.boxes.forEach((b, i) => {
    if (i > 0) out.push({ ...b, parent: b.parent === 0 ? 0 : b.parent + shift, level: high + b.depth,
      of: below.total });
  });
  return { ...below, boxes: out };
}

function bound(app: App, v: bigint): string { return number({ exact: v, approx: Number(v) }, app.scale(app.event)); }

function labelOf(app: App, b: Stack, name: Name): string {
  return b.folded ? "start-up: " + app.short(name) + " and " + b.folded + " more" : app.short(name);
}

// "qsort, 12.3 % of Ir, depth 4, estimated between 10 and 20".
function say(app: App, b: Box, name: Name, change: string): string {
  const exact = b.low === b.high, whole = b.of.approx * app.scale(app.event);
  return labelOf(app, b, name) + ", " + percent(exact ? Number(b.low) : b.width * whole,
    whole) + " of " + app.eventName(app.event) + ", depth " + b.depth + ", " +
    (exact ? "exactly " + bound(app, b.low) : "estimated, between " + bound(app, b.low) + " and " + bound(app,
      b.high)) +
    (b.flags & 1 ? ", a cycle" : "") + (b.flags & 2 ? ", with more inside that is too small to show" : "") + change;
}

async function show(app: App): Promise<Shown> {
  const { client, state } = app, kind = kinds[state.k ?? ""] ? state.k! : "down", element = h("div");
  const side = app.base && state.b === "old" ? Side.Old : Side.New,
    root = kind === "sandwich" ? await funcOf(app) : NONE;
  const select = h("select", { "aria-label": "Kind" }, ...Object.entries(kinds).map(([key, text]) => h("option",
    { value: key }, text)));
  select.value = kind;
  select.addEventListener("change", () => app.set({ k: select.value }));
  const bar = h("div", { class: "bar" });
  if (!state.v || state.v === "flame") // a function's view has one kind, and no table
    bar.append(h("label", {}, "Kind ", select),
      button(state.t ? "Picture" : "Table", () => app.set({ t: state.t ? "" : "1" })));
  if (app.base) {
    const which = h("select", { "aria-label": "Side" }, h("option", { value: "" }, "widths of new"),
      h("option", { value: "old" }, "widths of old"));
    which.value = state.b ?? "";
    which.addEventListener("change", () => app.set({ b: which.value }));
    bar.append(which);
  }
  element.append(h("h2", {}, "Flame graph", root !== NONE ? " around " : null,
    root !== NONE ? app.link(await client.ask("name", root)) : null), bar);
  if (kind === "sandwich" && root === NONE) {
    element.append(h("p", { class: "note" }, missing(app)));
    return { element };
  }
  if (app.summary.events[app.event]!.ratio) {
    element.append(h("p", { class: "note" }, app.eventName(app.event) +
      " is a ratio: a path has no ratio. Choose an event with counts."));
    return { element };
  }
  element.append(h("p", { class: "note" },
    "The profile has calls, not stacks. A plain box is exact; a hatched one is an estimate, and its tip " +
    "gives the bounds of the path's cost." + (kind === "up" ? " Callers are below." : kind === "sandwich" ? " Callers are above the function, callees below." : "") +
    (app.base ? " Orange: the function is more expensive than before, blue: cheaper." : "") +
    (app.summary.opened ? " Functions of a cycle have boxes of their own." : app.summary.cyclic ? " A cycle is one box." : "") +
    (app.folded ? " Start-up frames are one box." : "")), ...(app.openedCycle ? [h("p", { class: "note" }, app.openedCycle)] : []));

  const names = new Map<number, Name>(), change = new Map<number, { text: string; heat: number; values: Value[] }>();
  const learn = async (all: Box[]): Promise<void> => {
    const wanted = Uint32Array.from(new Set(all.map((b) => b.func).filter((f) => !names.has(f))));
    for (const n of await client.ask("names", wanted)) names.set(n.func, n);
    if (app.base && wanted.length) {
      const t = await client.ask("table", wanted, [Side.New, Side.Old,
        Side.Difference].map((s) => ({ of: Of.Inclusive, event: app.event, side: s })));
      t.names.forEach((n, i) => {
        const v = t.values.map((column) => column[i]!), text = app.said(v, app.scale(app.event));
        const most = Math.max(Math.abs(v[0]!.approx), Math.abs(v[1]!.approx));
        change.set(n.func, { text: "; function: " + text, heat: most ? v[2]!.approx / most : 0, values: v });
      });
    }
  };
  const items = async (all: Box[]): Promise<Item[]> => {
    await learn(all);
    return all.map((b) => {
      const n = names.get(b.func)!, c = change.get(b.func), exact = b.low === b.high;
      return {
        x: b.x, y: b.level * ROW, w: b.width, h: ROW, parent: b.parent, depth: b.depth, label: labelOf(app, b, n),
          name: () => say(app, b, n, c?.text ?? ""),
        href: app.href({ v: "function", f: n.hash }), hash: n.hash, func: b.func,
          heat: app.base ? c?.heat ?? 0 : Math.min(1, b.width * 1.5), change: app.base, hatched: !exact,
      };
    });
  };

  const made = await boxes(app, kind, root, side, [LEAST, LEAST, 0, 0]), all = made.boxes;
  if (!all.length && !made.restCount) {
    element.append(h("p", { class: "note" }, app.narrowed
      ? "The filters leave nothing to show; Esc removes the last one."
      : "Nothing has a cost in " + app.eventName(app.event) + "."));
    return { element };
  }
  bar.append(button("Folded", () => save(new Blob([folded(app, made, names)], { type: "text/plain" }), "stacks.folded"),
    { title: "Stacks as text, with estimates" }));
  if (state.t) {
    const table = new Table({
      label: "Boxes of the flame graph", id: "quern-flame",
      columns: [{ id: "low", title: "At least" }, { id: "high", title: "At most" }, { id: "share", title: "%" },
        { id: "depth", title: "Depth" },
        ...(app.base ? app.sides.map((s) => ({ id: "side" + s, title: "function, " + sideNames[s] })) : []), { id: "name", title: "Function", name: true }],
    });
    bar.append(table.csvButton("flame"));
    element.append(table.element);
    await learn(all);
    const others = made.restCount ? [{ cells: [number(made.rest, app.scale(app.event)), number(made.rest,
      app.scale(app.event)), app.shareOf(made.rest.approx, made.total.approx), "0", ...(app.base ? app.sides.map(() => null) : []),
        othersOf(made)] }] : [];
    await table.show({
      count: all.length + others.length, load: (first, count) => Promise.resolve([...all.slice(first,
        first + count).map((b, i): Row => {
        const name = app.named(names.get(b.func)!);
        if (b.folded) name.append(h("span", { class: "where" }, "and " + b.folded + " more start-up frames"));
        name.style.setProperty("--depth", String(Math.min(b.depth, 30)));
        return {
          cells: [bound(app, b.low), bound(app, b.high), app.shareOf(b.width, 1), String(b.depth),
            ...(app.base ? app.sides.map((s) => app.text(s, change.get(b.func)!.values, app.scale(app.event))) : []), name],
          of: ["low:" + (first + i), "high:" + (first + i), "", "",
            ...(app.base ? app.sides.map((s) => ["incl", app.event, s, b.func].join(":")) : []), ""],
        };
      }), ...others.slice(0, Math.max(0, first + count - all.length))]),
    });
    return { element, focus: () => table.focus() };
  }
  // First boxes that are too narrow, merged into one: the finer ones are on top of it.
  const rest: Item[] = made.restCount ? [{
    x: all.reduce((end, b) => b.parent === NONE ? Math.max(end, b.x + b.width) : end, 0), y: 0,
      w: Math.min(1, made.rest.approx / made.total.approx), h: ROW, parent: NONE, depth: 0, label: othersOf(made),
    name: () => othersOf(made) + ", " + percent(made.rest.approx, made.total.approx) + " of " +
      app.eventName(app.event) + ", each too narrow to be visible; zoom in to see them",
    href: app.href({ v: "functions", s: (kind === "up" ? "-self.0." : "-incl.0.") + app.eventKey(app.event) }),
      hash: "", func: NONE, heat: 0, change: app.base, hatched: false,
  }] : [];
  const tall = (of: Box[]): number => (of.reduce((most, b) => Math.max(most, b.level), 0) + 1) * ROW + 2;
  // Boxes that were too narrow are requested when the user zooms in: for the visible part, and for the same width on both sides.
  let asked = { fine: LEAST, from: 0, to: 1 }, turn = 0;
  const zoomed = (part: number, left: number): void => {
    const fine = part * LEAST;
    if (fine > asked.fine / 3 && left >= asked.from && left + part <= asked.to) return;
    asked = { fine, from: Math.max(0, left - part), to: Math.min(1, left + 2 * part) };
    const mine = ++turn;
    void boxes(app, kind, root, side, [LEAST, fine, asked.from, asked.to]).then(async (finer) => {
      const list = await items(finer.boxes);
      if (mine === turn) picture.show([...rest, ...list], tall(finer.boxes));
    });
  };
  const picture = new Picture("Flame graph", [...rest, ...await items(all)], true, tall(all), zoomed, zoomOf(state));
  bar.append(...picture.buttons("flame"));
  const { said, search } = highlighter((mask) => picture.highlight(mask));
  element.append(said, picture.element);
  return { element, search, focus: () => picture.focusItem(), key: (key) => picture.press(key), end: () => picture.end() };
}

function othersOf(made: Boxes): string {
  return made.restCount.toLocaleString("en") + (made.restCount === 1 ? " other" : " others");
}

// Stacks with the cost that the boxes on top leave: estimates, as the boxes.
function folded(app: App, made: Boxes, names: Map<number, Name>): string {
  const all = made.boxes, inside = new Float64Array(all.length), out: string[] = [];
  for (const b of all) if (b.parent !== NONE) inside[b.parent] += b.width;
  all.forEach((b, i) => {
    const rest = Math.round((b.width - inside[i]!) * b.of.approx), way: string[] = [];
    for (let at = i; at !== NONE; at = all[at]!.parent) way.unshift((names.get(all[at]!.func)!.name ||
      "???").replace(/[;\n]/g, " "));
    if (rest > 0) out.push(way.join(";") + " " + rest);
  });
  if (made.restCount) out.push("(" + othersOf(made) + ") " + Math.round(made.rest.approx));
  return out.join("\n") + "\n";
}

export const flameView: View = { key: "flame", title: "Flame graph", when: (app) => app.ready && app.calls, show };
