"use strict";
// Vega's interpreter (ast) needs no eval, which the page's content security policy forbids.
const options = { ast: true, renderer: "svg", actions: false, tooltip: { theme: "custom" } };
for (const place of document.querySelectorAll("[data-chart]")) {
  const spec = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  vegaEmbed(place, spec, options).then(
    () => { place.dataset.drawn = "yes"; },
    (error) => {
      place.textContent = "This chart could not be drawn: " + error.message;
      console.error(error);
    },
  );
}
