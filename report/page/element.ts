// SPDX-License-Identifier: MIT
//
// Elements, and numbers as text. Data of a profile becomes a text node or an attribute, never markup.
import type { Value } from "./core";

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined>;

function fill<E extends Element>(e: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false) e.setAttribute(name,
      value === true ? "" : String(value));
  for (const child of children) if (child) e.append(child);
  return e;
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]):
  HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]):
  SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export function button(text: string, does: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const b = h("button", { type: "button", ...attributes }, text);
  b.addEventListener("click", does);
  return b;
}

// A part wider than the page scrolls by itself, also by keys.
export function wide(e: HTMLElement): HTMLElement {
  return h("div", { class: "wide", role: "region", tabindex: 0, "aria-label": e.getAttribute("aria-label") ?? "Table" },
    e);
}

// Saves a file.
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob), a = h("a", { href: url, download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const SIDE = 12000; // pixels of a picture: the limit of browsers

// An SVG picture as pixels, two for each of its units where that fits.
export function png(text: string, width: number, height: number, name: string): void {
  const k = Math.min(2, SIDE / width, SIDE / height), image = new Image(width, height),
    canvas = h("canvas", { width: Math.round(width * k), height: Math.round(height * k) });
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.onload = (): void => {
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => { if (blob) save(blob, name); });
  };
  image.src = url;
}

// ---- Numbers ----

export const none = "–";

// Six digits, or all those of a large number before its point.
export function rounded(v: number): string {
  if (Math.abs(v) >= 1e5 && Math.abs(v) < 1e15) return v.toLocaleString("en", { maximumFractionDigits: 0 });
  return v !== 0 && (Math.abs(v) < 1e-6 || Math.abs(v) >= 1e15) ? v.toPrecision(6)
    : v.toLocaleString("en", { maximumSignificantDigits: 6 });
}

// Exact where the core says so, with digits in groups of three.
export function number(v: Value | undefined, scale: number): string {
  if (!v) return none;
  if (v.exact === null) return Number.isNaN(v.approx) ? none : "≈ " + rounded(v.approx);
  const negative = v.exact < 0n, n = negative ? -v.exact : v.exact, unit = BigInt(scale);
  let text = (n / unit).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  if (n % unit) text += "." + (n % unit).toString().padStart(9, "0").replace(/0+$/, "");
  return (negative ? "-" : "") + text;
}

// With a sign, also above zero: for differences.
export function signed(v: Value | undefined, scale: number): string {
  return (v && (v.exact === null ? v.approx : v.exact) > 0 ? "+" : "") + number(v, scale);
}

export function share(part: number, whole: number): number { return whole ? part / whole : NaN; }

export function percent(part: number, whole: number): string {
  const p = share(part, whole) * 100;
  return Number.isFinite(p) ? p.toFixed(Math.abs(p) >= 10 ? 1 : 2) + " %" : none;
}

export function factor(v: Value | undefined, is: { old: number; new: number }): string {
  if (is.old === 0 && is.new === 0) return none;
  if (is.old === 0) return "new";
  if (is.new === 0) return "gone";
  return v && Number.isFinite(v.approx) ? "×" + v.approx.toPrecision(3) : none;
}

// ---- Names ----

const LONG = 200; // characters of a name that are shown; the tip and copies have all

export function clip(text: string): string { return text.length > LONG ? text.slice(0, LONG) + "…" : text; }

export function base(path: string): string { return path.slice(path.lastIndexOf("/") + 1) || path; }
