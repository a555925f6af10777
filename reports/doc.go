// Package reports tests what its packages do together, from a scenario to the files and pages that people read. The way
// of a statistic, with the package of each step:
//
//  1. sim/metric declares it: its name, unit, tags, better direction and explanation.
//  2. The server passes each event of a request to the collector, which counts it for the workload, the FlowSchema, the
//     level and the flow (collect), with counters and histograms (measure).
//  3. At the end of the run, the collector returns a result, from which the statistic is read by its name (result).
//  4. Runs are combined and compared (compare), and judged (judge).
//  5. A document is made of the result: tables, plots and findings (report).
//  6. Renderers write the document in each format (render), and its plots as pictures (charts).
//
// docs/background/layout.md tells more of these steps, and says what each package is for.
package reports
