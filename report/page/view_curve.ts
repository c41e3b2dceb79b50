// SPDX-License-Identifier: MIT
//
// What a larger or a smaller cache would give, and how the working set grows: a plot of each, with the numbers in a table below it.
import type { App, Shown, View } from "./app";
import type { Curve } from "./curve";
import { curveOf } from "./curve";
import { h, svg, wide } from "./element";
import { csvOf } from "./table";

const WIDTH = 800, HEIGHT = 320, LEFT = 70, RIGHT = 30, TOP = 50, BOTTOM = 40; // units of a picture
const ENTRY = 76; // of the legend
const ROWS = 32; // of the growth

function bytes(n: number): string {
  const unit = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  for (; n >= 1024 && u < unit.length - 1; n /= 1024) u++;
  return n.toLocaleString("en", { maximumSignificantDigits: 3 }) + " " + unit[u];
}

function count(n: number): string { return n.toLocaleString("en"); }

// For the axes: three digits and a unit.
function short(n: number): string {
  return n.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
}

interface Plot {
  label: string;                                    // what a reader of the screen is told
  across: string; up: string;                       // names of the axes
  x(i: number): number;                             // places from 0 to 1
  ticks: { at: number; text: string }[];            // across, from 0 to 1
  marks: { at: number; text: string }[];
  series: { name: string; values: number[] }[];
}

// Lines differ by dashes as by colour; their names are above them, each beside a piece of its line.
function plot(p: Plot): HTMLElement {
  const most = Math.max(1, ...p.series.flatMap((s) => s.values)), w = WIDTH - LEFT - RIGHT, height = HEIGHT - TOP - BOTTOM;
  const x = (at: number): number => LEFT + w * at, y = (v: number): number => HEIGHT - BOTTOM - height * v / most;
  const picture = svg("svg", { class: "curve", viewBox: [0, 0, WIDTH, HEIGHT].join(" "), role: "img", "aria-label": p.label });
  for (const k of [0, 0.25, 0.5, 0.75, 1])
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: LEFT + w, y1: y(most * k), y2: y(most * k) }),
      svg("text", { x: LEFT - 6, y: y(most * k) + 4, "text-anchor": "end" }, short(most * k)));
  for (const tick of p.ticks)
    picture.append(svg("text", { x: x(tick.at), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, tick.text));
  picture.append(svg("text", { x: LEFT + w / 2, y: HEIGHT - 6, "text-anchor": "middle" }, p.across),
    svg("text", { x: LEFT, y: 12 }, p.up));
  p.marks.forEach((mark, i) => picture.append(svg("line", { class: "mark", x1: x(mark.at), x2: x(mark.at), y1: TOP, y2: HEIGHT - BOTTOM }),
    svg("text", { x: x(mark.at), y: TOP - 4 - 12 * (i % 2), "text-anchor": "middle" }, mark.text)));
  p.series.forEach((s, k) => {
    const left = LEFT + w - (p.series.length - k) * ENTRY;
    picture.append(
      svg("polyline", { class: "series" + k, points: s.values.map((v, i) => x(p.x(i)).toFixed(1) + "," + y(v).toFixed(1)).join(" ") }),
      svg("polyline", { class: "series" + k, points: left + ",8 " + (left + 30) + ",8" }), svg("text", { x: left + 36, y: 12 }, s.name));
  });
  return wide(h("div", { "aria-label": p.up + " by " + p.across }, picture));
}

function table(id: string, label: string, heads: string[], rows: string[][]): HTMLElement {
  const t = h("table", { id, "aria-label": label }), head = t.createTHead().insertRow(), body = t.createTBody();
  head.append(...heads.map((text) => h("th", { scope: "col", class: "num" }, text)));
  for (const cells of rows)
    body.insertRow().append(...cells.map((text, i) => i ? h("td", { class: "num" }, text) : h("th", { scope: "row", class: "num" }, text)));
  return h("div", {}, h("p", {}, csvOf(t, id.replace("quern-", ""))), wide(t));
}

// ---- Misses by size ----

// By its logarithm.
function place(c: Curve, size: number): number {
  const low = Math.log2(c.sizes[0]!), high = Math.log2(c.sizes[c.sizes.length - 1]!);
  return (Math.log2(size) - low) / (high - low);
}

function misses(c: Curve): HTMLElement {
  const inside = c.machine.filter((m) => place(c, m.size) >= 0 && place(c, m.size) <= 1);
  const sizes = new Map<number, string[]>();
  for (const m of inside) sizes.set(m.size, [...sizes.get(m.size) ?? [], m.name]);
  const powers = c.sizes.filter((size) => Number.isInteger(Math.log2(size)));
  const d1 = c.sizes.map((_, i) => c.lines[0]!.misses[i]! + c.lines[1]!.misses[i]!);
  const series = [{ name: "D1", values: d1 }, { name: "I1", values: c.lines[2]!.misses }, { name: "LL", values: c.lines[3]!.misses }];
  const nearest = (size: number): number => c.sizes.reduce((best, s, i) => Math.abs(Math.log2(s / size)) <
    Math.abs(Math.log2(c.sizes[best]! / size)) ? i : best, 0);
  const told = series.map((s) => s.name + " from " + count(s.values[0]!) + " to " + count(s.values[s.values.length - 1]!)).join(", ");
  const twice = inside.filter((m) => series.some((s) => s.name === m.name)).map((m) => {
    const s = series.find((one) => one.name === m.name)!, i = nearest(m.size), j = nearest(2 * c.sizes[i]!);
    return h("li", { "data-curve": m.name }, m.name + ": " + count(s.values[i]!) + " misses at " + bytes(c.sizes[i]!) + ", " +
      count(s.values[j]!) + " at " + bytes(c.sizes[j]!));
  });
  return h("section", {}, h("h3", {}, "What a larger cache would give"),
    h("p", { class: "note" }, "Misses of D1, of I1, and of an LL behind the L1 of this run, if they had another size, and any line could " +
      "be anywhere in them. Estimates from one line in " + c.sample + ": coarse below 16 KiB. Dotted: the caches of this run."),
    twice.length ? h("ul", {}, ...twice) : null,
    plot({
      label: "Misses by size of the cache, from " + bytes(c.sizes[0]!) + " to " + bytes(c.sizes[c.sizes.length - 1]!) + ": " + told,
      across: "size of the cache", up: "misses", x: (i) => place(c, c.sizes[i]!),
      ticks: powers.filter((_, i) => i % 2 === 0).map((size) => ({ at: place(c, size), text: bytes(size) })),
      marks: [...sizes].sort((a, b) => a[0] - b[0]).map(([size, names]) => ({ at: place(c, size), text: names.join(", ") })), series,
    }),
    table("quern-curve", "Misses by size", ["Size", ...c.lines.map((line) => line.name)],
      c.sizes.map((size, i) => [bytes(size), ...c.lines.map((line) => count(line.misses[i]!))])));
}

// ---- The working set ----

// all: instructions of the run. Time is measured in data references of the sample, in which a line that is used very often may be,
// or not: their total is not known well, shares are.
function growth(c: Curve, all: number): HTMLElement | null {
  const g = c.growth;
  if (!g) return null;
  const n = g.data.length, step = Math.ceil(n / ROWS), size = (values: number[]): number[] => values.map((v) => v * c.line);
  const now = (i: number): number => Math.round(all * (i + 1) / n);
  const rows = g.data.flatMap((_, i) => i % step === step - 1 || i === n - 1 ? [i] : []);
  return h("section", {}, h("h3", {}, "How the working set grows"),
    h("p", { class: "note" }, "Bytes of the lines that were touched at least once, by the instructions executed so far; both are estimates."),
    plot({
      label: "Bytes touched: in the end " + bytes(g.data[n - 1]! * c.line) + " of data and " +
        bytes(g.code[n - 1]! * c.line) + " of code",
      across: "instructions", up: "bytes touched", x: (i) => (i + 1) / n,
      ticks: [0, 0.25, 0.5, 0.75, 1].map((k) => ({ at: k, text: short(all * k) })), marks: [],
      series: [{ name: "data", values: size(g.data) }, { name: "code", values: size(g.code) }],
    }),
    table("quern-growth", "Bytes touched", ["Instructions", "Data", "Code"],
      rows.map((i) => [count(now(i)), bytes(g.data[i]! * c.line), bytes(g.code[i]! * c.line)])));
}

function shown(app: App): Curve | null {
  const chosen = app.state.p ? app.state.p.split(".").map(Number) : null;
  return curveOf(app.summary.parts.filter((part, i) => part.side === 0 && (!chosen || chosen.includes(i))));
}

function instructions(app: App): number {
  const e = app.summary.events.findIndex((event) => event.name === "Ir");
  return e < 0 ? 1 : app.total(e, 0);
}

async function show(app: App): Promise<Shown> {
  const c = shown(app), element = h("div", {}, h("h2", {}, "Cache sizes"));
  if (c) element.append(misses(c), growth(c, instructions(app)) ??
    h("p", { class: "note" }, "How the working set grows is told of a single process or part."));
  else element.append(h("p", { class: "note" }, "The selected parts have no curve."));
  return Promise.resolve({ element });
}

export const curveView: View = { key: "curve", title: "Cache sizes",
  when: (app) => app.ready && curveOf(app.summary.parts.filter((part) => part.side === 0)) !== null, show };
