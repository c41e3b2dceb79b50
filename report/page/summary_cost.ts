// SPDX-License-Identifier: MIT
//
// What it cost: a few big numbers with their meaning, and the cycles that the program spent on each kind of wait.
import { Of, Side } from "./core";
import type { Value } from "./core";
import type { App } from "./app";
import { h, percent, rounded } from "./element";
import { whyBar, whyLegend } from "./why";

const TILES = 5;

// Counted events that have a meaning of their own, and the rate that belongs to them.
const known: [string, string, string][] = [
  ["Cy", "estimated cycles", ""], ["Ir", "instructions executed", ""], ["CEst", "estimated cycles", ""], ["L1m", "L1 cache misses", "L1 miss rate"],
  ["LLm", "last-level cache misses", "LL miss rate"], ["Bm", "mispredicted branches", "mispredict rate"],
];
const of: Record<string, string> = { "L1 miss rate": " of the references", "LL miss rate": " of the references",
  "mispredict rate": " of the branches" };

// Three digits: "75.0 M". Below ten thousand all of them.
export function compact(v: number): string {
  const units = ["", " k", " M", " G", " T", " P", " E"];
  if (!Number.isFinite(v)) return "–";
  if (Math.abs(v) < 10000) return rounded(v);
  let k = Math.min(units.length - 1, Math.floor(Math.log10(Math.abs(v)) / 3));
  if (Number((v / 1000 ** k).toPrecision(3)) >= 1000 && k < units.length - 1) k++;
  return (v / 1000 ** k).toPrecision(3) + units[k]!;
}

// The selected event, those with a meaning, then the first others.
function chosen(app: App): number[] {
  // Without caches and branches the cycles are the instructions.
  const usable = app.usable.filter((e) => (app.eventName(e) !== "CEst" || app.summary.why.length > 0) && !app.summary.events[e]!.ratio && (app.total(e, Side.New) > 0 || (app.base && app.total(e, Side.Old) > 0)));
  const named = known.flatMap(([name]) => usable.filter((e) => app.eventName(e) === name));
  const list = [...new Set([...named, ...(named.length > 1 ? [app.event] : [app.event, ...usable])])];
  return list.filter((e) => !app.summary.events[e]!.ratio).slice(0, TILES + (named.length > 1 ? 1 : 0));
}

function tile(app: App, e: number, meaning: string): HTMLElement {
  const event = app.summary.events[e]!, total = event.total, now = total[Side.New]!, text = app.text(Side.New, total, event.scale);
  const q = (side: Side): string => ["total", e, side, 0].join(":"), big = compact(now.approx), exact = big === text;
  const what = known.find(([name]) => name === event.name)?.[1] ?? (event.long || event.name);
  const changed = app.base && h("span", { class: "change" + (total[Side.Difference]!.approx > 0 ? " more" : total[Side.Difference]!.approx < 0 ? " less" : "") },
    h("span", { "data-q": q(Side.Difference) }, app.text(Side.Difference, total, event.scale)), " ",
    total[Side.Old]!.approx || now.approx ? change(total) : null);
  return h("a", { class: "tile", href: app.href({ v: app.base ? "compare" : "functions", e: app.eventKey(e) }),
    "aria-current": e === app.event ? "true" : null },
    h("span", { class: "what" }, what),
    h("b", { "data-q": exact ? q(Side.New) : null }, big),
    exact ? null : h("span", { class: "exact", "data-q": q(Side.New) }, text),
    changed || null, meaning ? h("span", { class: "meaning" }, meaning) : null);
}

// "(+6.35 %)", of the old one.
function change(total: Value[]): string {
  const old = total[Side.Old]!.approx, by = total[Side.Difference]!.approx;
  return old ? "(" + (by > 0 ? "+" : "") + percent(by, old) + ")" : "(new)";
}

export async function costSection(app: App): Promise<HTMLElement> {
  const events = chosen(app), rates = app.summary.rates, why = app.summary.why;
  const all = rates.length || why.length ? await app.client.ask("why", null, Of.Total, app.upTo) : null;
  const ir = app.summary.events.findIndex((e) => e.name === "Ir" && e.total.length);
  const meaning = (e: number): string => {
    const name = app.eventName(e), rate = known.find(([event]) => event === name)?.[2], k = rates.indexOf(rate ?? "");
    if (k >= 0 && rate) return percent(all!.rates[0]![k]![0]!.approx, 1) + of[rate]!;
    if ((name === "CEst" || e === app.summary.cycles) && ir >= 0 && app.total(ir, Side.New)) return (app.total(e, Side.New) / app.total(ir, Side.New)).toFixed(2) +
      " an instruction";
    return "";
  };
  const section = h("section", { class: "cost" }, h("h2", {}, app.base
    ? "What it cost: " + app.compared : "What it cost"),
    h("div", { class: "tiles" }, ...events.map((e) => tile(app, e, meaning(e)))));
  if (why.length) {
    for (const side of app.base ? [Side.Old, Side.New] : [Side.New]) {
      const values = all!.parts[side]!.map((v) => v[0]!);
      section.append(h("div", { class: "split" }, whyBar(app, values, "Estimated cycles" + (app.base ? side ? ", old" : ", new" : "")),
        whyLegend(app, values, app.base ? side ? "old: " : "new: " : "")));
    }
  }
  return section;
}
