// SPDX-License-Identifier: MIT
//
// One function: its cost and the causes, the most expensive path to it, its callers and callees.
import { NONE, Of, Side } from "./core";
import type { Value } from "./core";
import type { Name, Neighbour } from "./api";
import { App, funcOf, missing, sideNames } from "./app";
import type { Shown, View } from "./app";
import { h, wide } from "./element";
import { csvOf, Table } from "./table";
import type { Column } from "./table";
import { assemblyView } from "./view_assembly";
import { dataOfFunction } from "./view_data";
import { flameView } from "./view_flame";
import { minus, sourceOfFunction } from "./view_source";
import { rate, whyBar, whyChange, whyLegend } from "./why";

const MOST = 1000; // direct callers or callees that are shown

// The other views of the same function.
function places(app: App, n: Name): HTMLElement {
  const to = (text: string, change: Parameters<App["href"]>[0]): HTMLElement =>
    h("a", { href: app.href({ f: n.hash, ...change }) }, text);
  return h("p", { class: "places" }, n.file ? to("Source", { v: "source", w: n.file }) : null,
    app.summary.has & 2 ? to("Assembly", { v: "assembly" }) : null, app.calls ? to("Call graph", { v: "graph" }) : null,
    app.calls ? to("Flame graph", { v: "flame", k: "sandwich" }) : null,
      app.calls ? to("Treemap of callees", { v: "treemap", k: "callees" }) : null,
    to("Focus", { v: "functions", fo: n.hash }));
}

async function costs(app: App, f: number): Promise<HTMLElement> {
  const kinds: [Of, string, string][] = app.calls ? [[Of.Inclusive, "incl.", "incl"],
    [Of.Self, "self", "self"]] : [[Of.Self, "self", "self"]];
  const cells = app.usable.flatMap((e) => kinds.flatMap(([of]) => app.sides.map((side) => ({ of, event: e, side }))));
  const called = app.sides.map((side) => ({ of: Of.Called, event: app.event, side }));
  const { values } = await app.client.ask("table", Uint32Array.of(f), [...cells, ...called]);
  const table = h("table", { id: "quern-costs", "aria-label": "Costs" }), head = table.createTHead().insertRow(), body = table.createTBody();
  head.append(h("th", { scope: "col", class: "name" }, "Event"));
  for (const [, title] of kinds) {
    for (const side of app.sides)
      head.append(h("th", { scope: "col", class: "num" }, title + (app.base ? ", " + sideNames[side] : "")));
    head.append(h("th", { scope: "col", class: "num" }, "%"));
  }
  let at = 0;
  for (const e of app.usable) {
    const row = body.insertRow(), event = app.summary.events[e]!;
    row.append(h("th", { scope: "row", class: "name" }, event.name));
    for (const [, , what] of kinds) {
      const v: (typeof values)[0] = [];
      for (const side of app.sides) v[side] = values[at++]![0]!;
      for (const side of app.sides)
        row.append(h("td", { class: "num", "data-q": [what, e, side, f].join(":") }, app.text(side, v, event.scale)));
      row.append(h("td", { class: "num" }, event.ratio ? null : app.shareOf(v[Side.New]!.approx,
        app.total(e, Side.New))));
    }
  }
  if (app.calls) {
    const v: (typeof values)[0] = [], row = body.insertRow();
    row.append(h("th", { scope: "row", class: "name" }, "Called"));
    for (const side of app.sides) v[side] = values[at++]![0]!;
    for (const side of app.sides)
      row.append(h("td", { class: "num", "data-q": ["called", app.event, side, f].join(":") }, app.text(side, v, 1)));
  }
  return h("section", {}, h("h3", {}, "Costs ", csvOf(table, "costs")), wide(table));
}

async function why(app: App, f: number): Promise<HTMLElement | null> {
  if (!app.summary.why.length) return null;
  const section = h("section", {}, h("h3", {}, "Why: estimated cycles"), app.summary.cycles < 0 ? whyLegend(app) : null);
  const list = h("ul", { class: "rates" });
  for (const [of, title] of app.calls ? [[Of.Self, "self"], [Of.Inclusive, "incl."]] as const : [[Of.Self,
    "self"]] as const) {
    const bar = await app.client.ask("why", Uint32Array.of(f), of, app.upTo),
      all = await app.client.ask("why", null, of, Side.New);
    for (const side of app.base ? [Side.Old, Side.New] : [Side.New]) {
      const text = title + (app.base ? ", " + sideNames[side] : "");
      const values = bar.parts[side]!.map((v) => v[0]!);
      section.append(h("p", {}, text, " ", whyBar(app, values, "Estimated cycles, " + text)));
      if (app.summary.cycles >= 0) section.append(whyLegend(app, values));
    }
    const most = app.base && app.summary.cycles >= 0
      ? whyChange(app, bar.parts[Side.Difference]!.map((v) => v[0]!), of === Of.Self ? "self" : "incl", f) : null;
    if (most) section.append(h("p", {}, title + ", changed most: ", most));
    app.summary.rates.forEach((name, i) => list.append(h("li", {}, name + ", " + title + ": ",
      rate(bar.rates[0]![i]![0], all.rates[0]![i]![0], bar.rates[Side.Old]?.[i]![0]),
      " (program: ", rate(all.rates[0]![i]![0], undefined), ")")));
  }
  section.append(list);
  return section;
}

async function path(app: App, f: number): Promise<HTMLElement> {
  const steps = await app.client.ask("path", f, app.event, app.upTo), list = h("ol", { class: "way" });
  // Callers that are start-up frames come first, and are one line.
  const first = app.folded ? steps.findIndex((step) => !step.caller.startup) : 0, skip = first < 0 ? steps.length : first;
  if (skip > 0) list.append(h("li", {}, h("a", { href: app.href({ ...app.state, su: "1" }) },
    skip + " start-up " + (skip === 1 ? "frame" : "frames"))));
  steps.forEach((step, i) => {
    if (i < skip) return;
    const calls = app.text(Side.New, step.calls, 1), scale = app.scale(app.event);
    list.append(h("li", {}, app.link(step.caller), h("span", { class: "where" }, app.base
      ? " calls: " + app.said(step.calls, 1) + "; inclusive: " + app.said(step.cost, scale)
      : " " + calls + (calls === "1" ? " call, " : " calls, ") + app.text(Side.New, step.cost, scale) + " inclusive")));
  });
  if (steps.length) list.append(h("li", {}, h("b", {}, h("bdi", {}, steps[steps.length - 1]!.callee.name || "???"))));
  return h("section", {}, h("h3", {}, "Most expensive path"),
    steps.length ? list : h("p", { class: "note" }, "It has no callers."));
}

// ---- Callers and callees ----

function neighbourColumns(app: App): Column[] {
  const of = (side: Side): string => app.base ? ", " + sideNames[side] : "";
  return [
    ...app.sides.map((side) => ({ id: "calls" + side, title: "Calls" + of(side) })),
    ...app.events.flatMap((e) => [
      ...app.sides.map((side) => ({ id: "cost" + e + side, title: app.eventName(e) + of(side) })),
      ...(app.summary.events[e]!.ratio ? [] : [{ id: "share" + e, title: "%",
        tip: "of the function's inclusive cost" }]),
    ]),
    ...app.sides.map((side) => ({ id: "per" + side, title: app.eventName(app.event) + " per call" + of(side) })), { id: "name", title: "Function", name: true },
  ];
}

// Exact where it is whole.
function perCall(cost: Value | undefined, calls: Value | undefined, scale: number): Value {
  const a = cost?.exact ?? null, n = calls?.exact ?? null;
  return { exact: scale === 1 && a !== null && n !== null && n > 0n && a % n === 0n ? a / n : null,
    approx: (cost?.approx ?? 0) / (calls?.approx || NaN) };
}

function neighbourRow(app: App, n: Neighbour, whole: number[], callers: boolean, f: number): { cells: (Node | string)[];
  of: string[] } {
  const cells: (Node | string)[] = [], of: string[] = [];
  const id = callers ? n.name.func + "-" + f : f + "-" + n.name.func;
  const put = (cell: Node | string, what: string): void => {
    cells.push(cell);
    of.push(what);
  };
  for (const side of app.sides) put(app.text(side, n.calls, 1), ["calls", 0, side, id].join(":"));
  app.events.forEach((e, i) => {
    for (const side of app.sides) put(app.text(side, n.cost[i]!, app.scale(e)), ["edge", e, side, id].join(":"));
    if (!app.summary.events[e]!.ratio) put(app.shareOf(n.cost[i]![0]!.approx, whole[i]!), "");
  });
  const each = [Side.New, Side.Old].map((side) => perCall(n.cost[0]![side], n.calls[side], app.scale(app.event)));
  for (const side of app.sides) put(app.text(side, [each[0], each[1], minus(each[0]!, each[1]!)], 1), "");
  put(app.named(n.name), "");
  return { cells, of };
}

async function neighbours(app: App, f: number, callers: boolean): Promise<HTMLElement> {
  const title = callers ? "Callers" : "Callees";
  const { all, rows } = await app.client.ask("neighbours", f, callers, app.events, app.base ? Side.Factor : Side.New,
    MOST);
  const { values } = await app.client.ask("table", Uint32Array.of(f),
    app.events.map((event) => ({ of: Of.Inclusive, event, side: Side.New })));
  const table = new Table({ label: title, id: callers ? "quern-callers" : "quern-callees",
    columns: neighbourColumns(app) });
  await table.show({
    count: rows.length, load: (first, count) => Promise.resolve(rows.slice(first, first + count).map((n) =>
      neighbourRow(app, n, values.map((v) => v[0]!.approx), callers, f))),
  });
  return h("section", { "data-part": title.toLowerCase() }, h("h3", {},
    title + ": " + all + (all > rows.length ? ", the " + rows.length + " most expensive" : ""), " ",
    rows.length ? table.csvButton(title.toLowerCase()) : null),
    rows.length ? table.element : h("p", { class: "note" }, "none"));
}

// All callers or callees, direct and indirect, with their distance.
async function reach(app: App, f: number, callers: boolean): Promise<HTMLElement> {
  const { funcs, distance } = await app.client.ask("reach", f, callers, app.base ? Side.Difference : Side.New);
  const table = new Table({
    label: callers ? "All callers" : "All callees", id: callers ? "quern-callers" : "quern-callees",
    columns: [{ id: "distance", title: "Distance" }, ...app.events.flatMap((e) => app.sides.map((side) => ({
      id: "incl" + e + side, title: app.eventName(e) + " incl." + (app.base ? ", " + sideNames[side] : ""),
    }))), { id: "name", title: "Function", name: true }],
  });
  const cells = app.events.flatMap((event) => app.sides.map((side) => ({ of: Of.Inclusive, event, side })));
  await table.show({
    count: funcs.length - 1,
    load: async (first, count) => {
      const t = await app.client.ask("table", funcs.slice(first + 1, first + 1 + count), cells);
      return t.names.map((name: Name, i) => {
        const of = ["distance:" + name.func], row: (Node | string)[] = [String(distance[first + 1 + i])];
        let at = 0;
        for (const e of app.events) {
          const v: (typeof t.values)[0] = [];
          for (const side of app.sides) v[side] = t.values[at++]![i]!;
          for (const side of app.sides) {
            row.push(app.text(side, v, app.scale(e)));
            of.push(["incl", e, side, name.func].join(":"));
          }
        }
        row.push(app.named(name));
        return { cells: row, of: [...of, ""] };
      });
    },
  });
  return h("section", { "data-part": callers ? "callers" : "callees" },
    h("h3", {}, (callers ? "All callers, direct and indirect: " : "All callees, direct and indirect: ") + (funcs.length - 1) + " ",
      funcs.length > 1 ? table.csvButton(callers ? "all callers" : "all callees") : null),
    funcs.length > 1 ? table.element : h("p", { class: "note" }, "none"));
}

// Its lines; its instructions on request.
async function inside(app: App, f: number, n: Name, element: HTMLElement, ends: (() => void)[]): Promise<void> {
  const source = app.summary.has & 1 ? await sourceOfFunction(app, f, n) : null;
  if (source) element.append(h("section", {}, h("h3", {}, "Source"), source));
  if (app.summary.has & 2) element.append(opened("Assembly", () => assemblyView.show(app), ends));
}

// Another view of the function, made when it is opened.
function opened(title: string, make: () => Promise<Shown>, ends: (() => void)[]): HTMLElement {
  const more = h("details", {}, h("summary", {}, title));
  more.addEventListener("toggle", () => {
    if (more.open && more.children.length === 1) void make().then((shown) => {
      more.append(shown.element);
      shown.begin?.();
      ends.push(() => shown.end?.());
    });
  });
  return more;
}

async function show(app: App): Promise<Shown> {
  const f = await funcOf(app), element = h("div"), ends: (() => void)[] = [],
    end = (): void => ends.forEach((does) => does());
  if (f === NONE) {
    element.append(h("h2", {}, "Function"), h("p", { class: "note" }, missing(app)));
    return { element };
  }
  const n = await app.client.ask("name", f);
  element.append(h("h2", {}, h("bdi", { class: "long" }, n.name || "???")), h("p", { class: "where" },
    h("bdi", {}, (n.file || "???") + (n.line ? ":" + n.line : "")), n.object ? h("bdi", {}, " in " + n.object) : null,
    n.cycle[0] ? " in cycle " + n.cycle[0] : null), places(app, n), await costs(app, f));
  const bars = await why(app, f);
  if (bars) element.append(bars);
  const data = await dataOfFunction(app, f);
  if (data) element.append(data);
  if (!app.calls) {
    if (app.ready) await inside(app, f, n, element, ends);
    return { element, end };
  }
  if (!app.ready) {
    element.append(h("p", { class: "note" }, "The calls are still loading."));
    return { element };
  }
  const all = app.state.a === "1", tick = h("input", { type: "checkbox", id: "quern-all" });
  tick.checked = all;
  tick.addEventListener("change", () => app.set({ a: tick.checked ? "1" : "" }));
  element.append(await path(app, f), h("p", {}, h("label", {}, tick, " All callers and callees, with their distance")),
    ...(await Promise.all([true, false].map((callers) => all ? reach(app, f, callers) : neighbours(app, f, callers)))));
  // As in the flame graph, for this function.
  element.append(opened("Sandwich: callers above, callees below", () => flameView.show(new App(app.client, app.summary,
    { ...app.state, k: "sandwich", t: "" }, app.ready, f, app.focus, app.hidden, app.move, app.data)), ends));
  await inside(app, f, n, element, ends);
  return {
    element, end, key: (key: string): boolean => {
      if (key !== "u" && key !== "c") return false;
      element.querySelector<HTMLElement>(`[data-part=${key === "u" ? "callers" : "callees"}] .main`)?.[key === "u" ?
        "click" : "focus"]();
      return true;
    },
  };
}

export const functionView: View = { key: "function", title: "Function", when: () => true, show };
