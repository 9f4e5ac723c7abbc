"use strict";
// The charts of the page: those of the table once, those of a run whenever one is chosen.
const numbers = JSON.parse(document.getElementById("numbers").textContent);
const settings = {
  displaylogo: false,
  responsive: true,
  // The library's button for sharing would upload the numbers: this page sends nothing to anybody.
  modeBarButtonsToRemove: ["lasso2d", "select2d", "sendChartToCloud"],
  plotlyServerURL: "",
};

function element(kind, text, properties = {}) {
  return Object.assign(document.createElement(kind), { textContent: text, ...properties });
}

// Charts are drawn when they come near: dozens of them at once would keep a browser busy for seconds.
const waiting = new Map();
const watcher = new IntersectionObserver(
  (seen) => seen.filter((entry) => entry.isIntersecting).forEach((entry) => plot(entry.target)),
  { rootMargin: "400px" },
);
addEventListener("beforeprint", () => [...waiting.keys()].forEach(plot));

function plot(canvas) {
  const chart = waiting.get(canvas);
  waiting.delete(canvas);
  watcher.unobserve(canvas);
  Plotly.newPlot(canvas, chart.data, chart.layout, settings).then(() => chart.linked && link(canvas));
}

function show(place, charts) {
  place.querySelectorAll(".chart").forEach((canvas) => {
    waiting.delete(canvas);
    watcher.unobserve(canvas);
    Plotly.purge(canvas);
  });
  place.replaceChildren();
  for (const chart of charts) {
    const canvas = element("div", "", { className: "chart" });
    Object.assign(canvas.style, { minWidth: `${chart.width}px`, height: `${chart.layout.height}px` });
    const frame = element("div", "", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: chart.title });
    frame.append(canvas);
    place.append(element("h2", chart.title), element("p", chart.says, { className: "says" }), frame);
    waiting.set(canvas, chart);
    watcher.observe(canvas);
  }
}

// A trial is a point in every panel: the one under the pointer is shown in all of them.
function link(canvas) {
  const panels = canvas.data.flatMap((trace, index) => (trace.mode === "markers" ? [index] : []));
  const mark = (which) => Plotly.restyle(canvas, { selectedpoints: [which] }, panels);
  canvas.on("plotly_hover", ({ points: [point] }) => {
    if (panels.includes(point.curveNumber)) mark([point.pointNumber]);
  });
  canvas.on("plotly_unhover", () => mark(null));
}

const choice = document.getElementById("run");
const ofRun = document.getElementById("of-run");
numbers.runs.forEach((run, index) => choice.add(new Option(run.name, index)));
const first = numbers.runs.findIndex((run) => run.name.startsWith("CLASSIC,"));
choice.value = String(Math.max(first, 0));
choice.addEventListener("change", () => show(ofRun, numbers.runs[choice.value].charts));
show(document.getElementById("charts"), numbers.charts);
show(ofRun, numbers.runs[choice.value].charts);
