// SPDX-License-Identifier: MIT
//
// Names as they are shown: without what is between < and >, where that leaves them distinct; and which functions are
// start-up frames. Runs in the worker, which knows all names.

// ---- Shortened names ----

// Text and what is in brackets, in turn: texts has one more than args. `open` are the brackets.
interface Parts { texts: string[]; args: string[]; open: string[] }

const closing: Record<string, string> = { "<": ">", "(": ")" };

// Brackets that are a name of their own: `<module>` of Python, `<T as Trait>::f` of Rust, `(anonymous namespace)::f`.
function isName(before: string): boolean { return !/([\w\]})>~$]|operator\W*)$/.test(before); }

// null: the brackets do not match.
function split(name: string): Parts | null {
  const texts: string[] = [], args: string[] = [], open: string[] = [], stack: string[] = [];
  let from = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i]!, top = stack[stack.length - 1];
    if ((c === "<" || c === ">") && (/operator\s*[<>=-]*$/.test(name.slice(Math.max(0, i - 12), i)) || name[i - 1] === "-")) continue;
    if (c === "<" || c === "(") {
      if (!stack.length) {
        texts.push(name.slice(from, i));
        open.push(c);
        from = i + 1;
      }
      stack.push(c);
    } else if (c === ")" || (c === ">" && top !== "(")) {
      if (!top || closing[top] !== c) return null;
      stack.pop();
      if (stack.length) continue;
      args.push(name.slice(from, i));
      from = i + 1;
    }
  }
  texts.push(name.slice(from));
  return stack.length ? null : { texts, args, open };
}

function short(name: string): string { return distinct([name]).get(name)!; }

export function isBracketed(name: string): boolean { return name.includes("<") || name.includes("("); }

// By name its text: equal texts only of names that are equal.
export function distinct(names: string[]): Map<string, string> {
  const out = new Map<string, string>(), groups = new Map<string, { name: string; parts: Parts }[]>();
  for (const name of new Set(names)) {
    const parts = isBracketed(name) ? split(name) : null;
    if (!parts?.args.length) {
      out.set(name, name);
      continue;
    }
    const key = parts.texts.map((text, i) => text + (parts.open[i] ?? "")).join("\0"), group = groups.get(key);
    if (group) group.push({ name, parts });
    else groups.set(key, [{ name, parts }]);
  }
  for (const group of groups.values()) {
    const { texts, open } = group[0]!.parts, shown = open.map((_, i) => {
      const all = new Set(group.map((g) => g.parts.args[i]!));
      if (all.size > 1) return distinct([...all]);
      const only = group[0]!.parts.args[i]!;
      return new Map([[only, isName(texts.slice(0, i + 1).join(">")) ? short(only) : only && "…"]]);
    });
    for (const { name, parts } of group)
      out.set(name, texts.map((text, i) => text + (i < open.length ? open[i] + shown[i]!.get(parts.args[i]!)! +
        closing[open[i]!] : "")).join(""));
  }
  // A text that another name has by itself is of no use: then both stay whole.
  const count = new Map<string, number>();
  for (const text of out.values()) count.set(text, (count.get(text) ?? 0) + 1);
  for (const [name, text] of out) if (text !== name && count.get(text)! > 1) out.set(name, name);
  return out;
}

// ---- Start-up frames ----

// What C libraries and the dynamic loader run before `main`, and before a thread's function. (below main) is how
// Callgrind and Quern name what has another name in each version.
const startup = /^(_start|_dl_start_user|\(below main\)|__libc_start_main|__libc_start_call_main|generic_start_main|start_thread|clone|clone3|__clone|__clone3|__clone_internal|thread_start|libc_start_main_stage2)(@@?[\w.]+|_impl|\.isra\.\d+|'\d+)*$/;

// Pieces that all of them have, to find them among a million names.
export const startupPieces = ["start", "below main", "clone"];

export function isStartup(name: string): boolean { return startup.test(name); }
