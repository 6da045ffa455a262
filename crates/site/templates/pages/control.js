"use strict";
// Lets a reader who has the token say how a change stands. The token comes once, in the address that `serve --control` prints.
(() => {
  const KEY = "backsight control", NAME = "backsight name";
  const given = /^#control=([0-9a-f]+)$/.exec(location.hash);
  if (given) {
    localStorage.setItem(KEY, given[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
  const form = document.getElementById("triage");
  if (!form || !localStorage.getItem(KEY)) return;
  const { state, note, by } = form.elements;
  const answer = form.querySelector("output");
  form.hidden = false;
  by.value = localStorage.getItem(NAME) ?? "";
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    answer.textContent = "";
    localStorage.setItem(NAME, by.value);
    const { target, version, to } = form.dataset;
    try {
      const done = await fetch(to, {
        method: "POST",
        headers: { "Authorization": `Bearer ${localStorage.getItem(KEY)}`, "Content-Type": "application/json" },
        body: JSON.stringify({ target, version, state: state.value, note: note.value, by: by.value }),
      });
      const { said, error } = await done.json();
      answer.textContent = said ?? error;
      answer.className = done.ok ? "good" : "bad";
      if (done.ok) note.value = "";
    } catch (why) {
      answer.textContent = `the server can't be asked: ${why.message}`;
      answer.className = "bad";
    }
    button.disabled = false;
  });
})();
