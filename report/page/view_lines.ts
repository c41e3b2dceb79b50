// SPDX-License-Identifier: MIT
//
// The hot lines, or instructions, of the whole program.
import { By, Of, Side } from "./core";
import { Values } from "./app";
import type { App, Shown, View } from "./app";
import { clip, h } from "./element";
import { Table } from "./table";

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
  for (const e of app.events) values.add(Of.Self, e, "self", { share: true, what: what_ });
  let hot: { count: number; half: number };
  try {
    hot = await app.client.ask("hotLines", by, app.events, { event: order.event, side: order.side,
      descending: order.descending }, app.filter);
  } catch (e) {
    return { element: h("div", {}, h("h2", {}, addr ? "Instructions" : "Lines"), h("p", { class: "count", role: "status" },
      (e as Error).message)) };
  }
  const { count, half } = hot, filtered = !!app.filter.text || app.narrowed;
  const sorted = { id: [what_, order.side, app.eventKey(order.event)].join("."), descending: order.descending };
  element.append(h("h2", {}, addr ? "Instructions" : "Lines"));
  if (app.summary.has & 2) {
    const tick = h("input", { type: "checkbox" });
    tick.checked = addr;
    tick.addEventListener("change", () => app.set({ b: tick.checked ? "addr" : "" }));
    element.append(h("div", { class: "bar" }, h("label", {}, tick, " by instruction")));
  }
  const what = addr ? " instructions" : " lines";
  element.append(h("p", { class: "count", role: "status" }, count.toLocaleString("en") + what + ", by " +
    app.eventName(order.event) + (filtered ? ", of the functions that the filter leaves" : "") +
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
  element.append(h("p", {}, table.csvButton("lines")), table.element);
  await table.show({
    count, load: async (first, n) => (await app.client.ask("hotRows", first, n, values.cells)).map((r) => {
      const place = (r.file || "???") + ":" + (r.line || "?") + (r.gone ? " gone" : ""), id = addr ? r.addr.toString(16) : place;
      const row = values.row(r.values, id);
      const link = r.file && r.line && !r.gone
        ? h("a", { class: "main", href: app.href({ v: "source", w: r.file, l: String(r.line) }), title: place },
          h("bdi", {}, clip(place)))
        : h("span", {}, place);
      // With a filter a line stands there for each function that it is in.
      const of = !addr && r.func ? h("span", {}, link, " ", app.link(r.func)) : link;
      const at = addr && r.func ? h("span", {}, h("a", {
        class: "main", href: app.href({ v: "assembly", f: r.func.hash, l: "0x" + r.addr.toString(16) }),
      }, "0x" + r.addr.toString(16)), " ", app.link(r.func), " ", r.line ? link : null) : of;
      if (addr) link.className = "";
      return { cells: [...row.cells, at, h("code", {}, clip(r.text))], of: !addr && r.func ? [] : [...row.of, "", ""],
        attributes: { "data-place": place } };
    }),
  });
  return { element, focus: () => table.focus(), end: () => void app.client.ask("dropHot") };
}

export const linesView: View = { key: "lines", title: "Lines", when: (app) => app.ready && (app.summary.has & 3) !== 0,
  show };
