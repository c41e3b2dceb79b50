// SPDX-License-Identifier: MIT
//
// Flame graphs: what the program or a function calls, who calls, or both. A call graph holds no stacks: a box is exact
// where the bounds of its path agree, else it is hatched and says both.
import { Flame, NONE, Of, Side } from "./core";
import type { FlameBox, Value } from "./core";
import type { Name } from "./api";
import { sideNames } from "./app";
import type { App, Shown, View } from "./app";
import { button, h, number, percent, save, shorten } from "./element";
import { Picture } from "./picture";
import type { Item } from "./picture";
import { Table } from "./table";
import { funcOf, missing } from "./view_function";

const ROW = 19, MOST = 20000;

const kinds: Record<string, string> = { down: "top-down", up: "inverted", sandwich: "sandwich" };

interface Box extends FlameBox { level: number; of: Value } // the row it stands in; what width 1 is

async function boxes(app: App, kind: string, root: number, side: Side, least: number): Promise<Box[]> {
  const ask = (k: Flame, r: number): Promise<{ boxes: FlameBox[]; total: Value }> => app.client.ask("flame", app.event,
    side, r, k, least, MOST, { ...app.filter, text: "" }); // a text would leave only paths of its functions
  if (kind !== "sandwich") {
    const { boxes: all, total } = await ask(kind === "up" ? Flame.Up : Flame.Down, NONE);
    return all.map((b) => ({ ...b, level: b.depth, of: total }));
  }
  const above = await ask(Flame.Up, root), below = await ask(Flame.Down, root), out: Box[] = [];
  const high = above.boxes.reduce((most, b) => Math.max(most, b.depth), 0);
  above.boxes.forEach((b) => out.push({ ...b, level: high - b.depth, of: above.total }));
  const shift = above.boxes.length - 1; // the function itself stands there once
  below.boxes.forEach((b, i) => {
    if (i > 0) out.push({ ...b, parent: b.parent === 0 ? 0 : b.parent + shift, level: high + b.depth,
      of: below.total });
  });
  return out;
}

function bound(app: App, v: bigint): string { return number({ exact: v, approx: Number(v) }, app.scale(app.event)); }

// "qsort, 12.3 % of Ir, depth 4, estimated between 10 and 20".
function say(app: App, b: Box, name: Name, change: string): string {
  const exact = b.low === b.high, whole = b.of.approx * app.scale(app.event);
  return shorten(name.name || "???") + ", " + percent(exact ? Number(b.low) : b.width * whole,
    whole) + " of " + app.eventName(app.event) + ", depth " + b.depth + ", " +
    (exact ? "exactly " + bound(app, b.low) : "estimated, between " + bound(app, b.low) + " and " + bound(app,
      b.high)) +
    (b.flags & 1 ? ", a cycle" : "") + (b.flags & 2 ? ", more inside is too small" : "") + change;
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
  if (!state.v || state.v === "flame") // in a function's view there is one kind, and no table
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
      " is a ratio: a path has none. Choose an event that counts."));
    return { element };
  }
  element.append(h("p", { class: "note" },
    "The profile has calls, not stacks. A plain box is exact; a hatched one is an estimate, and its tip says " +
    "between which bounds the path costs. Cycles are one box."));

  const names = new Map<number, Name>(), change = new Map<number, { text: string; heat: number }>();
  const items = async (all: Box[]): Promise<Item[]> => {
    const wanted = Uint32Array.from(new Set(all.map((b) => b.func).filter((f) => !names.has(f))));
    for (const n of await client.ask("names", wanted)) names.set(n.func, n);
    if (app.base && wanted.length) {
      const t = await client.ask("table", wanted, [Side.New, Side.Old,
        Side.Difference].map((s) => ({ of: Of.Inclusive, event: app.event, side: s })));
      t.names.forEach((n, i) => {
        const v = t.values.map((column) => column[i]!), text = app.sides.map((s) => sideNames[s] + " " + app.text(s, v,
          app.scale(app.event))).join(", ");
        const most = Math.max(Math.abs(v[0]!.approx), Math.abs(v[1]!.approx));
        change.set(n.func, { text: "; function: " + text, heat: most ? v[2]!.approx / most : 0 });
      });
    }
    return all.map((b) => {
      const n = names.get(b.func)!, c = change.get(b.func), exact = b.low === b.high;
      return {
        x: b.x, y: b.level * ROW, w: b.width, h: ROW, parent: b.parent, depth: b.depth, label: shorten(n.name || "???"),
          name: () => say(app, b, n, c?.text ?? ""),
        href: app.href({ v: "function", f: n.hash }), hash: n.hash,
          heat: app.base ? c?.heat ?? 0 : Math.min(1, b.width * 1.5), change: app.base, hatched: !exact,
      };
    });
  };

  const all = await boxes(app, kind, root, side, 1 / 3000), list = await items(all);
  if (!all.length) {
    element.append(h("p", { class: "note" }, app.filter.hide.length || app.focus !== NONE
      ? "Focus and hidden functions leave nothing; Esc undoes the last."
      : "Nothing costs anything in " + app.eventName(app.event) + "."));
    return { element };
  }
  bar.append(button("Folded", () => save(new Blob([folded(app, all, names)], { type: "text/plain" }), "stacks.folded"),
    { title: "Stacks as text, with estimates" }));
  if (state.t) {
    const table = new Table({
      label: "Boxes of the flame graph", id: "quern-flame",
      columns: [{ id: "low", title: "At least" }, { id: "high", title: "At most" }, { id: "share", title: "%" },
        { id: "depth", title: "Depth" }, { id: "name", title: "Function", name: true }],
    });
    bar.append(table.csvButton("flame"));
    element.append(table.element);
    await table.show({
      count: all.length, load: (first, count) => Promise.resolve(all.slice(first, first + count).map((b, i) => {
        const name = app.named(names.get(b.func)!);
        name.style.setProperty("--depth", String(Math.min(b.depth, 30)));
        return {
          cells: [bound(app, b.low), bound(app, b.high), app.shareOf(b.width, 1), String(b.depth), name],
          of: ["low:" + (first + i), "high:" + (first + i), "", "", ""],
        };
      })),
    });
    return { element, focus: () => table.focus() };
  }
  const high = all.reduce((most, b) => Math.max(most, b.level), 0) + 1;
  // What was too narrow is asked for when it is zoomed in.
  let fine = 1 / 3000, turn = 0;
  const picture = new Picture("Flame graph", list, true, high * ROW + 2, (part) => {
    const least = Math.max(1e-7, part / 3000);
    if (least > fine / 3) return;
    fine = least;
    const mine = ++turn;
    void boxes(app, kind, root, side, least).then(items).then((finer) => { if (mine === turn) picture.show(finer); });
  });
  bar.append(...picture.buttons("flame"));
  element.append(picture.element);
  return { element, focus: () => picture.focusItem(), key: (key) => picture.press(key), end: () => picture.end() };
}

// Stacks with what is left of each when its boxes inside are taken off: estimates, as the boxes.
function folded(app: App, all: Box[], names: Map<number, Name>): string {
  const inside = new Float64Array(all.length), out: string[] = [];
  for (const b of all) if (b.parent !== NONE) inside[b.parent] += b.width;
  all.forEach((b, i) => {
    const rest = Math.round((b.width - inside[i]!) * b.of.approx), way: string[] = [];
    for (let at = i; at !== NONE; at = all[at]!.parent) way.unshift((names.get(all[at]!.func)!.name ||
      "???").replace(/[;\n]/g, " "));
    if (rest > 0) out.push(way.join(";") + " " + rest);
  });
  return out.join("\n") + "\n";
}

export const flameView: View = { key: "flame", title: "Flame graph", when: (app) => app.ready && app.calls, show };
