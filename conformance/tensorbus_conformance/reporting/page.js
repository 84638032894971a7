"use strict";
const form = document.getElementById("filter");
const words = document.getElementById("words");
const state = document.getElementById("state");
const found = document.getElementById("found");
const rows = [...document.querySelectorAll("[data-text]")];
const ops = rows.filter((row) => row.tagName === "TR").length;
const groups = [...document.querySelectorAll(".matrix tbody"), ...document.querySelectorAll(".matrix")];
function filter() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.dataset.text.toLowerCase();
    const fits = wanted.every((word) => text.includes(word));
    row.hidden = !(fits && (!state.value || row.dataset.states.split(" ").includes(state.value)));
    if (!row.hidden && row.tagName === "TR") shown += 1;
  }
  for (const group of groups) {
    group.hidden = !group.querySelector("tr[data-text]:not([hidden])");
  }
  found.textContent = wanted.length || state.value ? shown + " of " + ops + " ops" : "";
}
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
