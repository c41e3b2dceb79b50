// SPDX-License-Identifier: MIT
//
// All views, in the order of their keys.
import type { App, View } from "./app";
import { assemblyView } from "./view_assembly";
import { compareView, functionsView } from "./view_functions";
import { functionView } from "./view_function";
import { linesView } from "./view_lines";
import { sourceView } from "./view_source";
import { summaryView } from "./view_summary";

export const views: View[] = [summaryView, functionsView, functionView, sourceView, compareView, linesView, assemblyView];

export function viewOf(app: App): View {
  return views.find((view) => view.key === app.state.v && view.when(app)) ?? summaryView;
}
