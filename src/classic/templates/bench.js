"use strict";
// Draws the charts of the page: those of the table once, those of a run whenever one is chosen.
const numbers = JSON.parse(document.getElementById("numbers").textContent);
const settings = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

function draw(place, charts) {
  place.replaceChildren();
  for (const chart of charts) {
    const title = document.createElement("h2");
    title.textContent = chart.title;
    const says = document.createElement("p");
    says.className = "says";
    says.textContent = chart.says;
    const canvas = document.createElement("div");
    place.append(title, says, canvas);
    Plotly.newPlot(canvas, chart.data, chart.layout, settings);
  }
}

const choice = document.getElementById("run");
numbers.runs.forEach((run, index) => choice.add(new Option(run.name, index)));
const first = numbers.runs.findIndex((run) => run.name.startsWith("CLASSIC,"));
choice.value = String(Math.max(first, 0));
choice.addEventListener("change", () => draw(document.getElementById("of-run"), numbers.runs[choice.value].charts));
draw(document.getElementById("charts"), numbers.charts);
draw(document.getElementById("of-run"), numbers.runs[choice.value].charts);
