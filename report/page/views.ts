// SPDX-License-Identifier: MIT
//
// All views, in the order of their keys.
import type { App, View } from "./app";
import { assemblyView } from "./view_assembly";
import { curveView } from "./view_curve";
import { dataView } from "./view_data";
import { flameView } from "./view_flame";
import { compareView, functionsView } from "./view_functions";
import { functionView } from "./view_function";
import { graphView } from "./view_graph";
import { linesView } from "./view_lines";
import { partsView } from "./view_parts";
import { seriesView } from "./view_series";
import { sourceView } from "./view_source";
import { summaryView } from "./view_summary";
import { treemapView } from "./view_treemap";

export const views: View[] = [summaryView, functionsView, functionView, sourceView, compareView, seriesView, graphView, flameView,
  treemapView,
  linesView, assemblyView, partsView, curveView, dataView];

export function viewOf(app: App): View {
  return views.find((view) => view.key === app.state.v && view.when(app)) ?? summaryView;
}
