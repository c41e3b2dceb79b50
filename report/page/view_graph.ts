// SPDX-License-Identifier: MIT
//
// The call graph around a function, or of all: callers above, left of or below callees, at most 400 functions, the others
// summed; cycles as one node or opened, groups in frames, and a map of it all.
import { NONE, Side } from "./core";
import type { Value } from "./core";
import type { GraphPicture } from "./api";
import { funcOf, highlighter, missing, sideNames } from "./app";
import type { App, Shown, View } from "./app";
import { button, h, number, percent, share, signed, svg } from "./element";
import { apart, curve, Layers, node, quoted } from "./layers";
import { zoomOf } from "./state";
import { Table } from "./table";

const FOLD = 10000; // functions of a cycle that is one box: to sum the calls of more takes too long
const MOST = "60"; // nodes, unless chosen; the core's limit is 400

type Node_ = GraphPicture["nodes"][0];

const shares = ["0", "0.1", "0.5", "1", "2", "5", "10"];
const frames: [string, string][] = [["", "none"], ["object", "object"], ["file", "file"], ["namespace", "namespace"],
  ["cycle", "cycle"]];

function called(app: App, n: Node_): string {
  return n.cycle ? "cycle " + n.cycle + ", " + n.members.length + " functions"
    : n.name ? app.short(n.name) : n.above ? "other callers" : "other callees";
}

function label(app: App, n: Node_): string {
  const text = called(app, n);
  return text.length > 30 ? text.slice(0, 29) + "…" : text;
}

// The functions of a cycle, in its tip.
function listed(members: string[]): string {
  const names = members.slice(0, 20).map((name) => name || "???");
  return names.join(", ") + (members.length > names.length ? " and " + (members.length - names.length) + " more" : "");
}

// The position of an edge's label: right of the middle of a segment without a node, as near to the edge's middle as possible;
// above the middle where the edge goes on to the right, else below it, so that the edge does not cross the label.
function free(points: [number, number][], nodes: Node_[]): [number, number] {
  const spots = points.slice(1).map(([x, y], i): [number, number, number] =>
    [(x + points[i]![0]) / 2, (y + points[i]![1]) / 2, (x - points[i]![0]) * (y - points[i]![1])]);
  const half = (spots.length - 1) / 2, order = spots.map((_, i) => i).sort((a, b) => Math.abs(a - half) - Math.abs(b - half));
  const at = order.find((i) => !nodes.some((n) => Math.abs(n.x - spots[i]![0] - 35) < n.w / 2 + 35 &&
    Math.abs(n.y - spots[i]![1]) < 28));
  const [x, y, slope] = spots[at ?? order[0]!]!;
  return [x, Math.abs(slope) < 1 ? y : slope > 0 ? y - 5 : y + 13];
}

// `cycle`: that of the focus function.
function draw(app: App, g: GraphPicture, side: Side, cycle: number): Layers {
  const total = app.total(app.event, app.base ? Side.New : side),
    part = (v: number): string => (app.base && v > 0 ? "+" : "") + percent(v, total),
    names = app.eventName(app.event);
  const lines = svg("g", { class: "calls" }), nodes: SVGElement[] = [], groups = svg("g", { class: "groups" });
  for (const b of g.boxes) {
    const said = b.full + ", " + b.funcs + (b.funcs === 1 ? " function" : " functions") + ", self " +
      number(b.self, app.scale(app.event)) + ", " + part(b.self.approx) + " of " + names;
    const most = Math.floor(b.w / 7) - 9;
    const text = b.label.length > most ? b.label.slice(0, Math.max(1, most - 1)) + "…" : b.label;
    groups.append(svg("g", { class: "cluster", role: "img", "aria-label": said, "data-label": b.full },
      svg("rect", { x: b.x, y: b.y, width: b.w, height: b.h, rx: 6 }),
      svg("text", { x: b.x + 8, y: b.y + 16 }, text + " · " + part(b.self.approx)), svg("title", {}, said)));
  }
  const pairs = new Set(g.edges.map((e) => e.from + "-" + e.to));
  for (const e of g.edges) {
    const from = g.nodes[e.from]!, to = g.nodes[e.to]!, own = e.from === e.to,
      size = Math.abs(share(e.value.approx, total)) || 0;
    const points = own ? [] : apart(e.points, pairs.has(e.to + "-" + e.from), app.state.dr === "left");
    const d = own ? `M${from.x + 30} ${from.y + 20}c30 26 50 -10 20 -30` : curve(points, app.state.dr === "left");
    const change = app.base ? " " + (e.value.approx > 0 ? "more" : "less") : "";
    const text = label(app, from) + " calls " + label(app, to) + ": " +
      (app.base ? signed(e.calls, 1) : number(e.calls, 1)) + (Math.abs(e.calls.approx) === 1 ? " call, " : " calls, ") +
      (app.base ? signed : number)(e.value, app.scale(app.event)) +
      " inclusive (" + part(e.value.approx) + " of " + names + ")" + (e.costOn.length ? "; cost: " +
      app.said(e.costOn, app.scale(app.event)) + "; calls: " + app.said(e.calledOn, 1) : "");
    const path = svg("path", { d, class: "call" + change, "stroke-width": (0.8 + 6 * Math.sqrt(size)).toFixed(1),
      "marker-end": "url(#tip)" }, svg("title", {}, text));
    lines.append(path);
    if (size > 0.02 && points.length > 1) {
      // Of two opposite edges one label is a line higher, the other lower.
      const [x, y] = free(points, g.nodes), back = pairs.has(e.to + "-" + e.from) ? e.from < e.to ? -8 : 8 : 0;
      lines.append(svg("text", { x: x + 6 + 3 * Math.sqrt(size), y: y + back, class: "cost" },
        part(e.value.approx) + (app.base ? "" : ", " + number(e.calls, 1) + "×")));
    }
  }
  g.nodes.forEach((n) => {
    const text = label(app, n), width = n.w;
    const values = n.inclusive[side], scale = app.scale(app.event), said = n.name ? called(app, n) + ", " +
      (n.inclusive.length ? (app.base ? signed : number)(values, scale) + ", " + part(values!.approx) + " of " + names +
        ", self " + (app.base ? signed : number)(n.self[side], scale) + (app.base ? "; " + [n.inclusive, n.self].map((v, i) =>
        ["inclusive", "self"][i] + ": " + app.sides.map((s) => sideNames[s] + " " + app.text(s, v, scale)).join(", "))
        .join("; ") : "") : "") : text;
    const heat = n.self[side] ? Math.sqrt(Math.min(1, Math.max(0,
      share(Math.abs(n.self[side]!.approx), Math.abs(total)) || 0))) : 0;
    const box = svg("rect", { x: n.x - width / 2, y: n.y - 20, width, height: 40, rx: 4 });
    const glow = svg("rect", { class: "hot", x: n.x - width / 2, y: n.y - 20, width, height: 40, rx: 4,
      "fill-opacity": (heat * 0.45).toFixed(3) });
    nodes.push(node(svg("a", { role: n.name ? null : "img",
      href: n.name ? app.href({ ...app.state, v: "graph", k: "", z: "", f: n.name.hash,
        cn: n.cycle ? "1" : app.state.cn ?? "" }) : null, "aria-label": said + (n.cycle ? ", Enter opens it" : ""),
        class: "node" +
        (n.name && (n.name.func === app.func || (n.cycle && n.cycle === cycle)) ? " focus" : "") +
        (n.name?.cycle[0] ? " cycle" : ""), "data-hash": n.name?.hash, "data-func": n.name && !n.cycle ? n.name.func : null,
    }, box, glow), said + (n.cycle ? "\n" + listed(n.members) : n.name ? "\n" + app.full(n.name) : ""),
    svg("text", { x: n.x, y: n.y - 3 }, text), svg("text", { x: n.x, y: n.y + 13, class: "cost" },
      n.inclusive.length ? part(values!.approx) + " / " + part(n.self[side]!.approx) : "")));
  });
  return new Layers({
    label: "Call graph. Arrows move along calls, Enter opens, + - 0 zoom, t shows a table",
    places: g.nodes.map((n) => ({ x: n.x, y: n.y, w: n.w, h: 40 })),
    links: g.edges.map((e) => ({ from: e.from, to: e.to, weight: Math.abs(e.value.approx), points: e.points })),
    frames: g.boxes, width: g.width, height: g.height, way: app.state.dr ?? "",
    home: Math.max(0, g.nodes.findIndex((n) => n.name && n.name.func === app.func)), under: [groups, lines], nodes,
    zoom: zoomOf(app.state),
  });
}

// Boxes do not overlap, and contain their members only.
function framed(n: Node_, b: GraphPicture["boxes"][0]): boolean {
  return n.x > b.x && n.x < b.x + b.w && n.y > b.y && n.y < b.y + b.h;
}

function dot(app: App, g: GraphPicture): string {
  const out = ["digraph calls {", "  node [shape=box];"];
  g.nodes.forEach((n, i) => out.push("  n" + i + " [label=" +
    quoted((n.cycle ? called(app, n) : n.name ? n.name.name || "???" : called(app, n)) +
    (n.inclusive[0] ? " " + number(n.inclusive[0], app.scale(app.event)) : "")) + "];"));
  g.boxes.forEach((b, k) => out.push("  subgraph cluster" + k + " { label=" + quoted(b.full) + "; " +
    g.nodes.flatMap((n, i) => framed(n, b) ? ["n" + i] : []).join("; ") + " }"));
  for (const e of g.edges) out.push("  n" + e.from + " -> n" + e.to + " [label=" +
    quoted(number(e.value, app.scale(app.event)) + " (" + number(e.calls, 1) + "x)") + "];");
  return out.join("\n") + "\n}\n";
}

function shown(nodes: Node_[]): string {
  const funcs = nodes.filter((n) => n.name && !n.cycle).length, cycles = nodes.filter((n) => n.cycle).length;
  return funcs + " functions" + (cycles ? " and " + cycles + (cycles === 1 ? " cycle" : " cycles") : "");
}

async function show(app: App): Promise<Shown> {
  const { state } = app, element = h("div"), all = state.k === "all", focus = all ? NONE : await funcOf(app);
  const up = Number(state.up ?? 3), down = Number(state.dn ?? 3), least = Number(state.ln ?? (all ? 2 : 0.5));
  const pick = (text: string, value: string, options: [string, string][], change: (v: string) => void): HTMLElement => {
    const select = h("select", {}, ...options.map(([v, t]) => h("option", { value: v }, t)));
    select.value = value;
    select.addEventListener("change", () => change(select.value));
    return h("label", {}, text + " ", select);
  };
  const depths: [string, string][] = ["0", "1", "2", "3", "5", "10", "100"].map((d) => [d, d === "100" ? "all" : d]);
  const bar = h("div", { class: "bar" }, pick("Of", all ? "all" : "", [["", "the function"], ["all", "the program"]],
    (k) => app.set({ k })),
    all ? null : pick("Callers", String(up), depths, (v) => app.set({ up: v })),
      all ? null : pick("Callees", String(down), depths, (v) => app.set({ dn: v })),
    pick("Least cost", String(least), shares.map((v) => [v, v + " %"]), (v) => app.set({ ln: v })),
    pick("of calls", state.le ?? "", [["", "the same"], ...shares.map((v): [string, string] => [v, v + " %"])],
      (v) => app.set({ le: v })),
    pick("Layout", state.dr ?? "", [["", "callers above"], ["left", "callers left"], ["below", "callers below"]], (dr) => app.set({ dr })),
    pick("Frames", frames.some(([v]) => v === state.cl) ? state.cl! : "", frames, (cl) => app.set({ cl })),
    app.base || app.summary.opened ? null : pick("Cycles", state.cn ?? "", [["", "are one box"], ["1", "are opened"]],
      (cn) => app.set({ cn })),
    pick("At most", state.l ?? MOST, ["20", "60", "120", "200", "400"].map((v) => [v, v]), (v) => app.set({ l: v })),
    button(state.t ? "Picture" : "Table", () => app.set({ t: state.t ? "" : "1" })));
  element.append(h("h2", {}, "Call graph", focus !== NONE ? " around " : null,
    focus !== NONE ? app.link(await app.client.ask("name", focus)) : null), bar);
  if (!all && focus === NONE) {
    element.append(h("p", { class: "note" }, missing(app)));
    return { element };
  }
  if (app.summary.events[app.event]!.ratio) {
    element.append(h("p", { class: "note" }, app.eventName(app.event) +
      " is a ratio: calls have no ratio. Choose an event with counts."));
    return { element };
  }
  const side = app.base ? Side.Difference : Side.New;
  const g = await app.client.ask("graph", app.event, side, focus, up, down, least / 100,
    Number(state.le ?? least) / 100, Number(state.l ?? MOST),
    { ...app.filter, text: "" }, app.base ? Side.Difference : Side.New, state.dr ?? "", app.base || state.cn === "1" ? 0 : FOLD,
    state.cl ?? "");
  const cycle = focus === NONE ? 0 : (await app.client.ask("name", focus)).cycle[0];
  element.append(h("p", { class: "note", role: "status" }, shown(g.nodes) +
    (g.leftOut ? ", " + g.leftOut + " more are summed in \"others\"" : "") +
    (g.notDrawn ? "; " + g.notDrawn + " cheaper calls between them are not drawn" : "") +
    (!app.base && state.cn !== "1" && g.nodes.some((n) => n.name?.cycle[0] && !n.cycle) ? "; a cycle of more than " +
      FOLD.toLocaleString("en") + " functions is opened" : "") + ". In a box: " + (app.base ?
      "the difference of the inclusive and of the self cost, as shares of the program's new cost." : "inclusive and self cost, of the program.")));
  if (!g.nodes.length) return { element };
  if (state.t) {
    const table = new Table({
      label: "Calls of the graph", id: "quern-graph", columns: [
        { id: "caller", title: "Caller", name: true },
        ...app.sides.map((s) => ({ id: "calls" + s, title: "Calls" + (app.base ? ", " + sideNames[s] : "") })),
        ...app.sides.map((s) => ({ id: "cost" + s, title: app.eventName(app.event) + (app.base ? ", " + sideNames[s] : "") })),
        { id: "callee", title: "Callee", name: true }],
    });
    bar.append(table.csvButton("calls"));
    element.append(table.element);
    const name = (i: number, main: boolean): Node => {
      const n = g.nodes[i]!;
      return n.name && !n.cycle ? app.link(n.name, {}, main) : n.name
        ? h("a", { href: app.href({ ...app.state, z: "", cn: "1", f: n.name.hash }), class: main ? "main" : null,
          title: listed(n.members) }, called(app, n)) : h("span", {}, called(app, n));
    };
    await table.show({
      count: g.edges.length, load: (first, count) => Promise.resolve(g.edges.slice(first, first + count).map((e) => {
        const from = g.nodes[e.from]!, to = g.nodes[e.to]!,
          id = from.name && to.name && !from.cycle && !to.cycle ? from.name.func + "-" + to.name.func : "";
        // With a base a sum of several calls ("others") has a difference only.
        const on = (all: Value[], v: Value, scale: number): string[] => app.sides.map((s) => all.length ? app.text(s, all, scale)
          : s === side ? app.text(side, [v, undefined, v], scale) : "");
        return {
          cells: [name(e.from, true), ...on(e.calledOn, e.calls, 1), ...on(e.costOn, e.value, app.scale(app.event)),
            name(e.to, false)],
          of: ["", ...app.sides.map((s) => id && ["calls", 0, s, id].join(":")),
            ...app.sides.map((s) => id && ["edge", app.event, s, id].join(":")), ""],
        };
      })),
    });
    return { element, focus: () => table.focus() };
  }
  const drawing = draw(app, g, side, cycle);
  bar.append(...drawing.buttons("calls", () => dot(app, g)));
  const { said, search } = highlighter((mask) => {
    for (const a of drawing.element.querySelectorAll<SVGElement>("a.node"))
      a.classList.toggle("found", !!mask && mask[Number(a.dataset["func"])] === 1);
    drawing.element.classList.toggle("searched", !!mask);
  });
  element.append(said, h("div", { class: "sheet" }, drawing.element, drawing.map));
  return { element, search, begin: () => drawing.start(), focus: () => drawing.focus(), key: (key) => drawing.press(key) };
}

export const graphView: View = { key: "graph", title: "Call graph", when: (app) => app.ready && app.calls, show };
