// SPDX-License-Identifier: MIT
//
// Pictures in layers, as SVG: nodes that are links, and edges between them. They zoom and move, keys walk along
// them, and a map in the corner shows the visible part while that is not all.
import { button, png, save, svg } from "./element";
import { noteZoom } from "./state";

// The page's styles that an exported picture contains.
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray"];
const LETTERS = ["font-family", "font-size", "font-weight", "text-anchor", "white-space"];

export interface Place { x: number; y: number; w: number; h: number } // its middle, its size
export interface Link { from: number; to: number; weight: number; points: [number, number][] }

// A smooth line through points, perpendicular to the layers at both ends.
export function curve(points: [number, number][], left: boolean): string {
  if (points.length < 2) return "";
  let d = "M" + points[0]!.map((v) => v.toFixed(1)).join(" ");
  for (let i = 1; i < points.length; i++) {
    const [ax, ay] = points[i - 1]!, [bx, by] = points[i]!, mx = (ax + bx) / 2, my = (ay + by) / 2;
    d += "C" + (left ? [mx, ay, mx, by, bx, by] : [ax, my, bx, my, bx, by]).map((v) => v.toFixed(1)).join(" ");
  }
  return d;
}

// Of two opposite edges between the same nodes, each keeps to its right.
export function apart(points: [number, number][], both: boolean, left: boolean): [number, number][] {
  if (!both || points.length < 2) return points;
  const k = left ? 0 : 1, by = points[0]![k] < points[points.length - 1]![k] ? -6 : 6;
  return points.map(([x, y]) => left ? [x, y - by] : [x + by, y]);
}

// A string in DOT.
export function quoted(text: string): string { return '"' + text.replace(/[\\"]/g, "\\$&") + '"'; }

// A node: its link is the box, with a name of its own; the text above it is for sighted users only.
export function node(link: SVGAElement, tip: string, ...written: SVGElement[]): SVGAElement {
  svg("g", {}, svg("title", {}, tip), link, svg("g", { class: "written", "aria-hidden": "true" }, ...written));
  return link;
}

export class Layers {
  readonly element: SVGSVGElement;
  readonly map: SVGSVGElement;
  private readonly sight = svg("rect", { class: "sight" });
  private scale = 1;
  private x = 0;
  private y = 0;
  private started = false; // from then on the user zooms

  // `way`: the side of the callers, "left", "below" or else above. `home`: the focus node. `under`: is drawn
  // before the nodes.
  constructor(private readonly options: {
    label: string; places: Place[]; links: Link[]; frames: { x: number; y: number; w: number; h: number }[]; width: number;
    height: number; way: string; home: number; under: SVGElement[]; nodes: SVGElement[]; zoom: number[] | null;
  }) {
    this.element = svg("svg", { class: "graph", role: "group", "aria-label": options.label },
      svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
        orient: "auto", markerUnits: "userSpaceOnUse" },
        svg("path", { d: "M0 0L8 4L0 8Z" }))), ...options.under, svg("g", {}, ...options.nodes.map((node) => node.parentNode ?? node)));
    options.nodes.forEach((node, i) => {
      node.setAttribute("tabindex", i === 0 ? "0" : "-1");
      node.addEventListener("focus", () => this.show(i));
    });
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
      const k = this.options.width / this.scale / Math.max(1, this.element.clientWidth);
      if (Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 4) moved = true;
      if (!moved) return;
      this.x = drag.vx - (e.clientX - drag.x) * k;
      this.y = drag.vy - (e.clientY - drag.y) * k;
      this.frame();
    });
    this.element.addEventListener("click", (e) => { if (moved) e.preventDefault(); });
    this.element.addEventListener("pointerup", () => { drag = null; });
  }

  // The whole picture in a corner, with the visible part marked: shown while a part is hidden. Not for keys: 0 shows the whole.
  private overview(): SVGSVGElement {
    const map = svg("svg", { class: "map", "aria-hidden": "true", viewBox: [-40, -40, this.wide, this.tall].join(" ") });
    for (const b of this.options.frames) map.append(svg("rect", { class: "frame", x: b.x, y: b.y, width: b.w, height: b.h }));
    for (const e of this.options.links) {
      const d = e.points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(0) + " " + y.toFixed(0)).join("");
      if (d) map.append(svg("path", { d }));
    }
    for (const n of this.options.places) map.append(svg("rect", { x: n.x - n.w / 2, y: n.y - n.h / 2, width: n.w, height: n.h }));
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

  // The whole picture as a file: other programs lack the page's style, so each element gets its own.
  alone(): string {
    const copy = this.element.cloneNode(true) as SVGSVGElement, from = this.element.querySelectorAll("*"),
      paper = getComputedStyle(this.element).getPropertyValue("--paper").trim();
    copy.querySelectorAll("*").forEach((e, i) => {
      const style = getComputedStyle(from[i]!);
      if (!/^(rect|path|text)$/.test(e.localName)) return;
      for (const name of STYLES) e.setAttribute(name, style.getPropertyValue(name));
      if (e.localName === "text") for (const name of LETTERS) e.setAttribute(name, style.getPropertyValue(name));
    });
    const at = { x: this.left, y: -40, width: this.wide, height: this.tall };
    copy.setAttribute("viewBox", Object.values(at).join(" "));
    copy.setAttribute("width", String(at.width));
    copy.setAttribute("height", String(at.height));
    copy.prepend(svg("rect", { ...at, fill: paper }));
    return new XMLSerializer().serializeToString(copy);
  }

  // Buttons to zoom and to save.
  buttons(name: string, dot: () => string): HTMLElement[] {
    return [button("+", () => this.zoom(1.5), { "aria-label": "Larger" }),
      button("−", () => this.zoom(1 / 1.5), { "aria-label": "Smaller" }),
      button("0", () => this.reset(), { "aria-label": "0, whole picture" }),
      button("DOT", () => save(new Blob([dot()], { type: "text/plain" }), name + ".dot")),
      button("SVG", () => save(new Blob([this.alone()], { type: "image/svg+xml" }), name + ".svg")),
      button("PNG", () => png(this.alone(), this.wide, this.tall, name + ".png"))];
  }

  // For the whole picture: centred when it is narrower than the page.
  private get left(): number { return Math.min(0, this.options.width / 2 - this.wide / 2) - 10; }

  private get wide(): number { return Math.max(600, this.options.width + 80); }

  private get tall(): number { return Math.max(200, this.options.height + 80); }

  private frame(): void {
    this.element.setAttribute("viewBox", [this.x, this.y, this.wide / this.scale,
      this.tall / this.scale].map((v) => v.toFixed(1)).join(" "));
    for (const [name, value] of [["x", this.x], ["y", this.y], ["width", this.wide / this.scale],
      ["height", this.tall / this.scale]] as const) this.sight.setAttribute(name, value.toFixed(1));
    this.map.classList.toggle("whole", this.scale === 1);
    if (this.started) noteZoom([this.scale, this.x / this.wide, this.y / this.tall]);
  }

  // At a scale with readable names: around the focus node.
  start(): void {
    this.begin();
    this.started = true;
  }

  private begin(): void {
    const { zoom } = this.options;
    if (zoom) {
      this.scale = Math.max(1, Math.min(40, zoom[0]!));
      this.x = zoom[1]! * this.wide;
      this.y = zoom[2]! * this.tall;
      this.frame();
      return;
    }
    const width = Math.max(1, this.element.clientWidth), i = this.options.home;
    const fit = Math.max(this.wide / width, this.tall / Math.max(1, this.element.clientHeight));
    if (fit < 1.6) return;
    this.scale = fit / 1.3;
    this.x = this.options.places[i]!.x - this.wide / this.scale / 2;
    this.y = Math.max(-40, this.options.places[i]!.y - this.tall / this.scale / 2);
    this.frame();
  }

  reset(): void {
    this.scale = 1;
    this.x = this.left;
    this.y = -40;
    this.frame();
  }

  zoom(by: number): void {
    const scale = Math.max(1, Math.min(40, this.scale * by)), at = this.options.places[this.current()]!;
    const cx = this.scale > 1 ? this.x + this.wide / this.scale / 2 : at.x,
      cy = this.scale > 1 ? this.y + this.tall / this.scale / 2 : at.y;
    this.scale = scale;
    this.x = cx - this.wide / scale / 2;
    this.y = cy - this.tall / scale / 2;
    if (scale === 1) this.reset();
    else this.frame();
  }

  private current(): number { return Math.max(0, this.options.nodes.findIndex((node) => node === document.activeElement)); }

  private show(i: number): void {
    for (const [k, node] of this.options.nodes.entries()) node.setAttribute("tabindex", k === i ? "0" : "-1");
    if (this.scale > 1) {
      this.x = this.options.places[i]!.x - this.wide / this.scale / 2;
      this.y = this.options.places[i]!.y - this.tall / this.scale / 2;
      this.frame();
    }
  }

  focus(): void { (this.options.nodes.find((node) => node.getAttribute("tabindex") === "0") ?? this.options.nodes[0])?.focus(); }

  // Along the heaviest link, or to the neighbour in the layer.
  private key(e: KeyboardEvent): void {
    const at = this.current(), cost = (k: number): number => this.options.links[k]!.weight;
    const along = (down: boolean): number | undefined => {
      const all = this.options.links.flatMap((edge, k) => (down ? edge.from : edge.to) === at &&
        edge.from !== edge.to ? [k] : []).sort((a, b) => cost(b) - cost(a));
      return all.length ? (down ? this.options.links[all[0]!]!.to : this.options.links[all[0]!]!.from) : undefined;
    };
    if (!e.key.startsWith("Arrow") || e.altKey) return;
    const left = this.options.way === "left", layer = left ? "x" : "y", beside = left ? "y" : "x", nodes = this.options.places;
    const level = nodes.map((_, i) => i).filter((i) =>
      Math.abs(nodes[i]![layer] - nodes[at]![layer]) < 5).sort((a, b) => nodes[a]![beside] - nodes[b]![beside]);
    const place = level.indexOf(at);
    // Along links, against them, to the next node beside.
    const [forth, back, next] = left ? ["ArrowRight", "ArrowLeft", "ArrowDown"]
      : this.options.way === "below" ? ["ArrowUp", "ArrowDown", "ArrowRight"] : ["ArrowDown", "ArrowUp", "ArrowRight"];
    e.preventDefault();
    e.stopPropagation();
    const to = e.key === forth ? along(true) : e.key === back ? along(false) : level[place + (e.key === next ? 1 : -1)];
    if (to !== undefined) this.options.nodes[to]!.focus();
  }

  press(key: string): boolean {
    if (key === "+" || key === "=") this.zoom(1.5);
    else if (key === "-") this.zoom(1 / 1.5);
    else if (key === "0") this.reset();
    else return false;
    return true;
  }
}

