"use strict";
// Puts what is new in place of what is old: elements that are marked `data-live`, which have ids. The server says when.
(() => {
  const root = document.currentScript.src.replace(/assets\/live\.js.*$/, "");
  let busy = false, again = false;
  // What the server said last: other scripts add to what is shown.
  const said = new Map();
  for (const part of document.querySelectorAll("[data-live][id]")) said.set(part.id, part.outerHTML);
  // A page that a reader has arranged isn't changed below his hands: it says that there is something new.
  const news = document.getElementById("news");
  news?.querySelector("button").addEventListener("click", () => location.reload());
  let first = null;
  const replace = (old, now) => {
    // What a reader has opened stays open.
    const folds = now.querySelectorAll("details");
    old.querySelectorAll("details").forEach((fold, place) => {
      if (folds[place]) folds[place].open = fold.open;
    });
    old.replaceWith(now);
  };
  const look = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.pathname + location.search);
      if (answer.ok) {
        const text = await answer.text();
        first ??= text;
        if (news) news.hidden = text === first;
        const page = new DOMParser().parseFromString(text, "text/html");
        for (const old of document.querySelectorAll("[data-live][id]")) {
          const now = page.getElementById(old.id);
          if (!now || said.get(now.id) === now.outerHTML) continue;
          said.set(now.id, now.outerHTML);
          replace(old, now);
        }
        document.dispatchEvent(new CustomEvent("edition"));
      }
    } catch {
      // The next edition is another chance.
    }
    busy = false;
    if (again) {
      again = false;
      look();
    }
  };
  // Only the page that is looked at listens: a browser has six connections to a server, and a page that listens holds one.
  let source = null;
  const listen = () => {
    if (document.visibilityState === "hidden") {
      source?.close();
      source = null;
    } else if (!source) {
      source = new EventSource(`${root}api/v1/events`);
      source.addEventListener("edition", look);
      // What came while nobody listened, or while the server was away.
      source.addEventListener("open", look);
    }
  };
  document.addEventListener("visibilitychange", listen);
  listen();
})();
