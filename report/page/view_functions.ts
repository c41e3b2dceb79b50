// SPDX-License-Identifier: MIT
//
// All functions in a table, or in groups; and the same by difference, when there is a base.
import { Field, GroupBy, NONE, Of, Side } from "./core";
import type { Value } from "./core";
import type { GroupRow, Name, Order } from "./api";
import { Values } from "./app";
import { flatten, groupNames, gather, groupSelect, opener, spread } from "./groups";
import type { Node } from "./groups";
import type { App, Shown, View } from "./app";
import { button, h } from "./element";
import { Table } from "./table";
import { causesLegend } from "./why";
import type { Row } from "./table";

const fields: Record<string, Field> = { name: Field.Name, file: Field.File, object: Field.Object };
const costs: Record<string, Of> = { self: Of.Self, incl: Of.Inclusive, called: Of.Called, per: Of.PerCall };

const narrow = (): boolean => matchMedia("(max-width: 40rem)").matches; // a phone
const WIDE = 10; // columns of numbers that fit beside names

// "-self.0.Ir": the most expensive first; "+": the cheapest; "~": by magnitude.
function orderOf(app: App, text: string): Order & { id: string } {
  const sign = text[0]!, id = text.slice(1), [what, side, ...key] = id.split(".") as [string, string, ...string[]];
  const descending = sign !== "+";
  if (fields[what] !== undefined) return { id, field: fields[what]!, descending };
  return {
    id, of: costs[what] ?? Of.Inclusive, side: Number(side) || Side.New, event: app.eventOf(key.join(".")), descending,
    magnitude: sign === "~",
  };
}

function defaultOrder(app: App, compare: boolean): string {
  const key = app.eventKey(app.event);
  return compare ? "~self.2." + key : (app.calls ? "-incl.0." : "-self.0.") + key;
}

class Functions implements Shown {
  readonly element = h("div");
  private readonly said = h("p", { role: "status", class: "count" });
  private readonly bar = h("div", { class: "bar" });
  private readonly title = h("h2", {}, "Functions");
  private table: Table | null = null;
  private made = ""; // the columns' parameters
  private of: App["summary"] | null = null;
  private at = ""; // the rows and their order
  private values: Values | null = null;

  constructor(private readonly compare: boolean) {
    this.element.append(this.title, this.bar, this.said);
    if (compare)
      this.said.before(h("p", { class: "note" },
        "A function is the same in both profiles when object, file and name are, else when file and " +
        "name are. \"new\" and \"gone\" mark functions with a cost in one profile only."));
  }

  // Names come after the numbers; before them where they would not be visible.
  private lay<T>(numbers: T[], names: T[]): T[] {
    return this.compare || this.values!.columns.length > WIDE || narrow() ? [names[0]!, ...numbers, ...names.slice(1)] : [...numbers, ...names];
  }

  private columns(app: App): void {
    const key = app.events.join() + "|" + (app.state.s ?? "") + "|" + (app.state.g ?? "") + app.ready + app.event + narrow();
    if (key === this.made && app.summary === this.of) return;
    this.made = key;
    this.of = app.summary; // other parts have other totals
    // In a comparison the difference, by which it is sorted, comes first.
    const values = this.values = this.compare ? new Values(app, [Side.Difference, Side.Old, Side.New, Side.Factor]) : new Values(app), order = orderOf(app, app.state.s ?? defaultOrder(app, this.compare));
    for (const e of app.events) {
      if (app.calls && !this.compare) values.add(Of.Inclusive, e, "incl.", { share: true, what: "incl" });
      values.add(Of.Self, e, "self", { share: !this.compare, parent: !!app.state.g, what: "self" });
      if (app.calls && this.compare) values.add(Of.Inclusive, e, "incl.", { what: "incl" });
    }
    values.addWhy(Of.Self, "self");
    if (app.calls) {
      values.add(Of.Called, app.event, "Called", { what: "called" });
      if (!app.summary.events[app.event]!.ratio && !app.state.g) values.add(Of.PerCall, app.event, "per call",
        { what: "per" });
    }
    const table = new Table({
      label: this.compare ? "Functions by difference" : "Functions", id: "quern-functions",
      columns: this.lay(values.columns, [{ id: "name", title: "Function", name: true, sort: "name" },
        { id: "file", title: "File", name: true, sort: "file" },
          { id: "object", title: "Object", name: true, sort: "object" }]),
      sorted: { id: order.id, descending: order.descending },
      onSort: (id) => this.sort(app, id),
    });
    if (this.table) this.table.element.replaceWith(table.element);
    else this.element.append(table.element);
    this.table = table;
  }

  private sort(app: App, id: string): void {
    const now = app.state.s ?? defaultOrder(app, this.compare);
    const down = !fields[id.split(".")[0]!], same = now.slice(1) === id;
    app.set({ s: (same ? (now[0] === "+" ? "-" : "+") : down ? "-" : "+") + id }, true);
  }

  private tools(app: App): void {
    this.bar.replaceChildren(groupSelect(app), this.table!.csvButton("functions"), ...causesLegend(app));
  }

  private leaf(app: App, name: Name, cells: Row, depth: number): Row {
    const named = app.named(name);
    named.style.setProperty("--depth", String(depth));
    return {
      cells: this.lay(cells.cells, [named, h("bdi", { class: "path", title: name.file }, name.file || "???"),
        h("bdi", { class: "path", title: name.object }, name.object)]),
      of: this.lay(cells.of!, ["", "", ""]), attributes: { "data-func": name.func },
    };
  }

  async update(app: App): Promise<boolean> {
    if (this.compare) this.title.textContent = "Functions by difference: " + app.compared;
    this.columns(app);
    this.tools(app);
    const values = this.values!, table = this.table!, order = orderOf(app,
      app.state.s ?? defaultOrder(app, this.compare));
    let rows: Uint32Array;
    try {
      rows = await app.client.ask("order", app.filter, order);
    } catch (e) {
      this.said.textContent = (e as Error).message;
      return true;
    }
    const all = app.summary.funcs, { count } = app.filter.startup && !app.filter.text && rows.length < all
      ? await app.client.ask("startupOf", new Uint32Array(0)) : { count: 0 };
    const folded = count > 1 && rows.length === all - count + 1, shown = folded ? all : rows.length;
    this.said.textContent = (shown === all ? "" : shown.toLocaleString("en") + " of ") + all.toLocaleString("en") +
      " functions" + (folded ? ", " + count + " start-up frames in one row" : "") + (app.ready ? "" : ", more are loading");
    // Other rows start at the top; when a group is opened or more is loaded, the position stays.
    const place = [app.state.s, app.state.q, app.state.g, app.state.e, app.state.fo, app.state.p].join("|"),
      keep = place === this.at;
    this.at = place;
    if (app.state.g && groupNames[app.state.g] && app.ready) {
      await this.showGroups(app, rows, keep);
      return true;
    }
    await table.show({
      count: rows.length,
      load: async (first, count) => {
        const t = await app.client.ask("table", rows.slice(first, first + count), values.cells);
        return t.names.map((name: Name, i) => this.leaf(app, name, values.row(t.values.map((v) => v[i]!), name.func),
          0));
      },
    }, keep);
    return true;
  }

  private async showGroups(app: App, rows: Uint32Array, keep: boolean): Promise<void> {
    const values = this.values!, by = groupNames[app.state.g!]![0], open = new Set((app.state.o ?? "").split("."));
    // Groups have self costs only: inclusive ones of functions that call each other would count twice.
    const of = values.cells.map((c) => c.of === Of.Self);
    const self = values.cells.filter((c) => c.of === Of.Self);
    const tree = await app.client.ask("groups", by, app.filter, self), funcs = gather(rows, (f) => tree.of[f]!);
    const at = self.findIndex((c) => c.event === app.event && c.side === (this.compare ? Side.Difference : Side.New));
    const nodes = flatten(tree.groups, funcs, open, (g) => Math.abs(g.values[at]!.approx));
    this.said.textContent = tree.groups.length.toLocaleString("en") + " groups. " + this.said.textContent!;
    await this.table!.show({
      count: nodes.length,
      load: async (first, count) => {
        const some = nodes.slice(first, first + count), list = some.filter((n) => !n.group).map((n) => n.item);
        const t = await app.client.ask("table", Uint32Array.from(list), values.cells);
        let k = 0;
        return some.map((node) => {
          if (!node.group) {
            const i = k++;
            return this.leaf(app, t.names[i]!, values.row(t.values.map((v) => v[i]!), t.names[i]!.func,
              spread(node.above!, of)), node.depth);
          }
          return this.groupRow(app, node, of, values, open);
        });
      },
    }, keep);
  }

  private groupRow(app: App, node: Node, of: boolean[], values: Values, open: Set<string>): Row {
    const g = node.group!, name = h("span", { class: "named" });
    const row = values.row(spread(g, of), "group" + g.id, node.above && spread(node.above, of));
    name.style.setProperty("--depth", String(node.depth));
    const toggle = opener(app, node, open);
    name.append(toggle, h("span", { class: "where" }, g.funcs + (g.funcs === 1 ? " function" : " functions")));
    return { cells: this.lay(row.cells, [name, null, null]), of: this.lay(row.of, ["", "", ""]),
      attributes: { "data-group": g.label } };
  }

  focus(): void { this.table?.focus(); }
}

async function show(app: App, compare: boolean): Promise<Shown> {
  const view = new Functions(compare);
  await view.update(app);
  return view;
}

export const functionsView: View = { key: "functions", title: "Functions", when: () => true,
  show: (app) => show(app, false) };
export const compareView: View = { key: "compare", title: "Compare", when: (app) => app.base,
  show: (app) => show(app, true) };
