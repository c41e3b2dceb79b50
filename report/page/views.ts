// SPDX-License-Identifier: MIT
//
// All views, in the order of their keys.
import type { App, View } from "./app";
import { compareView, functionsView } from "./view_functions";
import { functionView } from "./view_function";
import { summaryView } from "./view_summary";

export const views: View[] = [summaryView, functionsView, functionView, compareView];

export function viewOf(app: App): View {
  return views.find((view) => view.key === app.state.v && view.when(app)) ?? summaryView;
}
