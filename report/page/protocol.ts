// SPDX-License-Identifier: MIT
//
// What page and worker say to each other.
import type { Api } from "./api";
import type { Choice } from "./drop";

export type ToWorker =
  | { kind: "core"; bytes: Uint8Array }
  | { kind: "block"; index: number; size: number; crc: number; bytes: Uint8Array }
  | { kind: "read"; reader: Uint8Array; choice: Choice } // in place of blocks
  | { kind: "end" } // no more blocks come
  | { kind: "ask"; id: number; method: keyof Api; args: unknown[] };

export type FromWorker =
  | { kind: "first" } // block 0 is there: totals and the dearest functions
  | { kind: "ready" } // all functions and calls; lines, sources and code may still be on their way
  | { kind: "fault"; text: string }
  | { kind: "progress"; text: string } // of what is read in the page
  | { kind: "refused"; text: string }  // it is no profile
  | { kind: "answer"; id: number; result?: unknown; error?: string };
