// SPDX-License-Identifier: MIT
//
// A function's instructions: costs, machine code, jumps as arrows, calls, with its source lines between.
import { NONE, Side } from "./core";
import type { Insn, Value } from "./core";
import type { Jump, Site } from "./api";
import type { App, Shown, View } from "./app";
import { funcOf, missing, sideNames } from "./app";
import { h, number, svg } from "./element";
import { Table } from "./table";
import { causesLegend, whyCell } from "./why";
import type { Column, Row } from "./table";
import { showFlow } from "./view_flow";
import { LEAST } from "./view_source";

const LANES = 12, LANE = 7, HIGH = 26;

const states = ["", "The object file was not found, so there are no instructions: costs by address.",
  "Instructions were left out (--asm=no): costs by address.",
    "Instructions were left out (--max-size): costs by address.",
  "The object file was changed after the profile was written: instructions may differ.",
  "This kind of object file cannot be disassembled: costs by address.",
  "The object file was not read: the profile was not recorded where this report was made (-I): costs by address."];

interface Item {
  addr: bigint; insn: Insn | null; values: Value[][] | null; line: number; file: string; sites: Site[];
    jump: Jump | null;
  source: boolean; // with a source line before it
}
interface Arrow { from: number; to: number; lane: number; jump: Jump | null }

// Each arrow gets the innermost free lane; short ones first.
export function lanes(arrows: Arrow[]): number {
  const taken: [number, number][][] = [];
  arrows.sort((a, b) => Math.abs(a.to - a.from) - Math.abs(b.to - b.from));
  for (const arrow of arrows) {
    const low = Math.min(arrow.from, arrow.to), high = Math.max(arrow.from, arrow.to);
    let lane = 0;
    while (lane < LANES - 1 && taken[lane]?.some(([a, b]) => a <= high && low <= b)) lane++;
    (taken[lane] ??= []).push([low, high]);
    arrow.lane = lane;
  }
  return taken.length;
}

function arrowCell(row: number, at: Arrow[], count: number): SVGElement | null {
  const width = count * LANE + 10;
  const pic = svg("svg", { class: "arrows", width, height: HIGH, viewBox: "0 0 " + width + " " + HIGH,
    "aria-hidden": "true" });
  for (const a of at) {
    const low = Math.min(a.from, a.to), high = Math.max(a.from, a.to);
    if (row < low || row > high) continue;
    const x = width - 8 - (a.lane + 1) * LANE + LANE / 2, kind = a.to < a.from ? "back" : "forth", middle = HIGH / 2;
    if (row === a.from || row === a.to) {
      const up = (row === a.from ? a.to : a.from) < row;
      if (a.from !== a.to) pic.append(svg("path", { class: kind,
        d: `M${x} ${up ? 0 : HIGH}V${middle}H${width - (row === a.to ? 4 : 0)}` }));
      if (row === a.to) pic.append(svg("path", { class: kind + " tip",
        d: `M${width - 6} ${middle - 4}L${width} ${middle}L${width - 6} ${middle + 4}Z` }));
    } else {
      pic.append(svg("path", { class: kind, d: `M${x} 0V${HIGH}` }));
    }
  }
  return pic;
}

async function show(app: App): Promise<Shown> {
  const f = await funcOf(app), element = h("div");
  if (f === NONE) return { element: h("div", {}, h("h2", {}, "Assembly"), h("p", { class: "note" }, missing(app))) };
  // Beside the selected events: the one of the heat, and the operands that a ratio needs to be meaningful.
  const name = await app.client.ask("name", f), events = app.events, warm = app.eventOf(app.state.x ?? app.state.e),
    { causes } = app, asked = [...new Set([...events, warm, 0, ...causes])];
  const code = await app.client.ask("funcCode", f, asked, app.upTo);
  const items = new Map<bigint, Item>();
  const item = (addr: bigint): Item => {
    let it = items.get(addr);
    if (!it) items.set(addr, it = { addr, insn: null, values: null, line: 0, file: "", sites: [], jump: null,
      source: false });
    return it;
  };
  for (const insn of code.insns) item(insn.addr).insn = insn;
  for (const at of code.at) item(at.addr).values = at.values;
  for (const at of code.lines) if (at.line) [item(at.addr).line, item(at.addr).file] = [at.line, at.file];
  for (const site of code.sites) item(site.addr).sites.push(site);
  for (const jump of code.jumps) item(jump.addr).jump ??= jump;
  const flow = app.state.k === "flow" && app.state.v === "assembly" && code.insns.length > 0;
  const list = [...items.values()].sort((a, b) => a.addr < b.addr ? -1 : 1),
    rows: (Item | { site: Site } | { line: number; file: string; text: string })[] = [];
  // Source lines in between, where they change.
  const texts = await sourceOf(app, new Set(list.map((it) => it.file).filter(Boolean)));
  let last = "";
  for (const it of list) {
    const here = it.line ? it.file + ":" + it.line : "";
    if (here && here !== last) {
      last = here;
      rows.push({ line: it.line, file: it.file, text: texts.get(it.file)?.get(it.line) ?? "" });
    }
    rows.push(it);
    for (const site of it.sites) rows.push({ site });
  }
  const place = new Map<bigint, number>();
  rows.forEach((row, i) => { if ("insn" in row) place.set(row.addr, i); });
  const arrows: Arrow[] = [];
  for (const it of list) {
    const to = it.insn?.target || (it.jump && it.jump.toFunc.func === f ? it.jump.toAddr : 0n);
    if (to && place.has(to) && !it.sites.length) arrows.push({ from: place.get(it.addr)!, to: place.get(to)!, lane: 0,
      jump: it.jump });
  }
  const width = lanes(arrows), scale = (e: number): number => app.scale(e);
  const ratio = app.summary.events[warm]!.ratio, heatOf = (it: Item): number => {
    const v = it.values?.[asked.indexOf(warm)]?.[Side.New]?.approx ?? 0;
    return v > 0 && (!ratio || (it.values![asked.indexOf(0)]![Side.New]!.exact ?? 0n) >= LEAST) ? v : 0;
  };
  let most = 0;
  for (const it of list) most = Math.max(most, heatOf(it));

  const syntax = h("select", { "aria-label": "Syntax" }, h("option", { value: "" }, "Intel"),
    h("option", { value: "att" }, "AT&T"));
  syntax.value = app.state.y ?? "";
  syntax.addEventListener("change", () => app.set({ y: syntax.value }));
  const as = h("select", { "aria-label": "Shown as" }, h("option", { value: "" }, "a list"),
    h("option", { value: "flow" }, "control flow"));
  as.value = flow ? "flow" : "";
  as.addEventListener("change", () => app.set({ k: as.value }));
  const bar = h("div", { class: "bar" }, code.insns.length && app.state.v === "assembly" ?
    h("label", {}, "As ", as) : null, h("label", {}, "Syntax ", syntax));
  if (!flow) {
    const heat = h("select", { "aria-label": "Heat by" }, ...app.usable.map((e) =>
      h("option", { value: app.eventKey(e) }, app.eventName(e))));
    heat.value = app.eventKey(warm);
    heat.addEventListener("change", () => app.set({ x: heat.value }));
    bar.append(h("label", {}, "Heat ", heat));
  }
  element.append(h("h2", {}, flow ? "Control flow: " : "Assembly: ", app.link(name)), bar);
  const said = states[code.state] ?? "This report has no instructions: costs by address.";
  if (said) element.append(h("p", { class: "note" }, said));
  if (flow) return showFlow(app, f, code.insns.map((insn) => items.get(insn.addr)!), element, bar);
  const columns: Column[] = events.flatMap((e) => app.sides.map((side) => ({
    id: "self" + e + side, title: app.eventName(e) + (app.base ? ", " + sideNames[side] : ""),
  })));
  if (causes.length) columns.push({ id: "why", title: app.base ? "Changed most" : "Causes" });
  const costs = columns.length;
  columns.push({ id: "arrows", title: "Jumps", spare: true }, { id: "addr", title: "Address" },
    { id: "bytes", title: "Bytes", name: true, spare: true },
    { id: "text", title: "Instruction", name: true }, { id: "jump", title: "Taken", name: true });
  const table = new Table({ label: "Instructions", id: "quern-assembly", columns, box: app.state.v === "assembly" });
  const empty = (n: number): null[] => Array.from({ length: n }, () => null);
  const draw = (row: (typeof rows)[0], i: number): Row => {
    const picture = width ? arrowCell(i, arrows, width) : null;
    if ("site" in row) {
      const of: string[] = [], cells = events.flatMap((e, k) => app.sides.map((side) => {
        of.push(["insnsite", e, side, row.site.addr.toString(16) + "-" + row.site.callee.func].join(":"));
        return app.text(side, row.site.cost[k]!, scale(e));
      })), why = causes.length ? [null] : [];
      const exact = (v: bigint): Value => ({ exact: v, approx: Number(v) }), [a, b] = [row.site.calls[0]!, row.site.calls[1]!];
      const calls = app.base ? "calls: " + app.said([exact(a), exact(b), exact(a - b)], 1) : number(exact(a), 1) + " calls";
      return { cells: [...cells, ...why, picture, null, null, h("span", { class: "call" }, "→ ", app.link(row.site.callee),
        " " + calls), null], of, attributes: { class: "site" } };
    }
    if (!("insn" in row))
      return { cells: [...empty(costs), picture, null, null, h("span", { class: "where" },
        h("a", { href: app.href({ v: "source", w: row.file, l: String(row.line) }) },
        row.file.slice(row.file.lastIndexOf("/") + 1) + ":" + row.line), " ", h("code", {}, row.text.trim())), null],
          attributes: { class: "between" } };
    const of: string[] = [], hex = row.addr.toString(16), cells = events.flatMap((e, k) => app.sides.map((side) => {
      of.push(row.values ? ["insn", e, side, hex].join(":") : "");
      return row.values ? app.text(side, row.values[k]!, scale(e)) : null;
    })), parts = row.values && causes.map((e) => row.values![asked.indexOf(e)]![app.upTo]!);
    const text = h("code", { class: "text" }, row.insn ? (app.state.y === "att" ? row.insn.att : row.insn.intel) : "");
    const heat = heatOf(row);
    if (heat > 0) {
      text.classList.add("heat");
      text.style.setProperty("--heat", String(Math.sqrt(heat / most)));
    }
    return {
      cells: [...cells, ...(causes.length ? [parts && whyCell(app, parts, "Cycles of 0x" + hex, "insn", hex)] : []), picture,
        h("a", { class: "main", href: app.href({ v: "assembly", l: "0x" + hex }) },
        "0x" + hex),
        h("code", { class: "bytes" }, row.insn ? [...row.insn.bytes].map((b) => b.toString(16).padStart(2,
          "0")).join(" ") : ""), text,
        row.jump ? taken(row.jump, app.base) : null],
      of, attributes: { class: app.state.l === "0x" + hex ? "here" : undefined, "data-addr": hex },
    };
  };
  element.append(h("p", { class: "count", role: "status" }, list.length + " instructions, " + arrows.length +
    " jumps within" + (ratio ? "; heat by " + app.eventName(warm) + " of those with at least " + LEAST + " " +
    app.eventName(0) : "")), ...causesLegend(app), h("p", {}, table.csvButton("assembly")), table.element);
  await table.show({
    count: rows.length, load: (first, count) => Promise.resolve(rows.slice(first,
      first + count).map((row, k) => draw(row, first + k))),
  });
  return {
    element, focus: () => table.focus(),
    begin: (): void => {
      // The one of the address, else the hottest.
      const hottest = most > 0 ? list.find((it) => heatOf(it) === most) : undefined;
      const at = app.state.l?.startsWith("0x") ? place.get(BigInt(app.state.l))
        : hottest && app.state.v === "assembly" ? place.get(hottest.addr) : undefined;
      if (at !== undefined) void table.scrollTo(at);
    },
  };
}

// How often a jump was executed and followed; its target, when it leaves the function.
function taken(jump: Jump, base: boolean): HTMLElement {
  const value = (v: bigint): string => number({ exact: v, approx: Number(v) }, 1);
  const on = (side: number): string => {
    const ran = jump.executed[side]!, followed = jump.followed[side]!;
    return ran ? value(followed) + " of " + value(ran) + ", " + (Number(followed) / Number(ran) * 100).toFixed(1) + " %"
      : value(followed);
  };
  return h("span", { class: "where" }, on(0) + " to 0x" + jump.toAddr.toString(16) + (base ? "; old: " + on(1) : ""));
}

async function sourceOf(app: App, files: Set<string>): Promise<Map<string, Map<number, string>>> {
  const all = new Map<string, Map<number, string>>();
  for (const file of [...files].slice(0, 50)) {
    const s = await app.client.ask("fileOf", file);
    if (s === NONE) continue;
    const lines = new Map<number, string>();
    for (const piece of (await app.client.ask("source", s, Side.New)).pieces)
      piece.text.split("\n").forEach((text, i) => lines.set(piece.first + i, text));
    all.set(file, lines);
  }
  return all;
}

export const assemblyView: View = { key: "assembly", title: "Assembly", when: (app) => app.ready &&
  (app.summary.has & 2) !== 0, show };
