"use strict";
// Puts what is new in place of what is old: elements that are marked `data-live`, which have ids. The server says when.
(() => {
  const root = document.currentScript.src.replace(/assets\/live\.js.*$/, "");
  let busy = false, again = false;
  const look = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const old of document.querySelectorAll("[data-live][id]")) {
          const now = page.getElementById(old.id);
          if (now && now.innerHTML !== old.innerHTML && !old.contains(document.activeElement)) old.replaceWith(now);
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
  const news = new EventSource(`${root}api/v1/events`);
  news.addEventListener("edition", look);
  // A page that was left open while the server was away.
  let opened = false;
  news.addEventListener("open", () => {
    if (opened) look();
    opened = true;
  });
})();
