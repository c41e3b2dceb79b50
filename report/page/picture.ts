// SPDX-License-Identifier: MIT
//
// Boxes on a canvas: flame graphs and treemaps. They zoom and move; the focused box is a link above the
// canvas, with a name and a place in the tab order.
import { NONE } from "./core";
import { button, h, save, svg } from "./element";
import { noteZoom } from "./state";

export interface Item {
  x: number; y: number; w: number; h: number; // x and w of a flame graph: 0 to 1
  parent: number; depth: number;
  label: string; name: () => string; // the text in it, and its accessible name
  href: string; hash: string;
  func: number;  // NONE: none
  heat: number;  // 0 to 1: lightness; below 0: cheaper than before
  change: boolean;
  hatched: boolean;
}

const WORD = 7.2; // pixels of a letter

// Colours by heat, of 32 steps between paper and hot or cool: opaque, so that boxes in boxes do not add up.
function shades(paper: string, hot: string, cool: string, most: number): (heat: number) => string {
  const from = [1, 3, 5].map((i) => parseInt(paper.slice(i, i + 2), 16)), steps: string[][] = [];
  for (const to of [hot, cool]) {
    const rgb = to.split(" ").map(Number);
    steps.push(Array.from({ length: 33 }, (_, i) => {
      const k = 0.08 + i / 32 * (most - 0.08);
      return "rgb(" + from.map((v, c) => Math.round(v + (rgb[c]! - v) * k)).join() + ")";
    }));
  }
  return (heat) => steps[heat < 0 ? 1 : 0]![Math.round(Math.min(1, Math.abs(heat)) * 32)]!;
}

export class Picture {
  readonly element: HTMLElement;
  readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly said: HTMLElement;
  private focus: HTMLAnchorElement | null = null;
  private at = 0;
  private scale = 1;
  private left = 0; // of the picture, in pixels of scale 1
  private top = 0;
  private asked = 0;
  private found: Uint8Array | null = null;
  private hatch: CanvasPattern | null = null;
  private drag: { x: number; y: number; left: number; top: number; moved: boolean } | null = null;
  private width = 1; // of the canvas: reading it forces a layout
  private readonly watch = new ResizeObserver(() => this.draw());

  // `wide`: the picture is as wide as the page, and zooms horizontally only.
  constructor(label: string, private items: Item[], private readonly wide: boolean, private height: number,
    private readonly zoomed?: (part: number, left: number) => void, private begin: number[] | null = null) {
    this.said = h("div", { class: "hold", role: "group", "aria-label": label +
      ". Arrows move, Enter opens, + - 0 zoom, t shows a table" });
    this.element = h("div", { class: "picture" }, h("div", { class: "bar" },
      button("+", () => this.zoom(1.5), { "aria-label": "Larger" }),
      button("−", () => this.zoom(1 / 1.5), { "aria-label": "Smaller" }),
        button("0", () => this.reset(), { "aria-label": "0, whole picture" })),
      h("div", { class: "sheet" }, this.canvas, this.said, this.tip));
    this.said.addEventListener("pointermove", (e) => this.hover(e));
    this.said.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.said.addEventListener("pointerdown", (e) => {
      this.drag = { x: e.clientX, y: e.clientY, left: this.left, top: this.top, moved: false };
    });
    this.said.addEventListener("pointerup", (e) => this.release(e));
    this.said.addEventListener("click", (e) => { if (e.isTrusted && e.detail) e.preventDefault(); });
    this.said.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2, [e.offsetX, e.offsetY]);
    }, { passive: false });
    this.said.addEventListener("keydown", (e) => this.key(e));
    this.watch.observe(this.canvas);
    this.show(items, height);
  }

  end(): void { this.watch.disconnect(); }

  // Highlights what a search finds: by function; null: nothing.
  highlight(mask: Uint8Array | null): void {
    this.found = mask;
    this.draw();
  }

  // Replaces the boxes by finer ones.
  show(items: Item[], height: number): void {
    const now = this.items[this.at];
    this.height = height;
    this.canvas.style.height = this.said.style.height = height + "px";
    this.items = items;
    this.at = Math.max(0, items.findIndex((item) => !!now && item.hash === now.hash && item.depth === now.depth &&
      Math.abs(item.x - now.x) < 1e-9));
    if (items.length && !this.focus) this.link();
    this.draw();
  }


  // An item's rectangle in pixels.
  private box(i: Item): [number, number, number, number] {
    const k = this.wide ? this.width : 1, sx = this.scale * k, sy = this.wide ? 1 : this.scale;
    return [i.x * sx - this.left * this.scale, i.y * sy - this.top * sy, i.w * sx, i.h * sy];
  }

  // The width, which is 1 until something asks for it, and the zoom of the address, which waits for it. What is on the left stays there
  // when the width changes.
  private measure(): void {
    const width = this.canvas.clientWidth || this.width;
    if (this.wide) this.left *= width / this.width;
    this.width = width;
    if (this.begin) this.start(this.begin);
  }

  // Around a point of the canvas, or its middle.
  zoom(by: number, at?: [number, number]): void {
    this.measure();
    const [x, y] = at ?? [this.width / 2, this.height / 2];
    const scale = Math.max(1, Math.min(1e6, this.scale * by));
    this.left += x / this.scale - x / scale;
    if (!this.wide) this.top += y / this.scale - y / scale;
    this.scale = scale;
    this.settle();
  }

  reset(): void {
    this.measure();
    this.scale = 1;
    this.left = this.top = 0;
    this.settle();
  }

  // Zooms to an item.
  fit(item: Item): void {
    this.measure();
    const k = this.wide ? this.width : 1;
    this.scale = Math.max(1, this.wide ? 1 / item.w : Math.min(this.width / item.w, this.height / item.h));
    this.left = item.x * k;
    this.top = this.wide ? this.top : item.y;
    this.settle();
  }

  // The zoom of the address, once the width of the picture is known.
  private start([scale, left, top]: number[]): void {
    this.begin = null;
    this.scale = Math.max(1, Math.min(1e6, scale!));
    this.left = left! * this.width;
    this.top = top! * this.height;
    this.settle();
  }

  private settle(): void {
    this.left = Math.max(0, Math.min(this.left, this.width - this.width / this.scale));
    if (!this.wide) this.top = Math.max(0, Math.min(this.top, this.height - this.height / this.scale));
    this.draw();
    this.zoomed?.(1 / this.scale, this.left / this.width);
    noteZoom(this.scale === 1 ? [] : [this.scale, this.left / this.width, this.top / this.height]);
  }

  private draw(): void {
    if (!this.asked) this.asked = requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    this.asked = 0;
    const ratio = devicePixelRatio || 1, context = this.canvas.getContext("2d");
    if (!context || !this.canvas.isConnected) return;
    this.measure();
    const w = Math.round(this.width * ratio), tall = Math.round(this.height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== tall) [this.canvas.width, this.canvas.height] = [w, tall];
    const style = getComputedStyle(this.element), color = (name: string): string => style.getPropertyValue(name).trim();
    const ink = color("--ink"), paper = color("--paper"), line = color("--line"), accent = color("--accent"),
      shade = shades(paper, color("--hot"), color("--cool"), Number(color("--most")));
    const { width, height } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "top";
    this.hatch ??= this.makeHatch(context, ink);
    for (const item of this.items) {
      const [x, y, bw, bh] = this.box(item);
      if (x > width || y > height || x + bw < 0 || y + bh < 0 || bw < 0.4 || bh < 0.4) continue;
      const found = !this.found || (item.func !== NONE && this.found[item.func] === 1);
      context.fillStyle = found ? shade(item.heat) : paper;
      context.fillRect(x, y, bw, bh);
      if (item.hatched && this.hatch && bw > 2) {
        context.fillStyle = this.hatch;
        context.fillRect(x, y, bw, bh);
      }
      if (bw > 3 && bh > 3) {
        context.strokeStyle = line;
        context.strokeRect(x + 0.5, y + 0.5, bw - 1, bh - 1);
      }
      if (this.found && found) { // a frame: colour is not the only sign
        context.strokeStyle = accent;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(0.5, bw - 2), Math.max(0.5, bh - 2));
        context.lineWidth = 1;
      }
      const from = Math.max(2, x + 3), room = Math.floor((Math.min(x + bw, width) - from - 2) / WORD);
      if (room < 2 || bh < 12) continue;
      context.fillStyle = ink;
      const text = item.label.length > room ? item.label.slice(0, Math.max(1, room - 1)) + "…" : item.label;
      if (item.hatched) { // legible on the hatching
        context.fillStyle = paper;
        context.fillRect(from - 1, y + 2, Math.min(text.length * WORD + 2, bw - 4), 13);
        context.fillStyle = ink;
      }
      context.fillText(text, from, y + 2);
    }
    this.placeFocus();
  }

  // The whole picture without zoom, in its current colours.
  svg(): string {
    const style = getComputedStyle(this.element), color = (name: string): string => style.getPropertyValue(name).trim();
    const shade = shades(color("--paper"), color("--hot"), color("--cool"), Number(color("--most")));
    this.measure(); // it may not have been painted yet
    const k = this.wide ? this.width : 1, out = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width: this.width,
      height: this.height, "font-family": "sans-serif", "font-size": 12 }, svg("defs", {}, svg("pattern", { id: "hatch",
      width: 6, height: 6, patternUnits: "userSpaceOnUse" }, svg("path", { d: "M-1 7L7 -1", stroke: color("--ink"),
      "stroke-opacity": 0.55 }))));
    for (const item of this.items) {
      const x = item.x * k, w = item.w * k, room = Math.floor((w - 5) / WORD), at = { x, y: item.y, width: w, height: item.h };
      if (w < 0.4 || item.h < 0.4) continue;
      const g = svg("g", {}, svg("title", {}, item.name()),
        svg("rect", { ...at, fill: shade(item.heat), stroke: color("--line"), "stroke-width": w > 3 ? 0.5 : 0 }),
        item.hatched && svg("rect", { ...at, fill: "url(#hatch)" }));
      if (room >= 2 && item.h >= 12) g.append(svg("text", { x: x + 3, y: item.y + 12, fill: color("--ink") },
        item.label.length > room ? item.label.slice(0, Math.max(1, room - 1)) + "…" : item.label));
      out.append(g);
    }
    return new XMLSerializer().serializeToString(out);
  }

  private makeHatch(context: CanvasRenderingContext2D, ink: string): CanvasPattern | null {
    const tile = document.createElement("canvas"), pen = tile.getContext("2d");
    if (!pen) return null;
    tile.width = tile.height = 6;
    pen.strokeStyle = ink;
    pen.globalAlpha = 0.55;
    pen.beginPath();
    pen.moveTo(-1, 7);
    pen.lineTo(7, -1);
    pen.stroke();
    return context.createPattern(tile, "repeat");
  }

  // The innermost box at a point.
  private find(x: number, y: number): number {
    let found = NONE;
    this.items.forEach((item, i) => {
      const [bx, by, bw, bh] = this.box(item);
      if (x >= bx && x < bx + bw && y >= by && y < by + bh &&
        (found === NONE || item.depth >= this.items[found]!.depth)) found = i;
    });
    return found;
  }

  private point(e: PointerEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  }

  private hover(e: PointerEvent): void {
    if (this.drag && e.buttons) {
      const dx = e.clientX - this.drag.x, dy = e.clientY - this.drag.y;
      if (Math.abs(dx) + Math.abs(dy) > 4) this.drag.moved = true;
      if (this.drag.moved) {
        this.left = this.drag.left - dx / this.scale;
        if (!this.wide) this.top = this.drag.top - dy / this.scale;
        this.settle();
      }
      return;
    }
    const [x, y] = this.point(e), i = this.find(x, y);
    this.tip.hidden = i === NONE;
    if (i === NONE) return;
    this.tip.textContent = this.items[i]!.name();
    this.tip.style.left = Math.min(x + 14, this.width - 260) + "px";
    this.tip.style.top = y + 18 + "px";
  }

  private release(e: PointerEvent): void {
    const moved = this.drag?.moved;
    this.drag = null;
    if (moved) return;
    const i = this.find(...this.point(e));
    if (i === NONE) return;
    // A second click on the same box opens it.
    if (i === this.at && document.activeElement === this.focus && this.scale > 1) {
      location.hash = this.items[i]!.href;
      return;
    }
    this.select(i);
    this.fit(this.items[i]!);
  }

  private link(): void {
    const item = this.items[this.at]!, a = h("a", {
      class: "item", href: item.href, "data-hash": item.hash || null, "aria-label": item.name(),
    });
    if (this.focus) this.focus.replaceWith(a);
    else this.said.append(a);
    this.focus = a;
    this.placeFocus();
  }

  private placeFocus(): void {
    const item = this.items[this.at];
    if (!item || !this.focus) return;
    const [x, y, w, tall] = this.box(item), s = this.focus.style, left = Math.max(0, x);
    s.left = left + "px";
    s.top = y + "px";
    s.width = Math.max(4, Math.min(this.width, x + w) - left) + "px";
    s.height = Math.max(4, tall) + "px";
  }

  private select(i: number): void {
    this.at = i;
    this.link();
    this.focus!.focus({ preventScroll: true });
    const [x, y, w] = this.box(this.items[i]!);
    if (x + w < 0 || x > this.width) {
      this.left = Math.max(0, this.items[i]!.x * (this.wide ? this.width : 1));
      this.settle();
    }
    if (this.wide) {
      const box = this.canvas.getBoundingClientRect();
      if (box.top + y < 0 || box.top + y > innerHeight - 30) scrollBy(0, box.top + y - innerHeight / 2);
    }
  }

  private key(e: KeyboardEvent): void {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const now = this.items[this.at];
    if (!now) return;
    const inside = this.items.flatMap((item, i) => item.parent === this.at ? [i] : []);
    const level = this.items.flatMap((item, i) => item.depth === now.depth &&
      (this.wide || item.parent === now.parent) ? [i] : []);
    level.sort((a, b) => this.items[a]!.x - this.items[b]!.x || this.items[a]!.y - this.items[b]!.y);
    const place = level.indexOf(this.at);
    const to = { ArrowDown: inside[0], ArrowUp: now.parent, ArrowRight: level[place + 1], ArrowLeft: level[place - 1],
      Home: 0 }[e.key];
    if (!e.key.startsWith("Arrow") && e.key !== "Home") return;
    e.preventDefault();
    e.stopPropagation();
    if (to !== undefined && to !== NONE) this.select(to);
  }

  // Single-letter keys, from the frame.
  press(key: string): boolean {
    if (key === "+" || key === "=") {
      if (document.activeElement === this.focus) this.fit(this.items[this.at]!);
      else this.zoom(1.5);
    } else if (key === "-") {
      this.zoom(1 / 1.5);
    } else if (key === "0") {
      this.reset();
    } else {
      return false;
    }
    return true;
  }

  // As files: the visible part, and the whole.
  buttons(name: string): HTMLElement[] {
    return [button("PNG", () => this.canvas.toBlob((blob) => { if (blob) save(blob, name + ".png"); })),
      button("SVG", () => save(new Blob([this.svg()], { type: "image/svg+xml" }), name + ".svg"))];
  }

  focusItem(): void { this.focus?.focus(); }
}
