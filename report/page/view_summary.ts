// SPDX-License-Identifier: MIT
//
// The first screen: what it cost, where, and what to look at; below that what changed, why, all totals, and how accurate they are.
import { Of, Side } from "./core";
import type { Value } from "./core";
import type { Name } from "./api";
import { noFilter, sideNames, Values } from "./app";
import type { App, Shown, View } from "./app";
import { button, factor, h, number, percent, signed, wide } from "./element";
import { withoutCurve } from "./curve";
import { costSection } from "./summary_cost";
import { lookSection } from "./summary_look";
import { csvOf, Table } from "./table";
import { dataSection } from "./view_data";
import { runTotals } from "./view_series";
import { cyclesName, rate, whyBar, whyChange, whyMachine, wholeOf } from "./why";

const TEN = 10, MANY = 100000; // functions

function facts(app: App): HTMLElement {
  const s = app.summary, list = h("dl", { class: "facts" });
  const add = (what: string, text: string): void => {
    if (text) list.append(h("dt", {}, what), h("dd", {}, h("bdi", {}, text)));
  };
  for (const side of [0, 1]) {
    const parts = s.parts.filter((part) => part.side === side), of = app.base ? ", " + sideNames[side] : "";
    add("Command" + of, [...new Set(parts.map((part) => part.cmd))].filter(Boolean).join(" | "));
    add("Profile" + of, (side ? s.base : s.profiles).join(", "));
    add("Recorded by" + of, [...new Set(parts.map((part) => part.creator))].filter(Boolean).join(" | "));
    for (const desc of new Set(parts.flatMap((part) => withoutCurve(part.descs))))
      add(desc.slice(0, desc.indexOf(":")) + of, desc.slice(desc.indexOf(":") + 1).trim());
    if (parts.length > 1) add("Parts" + of, String(parts.length));
  }
  if (s.written) add("Written", new Date(s.written * 1000).toISOString().replace("T", " ").slice(0,
    16) + " UTC by " + s.generator);
  return list;
}

function totals(app: App): HTMLElement {
  const table = h("table", { id: "quern-totals", "aria-label": "Totals" });
  const head = table.createTHead().insertRow(), body = table.createTBody();
  for (const text of ["Event", ...app.sides.map((side) => app.base ? sideNames[side]! : "Total")])
    head.append(h("th", { scope: "col", class: text === "Event" ? "name" : "num" }, text));
  app.usable.forEach((e) => {
    const event = app.summary.events[e]!, row = body.insertRow();
    row.append(h("th", { scope: "row", class: "name" }, h("a",
      { href: app.href({ v: "functions", e: app.eventKey(e) }) }, event.name),
      h("span", { class: "where" }, event.long || event.formula)));
    for (const side of app.sides)
      row.append(h("td", { class: "num", "data-q": ["total", e, side, 0].join(":") },
        app.text(side, event.total, event.scale)));
  });
  return h("section", {}, h("h2", {}, "Totals ", csvOf(table, "totals")), wide(table));
}

// ---- Where, and why ----

// A function with its rates above the program's, and the bar of its cycles as long as its share.
function place(app: App, name: Name, bars: HTMLElement[], rates: [string, HTMLElement][]): HTMLElement {
  return h("div", { class: "place" }, app.named(name), ...rates.map(([what, e]) => h("span", { class: "tag" }, what + " ", e)), ...bars);
}

async function mostExpensive(app: App, of: Of, title: string): Promise<Table> {
  const filter = { ...app.filter, startup: app.folded ? "none" as const : undefined };
  const order = await app.client.ask("order", filter, { of, event: app.event, side: Side.New, descending: true });
  const funcs = order.slice(0, TEN), values = new Values(app), { why, rates } = app.summary;
  values.add(of, app.event, title, { share: true, sort: false, what: of === Of.Self ? "self" : "incl" });
  const table = await app.client.ask("table", funcs, values.cells);
  const bars = why.length || rates.length ? await app.client.ask("why", funcs, of, app.upTo) : null;
  const all = rates.length ? await app.client.ask("why", null, of, Side.New) : null;
  const sides = app.base ? [Side.Old, Side.New] : [Side.New];
  const sum = (side: Side, i: number): number => wholeOf(bars!.parts[side]!.map((v) => v[i]!));
  const most = why.length ? Math.max(1, ...sides.flatMap((side) => table.names.map((_, i) => sum(side, i)))) : 1;
  const view = new Table({
    label: "Most expensive functions, " + title, columns: [...values.columns, { id: "name", title: "Function", name: true }],
  });
  await view.show({
    count: funcs.length, load: () => Promise.resolve(table.names.map((name: Name, i) => {
      const row = values.row(table.values.map((v) => v[i]!), name.func);
      const bar = why.length ? sides.map((side) => whyBar(app, bars!.parts[side]!.map((v) => v[i]!), "Estimated cycles of " +
        name.name + (app.base ? ", " + sideNames[side] : ""), sum(side, i) / most)) : [];
      const high = rates.flatMap((what, k): [string, HTMLElement][] => {
        const e = rate(bars!.rates[0]![k]![i], all!.rates[0]![k]![0], bars!.rates[Side.Old]?.[k]![i]);
        return e.classList.contains("high") ? [[what, e]] : [];
      });
      return { cells: [...row.cells, place(app, name, bar, high)], of: [...row.of, ""] };
    })),
  });
  return view;
}

async function where(app: App): Promise<HTMLElement> {
  const inclusive = app.calls && app.state.k === "incl";
  const table = await mostExpensive(app, inclusive ? Of.Inclusive : Of.Self, inclusive ? "incl." : "self");
  const other = (k: string, text: string): HTMLElement => h("a", { href: app.href({ k }),
    "aria-current": (k === "incl") === inclusive ? "true" : null }, text);
  return h("section", { class: "most" }, h("h2", {}, "Where: the most expensive functions in " + app.eventName(app.event)),
    h("p", { class: "choice" }, app.calls ? other("", "self cost") : null, app.calls ? other("incl", "inclusive cost") : null,
      h("a", { href: app.href({ v: "functions" }) }, "all functions"), table.csvButton("most-expensive")),
    inclusive && app.openedCycle ? h("p", { class: "note" }, app.openedCycle) : null,
    table.element, app.calls ? null : h("p", { class: "note" },
      "This profile has no calls (quern run --calls=yes records them): inclusive " +
      "costs, callers, call graph and flame graph are missing; lines, sources and the treemap are available."));
}

async function why(app: App): Promise<HTMLElement> {
  const section = h("section", {}, h("h2", {}, "Why: estimated cycles (" + cyclesName(app) + ") of the program"));
  if (!app.summary.why.length) {
    section.append(h("p", { class: "note" },
      "Caches and branches were not simulated: quern run --cache-sim=yes --branch-sim=yes records them."));
    return section;
  }
  const { parts, rates } = await app.client.ask("why", null, Of.Total, app.upTo);
  for (const side of app.base ? [Side.Old, Side.New] : [Side.New])
    section.append(...(app.base ? [h("h3", {}, sideNames[side]!)] : []),
      whyBar(app, parts[side]!.map((v) => v[0]!), "Estimated cycles"));
  const table = h("table", { "aria-label": "Estimated cycles" }), head = table.createTHead().insertRow(),
    body = table.createTBody();
  const cause = app.summary.cycles < 0 ? "Waits for" : "Cause";
  for (const text of [cause, ...app.sides.map((side) => app.base ? sideNames[side]! : "Cycles"), "%"])
    head.append(h("th", { scope: "col", class: text === cause ? "name" : "num" }, text));
  const sum = parts[0]!.reduce((all, v) => all + v[0]!.approx, 0);
  app.summary.why.forEach(({ name, colour, event }, i) => {
    const row = body.insertRow(), counted = event >= 0;
    row.append(h("th", { scope: "row", class: "name" }, h("span", { class: "dot why" + colour }), counted ? h("a",
      { href: app.href({ v: "functions", e: app.eventKey(event) }) }, name) : name, counted ? h("span", { class: "where" }, app.eventName(event)) : null));
    for (const side of app.sides) row.append(h("td", { class: "num", "data-q": counted ? ["total", event, side, 0].join(":") : null },
      app.text(side, parts.map((p) => p[i]![0]), counted ? app.scale(event) : 1)));
    row.append(h("td", { class: "num" }, app.shareOf(parts[0]![i]![0]!.approx, sum)));
  });
  app.summary.rates.forEach((name, i) => {
    const row = body.insertRow(), at = rates.map((r) => r[i]![0]!);
    row.append(h("th", { scope: "row", class: "name" }, name));
    for (const side of app.sides)
      row.append(h("td", { class: "num" }, side === Side.Factor ? factor(undefined,
        { old: at[1]!.approx, new: at[0]!.approx }) :
        percent(at[side]!.approx, 1)));
    row.append(h("td", {}));
  });
  const most = app.base ? whyChange(app, parts[Side.Difference]!.map((v) => v[0]!), "total", 0) : null;
  section.append(wide(table), csvOf(table, "why"));
  if (most) section.append(h("p", {}, "Changed most: ", most));
  section.append(...whyMachine(app));
  return section;
}

// ---- Lines ----

async function lines(app: App): Promise<HTMLElement> {
  const section = h("section", {}, h("h2", {}, "Which lines"));
  const many = app.summary.funcs > MANY;
  if (many) {
    // For all events, millions of lines take a second and gigabytes: so for one event, on request.
    section.append(button("Count the lines that make half of " + app.eventName(app.event),
      () => void fill(app, section, [app.event])));
    return section;
  }
  await fill(app, section, app.usable.filter((e) => !app.summary.events[e]!.ratio));
  return section;
}

async function fill(app: App, section: HTMLElement, count: number[]): Promise<void> {
  const { lines: all, half } = await app.client.ask("halves", count, Side.New);
  const old = app.base ? await app.client.ask("halves", count, Side.Old) : null;
  const list = h("ul", { class: "halves" });
  count.forEach((e, i) => {
    if (app.total(e, Side.New) > 0)
      list.append(h("li", { "data-q": "half:" + e }, h("a", { href: app.href({ v: "lines", e: app.eventKey(e) }) },
        app.eventName(e)),
        ": " + half[i]! + " of " + all + " lines make half" + (old ? ", in the base " + old.half[i]! : "")));
  });
  section.replaceChildren(section.firstElementChild!, list);
}

// ---- Changed ----

async function changed(app: App): Promise<HTMLElement> {
  const e = app.event, scale = app.scale(e), list: HTMLElement[] = [];
  const cells = [Side.New, Side.Old, Side.Difference].map((side) => ({ of: Of.Self, event: e, side }));
  for (const growth of [true, false]) {
    const order = await app.client.ask("order", noFilter, { of: Of.Self, event: e, side: Side.Difference,
      descending: growth });
    const { names, values } = await app.client.ask("table", order.slice(0, TEN), cells);
    const bars = e === app.summary.cycles ? await app.client.ask("why", order.slice(0, TEN), Of.Self, Side.Difference) : null;
    const body = h("tbody");
    names.forEach((name: Name, i) => {
      const v = values.map((column) => column[i]!);
      if (growth ? v[2]!.approx <= 0 : v[2]!.approx >= 0) return;
      const q = (side: Side): string => ["self", e, side, name.func].join(":");
      body.append(h("tr", {}, h("td", { class: "num", "data-q": q(Side.Old) }, number(v[1], scale)),
        h("td", { class: "num", "data-q": q(Side.New) }, number(v[0], scale)),
        h("td", { class: "num " + (growth ? "more" : "less"), "data-q": q(Side.Difference) }, signed(v[2], scale)),
        h("td", { class: "num" }, app.text(Side.Factor, v, scale)), bars && h("td", { class: "num" },
          whyChange(app, bars.parts[Side.Difference]!.map((part) => part[i]!), "self", name.func, true)), h("td", { class: "name" }, app.named(name))));
    });
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...["old", "new", "difference", "factor", ...(bars ? ["cause"] : []), "Function"].map((text) =>
      h("th", { scope: "col", class: text === "Function" ? "name" : "num" }, text)))), body);
    list.push(h("div", {}, h("h3", {}, growth ? "Largest growths " : "Largest savings ",
      body.rows.length ? csvOf(table, growth ? "growths" : "savings") : null),
      body.rows.length ? table : h("p", { class: "note" }, "none")));
  }
  return h("section", {}, h("h2", {}, "Changed: self cost in " + app.eventName(e)),
    h("div", { class: "columns" }, ...list),
    h("p", {}, h("a", { href: app.href({ v: "compare" }) }, "All functions by difference")));
}

// ---- Accuracy ----

async function sure(app: App): Promise<HTMLElement> {
  const { names, sources, total } = await app.client.ask("sure", app.event), list = h("ul");
  const name = app.eventName(app.event);
  if (!app.summary.events[app.event]!.ratio)
    list.append(h("li", {}, percent(names.approx, total.approx) + " of " + name + " in functions with a name"),
      h("li", {}, percent(sources.approx, total.approx) + " of " + name +
        " in functions whose source is in this file"));
  for (const text of app.summary.folders) list.append(h("li", {}, "sources were searched in ", h("bdi", {}, text)));
  for (const text of [...app.summary.remarks, ...app.summary.leftOut]) list.append(h("li", {}, h("bdi", {}, text)));
  if (app.summary.cycles >= 0)
    list.append(h("li", {}, "cycles and their causes are estimates of a model: the same in every run, but not those of a processor"));
  list.append(h("li", {},
    "all counts are exact; ≈ marks quotients, and hatched boxes of a flame graph are estimates between two bounds"));
  return h("section", {}, h("h2", {}, "Accuracy"), list);
}

export const summaryView: View = {
  key: "summary", title: "Summary", when: () => true,
  show: async (app: App): Promise<Shown> => {
    const look = h("div", { class: "look" });
    const runs = app.summary.runs.length, element = h("div", { class: "summary" });
    if (runs > 1 && app.ready)
      element.append(h("h2", {}, "What it cost: " + runs + " runs"), await runTotals(app), h("p", { class: "note" },
        h("a", { href: app.href({ v: "series" }) }, "Series"), " has the functions, run by run. What follows is the sum of " + runs + " runs."));
    else element.append(await costSection(app));
    if (app.base) element.append(await changed(app));
    element.append(h("div", { class: "firsts" }, await where(app), look), await why(app),
      h("div", { class: "columns" }, totals(app), h("section", {}, h("h2", {}, "This profile"), facts(app))));
    // Sections that need the whole profile come when it is loaded.
    const rest = h("div");
    element.append(rest);
    let gone = false;
    return {
      element, end: (): void => { gone = true; },
      begin: (): void => {
        const data = dataSection(app);
        if (data) look.append(data);
        void (async (): Promise<void> => {
          for (const [to, make] of app.ready ? [[look, lookSection], [rest, lines], [rest, sure]] as const : []) {
            const section = await make(app).catch((e: Error) => h("p", { class: "note" }, e.message));
            if (gone) return;
            if (section) to.append(section);
          }
          element.dataset["done"] = "1";
        })();
      },
    };
  },
};
