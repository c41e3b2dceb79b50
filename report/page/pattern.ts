// SPDX-License-Identifier: MIT
//
// What is searched for: a piece of a name, or a regular expression between slashes. Used by page and worker.

// A regular expression, or null: it is not written as one. Browsers say of a wrong one what is wrong, but not all that it is one.
export function regex(text: string): RegExp | null {
  const m = /^\/(.+?)(?:\/(i?))?$/.exec(text);
  try {
    return m ? new RegExp(m[1]!, m[2] === "i" ? "iu" : "u") : null;
  } catch (e) {
    throw new Error("not a regular expression: " + (e as Error).message.replace(/^Invalid regular expression: /, ""));
  }
}
