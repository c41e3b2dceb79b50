// SPDX-License-Identifier: MIT
//
// Names as they are shown: without what is between < and >, where that leaves them distinct; and which functions are
// start-up frames. Runs in the worker, which knows all names.

// ---- Shortened names ----

// Text and what is in brackets, in turn: texts has one more than args. `open` are the brackets.
interface Parts { texts: string[]; args: string[]; open: string[] }

const DEPTH = 64; // of brackets
const LESS = 60, MORE = 62, OPEN = 40, CLOSE = 41; // < > ( )
const closing: Record<string, string> = { "<": ">", "(": ")" };

// Brackets that are a name of their own: `<module>` of Python, `<T as Trait>::f` of Rust, `(anonymous namespace)::f`.
function isName(before: string): boolean { return !/([\w\]})>~$]|operator\W*)$/.test(before); }

// null: the brackets do not match, or are too deep. Runs over thousands of names: by codes, regular expressions only for
// operators. names_hash() in report/core has the same rules.
function split(name: string): Parts | null {
  const texts: string[] = [], args: string[] = [], open: string[] = [], stack: number[] = [], operator = name.includes("operator");
  let from = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name.charCodeAt(i);
    if (c !== LESS && c !== MORE && c !== OPEN && c !== CLOSE) continue;
    if (c === LESS || c === MORE)
      if (name[i - 1] === "-" || (operator && /operator\s*[<>=-]*$/.test(name.slice(Math.max(0, i - 12), i)))) continue;
    if (c === LESS || c === OPEN) {
      if (!stack.length) {
        texts.push(name.slice(from, i));
        open.push(name[i]!);
        from = i + 1;
      }
      if (stack.push(c) > DEPTH) return null;
      continue;
    }
    const top = stack[stack.length - 1];
    if (c === MORE && top === OPEN) continue; // a comparison
    if (top !== (c === MORE ? LESS : OPEN)) return null;
    stack.pop();
    if (stack.length) continue;
    args.push(name.slice(from, i));
    from = i + 1;
  }
  texts.push(name.slice(from));
  return stack.length ? null : { texts, args, open };
}

function keyOf({ texts, open }: Parts): string { return texts.map((text, i) => text + (open[i] ?? "")).join("\0"); }

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
    const key = keyOf(parts), group = groups.get(key);
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
  return out;
}

// Shortens names, each when it is asked for: only those with the same texts around the brackets matter to it, which
// `alike` knows of all functions.
export class Names {
  private readonly known = new Map<string, string>();

  constructor(private readonly alike: (string: number) => string[]) {}

  short(string: number, name: string): string {
    let text = this.known.get(name);
    if (text !== undefined) return text;
    const parts = split(name), all = parts?.args.length ? this.alike(string) : [], key = parts && keyOf(parts);
    const like = all.filter((other) => { const of = split(other); return !!of && keyOf(of) === key; });
    for (const [one, shown] of distinct(like.includes(name) ? like : [name])) this.known.set(one, shown);
    text = this.known.get(name)!;
    return text;
  }
}

// ---- Start-up frames ----

// What C libraries and the dynamic loader run before `main`, and before a thread's function. (below main) is how
// Callgrind and Quern name what has another name in each version.
const startup = /^(_start|_dl_start_user|\(below main\)|__libc_start_main|__libc_start_call_main|generic_start_main|start_thread|clone|clone3|__clone|__clone3|__clone_internal|thread_start|libc_start_main_stage2)(@@?[\w.]+|_impl|\.isra\.\d+|'\d+)*$/;

// Pieces that all of them have, to find them among a million names.
export const startupPieces = ["start", "below main", "clone"];

export function isStartup(name: string): boolean { return startup.test(name); }
