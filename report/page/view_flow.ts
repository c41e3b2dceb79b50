// SPDX-License-Identifier: MIT
//
// Control flow of a function: its basic blocks with their costs, and counts of the edges. Part of the assembly.
import { Side } from "./core";
import type { Flow, FlowEdge, Insn, Value } from "./core";
import type { Site } from "./api";
import { sideNames } from "./app";
import type { App, Shown } from "./app";
import { button, h, number, percent, share, signed, svg } from "./element";
import { curve, Layers, node, quoted } from "./layers";
import { zoomOf } from "./state";
import { Table } from "./table";

const MOST = 400, ROW = 15, LETTER = 6.7, LONG = 60; // blocks; pixels; letters of an instruction

// An instruction, from the assembly view.
export interface Step {
  addr: bigint; insn: Insn | null; values: Value[][] | null; line: number; file: string; sites: Site[];
}

interface Block {
  addr: bigint; steps: Step[]; cost: Value[]; // by side
  number: number;
}

function add(a: Value, b: Value, scale: number): Value {
  const exact = a.exact !== null && b.exact !== null ? a.exact + b.exact : null;
  return { exact, approx: exact !== null ? Number(exact) / scale : a.approx + b.approx };
}

function blocksOf(app: App, flow: Flow, steps: Step[]): Block[] {
  const scale = app.scale(app.event);
  return flow.blocks.map((b, i) => {
    const inside = steps.slice(b.first, b.first + b.count);
    let cost: Value[] = Array.from({ length: app.upTo + 1 }, () => ({ exact: 0n, approx: 0 }));
    for (const s of inside) if (s.values) cost = cost.map((v, side) => add(v, s.values![0]![side] ?? v, scale));
    return { addr: inside[0]!.addr, steps: inside, cost, number: i };
  });
}

const hex = (addr: bigint): string => "0x" + addr.toString(16);

// "7 of 10, 70.0 %", "5", or nothing: not counted.
function taken(e: FlowEdge, side: Side): string {
  const n = e.taken[side], all = e.executed[side]!;
  if (n === null || n === undefined) return "";
  const text = number({ exact: n, approx: 0 }, 1);
  return all ? text + " of " + number({ exact: all, approx: 0 }, 1) + ", " + percent(Number(n), Number(all)) : text;
}

// The source lines of a block: "f.c:3-5, g.h:7".
function linesOf(b: Block): string {
  const files = new Map<string, [number, number]>();
  for (const s of b.steps) {
    if (!s.line) continue;
    const of = s.file.slice(s.file.lastIndexOf("/") + 1), at = files.get(of);
    files.set(of, at ? [Math.min(at[0], s.line), Math.max(at[1], s.line)] : [s.line, s.line]);
  }
  return [...files].map(([file, [low, high]]) => file + ":" + low + (high > low ? "-" + high : "")).join(", ");
}

// The lines of a block's box: a number, and its identity.
interface Line { cost: string; of: string; text: string; site: boolean }

function linesIn(app: App, b: Block): Line[] {
  const clip = (text: string): string => text.length > LONG ? text.slice(0, LONG - 1) + "…" : text;
  return b.steps.flatMap((s) => [
    {
      cost: s.values ? app.text(Side.New, s.values[0]!, app.scale(app.event)) : "",
      of: s.values ? ["insn", app.event, 0, s.addr.toString(16)].join(":") : "",
      text: clip(s.insn ? (app.state.y === "att" ? s.insn.att : s.insn.intel) : ""), site: false,
    },
    ...s.sites.map((site) => ({
      cost: app.text(Side.New, site.cost[0]!, app.scale(app.event)),
      of: ["insnsite", app.event, 0, site.addr.toString(16) + "-" + site.callee.func].join(":"),
      text: clip("→ " + app.short(site.callee) + ", " + site.calls[0] + " calls"), site: true,
    })),
  ]);
}

// The most expensive, when there are too many to draw; in their order.
function fewer(blocks: Block[]): Block[] {
  if (blocks.length <= MOST) return blocks;
  const order = [...blocks].sort((a, b) => Math.abs(b.cost[0]!.approx) - Math.abs(a.cost[0]!.approx));
  const kept = new Set(order.slice(0, MOST));
  return blocks.filter((b) => kept.has(b));
}

function table(app: App, blocks: Block[], edges: FlowEdge[], bar: HTMLElement, element: HTMLElement): Promise<Table> {
  const made = new Table({
    label: "Edges of the blocks", id: "quern-flow", columns: [
      { id: "from", title: "Block", name: true },
      ...app.sides.map((s) => ({ id: "cost" + s, title: app.eventName(app.event) + (app.base ? ", " + sideNames[s] : "") })),
      { id: "how", title: "By", name: true }, { id: "taken", title: "Taken" }, { id: "of", title: "Of" },
      { id: "share", title: "%" }, ...(app.base ? [{ id: "oldTaken", title: "Taken, old" }, { id: "oldOf", title: "Of, old" }] : []),
      { id: "to", title: "To", name: true }],
  });
  bar.append(made.csvButton("flow"));
  element.append(made.element);
  const link = (b: Block, main: boolean): Node => h("a", { class: main ? "main" : null,
    href: app.href({ v: "assembly", l: hex(b.addr) }) }, hex(b.addr));
  const rows = blocks.flatMap((b): { b: Block; e: FlowEdge | null }[] => {
    const out = edges.filter((e) => e.from === b.number);
    return out.length ? out.map((e) => ({ b, e })) : [{ b, e: null }];
  });
  const count = (v: bigint | null | undefined): string => v === null || v === undefined ? "–"
    : number({ exact: v, approx: 0 }, 1);
  return made.show({
    count: rows.length, load: (first, n) => Promise.resolve(rows.slice(first, first + n).map(({ b, e }) => ({
      cells: [link(b, true), ...app.sides.map((s) => app.text(s, b.cost, app.scale(app.event))), e ? e.jump ? "jump" : "next" : "",
        e ? count(e.taken[0]) : null, e?.executed[0] ? count(e.executed[0]) : null,
        e?.executed[0] ? app.shareOf(Number(e.taken[0] ?? 0n), Number(e.executed[0])) : null,
        ...(app.base ? [e ? count(e.taken[1]) : null, e?.executed[1] ? count(e.executed[1]) : null] : []), e ? link(blocks.find((to) => to.number === e.to)!, false) : null],
      of: ["", ...app.sides.map((s) => ["block", app.event, s, b.addr.toString(16)].join(":")), "", "", "", "",
        ...(app.base ? ["", ""] : []), ""],
    }))),
  }).then(() => made);
}

function dot(app: App, blocks: Block[], edges: FlowEdge[]): string {
  const out = ["digraph flow {", "  node [shape=box];"];
  for (const b of blocks) out.push("  b" + b.number + " [label=" + quoted(hex(b.addr) + " " +
    app.text(Side.New, b.cost, app.scale(app.event)) + " " + app.eventName(app.event)) + "];");
  for (const e of edges) out.push("  b" + e.from + " -> b" + e.to + " [label=" + quoted(taken(e, Side.New)) +
    (e.jump ? "" : ", style=dashed") + "];");
  return out.join("\n") + "\n}\n";
}

// The blocks and their edges, as a picture.
async function picture(app: App, blocks: Block[], edges: FlowEdge[], total: number): Promise<Layers> {
  const scale = app.scale(app.event), alone_ = app.state.bl === "1", at = new Map(blocks.map((b, i) => [b.number, i]));
  const texts = blocks.map((b) => alone_ ? [] : linesIn(app, b)), wide = texts.map((lines) =>
    lines.reduce((most, l) => Math.max(most, l.cost.length), 0));
  const heads = blocks.map((b) => [hex(b.addr) + " · " + app.text(Side.New, b.cost, scale) + " · " +
    percent(b.cost[0]!.approx, total), [b.steps.length + (b.steps.length === 1 ? " instruction" : " instructions"),
    linesOf(b)].filter(Boolean).join(", ").slice(0, LONG)] as const);
  const sizes = blocks.map((_, i) => ({
    w: Math.max(...heads[i]!.map((t) => t.length), ...texts[i]!.map((l) => wide[i]! + 2 + l.text.length)) * LETTER + 20,
    h: 40 + texts[i]!.length * ROW,
  }));
  const most = edges.reduce((n, e) => Math.max(n, Number(e.taken[0] ?? 0n)), 0);
  const weight = (e: FlowEdge): number => most ? 1 + 9 * Number(e.taken[0] ?? 0n) / most : e.jump ? 1 : 3;
  const laid = await app.client.ask("layers", sizes, edges.map((e) => ({ from: at.get(e.from)!, to: at.get(e.to)!,
    weight: weight(e) })), 30, 50);
  const under = svg("g", { class: "calls" }), nodes: SVGElement[] = [];
  edges.forEach((e, k) => {
    const i = at.get(e.from)!, own = e.from === e.to, p = laid.nodes[i]!, { w, h: high } = sizes[i]!, points = laid.edges[k]!;
    const right = p.x + w / 2, text = taken(e, Side.New), old = app.base ? taken(e, Side.Old) : "";
    const said = hex(blocks[i]!.addr) + (e.jump ? " jumps to " : " goes on to ") + hex(blocks[at.get(e.to)!]!.addr) +
      (text ? ": " + text : ", not counted") + (old ? "; old: " + old : "");
    under.append(svg("path", {
      d: own ? `M${right} ${p.y + high / 2 - 8}c26 4 26 ${16 - high} 0 ${20 - high}` : curve(points, false),
      class: "call" + (e.jump ? e.to <= e.from ? " back" : "" : " next"), "marker-end": "url(#tip)",
      "stroke-width": (1 + (most ? 3 * Math.sqrt(Number(e.taken[0] ?? 0n) / most) : 0)).toFixed(1), "data-edge": said,
    }, svg("title", {}, said)));
    const m = Math.floor(points.length / 2), a = points[m - 1], b = points[m];
    if (text && (own || (a && b)))
      under.append(svg("text", { class: "cost", x: own ? right + 40 : (a![0] + b![0]) / 2 + 4, y: own ? p.y
        : (a![1] + b![1]) / 2 }, text));
  });
  blocks.forEach((b, i) => {
    const { x, y } = laid.nodes[i]!, { w, h: high } = sizes[i]!, left = x - w / 2, top = y - high / 2;
    const heat = total ? Math.sqrt(Math.min(1, Math.abs(share(b.cost[0]!.approx, total)) || 0)) : 0;
    const said = "block at " + heads[i]!.join(", ").replace(/ · /g, ", ") + (app.base ? ", old " +
      app.text(Side.Old, b.cost, scale) + ", " + signed(b.cost[2], scale) : "");
    nodes.push(node(svg("a", { class: "node", href: app.href({ v: "assembly", l: hex(b.addr) }), "aria-label": said,
      "data-addr": b.addr.toString(16) }, svg("rect", { x: left, y: top, width: w, height: high, rx: 4 }),
    svg("rect", { class: "hot", x: left, y: top, width: w, height: high, rx: 4, "fill-opacity": (heat * 0.45).toFixed(3) })),
    said, svg("text", { x: left + 8, y: top + 15, class: "code", "data-q": ["block", app.event, 0,
      b.addr.toString(16)].join(":") }, heads[i]![0]),
    svg("text", { x: left + 8, y: top + 31, class: "code cost" }, heads[i]![1]), ...texts[i]!.flatMap((l, k) => [
      svg("text", { x: left + 8 + wide[i]! * LETTER, y: top + 46 + k * ROW, class: "code count", "data-q": l.of || null },
        l.cost),
      svg("text", { x: left + 8 + (wide[i]! + 2) * LETTER, y: top + 46 + k * ROW, class: "code" + (l.site ? " cost" : "") },
        l.text)])));
  });
  return new Layers({
    label: "Control flow. Arrows move along it, Enter opens the listing there, + - 0 zoom, t shows a table",
    places: blocks.map((_, i) => ({ x: laid.nodes[i]!.x, y: laid.nodes[i]!.y, ...sizes[i]! })),
    links: edges.map((e, k) => ({ from: at.get(e.from)!, to: at.get(e.to)!, weight: weight(e), points: laid.edges[k]! })),
    frames: [], width: laid.width, height: laid.height, way: "", home: 0, under: [under], nodes,
    zoom: zoomOf(app.state),
  });
}

export async function showFlow(app: App, func: number, steps: Step[], element: HTMLElement, bar: HTMLElement): Promise<Shown> {
  if (app.summary.events[app.event]!.ratio) {
    element.append(h("p", { class: "note" }, app.eventName(app.event) + " is a ratio: the cost of a block is a sum. Choose an event with counts."));
    return { element };
  }
  const flow = await app.client.ask("flow", func), all = blocksOf(app, flow, steps), blocks = fewer(all),
    kept = new Set(blocks.map((b) => b.number));
  const edges = flow.edges.filter((e) => kept.has(e.from) && kept.has(e.to));
  const total = all.reduce((sum, b) => sum + b.cost[0]!.approx, 0), counted = flow.edges.some((e) => e.taken[0] !== null);
  element.append(h("p", { class: "note", role: "status" }, all.length + (all.length === 1 ? " block" : " blocks") +
    (blocks.length < all.length ? ", the " + blocks.length + " most expensive are shown" : "") + ", " + edges.length +
    " edges" + (flow.leaving ? ", " + flow.leaving + " jumps out of the function" : "") + ". Costs are of " +
    app.eventName(app.event) + ", shares of the blocks' sum." + (counted ? "" :
      app.summary.has & 8 ? " None of its jumps was counted." :
        " Jumps were not counted: --collect-jumps=yes counts them.")));
  bar.append(button(app.state.t ? "Picture" : "Table", () => app.set({ t: app.state.t ? "" : "1" })));
  if (app.state.t) {
    const made = await table(app, blocks, edges, bar, element);
    return { element, focus: () => made.focus() };
  }
  const tick = h("input", { type: "checkbox" });
  tick.checked = app.state.bl !== "1";
  tick.addEventListener("change", () => app.set({ bl: tick.checked ? "" : "1" }));
  bar.append(h("label", {}, tick, " Instructions"));
  const made = await picture(app, blocks, edges, total);
  bar.append(...made.buttons("flow", () => dot(app, blocks, edges)));
  element.append(h("div", { class: "sheet" }, made.element, made.map));
  return { element, begin: () => made.start(), focus: () => made.focus(), key: (key) => made.press(key) };
}
