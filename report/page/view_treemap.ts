// SPDX-License-Identifier: MIT
//
// Treemaps: by structure (folders, files, functions, lines), exact; and of callees or callers.
import { NONE, Side } from "./core";
import type { MapBox } from "./api";
import { funcOf, highlighter, missing, sideNames } from "./app";
import type { App, Shown, View } from "./app";
import { button, h, number, percent } from "./element";
import { Picture } from "./picture";
import type { Item } from "./picture";
import { zoomOf } from "./state";
import { Table } from "./table";

const kinds: Record<string, string> = { structure: "folders, files, functions, lines", callees: "callees",
  callers: "callers" };
const HIGH = 620;

function hrefOf(app: App, b: MapBox): string {
  if (b.name) return app.href({ v: "function", f: b.name.hash });
  return b.file && b.line ? app.href({ v: "source", w: b.file, l: String(b.line) }) : app.href({ v: "functions",
    q: "file:" + b.label });
}

// "; new 16, old 10, difference +6, factor ×1.60"; for callees and callers the function's inclusive cost.
function changed(app: App, b: MapBox, kind: string): string {
  return b.sides.length ? (kind === "structure" ? "; " : "; function: ") + app.said(b.sides,
    app.scale(app.event)) : "";
}

// From -1 (gone) to 1 (new).
function growth(b: MapBox): number {
  const most = Math.max(Math.abs(b.sides[0]?.approx ?? 0), Math.abs(b.sides[1]?.approx ?? 0));
  return most ? b.sides[2]!.approx / most : 0;
}

async function show(app: App): Promise<Shown> {
  const { state } = app, kind = kinds[state.k ?? ""] && (app.calls || state.k === "structure") ? state.k! : "structure",
    element = h("div");
  const root = kind === "structure" ? NONE : await funcOf(app), side = app.base &&
    state.b === "old" ? Side.Old : Side.New;
  const select = h("select", { "aria-label": "Kind" }, ...Object.entries(kinds).filter(([key]) => key === "structure" ||
    app.calls).map(([key, text]) =>
    h("option", { value: key }, text)));
  select.value = kind;
  select.addEventListener("change", () => app.set({ k: select.value }));
  const bar = h("div", { class: "bar" }, h("label", {}, "Of ", select),
    button(state.t ? "Picture" : "Table", () => app.set({ t: state.t ? "" : "1" })));
  if (app.base) {
    const which = h("select", { "aria-label": "Side" }, h("option", { value: "" }, "areas of new"),
      h("option", { value: "old" }, "areas of old"));
    which.value = side === Side.Old ? "old" : "";
    which.addEventListener("change", () => app.set({ b: which.value }));
    bar.append(which);
  }
  element.append(h("h2", {}, "Treemap", root !== NONE ? " of " : null,
    root !== NONE ? app.link(await app.client.ask("name", root)) : null), bar);
  if (kind !== "structure" && root === NONE) {
    element.append(h("p", { class: "note" }, missing(app)));
    return { element };
  }
  if (app.summary.events[app.event]!.ratio) {
    element.append(h("p", { class: "note" }, app.eventName(app.event) +
      " is a ratio: a ratio has no area. Choose an event with counts."));
    return { element };
  }
  const width = Math.max(280, (document.getElementById("quern-main")?.clientWidth ?? 1000) - 2);
  const { boxes, total } = await app.client.ask("treemap", kind, app.event, side, root, { ...app.filter, text: "" }, width, HIGH,
    app.upTo);
  element.append(h("p", { class: "note" }, kind === "structure"
    ? "Areas are self costs in " + app.eventName(app.event) +
      ", exact in proportion within each box. Click to zoom, again to open."
    : "Areas are what the calls cost. Hatched boxes are estimates between two bounds, as in the flame graph.",
    app.base ? " Orange: more expensive than before, blue: cheaper." : null));
  const name = (b: MapBox): string => (b.name ? app.short(b.name) : b.label) + ", " + percent(b.value,
    total.approx) + " of " + app.eventName(app.event) + ", depth " + b.depth +
    (b.low === b.high ? ", exactly " + number({ exact: b.low, approx: 0 },
      app.scale(app.event)) : ", estimated, between " + number({ exact: b.low, approx: 0 }, app.scale(app.event)) +
      " and " + number({ exact: b.high, approx: 0 }, app.scale(app.event))) + changed(app, b, kind);
  if (state.t) {
    const table = new Table({ label: "Boxes of the treemap", id: "quern-treemap",
      columns: [{ id: "cost", title: app.eventName(app.event) }, { id: "share", title: "%" },
      ...(app.base ? app.sides.map((s) => ({ id: "side" + s, title: sideNames[s]! })) : []), { id: "name", title: "What", name: true }] });
    bar.append(table.csvButton("treemap"));
    element.append(table.element);
    const order = ordered(boxes);
    await table.show({
      count: order.length, load: (first, count) => Promise.resolve(order.slice(first, first + count).map((b) => {
        const link = b.name ? app.named(b.name) : h("span", { class: "named" },
          h("a", { class: "main", href: hrefOf(app, b) }, h("bdi", {}, b.label)));
        link.style.setProperty("--depth", String(b.depth));
        return {
          cells: [b.low === b.high ? number({ exact: b.low, approx: 0 },
            app.scale(app.event)) : "≈ " + Math.round(b.value).toLocaleString("en"), app.shareOf(b.value, total.approx),
            ...(app.base ? app.sides.map((s) => app.text(s, b.sides, app.scale(app.event))) : []), link],
          of: [b.name && kind === "structure" ? ["self", app.event, side, b.name.func].join(":") : "", "",
            ...(app.base ? app.sides.map((s) => b.name ? [kind === "structure" ? "self" : "incl", app.event, s,
              b.name.func].join(":") : "") : []), ""],
        };
      })),
    });
    return { element, focus: () => table.focus() };
  }
  const items: Item[] = boxes.map((b) => ({
    x: b.x, y: b.y, w: b.w, h: b.h, parent: b.parent, depth: b.depth, label: b.name ? app.short(b.name) : b.label,
      name: () => name(b), href: hrefOf(app, b), hash: b.name?.hash ?? "", func: b.name?.func ?? NONE,
    heat: app.base ? growth(b) : total.approx ? Math.min(1, Math.sqrt(b.value / total.approx) * (b.name || b.line ? 1.5 : 0.3)) : 0,
      change: app.base, hatched: b.low !== b.high,
  }));
  if (!items.length) {
    element.append(h("p", { class: "note" }, "Nothing has a cost in " + app.eventName(app.event) + "."));
    return { element };
  }
  const picture = new Picture("Treemap", items, false, HIGH, undefined, zoomOf(state));
  bar.append(...picture.buttons("treemap"));
  const { said, search } = highlighter((mask) => picture.highlight(mask));
  element.append(said, picture.element);
  return { element, search, focus: () => picture.focusItem(), key: (key) => picture.press(key), end: () => picture.end() };
}

// Each box, then its members.
function ordered(boxes: MapBox[]): MapBox[] {
  const inside = new Map<number, number[]>(), out: MapBox[] = [];
  boxes.forEach((b, i) => inside.set(b.parent, [...inside.get(b.parent) ?? [], i]));
  const walk = (at: number): void => {
    for (const i of (inside.get(at) ?? []).sort((a, b) => boxes[b]!.value - boxes[a]!.value)) {
      out.push(boxes[i]!);
      walk(i);
    }
  };
  walk(NONE);
  return out;
}

export const treemapView: View = { key: "treemap", title: "Treemap", when: (app) => app.ready, show };
