// SPDX-License-Identifier: MIT
//
// The runs of a series: a column each, of totals and of functions, and the difference between last and first.
import { Of } from "./core";
import type { Value } from "./core";
import type { App, Shown, View } from "./app";
import type { By } from "./series";
import { base, button, factor, h, number, signed, svg, wide } from "./element";
import { difference } from "./series";
import { csvOf, Table } from "./table";

const WIDTH = 72, HEIGHT = 18; // of the line that goes from run to run

// The head of a column: enough of the names to tell the runs apart.
function names(app: App): string[] {
  const short = app.summary.runs.map((run) => base(run.name));
  return short.map((name, i) => short.indexOf(name) === short.lastIndexOf(name) ? name : i + 1 + " " + name);
}

// From run to run, from zero up; the numbers are beside it.
function course(values: Value[]): SVGElement {
  const most = Math.max(...values.map((v) => Math.abs(v.approx))) || 1;
  const at = values.map((v, i) => [2 + (WIDTH - 4) * (values.length > 1 ? i / (values.length - 1) : 0),
    HEIGHT - 2 - (HEIGHT - 4) * Math.max(0, v.approx) / most].map((x) => x.toFixed(1)).join());
  return svg("svg", { class: "course", width: WIDTH, height: HEIGHT, "aria-hidden": "true" },
    svg("polyline", { points: at.join(" ") }));
}

function change(values: Value[], scale: number): { difference: string; factor: string; way: number } {
  const last = values[values.length - 1]!, first = values[0]!, by = difference(last, first, scale)!;
  return {
    difference: signed(by, scale), way: by.approx,
    factor: factor({ exact: null, approx: first.approx ? last.approx / first.approx : NaN },
      { old: first.approx, new: last.approx }),
  };
}

export async function runTotals(app: App): Promise<HTMLElement> {
  const { runs } = app.summary, values = await app.client.ask("seriesTotals", app.usable);
  const table = h("table", { id: "quern-runs", "aria-label": "Totals of the runs" }), head = table.createTHead().insertRow(),
    body = table.createTBody(), short = names(app);
  head.append(h("th", { scope: "col", class: "name" }, "Event"), ...runs.map((run, i) => h("th", { scope: "col", class: "num" },
    h("a", { href: app.href({ v: "functions", p: run.parts.join(".") }), title: run.name + ": show this run alone" },
      h("bdi", {}, short[i]!)))),
    ...["last − first", "factor"].map((text) => h("th", { scope: "col", class: "num" }, text)),
    h("th", { scope: "col", class: "name" }, "Course"));
  app.usable.forEach((e, k) => {
    const row = body.insertRow(), by = change(values[k]!, app.scale(e));
    row.append(h("th", { scope: "row", class: "name" }, h("a", { href: app.href({ v: "series", e: app.eventKey(e) }) },
      app.eventName(e))),
      ...values[k]!.map((v, i) => h("td", { class: "num", "data-q": ["runtotal", e, i, 0].join(":") },
        number(v, app.scale(e)))),
      h("td", { class: "num", "data-q": ["runtotal", e, "difference", 0].join(":") }, by.difference),
      h("td", { class: "num" }, by.factor), h("td", { class: "name" }, course(values[k]!)));
  });
  return h("section", {}, h("h3", {}, "Totals ", csvOf(table, "runs")), wide(table));
}

// "-run.2", "+run.difference": this view has an order of its own.
function orderOf(app: App): { by: By; descending: boolean; id: string } {
  const found = /^([-+])run\.(\d+|difference)$/.exec(app.state.s ?? "");
  const last = app.summary.runs.length - 1;
  if (!found) return { by: last, descending: true, id: "run." + last };
  return { by: found[2] === "difference" ? "difference" : Math.min(last, Number(found[2])), descending: found[1] === "-",
    id: app.state.s!.slice(1) };
}

async function functions(app: App): Promise<{ element: HTMLElement; table: Table }> {
  const self = app.state.k === "self" || !app.calls, of = self ? Of.Self : Of.Inclusive, e = app.event, scale = app.scale(e);
  const order = orderOf(app), short = names(app), what = self ? "self" : "incl";
  const rows = await app.client.ask("seriesOrder", app.filter, of, e, order.by, order.descending);
  const select = h("select", { "aria-label": "Which cost" }, ...(app.calls ? [h("option", { value: "" }, "inclusive")] : []),
    h("option", { value: "self" }, "self"));
  select.value = self ? "self" : "";
  select.addEventListener("change", () => app.set({ k: select.value }, true));
  const table = new Table({
    label: "Functions, run by run", id: "quern-series",
    columns: [{ id: "name", title: "Function", name: true },
      ...short.map((name, i) => ({ id: "run" + i, title: name, tip: app.summary.runs[i]!.name, sort: "run." + i })),
      { id: "difference", title: "last − first", sort: "run.difference" }, { id: "factor", title: "factor" },
      { id: "course", title: "Course", name: true }],
    sorted: { id: order.id, descending: order.descending },
    onSort: (id) => app.set({ s: (id === order.id && order.descending ? "+" : "-") + id }, true),
  });
  await table.show({
    count: rows.length, load: async (first, count) => {
      const t = await app.client.ask("seriesTable", rows.slice(first, first + count), of, e);
      return t.names.map((name, k) => {
        const values = t.values[k]!, by = change(values, scale), q = (run: number | string): string =>
          ["run" + what, e, run, name.func].join(":");
        return {
          cells: [app.named(name), ...values.map((v) => number(v, scale)),
            h("span", { class: by.way > 0 ? "more" : by.way < 0 ? "less" : null }, by.difference), by.factor, course(values)],
          of: ["", ...values.map((_, i) => q(i)), q("difference"), "", ""], attributes: { "data-func": name.func },
        };
      });
    },
  });
  const element = h("section", {}, h("h3", {}, "Functions in " + app.eventName(e)),
    h("div", { class: "bar" }, h("label", {}, "Cost ", select), table.csvButton("series"),
      button("Largest changes", () => app.set({ s: "-run.difference" }, true))),
    h("p", { role: "status", class: "count" }, (rows.length === app.summary.funcs ? "" : rows.length.toLocaleString("en") +
      " of ") + app.summary.funcs.toLocaleString("en") + " functions"), table.element);
  return { element, table };
}

async function show(app: App): Promise<Shown> {
  const element = h("div", {}, h("h2", {}, "Series: " + app.summary.runs.length + " runs"), h("p", { class: "note" },
    "Each run has a column, in the order of the command line; the other views show their sum, or that of the parts " +
    "that are selected. A function is the same in all runs when object, file and name are."));
  element.append(await runTotals(app));
  try {
    const { element: list, table } = await functions(app);
    element.append(list);
    return { element, focus: () => table.focus() };
  } catch (e) {
    element.append(h("p", { class: "count", role: "status" }, (e as Error).message));
    return { element };
  }
}

export const seriesView: View = { key: "series", title: "Series", when: (app) => app.ready && app.summary.runs.length > 1,
  show };
