// SPDX-License-Identifier: MIT
//
// The call graph around a function, or of all: callers above, left of or below callees, at most 400 functions, the rest
// summed; cycles as one node or opened, groups in frames, and a map of it all.
import { NONE, Side } from "./core";
import type { GraphPicture } from "./api";
import { sideNames } from "./app";
import type { App, Shown, View } from "./app";
import { button, h, number, percent, save, share, shorten, signed, svg } from "./element";
import { Table } from "./table";
import { funcOf, missing } from "./view_function";

const MOST = "60"; // nodes, unless chosen; the core's limit is 400

type Node_ = GraphPicture["nodes"][0];

const frames: [string, string][] = [["", "none"], ["object", "object"], ["file", "file"], ["namespace", "namespace"],
  ["cycle", "cycle"]];

function called(n: Node_): string {
  return n.cycle ? "cycle " + n.cycle + ", " + n.members.length + " functions"
    : n.name ? shorten(n.name.name || "???") : n.above ? "other callers" : "other callees";
}

function label(n: Node_): string {
  const text = called(n);
  return text.length > 30 ? text.slice(0, 29) + "…" : text;
}

// What the tip of a cycle says of its functions.
function listed(members: string[]): string {
  const names = members.slice(0, 20).map((name) => shorten(name || "???"));
  return names.join(", ") + (members.length > names.length ? " and " + (members.length - names.length) + " more" : "");
}

// A smooth line through points, which begins and ends across the layers.
function curve(points: [number, number][], left: boolean): string {
  if (points.length < 2) return "";
  let d = "M" + points[0]!.map((v) => v.toFixed(1)).join(" ");
  for (let i = 1; i < points.length; i++) {
    const [ax, ay] = points[i - 1]!, [bx, by] = points[i]!, mx = (ax + bx) / 2, my = (ay + by) / 2;
    d += "C" + (left ? [mx, ay, mx, by, bx, by] : [ax, my, bx, my, bx, by]).map((v) => v.toFixed(1)).join(" ");
  }
  return d;
}

class Drawing {
  readonly element: SVGSVGElement;
  readonly map: SVGSVGElement;
  private readonly nodes: SVGAElement[] = [];
  private readonly sight = svg("rect", { class: "sight" });
  private scale = 1;
  private x = 0;
  private y = 0;

  // `cycle`: of the function that the graph is about.
  constructor(private readonly app: App, private readonly g: GraphPicture, private readonly side: Side,
    private readonly cycle: number) {
    const total = app.total(app.event, app.base ? Side.New : side),
      part = (v: number): string => (app.base && v > 0 ? "+" : "") + percent(v, total),
      names = app.eventName(app.event);
    this.element = svg("svg", { class: "graph", role: "group",
      "aria-label": "Call graph. Arrows move along calls, Enter opens, + - 0 zoom, t shows a table" },
      svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
        orient: "auto", markerUnits: "userSpaceOnUse" },
        svg("path", { d: "M0 0L8 4L0 8Z" }))));
    const lines = svg("g", { class: "calls" }), boxes = svg("g"), groups = svg("g", { class: "groups" });
    for (const b of g.boxes) {
      const said = b.full + ", " + b.funcs + (b.funcs === 1 ? " function" : " functions") + ", self " +
        number(b.self, app.scale(app.event)) + ", " + part(b.self.approx) + " of " + names;
      const most = Math.floor(b.w / 7) - 9;
      const text = b.label.length > most ? b.label.slice(0, Math.max(1, most - 1)) + "…" : b.label;
      groups.append(svg("g", { class: "cluster", role: "img", "aria-label": said, "data-label": b.full },
        svg("rect", { x: b.x, y: b.y, width: b.w, height: b.h, rx: 6 }),
        svg("text", { x: b.x + 8, y: b.y + 16 }, text + " · " + part(b.self.approx)), svg("title", {}, said)));
    }
    for (const e of g.edges) {
      const from = g.nodes[e.from]!, to = g.nodes[e.to]!, own = e.from === e.to,
        size = Math.abs(share(e.value.approx, total)) || 0;
      const points = own ? [] : e.points;
      const d = own ? `M${from.x + 30} ${from.y + 20}c30 26 50 -10 20 -30` : curve(points, app.state.dr === "left");
      const change = this.app.base ? " " + (e.value.approx > 0 ? "more" : "less") : "";
      const text = label(from) + " calls " + label(to) + " " +
        (app.base ? signed(e.calls, 1) : number(e.calls, 1)) + " times for " +
        (app.base ? signed : number)(e.value, app.scale(app.event)) +
        " (" + part(e.value.approx) + " of " + names + ")";
      const path = svg("path", { d, class: "call" + change, "stroke-width": (0.8 + 6 * Math.sqrt(size)).toFixed(1),
        "marker-end": "url(#tip)" }, svg("title", {}, text));
      lines.append(path);
      const middle = points[Math.floor(points.length / 2)];
      if (middle && size > 0.02 && points.length > 1) {
        const before = points[Math.floor(points.length / 2) - 1]!;
        lines.append(svg("text", { x: (middle[0] + before[0]) / 2 + 4, y: (middle[1] + before[1]) / 2, class: "cost" },
          part(e.value.approx) + (app.base ? "" : ", " + number(e.calls, 1) + "×")));
      }
    }
    g.nodes.forEach((n, i) => {
      const text = label(n), width = n.w;
      const values = n.inclusive[side], said = n.name ? called(n) + ", " +
        (n.inclusive.length ? number(values, app.scale(app.event)) + ", " +
        part(values!.approx) + " of " + names + ", self " + number(n.self[side], app.scale(app.event)) : "") : text;
      const heat = n.self[side] ? Math.sqrt(Math.min(1, Math.max(0,
        share(Math.abs(n.self[side]!.approx), Math.abs(total)) || 0))) : 0;
      const box = svg("rect", { x: n.x - width / 2, y: n.y - 20, width, height: 40, rx: 4 });
      const glow = svg("rect", { class: "hot", x: n.x - width / 2, y: n.y - 20, width, height: 40, rx: 4,
        "fill-opacity": (heat * 0.45).toFixed(3) });
      const a = svg("a", {
        href: n.name ? app.href({ ...app.state, v: "graph", k: "", f: n.name.hash,
          cn: n.cycle ? "1" : app.state.cn ?? "" }) : null, "aria-label": said + (n.cycle ? ", Enter opens it" : ""), tabindex: i === 0 ? 0 : -1,
          class: "node" +
          (n.name && (n.name.func === app.func || (n.cycle && n.cycle === this.cycle)) ? " focus" : "") +
          (n.name?.cycle[0] ? " cycle" : ""), "data-hash": n.name?.hash,
      }, box, glow, svg("text", { x: n.x, y: n.y - 3 }, text), svg("text", { x: n.x, y: n.y + 13, class: "cost" },
        n.inclusive.length ? part(values!.approx) + " / " + part(n.self[side]!.approx) : ""),
      svg("title", {}, said + (n.cycle ? "\n" + listed(n.members) : n.name ? "\n" + app.full(n.name) : "")));
      a.addEventListener("focus", () => this.show(i));
      boxes.append(a);
      this.nodes.push(a);
    });
    this.element.append(groups, lines, boxes);
    this.map = this.overview();
    this.element.addEventListener("keydown", (e) => this.key(e));
    this.element.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2);
    }, { passive: false });
    this.pan();
    this.reset();
  }

  private pan(): void {
    let drag: { x: number; y: number; vx: number; vy: number } | null = null, moved = false;
    this.element.addEventListener("pointerdown", (e) => {
      drag = { x: e.clientX, y: e.clientY, vx: this.x, vy: this.y };
      moved = false;
    });
    this.element.addEventListener("pointermove", (e) => {
      if (!drag || !e.buttons) return;
      const k = this.g.width / this.scale / Math.max(1, this.element.clientWidth);
      if (Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 4) moved = true;
      if (!moved) return;
      this.x = drag.vx - (e.clientX - drag.x) * k;
      this.y = drag.vy - (e.clientY - drag.y) * k;
      this.frame();
    });
    this.element.addEventListener("click", (e) => { if (moved) e.preventDefault(); });
    this.element.addEventListener("pointerup", () => { drag = null; });
  }

  // All of it in a corner, with what is in sight: shown while that is not all. Keys need none: 0 shows the whole.
  private overview(): SVGSVGElement {
    const map = svg("svg", { class: "map", "aria-hidden": "true", viewBox: [-40, -40, this.wide, this.tall].join(" ") });
    for (const b of this.g.boxes) map.append(svg("rect", { class: "frame", x: b.x, y: b.y, width: b.w, height: b.h }));
    for (const e of this.g.edges) {
      const d = e.points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(0) + " " + y.toFixed(0)).join("");
      if (d) map.append(svg("path", { d }));
    }
    for (const n of this.g.nodes) map.append(svg("rect", { x: n.x - n.w / 2, y: n.y - 20, width: n.w, height: 40 }));
    map.append(this.sight);
    const to = (e: PointerEvent): void => {
      const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(map.getScreenCTM()!.inverse());
      this.x = at.x - this.wide / this.scale / 2;
      this.y = at.y - this.tall / this.scale / 2;
      this.frame();
    };
    map.addEventListener("pointerdown", to);
    map.addEventListener("pointermove", (e) => { if (e.buttons) to(e); });
    return map;
  }

  private get wide(): number { return Math.max(600, this.g.width + 80); }

  private get tall(): number { return Math.max(200, this.g.height + 80); }

  private frame(): void {
    this.element.setAttribute("viewBox", [this.x, this.y, this.wide / this.scale,
      this.tall / this.scale].map((v) => v.toFixed(1)).join(" "));
    for (const [name, value] of [["x", this.x], ["y", this.y], ["width", this.wide / this.scale],
      ["height", this.tall / this.scale]] as const) this.sight.setAttribute(name, value.toFixed(1));
    this.map.classList.toggle("whole", this.scale === 1);
  }

  // Where names can be read: around the function, or at the first one.
  start(): void {
    const width = Math.max(1, this.element.clientWidth), i = Math.max(0,
      this.g.nodes.findIndex((n) => n.name && n.name.func === this.app.func));
    const fit = Math.max(this.wide / width, this.tall / Math.max(1, this.element.clientHeight));
    if (fit < 1.6) return;
    this.scale = fit / 1.3;
    this.x = this.g.nodes[i]!.x - this.wide / this.scale / 2;
    this.y = Math.max(-40, this.g.nodes[i]!.y - this.tall / this.scale / 2);
    this.frame();
  }

  reset(): void {
    this.scale = 1;
    this.x = Math.min(0, this.g.width / 2 - this.wide / 2) - 10;
    this.y = -40;
    this.frame();
  }

  zoom(by: number): void {
    const scale = Math.max(1, Math.min(40, this.scale * by)), at = this.g.nodes[this.current()]!;
    const cx = this.scale > 1 ? this.x + this.wide / this.scale / 2 : at.x,
      cy = this.scale > 1 ? this.y + this.tall / this.scale / 2 : at.y;
    this.scale = scale;
    this.x = cx - this.wide / scale / 2;
    this.y = cy - this.tall / scale / 2;
    if (scale === 1) this.reset();
    else this.frame();
  }

  private current(): number { return Math.max(0, this.nodes.findIndex((node) => node === document.activeElement)); }

  private show(i: number): void {
    for (const [k, node] of this.nodes.entries()) node.setAttribute("tabindex", k === i ? "0" : "-1");
    if (this.scale > 1) {
      this.x = this.g.nodes[i]!.x - this.wide / this.scale / 2;
      this.y = this.g.nodes[i]!.y - this.tall / this.scale / 2;
      this.frame();
    }
  }

  focus(): void { (this.nodes.find((node) => node.getAttribute("tabindex") === "0") ?? this.nodes[0])?.focus(); }

  // Along the dearest call, or to the neighbour in the layer.
  private key(e: KeyboardEvent): void {
    const at = this.current(), cost = (k: number): number => Math.abs(this.g.edges[k]!.value.approx);
    const along = (down: boolean): number | undefined => {
      const all = this.g.edges.flatMap((edge, k) => (down ? edge.from : edge.to) === at &&
        edge.from !== edge.to ? [k] : []).sort((a, b) => cost(b) - cost(a));
      return all.length ? (down ? this.g.edges[all[0]!]!.to : this.g.edges[all[0]!]!.from) : undefined;
    };
    const left = this.app.state.dr === "left", layer = left ? "x" : "y", beside = left ? "y" : "x", nodes = this.g.nodes;
    const level = nodes.map((_, i) => i).filter((i) =>
      Math.abs(nodes[i]![layer] - nodes[at]![layer]) < 5).sort((a, b) => nodes[a]![beside] - nodes[b]![beside]);
    const place = level.indexOf(at);
    // To callees, to callers, to the next beside.
    const [forth, back, next] = left ? ["ArrowRight", "ArrowLeft", "ArrowDown"]
      : this.app.state.dr === "below" ? ["ArrowUp", "ArrowDown", "ArrowRight"] : ["ArrowDown", "ArrowUp", "ArrowRight"];
    if (!e.key.startsWith("Arrow") || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    const to = e.key === forth ? along(true) : e.key === back ? along(false) : level[place + (e.key === next ? 1 : -1)];
    if (to !== undefined) this.nodes[to]!.focus();
  }

  press(key: string): boolean {
    if (key === "+" || key === "=") this.zoom(1.5);
    else if (key === "-") this.zoom(1 / 1.5);
    else if (key === "0") this.reset();
    else return false;
    return true;
  }
}

// The picture alone, with the colours that it has here: in another program there is no style of the page.
function alone(picture: SVGSVGElement): string {
  const copy = picture.cloneNode(true) as SVGSVGElement, style = getComputedStyle(picture),
    color = (name: string): string => style.getPropertyValue(name).trim();
  copy.insertBefore(svg("style", {},
    `text{fill:${color("--ink")};text-anchor:middle;font:12px sans-serif}.cost{font-size:11px}` +
    `rect{fill:${color("--paper")};stroke:${color("--line")}}.hot{fill:rgb(${color("--hot")});stroke:none}` +
    `.cluster text{text-anchor:start}.cluster rect{fill:none}` +
    `.call{fill:none;stroke:${color("--line")}}.more{stroke:${color("--more")}}.less{stroke:${color("--less")}}`),
      copy.firstChild);
  return new XMLSerializer().serializeToString(copy);
}

// Boxes do not overlap, and what stands in one is of it.
function framed(n: Node_, b: GraphPicture["boxes"][0]): boolean {
  return n.x > b.x && n.x < b.x + b.w && n.y > b.y && n.y < b.y + b.h;
}

function dot(app: App, g: GraphPicture): string {
  const quote = (text: string): string => '"' + text.replace(/[\\"]/g, "\\$&") + '"';
  const out = ["digraph calls {", "  node [shape=box];"];
  g.nodes.forEach((n, i) => out.push("  n" + i + " [label=" +
    quote((n.cycle ? called(n) : n.name ? n.name.name || "???" : called(n)) +
    (n.inclusive[0] ? " " + number(n.inclusive[0], app.scale(app.event)) : "")) + "];"));
  g.boxes.forEach((b, k) => out.push("  subgraph cluster" + k + " { label=" + quote(b.full) + "; " +
    g.nodes.flatMap((n, i) => framed(n, b) ? ["n" + i] : []).join("; ") + " }"));
  for (const e of g.edges) out.push("  n" + e.from + " -> n" + e.to + " [label=" +
    quote(number(e.value, app.scale(app.event)) + " (" + number(e.calls, 1) + "x)") + "];");
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
    pick("Least cost", String(least), ["0", "0.1", "0.5", "1", "2", "5", "10"].map((v) => [v, v + " %"]),
      (v) => app.set({ ln: v })),
    pick("Layout", state.dr ?? "", [["", "callers above"], ["left", "callers left"], ["below", "callers below"]], (dr) => app.set({ dr })),
    pick("Frames", frames.some(([v]) => v === state.cl) ? state.cl! : "", frames, (cl) => app.set({ cl })),
    app.base || state.cy === "0" ? null : pick("Cycles", state.cn ?? "", [["", "are one box"], ["1", "are opened"]],
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
      " is a ratio: calls have none. Choose an event that counts."));
    return { element };
  }
  const side = app.base ? Side.Difference : Side.New;
  const g = await app.client.ask("graph", app.event, side, focus, up, down, least / 100, Number(state.l ?? MOST),
    app.filter, app.base ? Side.Difference : Side.New, state.dr ?? "", !app.base && state.cn !== "1", state.cl ?? "");
  const cycle = focus === NONE ? 0 : (await app.client.ask("name", focus)).cycle[0];
  element.append(h("p", { class: "note", role: "status" }, shown(g.nodes) +
    (g.leftOut ? ", " + g.leftOut + " more are summed in \"others\"" : "") +
    (g.notDrawn ? "; " + g.notDrawn + " cheaper calls between them are not drawn" : "") +
    ". In a box: " + (app.base ?
      "the difference of the inclusive and of the self cost, as shares of the program's new cost." : "inclusive and self cost, of the program.")));
  if (!g.nodes.length) return { element };
  if (state.t) {
    const table = new Table({
      label: "Calls of the graph", id: "quern-graph", columns: [
        { id: "caller", title: "Caller", name: true }, { id: "calls", title: "Calls" },
          { id: "cost", title: app.eventName(app.event) + (app.base ? ", " + sideNames[2] : "") },
        { id: "callee", title: "Callee", name: true }],
    });
    bar.append(table.csvButton("calls"));
    element.append(table.element);
    const name = (i: number, main: boolean): Node => {
      const n = g.nodes[i]!;
      return n.name && !n.cycle ? app.link(n.name, {}, main) : n.name
        ? h("a", { href: app.href({ ...app.state, cn: "1", f: n.name.hash }), class: main ? "main" : null,
          title: listed(n.members) }, called(n)) : h("span", {}, called(n));
    };
    await table.show({
      count: g.edges.length, load: (first, count) => Promise.resolve(g.edges.slice(first, first + count).map((e) => {
        const from = g.nodes[e.from]!, to = g.nodes[e.to]!,
          id = from.name && to.name && !from.cycle && !to.cycle ? from.name.func + "-" + to.name.func : "";
        return {
          cells: [name(e.from, true), number(e.calls, 1), app.text(side,
            [undefined, undefined, e.value].map((v, s) => s === side ? e.value : v), app.scale(app.event)),
            name(e.to, false)],
          of: ["", id && ["calls", 0, side, id].join(":"), id && ["edge", app.event, side, id].join(":"), ""],
        };
      })),
    });
    return { element, focus: () => table.focus() };
  }
  const drawing = new Drawing(app, g, side, cycle);
  bar.append(button("+", () => drawing.zoom(1.5), { "aria-label": "Larger" }),
    button("−", () => drawing.zoom(1 / 1.5), { "aria-label": "Smaller" }),
    button("0", () => drawing.reset(), { "aria-label": "Whole picture" }),
    button("DOT", () => save(new Blob([dot(app, g)], { type: "text/plain" }), "calls.dot")),
    button("SVG", () => save(new Blob([alone(drawing.element)], { type: "image/svg+xml" }), "calls.svg")));
  element.append(h("div", { class: "sheet" }, drawing.element, drawing.map));
  return { element, begin: () => drawing.start(), focus: () => drawing.focus(), key: (key) => drawing.press(key) };
}

export const graphView: View = { key: "graph", title: "Call graph", when: (app) => app.ready && app.calls, show };
