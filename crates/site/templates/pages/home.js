"use strict";
// Marks the changes that weren't here when this browser last showed this page.
(() => {
  const key = `backsight seen ${location.pathname}`;
  const load = () => {
    try {
      return new Set(JSON.parse(localStorage.getItem(key) ?? "null"));
    } catch {
      return new Set();
    }
  };
  let known;
  try {
    known = localStorage.getItem(key) === null ? undefined : load();
  } catch {
    return;
  }
  const mark = () => {
    const rows = [...document.querySelectorAll("tr[data-alert]")];
    if (known) {
      for (const row of rows) {
        if (known.has(row.dataset.alert) || row.querySelector(".unseen")) continue;
        const note = document.createElement("small");
        note.className = "unseen";
        note.textContent = "new to you ";
        row.querySelector("th").prepend(note);
      }
    }
    try {
      // What was seen once stays seen, as long as it is here.
      localStorage.setItem(key, JSON.stringify(rows.map((row) => row.dataset.alert)));
    } catch {
      // Nothing can be kept here: then everything is as new as it was.
    }
  };
  document.addEventListener("edition", mark);
  mark();
})();
