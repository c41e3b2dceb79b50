// SPDX-License-Identifier: MIT
//
// What all views share: the report, the state, links, and columns of numbers.
import { NONE, Of, Side, sideNames } from "./core";
import type { Value } from "./core";
import type { Column as Cell, Filter, Name, Summary } from "./api";
import type { Client } from "./client";
import type { Data } from "./data";
import type { Child } from "./element";
import type { Column } from "./table";
import { base, clip, factor, h, number, percent, share, signed } from "./element";
import { go, write } from "./state";
import { whyCell } from "./why";
import type { State } from "./state";

export interface Shown {
  element: HTMLElement;
  // Changes the state of the same view: true when the view did not have to be made again.
  update?(to: App): Promise<boolean>;
  search?(to: App): Promise<void>; // shows what the search finds; a view without it does not depend on the search
  begin?(): void;          // after it is added to the page
  focus?(): void;
  key?(key: string): boolean;
  end?(): void;
}
export interface View {
  key: string; title: string;
  when(app: App): boolean; // is there anything to show?
  show(app: App): Promise<Shown>;
}

export { sideNames };

export class App {
  constructor(readonly client: Client, readonly summary: Summary, readonly state: State, readonly ready: boolean,
    readonly func: number, readonly focus: number, readonly hidden: number[],
    readonly move: (to: State, replace?: boolean) => void, readonly data: Data | null = null) {}

  // ---- Events ----

  eventKey(e: number): string {
    const name = this.summary.events[e]!.name;
    return this.summary.events.findIndex((other) => other.name === name) === e ? name : name + "@" + e;
  }

  eventOf(key: string | undefined): number {
    const at = /@(\d+)$/.exec(key ?? "");
    const e = at ? Number(at[1]) : this.summary.events.findIndex((event) => event.name === key);
    return this.summary.events[e]?.total.length ? e : this.summary.order;
  }

  get event(): number { return this.eventOf(this.state.e); }

  // The one to begin with, then the others that are shown.
  get events(): number[] {
    const more = this.state.c ? this.state.c.split("~").map((key) => this.eventOf(key)) : [];
    return [...new Set([this.event, ...more])];
  }

  // The causes of the cycles, where these are shown.
  get causes(): number[] {
    const { cycles, why } = this.summary;
    return cycles >= 0 && this.events.includes(cycles) ? why.map((part) => part.event) : [];
  }

  get usable(): number[] { return this.summary.events.flatMap((e, i) => e.total.length ? [i] : []); }

  get base(): boolean { return this.summary.base.length > 0; }

  get calls(): boolean { return (this.summary.has & 4) !== 0; }

  // In the order of the table's columns.
  get sides(): Side[] { return this.base ? [Side.Old, Side.New, Side.Difference, Side.Factor] : [Side.New]; }

  get upTo(): Side { return this.base ? Side.Difference : Side.New; }

  eventName(e: number): string { return this.summary.events[e]!.name; }

  scale(e: number): number { return this.summary.events[e]!.scale; }

  total(e: number, side: Side): number { return this.summary.events[e]!.total[side]!.approx; }

  // That a view has opened the program's largest cycle by itself; "": it has not.
  get openedCycle(): string {
    const { cyclic, opened } = this.summary;
    return opened && cyclic && this.state.cy !== "0" ? "A cycle of " + cyclic.funcs.toLocaleString("en") +
      " functions, which call each other, has " + percent(cyclic.share, 1) + " of the program: its functions are opened (r makes it one)." : "";
  }

  // What is compared with what.
  get compared(): string { return this.summary.profiles.join(", ") + " compared with " + this.summary.base.join(", "); }

  // ---- Places ----

  href(change: State): string { return write(go(this.state, change)); }

  go(change: State, replace = false): void { this.move(go(this.state, change), replace); }

  // The same view, changed; its picture starts without zoom.
  set(change: State, replace = false): void { this.move({ ...this.state, z: "", ...change }, replace); }

  get filter(): Filter {
    return { text: this.state.q ?? "", focus: this.focus, hide: this.hidden, focusText: this.state.fr ?? "", without: this.without,
      startup: this.folded ? "first" : undefined };
  }

  // Are start-up frames folded?
  get folded(): boolean { return this.state.su !== "1"; }

  // Texts whose functions are hidden.
  get without(): string[] { return this.state.hr ? this.state.hr.split("~").map((text) => text.replace(/%7E/g, "~")) : []; }

  // Does focus or hiding leave out functions?
  get narrowed(): boolean { return this.focus !== NONE || this.hidden.length > 0 || !!this.state.fr || !!this.state.hr; }

  // ---- Names ----

  full(n: Name): string {
    return (n.name || "???") + " (" + (n.file || "???") + ")" + (n.object ? " [" + n.object + "]" : "");
  }

  // As it is shown.
  short(n: Name): string { return (this.state.nm ? n.name : n.short) || "???"; }

  link(n: Name, change: State = {}, main = false): HTMLAnchorElement {
    const a = h("a", {
      href: this.href({ v: "function", f: n.hash, ...change }), title: this.full(n), class: main ? "main" : null,
      "data-func": n.func, "data-hash": n.hash,
    });
    const text = clip(this.short(n));
    if (text !== n.name) a.dataset["full"] = n.name;
    a.append(h("bdi", {}, text));
    return a;
  }

  // With its file and object, and its group.
  named(n: Name, change: State = {}): HTMLElement {
    const where = [n.file && base(n.file), n.object && base(n.object)].filter(Boolean).join(", ");
    return h("span", { class: "named" }, this.link(n, change, true),
      n.cycle[0] || n.cycle[1] ? h("span", { class: "tag", title: "recursive through other functions" },
        "cycle " + (n.cycle[0] || n.cycle[1])) : null,
      n.startup && this.folded ? h("span", { class: "tag" }, "start-up") : null,
      where ? h("bdi", { class: "where" }, clip(where)) : null);
  }

  // ---- Columns of numbers ----

  // The text of a cell: the value of a side, with its sign when it is a difference.
  text(side: Side, values: (Value | undefined)[], scale: number): string {
    if (side === Side.Factor)
      return factor(values[Side.Factor] ?? over(values), { old: values[1]?.approx ?? 0, new: values[0]?.approx ?? 0 });
    return side === Side.Difference ? signed(values[2], scale) : number(values[side], scale);
  }

  // "old 10, new 16, difference +6, factor ×1.60".
  said(values: (Value | undefined)[], scale: number): string {
    return this.sides.map((s) => sideNames[s] + " " + this.text(s, values, scale)).join(", ");
  }

  shareOf(part: number, whole: number): HTMLElement {
    const p = share(part, whole), cell = h("span", { class: "share" }, percent(part, whole));
    cell.style.setProperty("--part", String(Number.isFinite(p) ? Math.max(0, Math.min(1, p)) : 0));
    return cell;
  }
}

function over(values: (Value | undefined)[]): Value | undefined {
  const a = values[0], b = values[1];
  return a && b ? { exact: null, approx: b.approx ? a.approx / b.approx : NaN } : undefined;
}

// Columns of a table: values of functions, on all sides, with their shares. `cells` is the request to the worker.
export class Values {
  readonly columns: Column[] = [];
  readonly cells: Cell[] = [];
  private readonly makers: ((values: Value[], above: Value[] | null, id: string | number) => { cell: Child; of: string })[] = [];

  constructor(private readonly app: App, private readonly sides: Side[] = app.sides) {}

  // One kind of cost in one event.
  add(of: Of, event: number, title: string, options: { share?: boolean; parent?: boolean; sort?: boolean;
    what: string }): void {
    const { app, cells } = this, scale = of === Of.Called ? 1 : app.scale(event), at: number[] = [];
    const name = of === Of.Called ? "" : app.eventName(event) + " ";
    for (const side of this.sides) {
      at[side] = cells.length;
      cells.push({ of, event, side });
    }
    for (const side of this.sides) {
      this.columns.push({
        id: options.what + "." + side + "." + event,
        title: name + title + (app.base ? ", " + sideNames[side] : ""),
        ...(options.sort === false ? {} : { sort: options.what + "." + side + "." +
          (of === Of.Called ? "" : app.eventKey(event)) }),
      });
      this.makers.push((values) => ({
        cell: app.text(side, at.length ? [0, 1, 2, 3].map((s) => at[s] === undefined ? undefined : values[at[s]!]) : [],
          scale),
        of: [options.what, event, side].join(":"),
      }));
      if (side === Side.New && options.share && !app.summary.events[event]!.ratio) {
        this.columns.push({ id: "share", title: "%", tip: "of the program's " + app.eventName(event) });
        this.makers.push((values) => ({ cell: app.shareOf(values[at[Side.New]!]!.approx, app.total(event, Side.New)),
          of: "" }));
        if (!options.parent) continue;
        this.columns.push({ id: "parent", title: "% of group", tip: "share of the enclosing group's " +
          app.eventName(event) });
        this.makers.push((values, above) => ({ cell: app.shareOf(values[at[Side.New]!]!.approx,
          above ? above[at[Side.New]!]!.approx : app.total(event, Side.New)), of: "" }));
      }
    }
  }

  // A column of what the cycles were spent on, beside them: a bar, with a base the cause that changed most.
  addWhy(of: Of, what: string): void {
    const { app, cells } = this, from = cells.length, parts = app.causes;
    if (!parts.length) return;
    for (const event of parts) cells.push({ of, event, side: app.upTo });
    this.columns.push({ id: "why", title: app.base ? "Changed most" : "Causes" });
    this.makers.push((values, _above, id) => {
      const v = values.slice(from, from + parts.length), said = app.eventName(app.summary.cycles) + " of this row";
      return { cell: whyCell(app, v, said, what, id), of: "" };
    });
  }

  // The cells of a row, and their identities; `id` is the row's, `above` the values of the group around it.
  row(values: Value[], id: string | number, above: Value[] | null = null): { cells: Child[]; of: string[] } {
    const made = this.makers.map((make) => make(values, above, id));
    return { cells: made.map((m) => m.cell), of: made.map((m) => m.of && m.of + ":" + id) };
  }
}

// Which functions a search finds, by function, and what that is worth, as text; null: there is no search.
async function foundBy(app: App): Promise<{ mask: Uint8Array | null; said: string }> {
  const text = app.state.q;
  if (!text) return { mask: null, said: "" };
  try {
    const { mask, count, self } = await app.client.ask("found", text, app.event);
    return { mask, said: count.toLocaleString("en") + (count === 1 ? " function matches" : " functions match") +
      (app.summary.events[app.event]!.ratio ? "" : ": " + percent(self.approx, app.total(app.event, Side.New)) + " of " +
        app.eventName(app.event) + ", self") };
  } catch (e) {
    return { mask: null, said: (e as Error).message };
  }
}

// For a picture: a line that says what a search finds, and what shows it.
export function highlighter(highlight: (mask: Uint8Array | null) => void): { said: HTMLElement;
  search: (to: App) => Promise<void> } {
  const said = h("p", { class: "note", role: "status" });
  return { said, search: async (to) => {
    const found = await foundBy(to);
    said.textContent = found.said;
    highlight(found.mask);
  } };
}

export const noFilter: Filter = { text: "", focus: NONE, hide: [] };

// ---- The selected function ----

// The one that the state names, or the most expensive.
export async function funcOf(app: App): Promise<number> {
  if (app.func !== NONE || app.state.f) return app.func;
  const order = await app.client.ask("order", { ...noFilter, startup: app.folded ? "none" : undefined },
    { of: app.calls ? Of.Inclusive : Of.Self, event: app.event, side: Side.New, descending: true });
  return order[0] ?? NONE;
}

// Why there is none.
export function missing(app: App): string {
  return !app.state.f ? "There is no function."
    : app.ready ? "This report has no such function: the link belongs to another report." : "The function is still loading.";
}
