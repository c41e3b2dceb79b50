// SPDX-License-Identifier: MIT
//
// Colours of source text: comments, strings, numbers, words of the language. A lexer for C and what looks like it, and one for
// languages whose comments begin with #. It need not be exact: what it takes for a string is shown all the same.
import { h } from "./element";
import type { Child } from "./element";

type Kind = "com" | "str" | "num" | "kw" | "pre" | "";
interface Language { line: string; block: boolean; words: Set<string>; hash: boolean; triple: boolean; back: boolean }

const words = (text: string): Set<string> => new Set(text.split(" "));
const c = words("alignas alignof auto bool break case catch char class co_await co_return co_yield concept const consteval constexpr " +
  "constinit const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false final float for " +
  "friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public register " +
  "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template this " +
  "thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while NULL");
const rust = words("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut " +
  "pub ref return self Self static struct super trait true type unsafe use where while bool char str u8 u16 u32 u64 u128 usize i8 i16 " +
  "i32 i64 i128 isize f32 f64");
const go = words("break case chan const continue default defer else fallthrough for func go goto if import interface map package range " +
  "return select struct switch type var nil true false string bool byte rune error int int8 int16 int32 int64 uint uint8 uint16 uint32 " +
  "uint64 uintptr float32 float64");
const java = words("abstract async await boolean break byte case catch char class const continue default delete do double else enum " +
  "export extends false final finally float for function if implements import in instanceof int interface let long native new null of " +
  "package private protected public return short static super switch synchronized this throw throws transient true try typeof " +
  "undefined var void volatile while yield");
const python = words("and as assert async await break class continue def del elif else except False finally for from global if import in " +
  "is lambda None nonlocal not or pass raise return True try while with yield self");
const none = new Set<string>();

const like = (w: Set<string>, hash: boolean, back = false): Language => ({ line: "//", block: true, words: w, hash, triple: false, back });
const languages: [RegExp, Language][] = [
  [/\.(py|pyx|pyi|sh|rb|pl|tcl|mk|cmake|nim|jl|r)$/i, { line: "#", block: false, words: python, hash: false, triple: true, back: false }],
  [/\.rs$/, like(rust, false)], [/\.go$/, like(go, false, true)], [/\.(java|kt|scala|js|mjs|ts|tsx|cs|swift)$/, like(java, false, true)],
  [/\.(s|asm)$/i, { line: "#", block: true, words: none, hash: false, triple: false, back: false }],
  [/\.(f|f77|f90|f95|for|ada|adb|ml|hs|lisp|el)$/i, { line: "\0", block: false, words: none, hash: false, triple: false, back: false }],
];

export function languageOf(file: string): Language {
  return languages.find(([pattern]) => pattern.test(file))?.[1] ?? like(c, true);
}

// The state between lines: "" or what ends the comment or string that is open.
export type Open = "" | "*/" | '"""' | "'''" | "`";

const LONG = 2000; // characters of a line that are coloured

// The pieces of a line, and what is open behind it.
export function lex(text: string, open: Open, language: Language): { pieces: [Kind, string][]; open: Open } {
  const pieces: [Kind, string][] = [], n = Math.min(LONG, text.length);
  let i = 0, plain = 0;
  const put = (kind: Kind, to: number): void => {
    if (plain < i) pieces.push(["", text.slice(plain, i)]);
    pieces.push([kind, text.slice(i, to)]);
    i = plain = to;
  };
  if (open) {
    const end = text.indexOf(open);
    put(open === "*/" ? "com" : "str", end < 0 ? text.length : end + open.length);
    if (end < 0) return { pieces, open };
    open = "";
  } else if (language.hash && /^\s*#/.test(text)) {
    i = plain = 0;
    put("pre", /^\s*#\s*\w*/.exec(text)![0]!.length);
  }
  while (i < n) {
    const ch = text[i]!;
    if (text.startsWith(language.line, i) || (language.words === none && language.line === "#" && text.startsWith("//", i))) {
      put("com", text.length);
    } else if (language.block && text.startsWith("/*", i)) {
      const end = text.indexOf("*/", i + 2);
      if (end < 0) open = "*/";
      put("com", end < 0 ? text.length : end + 2);
    } else if (language.triple && (text.startsWith('"""', i) || text.startsWith("'''", i))) {
      const mark = text.slice(i, i + 3) as Open, end = text.indexOf(mark, i + 3);
      if (end < 0) open = mark;
      put("str", end < 0 ? text.length : end + 3);
    } else if (language.back && ch === "`") {
      const end = text.indexOf("`", i + 1);
      if (end < 0) open = "`";
      put("str", end < 0 ? text.length : end + 1);
    } else if (ch === '"' || ch === "'") {
      // Rust's lifetimes, and digits in groups, are no strings.
      const all = (ch === '"' ? /^"(\\.|[^"\\])*"?/ : /^'(\\.[^']*|[^'\\])'|^'[^'\\]{2,}'/).exec(text.slice(i));
      if (all) put("str", i + all[0]!.length);
      else i++;
    } else if (/[0-9]/.test(ch)) {
      put("num", i + /^[0-9][\w.']*/.exec(text.slice(i))![0]!.length);
    } else if (/[A-Za-z_$]/.test(ch)) {
      const word = /^[\w$]+/.exec(text.slice(i))![0]!;
      if (language.words.has(word)) put("kw", i + word.length);
      else i += word.length;
    } else {
      i++;
    }
  }
  if (plain < text.length) pieces.push(["", text.slice(plain)]);
  return { pieces, open };
}

export function coloured(pieces: [Kind, string][]): Child[] {
  return pieces.map(([kind, text]) => kind ? h("span", { class: "syn-" + kind }, text) : text);
}

// Without the indentation that all lines have.
export function dedent(texts: (string | null)[]): (string | null)[] {
  const there = texts.filter((text): text is string => !!text?.trim());
  const least: string = there.reduce((n: string, text) => {
    let i = 0;
    while (i < n.length && n[i] === text[i]) i++;
    return n.slice(0, i);
  }, /^\s*/.exec(there[0] ?? "")![0]!);
  return texts.map((text) => text?.startsWith(least) ? text.slice(least.length) : text);
}
