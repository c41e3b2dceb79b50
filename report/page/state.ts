// SPDX-License-Identifier: MIT
//
// The state of the page, in the fragment of the address: back, forward, links and a second tab need nothing else.
// Functions are named by their hash, events and files by name, so a link also works in the next report.

// All optional; defaults are not written.
export interface State {
  v?: string;  // view
  f?: string;  // function: hash
  e?: string;  // event
  c?: string;  // further events, with ~ between
  s?: string;  // order of a table: "-incl.0.Ir", "+name"
  q?: string;  // filter
  g?: string;  // groups
  o?: string;  // opened groups; callees whose source is unfolded
  fo?: string; // focus: hash
  hi?: string; // hidden functions: hashes
  fr?: string; // focus: on what a text or /regular expression/ finds
  hr?: string; // hidden: what texts find, with ~ between, a ~ in them as %7E
  p?: string;  // the selected parts: numbers
  cy?: string; // "0": functions of a cycle one by one, "1": as one; else as the view does
  d?: string;  // defined events: "name=formula", with ~ between
  w?: string;  // file
  l?: string;  // line
  x?: string;  // heat: an event
  ob?: string; // object of the data: hash
  a?: string;  // "1": all callers and callees
  k?: string;  // kind of a picture, of the data its event; in a series "self": self costs, else inclusive ones
  t?: string;  // "1": a picture as a table
  y?: string;  // assembly: "att"
  b?: string;  // lines: "addr"
  up?: string; // call graph: depths, least cost
  dn?: string;
  ln?: string;
  le?: string; // call graph: least cost of calls; else that of functions
  dr?: string; // call graph: callers on the "left", "below"; else above
  cn?: string; // call graph: "1": cycles are opened
  cl?: string; // call graph: groups that are framed
  z?: string;  // a picture's zoom, left and upper edge: "4,0.25,0"; none: as it begins
  bl?: string; // control flow: "1": blocks without their instructions
  su?: string; // "1": start-up frames are not folded
  nm?: string; // "1": whole names
  m?: string;  // "dark", "light"
  n?: string;  // "0": no single-letter keys
}

let noting = 0;

// State that all views share.
const lasting: (keyof State)[] = ["f", "e", "c", "fo", "hi", "fr", "hr", "p", "cy", "d", "su", "nm", "m", "n", "x"];

export function read(fragment: string): State {
  const s: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(fragment.replace(/^#/, ""))) s[key] = value;
  return s as State;
}

export function write(s: State): string {
  const all = new URLSearchParams();
  for (const [key, value] of Object.entries(s)) if (value) all.append(key, value);
  // Colons and slashes need no escape there; unescaped they are easier to read.
  return "#" + all.toString().replace(/%3A/g, ":").replace(/%2F/g, "/");
}

// Writes the zoom of a picture (empty: none) into the address when it no longer changes. The page does not change, so no event is sent.
export function noteZoom(at: number[]): void {
  const of = location.hash;
  clearTimeout(noting);
  noting = window.setTimeout(() => {
    const z = at.map((v) => String(Number(v.toPrecision(6)))).join();
    // Not in the address of another view that may be loading.
    if (location.hash !== of || document.body.dataset["view"] !== of || (read(of).z ?? "") === z) return;
    history.replaceState(null, "", write({ ...read(location.hash), z }));
    document.body.dataset["view"] = location.hash;
  }, 200);
}

// The page is at another place: nothing is written into its address any more, not even when it comes back at once.
export function forgetZoom(): void { clearTimeout(noting); }

// The zoom in the address.
export function zoomOf(s: State): number[] | null {
  const at = (s.z ?? "").split(",").map(Number);
  return at.length === 3 && at.every(Number.isFinite) ? at : null;
}

// Another place: the lasting state, with changes.
export function go(from: State, change: State): State {
  const s: State = {};
  for (const key of lasting) if (from[key]) s[key] = from[key];
  return { ...s, ...change };
}
