// SPDX-License-Identifier: MIT
//
// The hot lines, or instructions, of the whole program.
import { By, Of, Side } from "./core";
import { Values } from "./app";
import type { App, Shown, View } from "./app";
import { clip, h } from "./element";
import { Table } from "./table";

async function show(app: App): Promise<Shown> {
  const addr = app.state.b === "addr" && (app.summary.has & 2) !== 0, element = h("div");
  const by = addr ? By.Addr | By.Line | By.Func : app.base ? By.Line | By.Align : By.Line, side = app.base ? Side.Difference : Side.New;
  const { count, half } = await app.client.ask("hotLines", by, app.events, side), values = new Values(app);
  for (const e of app.events) values.add(Of.Self, e, "self", { share: true, sort: false,
    what: addr ? "insn" : "line" });
  element.append(h("h2", {}, addr ? "Instructions" : "Lines"));
  if (app.summary.has & 2) {
    const tick = h("input", { type: "checkbox" });
    tick.checked = addr;
    tick.addEventListener("change", () => app.set({ b: tick.checked ? "addr" : "" }));
    element.append(h("div", { class: "bar" }, h("label", {}, tick, " by instruction")));
  }
  const what = addr ? " instructions" : " lines";
  element.append(h("p", { class: "count", role: "status" }, count.toLocaleString("en") + what + ", by " +
    app.eventName(app.event) +
    (app.base ? ": the largest differences first" + (addr ? "" :
      "; the versions of a file are aligned as in Source, what only the base has is marked \"gone\"") : half ?
      "; " + half.toLocaleString("en") + (half === 1 ? " makes half of it" : " make half of it") : "")));
  const table = new Table({
    label: addr ? "Instructions" : "Lines", id: "quern-lines",
    columns: [...values.columns, { id: "at", title: addr ? "Address, line" : "Line", name: true },
      { id: "text", title: "Source", name: true }],
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
      const at = addr && r.func ? h("span", {}, h("a", {
        class: "main", href: app.href({ v: "assembly", f: r.func.hash, l: "0x" + r.addr.toString(16) }),
      }, "0x" + r.addr.toString(16)), " ", app.link(r.func), " ", r.line ? link : null) : link;
      if (addr) link.className = "";
      return { cells: [...row.cells, at, h("code", {}, clip(r.text))], of: [...row.of, "", ""],
        attributes: { "data-place": place } };
    }),
  });
  return { element, focus: () => table.focus(), end: () => void app.client.ask("dropHot") };
}

export const linesView: View = { key: "lines", title: "Lines", when: (app) => app.ready && (app.summary.has & 3) !== 0,
  show };
