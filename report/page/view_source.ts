// SPDX-License-Identifier: MIT
//
// A source file with the costs of its lines: heat by any event or ratio, calls below the lines, lines without a cost,
// and the functions into which code was inlined. Below a call the callee's lines can be unfolded, below the first line of a
// function those that were inlined into it from other files. With a base both versions, aligned.
import { NONE, Side } from "./core";
import type { Source, Value } from "./core";
import type { Name, Site } from "./api";
import { sideNames } from "./app";
import type { App, Shown, View } from "./app";
import { base, button, h, percent, svg } from "./element";
import { write } from "./state";
import { coloured, dedent, languageOf, lex } from "./syntax";
import type { Open } from "./syntax";
import { Table } from "./table";
import { dataOfLine, dataSaid, dataValues } from "./view_data";
import type { LineData } from "./view_data";
import { causesLegend, whyCell } from "./why";
import type { Column, Row } from "./table";

export const LEAST = 100n; // minimum count of a line or instruction for a ratio to be hot
const COST = 8, SHARE = 5.4, LINE = 4.2, WHY = 8, WHY_CHANGED = 9; // widths of columns, rem
const FILES = 300;  // in the list of files
const OBJECTS = 3;  // of the data, below a line
const INTO = 40;    // functions, the most expensive, whose inlined code is shown

const states = ["", "The source was not found.", "The source was left out (--source).",
  "The source was left out (--max-size).",
  "The source was changed after the profile was written: lines may differ.", "",
  "The source was not read: the profile was not recorded where this report was made (-I)."];

export const minus = (a: Value, b: Value): Value => ({
  exact: a.exact !== null && b.exact !== null ? a.exact - b.exact : null, approx: a.approx - b.approx,
});
const zero: Value = { exact: 0n, approx: 0 };
const plus = (a: Value, b: Value): Value => ({
  exact: a.exact !== null && b.exact !== null ? a.exact + b.exact : null, approx: a.approx + b.approx,
});

interface Call { callee: Name; calls: Value[]; cost: Value[][] } // cost by event, side
interface LineRow { old: number; new: number; text: string | null; values: Value[][] | null; calls: Call[];
  cold: boolean; gap: boolean; inside: Inside | null }
// A row below a line: a call, or (file) what was inlined from a file.
interface CalleeRow { call: Call; of: LineRow; inside: Inside | null; file: string | null; mark: string }
// Below a line: an object of the data that it misses in.
interface DataRow { data: LineData; line: number }
type SourceRow = LineRow | CalleeRow | DataRow;
// What an unfolded row is of.
interface Inside { depth: number; mark: string; file: string }
type Costs = { lines: { line: number; values: Value[][] }[]; sites: Site[] };

// Pairs of line numbers in the order in which they are shown; 0: not on that side.
export function pairs(runs: Uint32Array, oldLines: number, newLines: number): [number, number][] {
  const all: [number, number][] = [];
  let a = 0, b = 0;
  if (!runs.length) {
    for (let i = 1; i <= Math.max(oldLines, newLines); i++) all.push([i, i]);
    return all;
  }
  for (let i = 0; i + 2 < runs.length; i += 3) {
    for (let k = 0; k < runs[i]!; k++) all.push([++a, 0]);
    for (let k = 0; k < runs[i + 1]!; k++) all.push([0, ++b]);
    for (let k = 0; k < runs[i + 2]!; k++) all.push([++a, ++b]);
  }
  while (a < oldLines) all.push([++a, 0]);
  while (b < newLines) all.push([0, ++b]);
  return all;
}

function texts(source: Source): Map<number, string> {
  const lines = new Map<number, string>();
  for (const piece of source.pieces)
    piece.text.split("\n").slice(0, piece.count).forEach((text, i) => lines.set(piece.first + i,
      text.replace(/\r$/, "")));
  return lines;
}

// The values of a line on all sides: those of the old file at its old number. With a base a value of zero on a side
// is left out: the number may be another line's.
function merge(byLine: Map<number, Value[][]>, old: number, now: number, events: number,
  both: boolean): Value[][] | null {
  const at = (line: number, side: Side): Value[][] | undefined => {
    const v = line ? byLine.get(line) : undefined;
    return v && (!both || v.some((e) => e[side]?.approx)) ? v : undefined;
  };
  const a = at(now, Side.New), b = at(old, Side.Old);
  if (!a && !b) return null;
  return Array.from({ length: events }, (_, e) => {
    const n = a?.[e]?.[Side.New] ?? zero, o = b?.[e]?.[Side.Old] ?? zero;
    return [n, o, minus(n, o)];
  });
}

function callsOf(sites: Map<number, Site[]>, old: number, now: number, events: number): Call[] {
  const calls = new Map<number, Call>();
  for (const side of [Side.New, Side.Old])
    for (const site of sites.get(side === Side.New ? now : old) ?? []) {
      if (!site.calls[side] && !site.cost.some((v) => v[side]?.approx)) continue;
      let call = calls.get(site.callee.func);
      if (!call) calls.set(site.callee.func, call = {
        callee: site.callee, calls: [zero, zero, zero], cost: Array.from({ length: events }, () => [zero, zero, zero]),
      });
      const n = site.calls[side]!;
      call.calls[side] = plus(call.calls[side]!, { exact: n, approx: Number(n) });
      for (let e = 0; e < events; e++) call.cost[e]![side] = plus(call.cost[e]![side]!, site.cost[e]![side]!);
    }
  for (const call of calls.values()) {
    call.calls[2] = minus(call.calls[0]!, call.calls[1]!);
    for (const v of call.cost) v[2] = minus(v[0]!, v[1]!);
  }
  return [...calls.values()];
}

// The file of the state, else that of the function, else the most expensive.
async function fileOf(app: App, files: { name: string }[]): Promise<string> {
  if (app.state.w !== undefined) return app.state.w;
  if (app.func !== NONE) {
    const n = await app.client.ask("name", app.func);
    if (n.file) return n.file;
  }
  return files.find((file) => file.name)?.name ?? "";
}

class SourceView implements Shown {
  readonly element = h("div");
  private table: Table | null = null;
  private file = "";
  private whole: SourceRow[] = []; // without what is unfolded
  private rows: SourceRow[] = [];
  private open = new Set<string>();
  private toggled = ""; // the row whose button has the focus again
  private map: SVGElement | null = null;
  private heat = new Map<LineRow, number>();
  private hot: number[] = [];    // places of rows, the hottest first
  private next = 0;              // of them
  private byLine = new Map<number, Name[]>();
  private readonly said = h("span", { role: "status", class: "count" });

  // `func`: only its lines, without the controls; NONE: the file that the state names.
  constructor(private app: App, private readonly func = NONE) {}

  private heatEvent(): number {
    const { x } = this.app.state;
    return x ? this.app.eventOf(x) : this.app.event;
  }

  // The events whose costs the rows have.
  private wanted(heat: number): number[] { return [...new Set([...this.app.events, heat, 0, ...this.app.causes])]; }

  async make(): Promise<void> {
    const { app } = this, files = await app.client.ask("files", app.event, FILES);
    const name = await fileOf(app, files), file = name ? await app.client.ask("fileOf", name) : NONE;
    this.element.append(h("h2", {}, "Source: ", h("bdi", {}, name || "???")), this.bar(name, files));
    if (file === NONE) {
      this.element.append(h("p", { class: "note" }, "This report has no such file."));
      return;
    }
    const heat = this.heatEvent(), events = this.wanted(heat);
    const [now, old, runs, costs, funcs] = await Promise.all([
      app.client.ask("source", file, Side.New), app.client.ask("source", file, Side.Old), app.client.ask("align", file),
      app.client.ask("fileLines", file, NONE, events, app.upTo), app.client.ask("fileFuncs", file),
    ]);
    this.file = name;
    if (states[now.state]) this.element.append(h("p", { class: "note" }, states[now.state]!));
    for (const { line, func } of funcs) this.byLine.set(line, [...this.byLine.get(line) ?? [], func]);
    this.whole = this.build(now, old, runs, costs, events.length, null);
    const own = new Set(funcs.map(({ func }) => func).filter((n) => n.file === name).map((n) => n.func));
    await this.addInlined([...own].sort((a, b) => a - b).slice(0, INTO), events);
    this.element.append(this.legend(heat, now));
    await this.fill(name, events);
  }

  // A function's lines in its own file. False: there are none.
  async part(n: Name): Promise<boolean> {
    const { app } = this, file = n.file ? await app.client.ask("fileOf", n.file) : NONE;
    if (file === NONE) return false;
    const events = this.wanted(this.heatEvent());
    const [now, old, runs, costs] = await Promise.all([
      app.client.ask("source", file, Side.New), app.client.ask("source", file, Side.Old), app.client.ask("align", file),
      app.client.ask("fileLines", file, this.func, events, app.upTo),
    ]);
    if (!costs.lines.length && !costs.sites.length) return false;
    this.file = n.file;
    if (states[now.state]) this.element.append(h("p", { class: "note" }, states[now.state]!));
    this.whole = this.build(now, old, runs, costs, events.length, null);
    await this.addInlined([this.func], events);
    await this.fill(n.file, events);
    return true;
  }

  private bar(name: string, files: { name: string; value: Value }[]): HTMLElement {
    const { app } = this, heat = h("select", { "aria-label": "Heat by" }), list = h("select", { "aria-label": "File" });
    const total = app.total(app.event, Side.New);
    if (!files.some((f) => f.name === name)) list.append(h("option", { value: name }, name));
    for (const f of files)
      if (f.name) list.append(h("option", { value: f.name }, percent(f.value.approx, total) + "  " + f.name));
    list.value = name;
    list.addEventListener("change", () => app.set({ w: list.value, l: "", o: "" }));
    heat.append(...app.usable.map((e) => h("option", { value: app.eventKey(e) }, app.eventName(e))));
    heat.value = app.eventKey(this.heatEvent());
    heat.addEventListener("change", () => app.set({ x: heat.value }));
    const find = h("input", { type: "search", "aria-label": "Find in this file", placeholder: "Find in this file" });
    let from = -1;
    find.addEventListener("keydown", (e) => {
      if (e.key !== "Enter") return;
      const text = find.value.toLowerCase(), n = this.rows.length;
      for (let i = 1; i <= n; i++) {
        const row = this.rows[(from + i) % n]!;
        if (text && "text" in row && row.text?.toLowerCase().includes(text)) {
          from = (from + i) % n;
          void this.table!.scrollTo(from);
          return;
        }
      }
    });
    return h("div", { class: "bar" }, h("label", {}, "File ", list), h("label", {}, "Heat ", heat), find,
      button("Next hot line", () => this.jump(), { title: "Key n" }));
  }

  // To a hot line: the hottest, then the next one.
  private jump(focus = true): boolean {
    const at = this.hot[this.next % Math.max(1, this.hot.length)];
    if (at === undefined) return false;
    const k = this.next % this.hot.length, row = this.rows[at] as LineRow, values = row.values!;
    this.next = k + 1;
    const e = this.app.event, v = values[0]?.[Side.New];
    this.said.textContent = (k ? k + 1 + ". hottest line: " : "Hottest line: ") + (row.new || row.old) +
      (v && !this.app.summary.events[e]!.ratio ? ", " + percent(v.approx, this.app.total(e, Side.New)) + " of " + this.app.eventName(e) : "");
    void this.table!.scrollTo(at).then(() => { if (focus) this.table!.focus(); });
    return true;
  }

  key(key: string): boolean { return key === "n" && this.jump(); }

  // The rows of a file; `inside`: those with a cost.
  private build(now: Source, old: Source, runs: Uint32Array, costs: Costs, events: number, inside: Inside | null): SourceRow[] {
    const { app } = this, rows: SourceRow[] = [], above = inside ? inside.mark + "_" : "", textNew = texts(now), textOld = texts(old),
      byLine = new Map(costs.lines.map((l) => [l.line, l.values]));
    const sites = new Map<number, Site[]>();
    for (const site of costs.sites) sites.set(site.line, [...sites.get(site.line) ?? [], site]);
    const known = [...byLine.keys(), ...sites.keys()], least = Math.min(...known), most = Math.max(0, ...known);
    const all = pairs(runs, runs.length ? Math.max(old.lines, most) : 0, Math.max(now.lines, most));
    if (known.includes(0)) all.unshift([0, 0]);
    let gap = false;
    const from = least - 3, to = most + 3;
    for (const [o, n] of all) {
      if (this.func !== NONE && !inside && o + n > 0 && ((n || o) < from || (n || o) > to)) continue;
      const values = o || n ? merge(byLine, o, n, events, app.base)
        : merge(new Map([[-1, byLine.get(0) ?? []]]), -1, -1, events, false);
      const calls = callsOf(sites, o || (n ? -1 : 0), n || (o ? -1 : 0), events);
      const text = n ? textNew.get(n) ?? null : o ? textOld.get(o) ?? null : null;
      if ((text === null || inside) && !values && !calls.length) {
        gap = true;
        continue;
      }
      // Inside executed code: a line that looks like code and has no cost.
      const cold = !values && !calls.length && !!text && (n || o) > least && (n || o) < most &&
        /\w.*[;({]|return|else/.test(text) &&
        !/^\s*(\/\/|\/?\*|#)/.test(text);
      const row: LineRow = { old: o, new: n, text, values, calls, cold, gap: gap && !inside, inside };
      gap = false;
      rows.push(row);
      if (!inside && this.file) for (const data of dataOfLine(app, this.file, n).slice(0, OBJECTS)) rows.push({ data, line: n });
      for (const call of calls) rows.push({ call, of: row, inside, file: null, mark: above + o + "-" + n + "-" + call.callee.hash });
    }
    if (inside) {
      const lines = rows.filter((row): row is LineRow => "text" in row);
      dedent(lines.map((row) => row.text)).forEach((text, i) => { lines[i]!.text = text; });
    }
    return rows;
  }

  // Below the first line of a function: what was inlined into it from other files.
  private async addInlined(funcs: number[], events: number[]): Promise<void> {
    const { app } = this, none = [zero, zero, zero];
    for (const { func, file, values } of await app.client.ask("inlined", Uint32Array.from(funcs), events, app.upTo)) {
      const lines = this.whole.filter((row): row is LineRow => "text" in row);
      const of = lines.find((row) => row.new >= func.line) ?? lines[lines.length - 1];
      if (!of) return;
      let at = this.whole.indexOf(of) + 1;
      while (at < this.whole.length && "call" in this.whole[at]! && (this.whole[at] as CalleeRow).file !== null) at++;
      const cost = values.map((v) => [v[0] ?? zero, v[1] ?? zero, v[2] ?? zero]);
      this.whole.splice(at, 0, { call: { callee: func, calls: none, cost }, of, inside: null, file,
        mark: "i-" + func.hash + "-" + file.replace(/[._]/g, "-") });
    }
  }

  // The lines of a callee, or those that were inlined.
  private async callee(row: CalleeRow, events: number[]): Promise<SourceRow[]> {
    const { app } = this, { callee } = row.call, name = row.file ?? callee.file;
    const file = name ? await app.client.ask("fileOf", name) : NONE;
    if (file === NONE) return [];
    const [now, old, runs, costs] = await Promise.all([
      app.client.ask("source", file, Side.New), app.client.ask("source", file, Side.Old), app.client.ask("align", file),
      app.client.ask("fileLines", file, callee.func, events, app.upTo),
    ]);
    return costs.lines.length || costs.sites.length ? this.build(now, old, runs, costs, events.length,
      { depth: (row.inside?.depth ?? 0) + 1, mark: row.mark, file: name }) : [];
  }

  private async unfold(rows: SourceRow[], events: number[]): Promise<SourceRow[]> {
    const out: SourceRow[] = [];
    for (const row of rows) {
      out.push(row);
      if ("call" in row && this.open.has(row.mark)) out.push(...await this.unfold(await this.callee(row, events), events));
    }
    return out;
  }

  private warm(at: number, events: number[]): void {
    const { app } = this, e = events[at]!, ratio = app.summary.events[e]!.ratio, counts = events.indexOf(0);
    let most = 0;
    const heat = new Map<LineRow, number>();
    for (const row of this.rows) {
      if (!("text" in row) || !row.values) continue;
      const v = row.values[at]![Side.New]!.approx, enough = !ratio ||
        (row.values[counts]![Side.New]!.exact ?? 0n) >= LEAST;
      if (!enough || !(v > 0)) continue;
      heat.set(row, v);
      most = Math.max(most, v);
    }
    for (const [row, v] of heat) this.heat.set(row, Math.sqrt(v / most));
    // Those of the selected function come first.
    const own = (row: LineRow): number => this.func === NONE && app.func !== NONE &&
      this.byLine.get(row.new || row.old)?.some((n) => n.func === app.func) ? 1 : 0;
    this.hot = this.rows.flatMap((row, i) => "text" in row && !row.inside && this.heat.has(row) ? [i] : []).sort((a, b) => {
      const x = this.rows[a] as LineRow, y = this.rows[b] as LineRow;
      return own(y) - own(x) || this.heat.get(y)! - this.heat.get(x)!;
    });
  }

  private legend(heat: number, now: Source): HTMLElement {
    const scale = h("span", { class: "scale", "aria-hidden": "true" });
    for (let i = 0; i <= 4; i++) {
      const box = h("span", { class: "heat" });
      box.style.setProperty("--heat", String(i / 4));
      scale.append(box);
    }
    const ratio = this.app.summary.events[heat]!.ratio;
    return h("p", { class: "note" }, "Heat by " + this.app.eventName(heat) + " ", scale,
      ratio ? ", lines with at least " + LEAST + " " + this.app.eventName(0) +
        " only. " : " (root of the share of the most expensive line). ",
      h("span", { class: "cold" }, "Dashed"), " lines inside executed functions have no cost: they never ran, or contain no code. ",
      now.path ? "Found at " : null, now.path ? h("bdi", {}, now.path) : null);
  }

  // Bins of lines, as tall as the table.
  private overview(): SVGElement {
    const bins = 200, n = this.rows.length, heat = new Float64Array(bins);
    this.rows.forEach((row, i) => {
      const b = Math.floor(i / n * bins);
      if ("text" in row) heat[b] = Math.max(heat[b]!, this.heat.get(row) ?? 0);
    });
    const map = svg("svg", { class: "overview", viewBox: "0 0 10 " + bins, preserveAspectRatio: "none",
      "aria-hidden": "true" });
    heat.forEach((v, i) => {
      if (v > 0) map.append(svg("rect", { class: "hot", x: 0, y: i, width: 10, height: 1,
        "fill-opacity": 0.15 + 0.85 * v }));
    });
    map.addEventListener("click", (e) => {
      const box = map.getBoundingClientRect();
      void this.table!.scrollTo(Math.floor((e.clientY - box.top) / box.height * n));
    });
    return map;
  }

  // What is open at the beginning of each row, comments and strings. Of unfolded rows that is not known.
  private opened(name: string): Map<LineRow, Open> {
    const language = languageOf(name), at = new Map<LineRow, Open>();
    let now: Open = "";
    for (const row of this.rows) {
      if (!("text" in row) || row.text === null || row.inside) continue;
      at.set(row, now);
      if (row.new || !this.app.base) now = lex(row.text, now, language).open;
    }
    return at;
  }

  private async fill(name: string, events: number[]): Promise<void> {
    const { app } = this, shown = app.events, { byLine } = this;
    const columns: Column[] = shown.flatMap((e) => [
      ...app.sides.map((side) => ({ id: "self" + e + side, title: app.eventName(e) +
        (app.base ? ", " + sideNames[side] : ""), wide: side === Side.Factor ? SHARE : app.base ? COST - 1.6 : COST, spare: !app.summary.events[e]!.ratio && !app.base })),
      ...(app.summary.events[e]!.ratio ? [] : [{ id: "share", title: "%", tip: "of the program", wide: SHARE }]),
    ]);
    const { causes } = app;
    if (causes.length) columns.push({ id: "why", title: app.base ? "Changed most" : "Causes", wide: app.base ? WHY_CHANGED : WHY, name: true, spare: true });
    if (app.base) columns.push({ id: "old", title: "Old line", wide: LINE });
    columns.push({ id: "line", title: "Line", wide: LINE }, { id: "text", title: "Source", name: true });
    this.open = new Set((app.state.o ?? "").split(".").filter(Boolean));
    if (this.func === NONE) columns.push({ id: "func", title: "Function", name: true });
    this.table = new Table({ label: "Source", id: this.func === NONE ? "quern-source" : "quern-function-source",
      columns, box: true, fixed: true });
    this.element.append(...causesLegend(app), h("p", {}, this.table.csvButton("source"), " ", this.said),
      h("div", { class: "withmap" }, this.table.element));
    this.again = async (keep): Promise<void> => {
      this.rows = await this.unfold(this.whole, events);
      this.warm(events.indexOf(this.heatEvent()), events);
      const opened = this.opened(name), map = this.overview();
      if (this.map) this.map.replaceWith(map);
      else this.table!.element.after(map);
      this.map = map;
      await this.table!.show({
        count: this.rows.length,
        load: (first, count) => Promise.resolve(this.rows.slice(first,
          first + count).map((row) => "data" in row ? dataRow(row) : "call" in row ? calleeRow(row) : cell(row, opened))),
      }, keep);
      if (this.toggled)
        this.table!.element.querySelector<HTMLElement>('tr[data-mark="' + CSS.escape(this.toggled) + '"] button')?.focus({ preventScroll: true });
      this.toggled = "";
    };
    const cell = (row: LineRow, opened: Map<LineRow, Open>): Row => {
      const cells: (Node | string | null)[] = [], of: string[] = [], file = row.inside?.file ?? name,
        id = app.base ? row.old + "-" + row.new : String(row.new);
      for (const e of shown) {
        const v = row.values?.[events.indexOf(e)];
        for (const side of app.sides) {
          cells.push(v ? app.text(side, v, app.scale(e)) : null);
          of.push(v ? [row.inside ? "inner" : this.func === NONE ? "line" : "funcline", e, side, id].join(":") : "");
        }
        if (!app.summary.events[e]!.ratio) {
          cells.push(v && v[0]!.approx ? app.shareOf(v[0]!.approx, app.total(e, Side.New)) : null);
          of.push("");
        }
      }
      if (causes.length) {
        const v = row.values && causes.map((e) => row.values![events.indexOf(e)]![app.upTo]!), what = row.inside ? "inner" : this.func === NONE ? "line" : "funcline";
        cells.push(v && whyCell(app, v, "Cycles of line " + row.new, what, id));
        of.push("");
      }
      const code = h("code", { class: "text" + (row.cold ? " cold" : ""), title: row.cold ? "no cost" : null },
        ...(row.text === null ? [row.inside ? "(not in this report)" : row.new || row.old ? "" : "(no line)"] : row.cold ? [row.text]
          : coloured(lex(row.text, opened.get(row) ?? "", languageOf(file)).pieces)));
      const heat = this.heat.get(row);
      if (heat !== undefined) {
        code.classList.add("heat");
        code.style.setProperty("--heat", String(heat));
      }
      if (app.base) cells.push(row.old ? String(row.old) : "");
      const number = h("a", { class: "main", href: app.href({ v: "source", w: file, l: String(row.new) }), title: row.inside ? file : null },
        String(row.new || (row.old ? "–" : "?")));
      if (row.inside) code.style.setProperty("--depth", String(row.inside.depth));
      const names = row.inside ? [] : byLine.get(row.new || row.old) ?? [];
      const where = h("span", { class: "inside" }, ...names.slice(0, 3).flatMap((n) => [app.link(n),
        n.file !== name ? h("span", { class: "where" }, "inlined there ") : " "]),
          names.length > 3 ? "and " + (names.length - 3) + " more" : null);
      return {
        cells: [...cells, number, code, ...(this.func === NONE ? [where] : [])], of,
        attributes: {
          class: [row.gap ? "gap" : "", app.base && !row.new ? "gone" : app.base && !row.old ? "new" : "",
            row.inside ? "unfolded" : "", app.state.l && !row.inside && String(row.new) === app.state.l ? "here" : ""].join(" ").trim() || undefined,
        },
      };
    };
    const calleeRow = (row: CalleeRow): Row => {
      const cells: (Node | string | null)[] = [], of: string[] = [], open = this.open.has(row.mark), { callee } = row.call;
      const id = (app.base ? row.of.old + "-" : "") + row.of.new + "-" + callee.func;
      for (const e of shown) {
        const v = row.call.cost[events.indexOf(e)]!;
        for (const side of app.sides) {
          cells.push(app.text(side, v, app.scale(e)));
          of.push([row.inside ? "innersite" : row.file !== null ? "inlined" : this.func === NONE ? "site" : "funcsite", e, side, id].join(":"));
        }
        if (!app.summary.events[e]!.ratio) {
          cells.push(app.shareOf(v[0]!.approx, app.total(e, Side.New)));
          of.push("");
        }
      }
      if (causes.length) cells.push(null);
      if (app.base) cells.push(null);
      const times = app.sides.filter((side) => side !== Side.Factor).map((side) => app.text(side, row.call.calls,
        1)).join(" / ");
      const toggle = button(open ? "▾" : "▸", () => this.toggle(row.mark), { class: "group" + (row.file !== null ? " main" : ""),
        "aria-expanded": String(open), "aria-label": "Lines of " + (row.file === null ? callee.name : row.file + " in " + callee.name) });
      const line = row.file === null ? h("span", { class: "call" }, toggle, " → ", app.link(callee, {}, true), " " + times + " calls")
        : h("span", { class: "call" }, toggle, " inlined from ", h("bdi", { title: row.file }, base(row.file)), " into ", app.link(callee));
      line.style.setProperty("--depth", String(row.inside?.depth ?? 0));
      return { cells: [...cells, null, line], of, attributes: { class: row.inside ? "site unfolded" : "site", "data-mark": row.mark } };
    };
    const dataRow = (row: DataRow): Row => {
      const cells: (Node | string | null)[] = [], of: string[] = [];
      for (const e of shown) {
        const d = dataValues(app, row.data, e);
        for (const side of app.sides) {
          cells.push(d && app.text(side, d.v, d.scale));
          of.push(d ? ["dataline", e, side, row.line + "-" + row.data.object.id].join(":") : "");
        }
        if (!app.summary.events[e]!.ratio) {
          cells.push(d && app.shareOf(d.v[0]!.approx, app.total(e, Side.New)));
          of.push("");
        }
      }
      if (causes.length) cells.push(null);
      if (app.base) cells.push(null);
      return { cells: [...cells, null, dataSaid(app, row.data)], of, attributes: { class: "site data" } };
    };
    await this.again(false);
  }

  private again: (keep: boolean) => Promise<void> = () => Promise.resolve();

  // In the address, too, where the view is this file.
  private toggle(mark: string): void {
    if (!this.open.delete(mark)) this.open.add(mark);
    this.toggled = mark;
    if (this.func !== NONE) void this.again(true);
    else this.app.set({ o: [...this.open].join(".") }, true);
  }

  // Nothing but what is unfolded has changed.
  async update(to: App): Promise<boolean> {
    if (!this.table || to.summary !== this.app.summary || write({ ...to.state, o: "" }) !== write({ ...this.app.state, o: "" })) return false;
    this.app = to;
    this.open = new Set((to.state.o ?? "").split(".").filter(Boolean));
    await this.again(true);
    return true;
  }

  begin(): void {
    const line = Number(this.app.state.l), at = this.rows.findIndex((row) => "text" in row && !row.inside && row.new === line);
    if (line && at >= 0) void this.table!.scrollTo(at);
    else if (this.func === NONE) this.jump(false);
  }

  focus(): void { this.table?.focus(); }
}

// The source of one function, for its own view.
export async function sourceOfFunction(app: App, f: number, n: Name): Promise<HTMLElement | null> {
  const view = new SourceView(app, f);
  return (await view.part(n)) ? view.element : null;
}

async function show(app: App): Promise<Shown> {
  const view = new SourceView(app);
  await view.make();
  return view;
}

export const sourceView: View = { key: "source", title: "Source", when: (app) => app.ready &&
  (app.summary.has & 1) !== 0, show };
