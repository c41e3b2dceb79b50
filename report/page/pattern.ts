// SPDX-License-Identifier: MIT
//
// Search texts: a part of a name, or a regular expression between slashes. Used by page and worker.

// A regular expression, or null: not written as one. Not all browsers mention the regular expression in their error message.
export function regex(text: string): RegExp | null {
  const m = /^\/(.+?)(?:\/(i?))?$/.exec(text);
  try {
    return m ? new RegExp(m[1]!, m[2] === "i" ? "iu" : "u") : null;
  } catch (e) {
    throw new Error("not a regular expression: " + (e as Error).message.replace(/^Invalid regular expression: /, ""));
  }
}
