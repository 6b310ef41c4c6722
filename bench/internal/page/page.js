"use strict";
// Sort a table by a column; numbers by their full values.
for (const th of document.querySelectorAll("th")) {
  th.classList.add("sortable");
  th.tabIndex = 0;
  const sort = () => {
    const table = th.closest("table"), body = table.tBodies[0], at = th.cellIndex;
    const down = th.getAttribute("aria-sort") === "ascending";
    const key = row => {
      const cell = row.cells[at], data = cell.querySelector("data");
      return data ? Number(data.value) : cell.textContent;
    };
    const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
    const rows = [...body.rows].sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  };
  th.addEventListener("click", sort);
  th.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); sort(); } });
}
// Show what a point says at once, not after the delay of a title.
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);
for (const hit of document.querySelectorAll(".hit")) {
  const text = hit.title;
  hit.removeAttribute("title");
  hit.addEventListener("pointerenter", () => {
    tip.textContent = text;
    tip.hidden = false;
    const box = hit.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(box.left + box.width / 2 + 8, document.documentElement.clientWidth - own.width - 8);
    tip.style.left = Math.max(8, left) + scrollX + "px";
    tip.style.top = (box.top > own.height + 8 ? box.top - own.height - 6 : box.bottom + 6) + scrollY + "px";
  });
  hit.addEventListener("pointerleave", () => { tip.hidden = true; });
}
for (const button of document.querySelectorAll(".copy")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.nextElementSibling.textContent);
    button.textContent = "Copied";
  });
}
