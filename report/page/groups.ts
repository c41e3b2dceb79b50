// SPDX-License-Identifier: MIT
//
// Trees of groups in tables: of functions, of lines and of instructions.
import { GroupBy, NONE } from "./core";
import type { Value } from "./core";
import type { GroupRow } from "./api";
import type { App } from "./app";
import { button, h } from "./element";

export const groupNames: Record<string, [GroupBy, string]> = {
  object: [GroupBy.Object, "Object"], folder: [GroupBy.Folder, "Folder"], file: [GroupBy.File, "File"],
  namespace: [GroupBy.Namespace, "Namespace"], cycle: [GroupBy.Cycle, "Cycle"],
};

export function groupSelect(app: App): HTMLElement {
  const select = h("select", { "aria-label": "Group by" }, h("option", { value: "" }, "no groups"),
    ...Object.entries(groupNames).filter(([key]) => key !== "cycle" || app.calls).map(([key, [, text]]) =>
      h("option", { value: key }, "by " + text.toLowerCase())));
  select.value = app.state.g ?? "";
  select.addEventListener("change", () => app.set({ g: select.value, o: "" }));
  return h("label", {}, "Groups ", select);
}

// The button that opens and closes a group.
export function opener(app: App, node: Node, open: Set<string>): HTMLButtonElement {
  return button((node.open ? "▾ " : "▸ ") + node.group!.label, () => {
    if (node.open) open.delete(node.mark);
    else open.add(node.mark);
    app.set({ o: [...open].filter(Boolean).join(".") }, true);
  }, { class: "main group", "aria-expanded": String(node.open) });
}

// A 32-bit number for a path of groups: open groups stay open in the next report.
function mark(path: string): string {
  let x = 0x811c9dc5;
  for (let i = 0; i < path.length; i++) x = Math.imul(x ^ path.charCodeAt(i), 0x01000193);
  return (x >>> 0).toString(36);
}

// A group, or (null) a member of one; `above` is the group around it.
export interface Node { group: GroupRow | null; above: GroupRow | null; item: number;
  depth: number; mark: string; open: boolean }

// Members by group, in their order, without those in no group.
export function gather(items: Iterable<number>, groupOf: (item: number) => number): Map<number, number[]> {
  const inside = new Map<number, number[]>();
  for (const item of items) {
    const g = groupOf(item), list = inside.get(g);
    if (list) list.push(item);
    else if (g !== NONE) inside.set(g, [item]);
  }
  return inside;
}

// The visible rows of the tree: groups by cost, and in opened ones their groups, then their members.
export function flatten(groups: GroupRow[], items: Map<number, number[]>, open: Set<string>,
  value: (g: GroupRow) => number): Node[] {
  const inside = new Map<number, GroupRow[]>(), nodes: Node[] = [];
  for (const g of groups) {
    const list = inside.get(g.parent);
    if (list) list.push(g);
    else inside.set(g.parent, [g]);
  }
  const walk = (above: GroupRow | null, path: string, depth: number): void => {
    for (const g of (inside.get(above?.id ?? NONE) ?? []).sort((a, b) => value(b) - value(a))) {
      const here = path + "\n" + g.label, id = mark(here), is = open.has(id);
      nodes.push({ group: g, above, item: NONE, depth, mark: id, open: is });
      if (!is) continue;
      walk(g, here, depth + 1);
      for (const item of items.get(g.id) ?? []) nodes.push({ group: null, above: g, item, depth: depth + 1, mark: "",
        open: false });
    }
  };
  walk(null, "", 0);
  return nodes;
}

// A group's values by column, where `of` says which columns it has.
export function spread(g: GroupRow, of: boolean[]): Value[] {
  let k = 0;
  return of.map((is) => is ? g.values[k++]! : { exact: null, approx: NaN });
}
