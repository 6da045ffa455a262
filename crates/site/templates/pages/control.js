"use strict";
// Lets a reader who may say something: forms of class `say` that say where to (`data-to`) and what besides what is filled
// in (`data-said`, JSON). A token comes once, in the address that `serve --control` prints, or with a token of the store in its place; a
// proxy that knows the reader needs none.
(() => {
  const KEY = "backsight control", NAME = "backsight name";
  const root = document.currentScript.src.replace(/assets\/control\.js.*$/, "");
  const given = /^#control=([0-9a-z_]+)$/.exec(location.hash);
  if (given) {
    localStorage.setItem(KEY, given[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
  const known = () => {
    const token = localStorage.getItem(KEY);
    return token ? { "Authorization": `Bearer ${token}` } : {};
  };
  let person = null;
  const fill = (form) => {
    const by = form?.elements.by;
    if (!by) return;
    if (person) {
      by.value = person;
      by.readOnly = true;
    } else if (!by.value) by.value = localStorage.getItem(NAME) ?? "";
  };
  // The style sheet hides forms from who may not use them.
  const show = () => {
    document.documentElement.dataset.control = "";
    for (const form of document.querySelectorAll("form.say")) fill(form);
  };
  if (localStorage.getItem(KEY)) show();
  fetch(`${root}api/v1/me`, { headers: known() }).then(async (answer) => {
    if (!answer.ok) return;
    const me = await answer.json();
    person = me.person;
    if (me.scope !== "read") show();
    else delete document.documentElement.dataset.control;
  }, () => {});
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
        headers: { ...known(), "Content-Type": "application/json" },
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
