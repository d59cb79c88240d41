// page_style.hpp — how a report looks, and the few lines that sort its tables.
#pragma once

namespace ukemi::analysis {

// One column on a telephone, two of figures where there is room; on paper nothing scrolls, and what
// is folded up is open. (No '<', '>' or '&' in either: see begin_page.)
inline constexpr const char* report_style = R"(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; color: #1a1a1a; background: #fff;
  font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 0.6rem; border-bottom: 2px solid #0072b2; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 0.4rem; }
p { margin: 0.4rem 0; }
code, pre { font-family: "DejaVu Sans Mono", monospace; font-size: 0.85rem; }
dl { display: grid; grid-template-columns: minmax(7rem, 12rem) minmax(0, 1fr); gap: 0.2rem 1rem;
  margin: 0.4rem 0; }
dt { color: #555; }
dd { margin: 0; }
.note, figcaption { font-size: 0.85rem; color: #555; }
.warning { border-left: 4px solid #d55e00; background: #fdf3ec; padding: 0.4rem 0.8rem;
  margin: 0.4rem 0; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; margin: 0.4rem 0; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
th, td { padding: 0.3rem 0.6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid #ddd; }
th { vertical-align: bottom; line-height: 1.25; border-bottom: 2px solid #999;
  background: #fff; }
th.sorts { cursor: pointer; }
th.sorts:hover, th.sorts:focus { color: #0072b2; text-decoration: underline; }
th[aria-sort=ascending]::after { content: " \25B2"; }
th[aria-sort=descending]::after { content: " \25BC"; }
.number { text-align: right; }
td.number { white-space: nowrap; }
td:first-child, th:first-child { position: sticky; left: 0; background: #fff;
  min-width: 11rem; max-width: 18rem; overflow-wrap: anywhere; }
tbody tr:nth-child(even) td { background: #f5f7f9; }
.figures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
figure { margin: 0; min-width: 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 44rem; }
details { margin: 0.5rem 0; }
summary { cursor: pointer; }
pre { background: #f5f7f9; padding: 0.8rem; overflow-x: auto; margin: 0.4rem 0; }
@media (max-width: 40rem) {
  body { padding: 0.7rem; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: 0.5rem; }
  td:first-child, th:first-child { max-width: 10rem; min-width: 8.5rem; }
}
@page { margin: 12mm; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  h2, h3 { break-after: avoid; }
  .scroll, pre { overflow: visible; }
  pre { white-space: pre-wrap; font-size: 7.5pt; }
  table { font-size: 7pt; width: 100%; overflow-wrap: break-word; }
  th, td { padding: 0.15rem 0.2rem; }
  td:first-child, th:first-child { position: static; min-width: 26mm; max-width: none; }
  th.sorts { cursor: auto; }
  thead { display: table-header-group; }
  tr, figure { break-inside: avoid; }
  .figures { display: block; }
  figure { margin-bottom: 6mm; }
  figure svg { max-width: 150mm; max-height: 150mm; }
  details::details-content { content-visibility: visible; display: block; height: auto; }
}
)";

// A click, Enter or the space bar on the head of a column sorts its table by it, again the other
// way round; what has no number stands last.
inline constexpr const char* report_script = R"(
"use strict";
function valueOf(row, column) {
  var cell = row.cells[column];
  var number = parseFloat(cell.getAttribute("data-value"));
  return isNaN(number) ? cell.textContent : number;
}
function compareValues(a, b, up) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return up * (typeof a === "number" ? a - b : a.localeCompare(b));
}
function sortTable(head) {
  var up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  Array.from(head.parentNode.cells).forEach(function (one) { one.removeAttribute("aria-sort"); });
  head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
  var body = head.closest("table").tBodies[0];
  var rows = Array.from(body.rows);
  rows.sort(function (a, b) {
    return compareValues(valueOf(a, head.cellIndex), valueOf(b, head.cellIndex), up);
  });
  rows.forEach(function (row) { body.appendChild(row); });
}
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll("table thead th").forEach(function (head) {
    head.classList.add("sorts");
    head.tabIndex = 0;
    head.title = "sort by this column";
    head.addEventListener("click", function () { sortTable(head); });
    head.addEventListener("keydown", function (event) {
      if (event.key !== "Enter") { if (event.key !== " ") return; }
      event.preventDefault();
      sortTable(head);
    });
  });
});
window.addEventListener("beforeprint", function () {
  document.querySelectorAll("details").forEach(function (one) { one.open = true; });
});
)";

}  // namespace ukemi::analysis
