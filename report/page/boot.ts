// SPDX-License-Identifier: MIT
//
// The first program of the page: says which features a browser lacks, else inflates the page's program (main.ts) and runs it, as
// a script in the page, whose hash is also in the policy.
import { decode, fault, inflate, text } from "./file";

const missing = [
  typeof WebAssembly === "undefined" && "WebAssembly",
  typeof DecompressionStream === "undefined" && "DecompressionStream",
  typeof Worker === "undefined" && "workers", typeof BigInt === "undefined" && "BigInt",
].filter(Boolean);

async function start(): Promise<void> {
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(await inflate(decode(text("quern-main"))));
  document.head.append(script);
}

if (missing.length)
  fault("This browser is too old for the interactive report: it lacks " + missing.join(", ") +
    ". Chrome 103, Firefox 113 or Safari 16.4 have all of it.");
else
  start().catch((e: Error) => fault("The interactive report does not work here: " + e.message));
