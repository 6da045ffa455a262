"use strict";
// Lets a reader who has the token say something: forms of class `say` that say where to (`data-to`) and what besides what is filled
// in (`data-said`, JSON). The token comes once, in the address that `serve --control` prints.
(() => {
  const KEY = "backsight control", NAME = "backsight name";
  const root = document.currentScript.src.replace(/assets\/control\.js.*$/, "");
  const given = /^#control=([0-9a-f]+)$/.exec(location.hash);
  if (given) {
    localStorage.setItem(KEY, given[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
  if (!localStorage.getItem(KEY)) return;
  // The style sheet hides forms from who has no token.
  document.documentElement.dataset.control = "";
  const fill = (form) => {
    const by = form?.elements.by;
    if (by && !by.value) by.value = localStorage.getItem(NAME) ?? "";
  };
  for (const form of document.querySelectorAll("form.say")) fill(form);
  // Others are made later.
  document.addEventListener("focusin", (event) => fill(event.target.closest("form.say")));
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form.say");
    if (!form) return;
    event.preventDefault();
    const button = form.querySelector("button"), answer = form.querySelector("output");
    const said = JSON.parse(form.dataset.said);
    for (const { name, value } of form.elements) if (name) said[name] = value;
    if (said.by) localStorage.setItem(NAME, said.by);
    button.disabled = true;
    answer.textContent = "";
    try {
      const done = await fetch(`${root}api/v1/${form.dataset.to}`, {
        method: "POST",
        headers: { "Authorization": `Bearer ${localStorage.getItem(KEY)}`, "Content-Type": "application/json" },
        body: JSON.stringify(said),
      });
      const { said: sentence, error } = await done.json();
      answer.textContent = sentence ?? error;
      answer.className = done.ok ? "good" : "bad";
      if (done.ok && form.elements.note) form.elements.note.value = "";
    } catch (why) {
      answer.textContent = `the server can't be asked: ${why.message}`;
      answer.className = "bad";
    }
    button.disabled = false;
  });
})();
