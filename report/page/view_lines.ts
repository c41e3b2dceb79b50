// SPDX-License-Identifier: MIT
//
// The hot lines, or instructions, of the whole program.
import { By, NONE, Of, Side } from "./core";
import type { GroupRow, LineRow } from "./api";
import { Values } from "./app";
import type { App, Shown, View } from "./app";
import { clip, h } from "./element";
import { flatten, gather, groupNames, groupSelect, opener, spread } from "./groups";
import { Table } from "./table";
import { causesLegend } from "./why";
import type { Row as TableRow } from "./table";

// "-line.0.Ir": the largest first; "+": the smallest.
function orderOf(app: App, side: Side): { event: number; side: Side; descending: boolean } {
  const [what, at, ...key] = (app.state.s ?? "").slice(1).split(".");
  const known = (what === "line" || what === "insn") && key.length > 0, event = known ? app.eventOf(key.join(".")) : app.event;
  const by = known && app.sides.includes(Number(at)) ? Number(at) : side;
  return { event, side: by, descending: !known || app.state.s![0] !== "+" };
}

async function show(app: App): Promise<Shown> {
  const addr = app.state.b === "addr" && (app.summary.has & 2) !== 0, element = h("div");
  const by = addr ? By.Addr | By.Line | By.Func : app.base ? By.Line | By.Align : By.Line, side = app.base ? Side.Difference : Side.New;
  const what_ = addr ? "insn" : "line", order = orderOf(app, side), values = new Values(app);
  // Groups are those of the lines' functions.
  const grouped = groupNames[app.state.g ?? ""], split = grouped ? by | By.Func : by;
  for (const e of app.events) values.add(Of.Self, e, "self", { share: true, parent: !!grouped, what: what_ });
  values.addWhy(Of.Self, what_);
  const cells = values.cells.map(() => true);
  let hot: { count: number; half: number };
  try {
    hot = await app.client.ask("hotLines", split, [...app.events, ...app.causes], { event: order.event, side: order.side,
      descending: order.descending }, app.filter, !!grouped);
  } catch (e) {
    return { element: h("div", {}, h("h2", {}, addr ? "Instructions" : "Lines"), h("p", { class: "count", role: "status" },
      (e as Error).message)) };
  }
  const { count, half } = hot, filtered = !!app.filter.text || app.narrowed;
  const sorted = { id: [what_, order.side, app.eventKey(order.event)].join("."), descending: order.descending };
  element.append(h("h2", {}, addr ? "Instructions" : "Lines"));
  const bar = h("div", { class: "bar" }, groupSelect(app));
  if (app.summary.has & 2) {
    const tick = h("input", { type: "checkbox" });
    tick.checked = addr;
    tick.addEventListener("change", () => app.set({ b: tick.checked ? "addr" : "" }));
    bar.append(h("label", {}, tick, " by instruction"));
  }
  element.append(bar);
  const what = addr ? " instructions" : " lines";
  element.append(h("p", { class: "count", role: "status" }, count.toLocaleString("en") + what + ", by " +
    app.eventName(order.event) + (grouped ? ", in groups of the functions that they are of" : "") + (filtered ? ", of the functions that the filter leaves" : "") +
    (app.base ? ": the largest differences first" + (addr ? "" :
      "; the versions of a file are aligned as in Source, what only the base has is marked \"gone\"") : half ?
      "; " + half.toLocaleString("en") + (half === 1 ? " makes half of it" : " make half of it") : "")));
  const table = new Table({
    label: addr ? "Instructions" : "Lines", id: "quern-lines",
    columns: [...values.columns, { id: "at", title: addr ? "Address, line" : "Line", name: true },
      { id: "text", title: "Source", name: true }],
    sorted,
    onSort: (id) => app.set({ s: (sorted.id === id && order.descending ? "+" : "-") + id }, true),
  });
  element.append(...causesLegend(app), h("p", {}, table.csvButton("lines")), table.element);
  const draw = (r: LineRow, above: GroupRow | null, depth: number): TableRow => {
    const place = (r.file || "???") + ":" + (r.line || "?") + (r.gone ? " gone" : ""), id = addr ? r.addr.toString(16) : place;
    const row = values.row(r.values, id, above && spread(above, cells));
    const link = r.file && r.line && !r.gone
      ? h("a", { class: "main", href: app.href({ v: "source", w: r.file, l: String(r.line) }), title: place },
        h("bdi", {}, clip(place)))
      : h("span", {}, place);
    // With a filter, and in groups, a line has a row for each function that it belongs to.
    const of = !addr && r.func ? h("span", {}, link, " ", app.link(r.func)) : link;
    const at = addr && r.func ? h("span", {}, h("a", {
      class: "main", href: app.href({ v: "assembly", f: r.func.hash, l: "0x" + r.addr.toString(16) }),
    }, "0x" + r.addr.toString(16)), " ", app.link(r.func), " ", r.line ? link : null) : of;
    if (addr) link.className = "";
    const named = depth ? h("span", { class: "named" }, at) : at;
    named.style.setProperty("--depth", String(depth));
    return { cells: [...row.cells, named, h("code", {}, clip(r.text))], of: !addr && r.func ? [] : [...row.of, "", ""],
      attributes: { "data-place": place } };
  };
  if (!grouped) {
    await table.show({
      count, load: async (first, n) => (await app.client.ask("hotRows", Uint32Array.from({ length: Math.min(n, count - first) },
        (_, i) => first + i), values.cells)).map((r) => draw(r, null, 0)),
    });
  } else {
    const tree = await app.client.ask("groups", grouped[0], app.filter, values.cells), open = new Set((app.state.o ?? "").split("."));
    const funcs = await app.client.ask("hotFuncs");
    const rows = gather(funcs.keys(), (k) => tree.of[funcs[k]!] ?? NONE);
    const key = values.cells.findIndex((c) => c.event === order.event && c.side === order.side);
    const nodes = flatten(tree.groups, rows, open, (g) => Math.abs(g.values[key]!.approx) * (order.descending ? 1 : -1));
    await table.show({
      count: nodes.length, load: async (first, n) => {
        const some = nodes.slice(first, first + n);
        const list = await app.client.ask("hotRows", Uint32Array.from(some.flatMap((node) => node.group ? [] : [node.item])),
          values.cells);
        let k = 0;
        return some.map((node): TableRow => {
          if (!node.group) return draw(list[k++]!, node.above, node.depth);
          const name = h("span", { class: "named" }, opener(app, node, open), h("span", { class: "where" },
            node.group.funcs + (node.group.funcs === 1 ? " function" : " functions")));
          name.style.setProperty("--depth", String(node.depth));
          const row = values.row(spread(node.group, cells), "group" + node.group.id, node.above && spread(node.above, cells));
          return { cells: [...row.cells, name, null], of: [...row.of, "", ""], attributes: { "data-group": node.group.label } };
        });
      },
    });
  }
  return { element, focus: () => table.focus(), end: () => void app.client.ask("dropHot") };
}

export const linesView: View = { key: "lines", title: "Lines", when: (app) => app.ready && (app.summary.has & 3) !== 0,
  show };
