// SPDX-License-Identifier: MIT
//
// What the estimated cycles of anything were spent on: a bar of their parts, its legend, the part that changed most, rates. The
// parts are the causes that the profile counts, or else the terms of CEst.
import { Side, sideNames } from "./core";
import type { Value } from "./core";
import type { App } from "./app";
import { h, none, percent, signed } from "./element";

const MACHINE = /^(Machine|Cycles|Sampling|\w+ cache|\w*TLB):/; // what a profile says of it

export function wholeOf(values: Value[]): number { return values.reduce((sum, v) => sum + Math.max(0, v.approx), 0); }

// The event that the parts are of.
export function cyclesName(app: App): string { return app.summary.cycles < 0 ? "CEst" : app.eventName(app.summary.cycles); }

// The bar: pieces with their names and shares as text, since colour is never the only sign. `width`: its share of the place that it
// has.
export function whyBar(app: App, values: Value[], of: string, width?: number): HTMLElement {
  const sum = wholeOf(values);
  const text = app.summary.why.map((part, i) => part.name + " " + percent(values[i]!.approx, sum)).join(", ");
  const bar = h("div", { class: "why", role: "img", "aria-label": of + ": " + text, title: text });
  if (width !== undefined) bar.style.width = Math.max(0.5, width * 100).toFixed(2) + "%";
  bar.dataset["full"] = text;
  values.forEach((v, i) => {
    const piece = h("span", { class: "why" + app.summary.why[i]!.colour });
    piece.style.flexGrow = String(sum ? Math.max(0, v.approx) / sum : 0);
    bar.append(piece);
  });
  return bar;
}

// With `values` the share of each part.
export function whyLegend(app: App, values?: Value[], before = ""): HTMLElement {
  const sum = wholeOf(values ?? []);
  return h("p", { class: "legend" }, before ? h("span", {}, before) : null, ...app.summary.why.map((part, i) => h("span", { class: "entry" },
    h("span", { class: "dot why" + part.colour }), part.name + " " + (values ? percent(values[i]!.approx, sum) : ""))));
}

// The legend of a table whose rows have bars.
export function causesLegend(app: App): HTMLElement[] { return app.causes.length && !app.base ? [whyLegend(app)] : []; }

// The part that changed most: "waiting for data +400", or (brief) "CyMem +400"; null: none did. `what` and `id` identify the number.
export function whyChange(app: App, differences: Value[], what: string, id: string | number, brief = false): HTMLElement | null {
  let most = -1;
  differences.forEach((v, i) => {
    if (v.approx && (most < 0 || Math.abs(v.approx) > Math.abs(differences[most]!.approx))) most = i;
  });
  if (most < 0) return null;
  const { name, event } = app.summary.why[most]!, v = differences[most]!;
  return h("span", { class: "change " + (v.approx > 0 ? "more" : "less"), title: brief ? name : null },
    (brief && event >= 0 ? app.eventName(event) : name) + " ", h("span",
    { "data-q": event < 0 ? null : [what, event, Side.Difference, id].join(":") }, signed(v, event < 0 ? 1 : app.scale(event))));
}

// A cell of a row's table: the bar of its causes `of` something, with a base the one that changed most. `values`: by cause, their
// differences if there is a base.
export function whyCell(app: App, values: Value[], of: string, what: string, id: string | number): HTMLElement | null {
  if (app.base) return whyChange(app, values, what, id, true);
  return wholeOf(values) > 0 ? h("span", { class: "causes" }, whyBar(app, values, of)) : null;
}

// A rate, marked where it is more than twice the program's.
export function rate(v: Value | undefined, program: Value | undefined, old?: Value): HTMLElement {
  const high = !!v && !!program && v.approx > 2 * program.approx && v.approx > 0.001;
  return h("span", { class: high ? "high" : null, title: high ? "more than twice the program's" : null },
    v && Number.isFinite(v.approx) ? percent(v.approx, 1) + (high ? " ▲" : "") : none,
    old ? " (" + sideNames[1] + " " + (Number.isFinite(old.approx) ? percent(old.approx, 1) : none) + ")" : null);
}

// The machine whose cycles they are, and what the profile says of it.
export function whyMachine(app: App): HTMLElement[] {
  if (app.summary.cycles < 0) return [];
  return (app.base ? [Side.Old, Side.New] : [Side.New]).map((side) => {
    const descs = app.summary.parts.filter((part) => part.side === side).flatMap((part) => part.descs);
    const said = [...new Set(descs)].filter((desc) => MACHINE.test(desc)).map((desc) => desc.replace(/:\s*/, ": "));
    return h("p", { class: "note" }, "Estimated" + (app.base ? ", " + sideNames[side] : "") +
      ", for a program alone on its core, without the kernel. ", h("bdi", {}, said.join("; ")));
  });
}
