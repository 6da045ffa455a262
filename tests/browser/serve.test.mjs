// A site that is served, in a real browser: pages follow the store, and what was seen before is known.
//
// BACKSIGHT_PROGRAM names the program, BACKSIGHT_STORE the store of `cargo run -p backsight-site --example sample_history -- STORE`.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { LIMIT, open } from "./browser.mjs";

const { BACKSIGHT_PROGRAM: program, BACKSIGHT_STORE: store } = process.env;
assert.ok(program && store, "BACKSIGHT_PROGRAM and BACKSIGHT_STORE must be set");
const run = promisify(execFile);

let server, address;

before(async () => {
  server = spawn(program, ["serve", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface(server.stdout), "line");
  address = /http:\S+/.exec(line)[0];
}, LIMIT);

after(async () => {
  server.kill("SIGTERM");
  const [code] = await once(server, "exit");
  assert.equal(code, 0);
});

test("an open page follows what is said of a change", LIMIT, async () => {
  const { context, page, complaints } = await open(address);
  const state = page.locator("#alerts tr[data-alert]").first().locator(".state");
  assert.equal(await state.innerText(), "new");
  assert.equal(await page.locator(".unseen").count(), 0, "on a first visit nothing is new to you");
  await run(program, ["triage", "linux", "6.1.18", "investigating", "--by", "carol"]);
  await page.locator("#alerts .state.investigating").waitFor();
  assert.match(await page.locator("#alerts tr[data-alert]").first().innerText(), /carol/);
  await run(program, ["triage", "linux", "6.1.18", "invalid", "--by", "carol"]);
  await page.getByText("Nothing changed that nobody has dealt with.").waitFor();
  await page.locator("#alerts details > summary").click();
  assert.ok(await page.locator("#alerts .state.invalid").isVisible());
  await run(program, ["triage", "linux", "6.1.18", "confirmed", "--by", "carol"]);
  await page.locator("#alerts .state.confirmed").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a change that this browser hasn't shown yet is marked", LIMIT, async () => {
  const { context, page } = await open(address);
  // As after a visit before the change was there; once, before the page looks.
  await page.addInitScript(() => {
    if (sessionStorage.getItem("visited")) return;
    sessionStorage.setItem("visited", "yes");
    localStorage.setItem(`backsight seen ${location.pathname}`, "[]");
  });
  await page.reload();
  assert.match(await page.locator("#alerts tr[data-alert]").first().innerText(), /new to you/);
  await page.reload();
  assert.equal(await page.locator(".unseen").count(), 0);
  await context.close();
});

test("pages are found from home, at two widths and in the dark, and complain of nothing", LIMIT, async () => {
  for (const viewport of [{ width: 1400, height: 900 }, { width: 360, height: 800 }]) {
    const { context, page, complaints, requests } = await open(address, { viewport, colorScheme: "dark" });
    for (const path of ["", "linux/", "linux/c/6.1.18", "studies/", "studies/weekly-1/", "linux/v/6.1.18", "linux/compare/6.1.17..6.1.18"]) {
      await page.goto(address + path);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wider, 0, `/${path} is no wider than ${viewport.width}`);
    }
    await page.goto(address);
    await page.locator("a.alert").first().click();
    assert.match(await page.locator("h1").innerText(), /got worse at 6\.1\.18/);
    await page.locator("#state").getByText("confirmed").waitFor();
    assert.deepEqual(complaints, []);
    assert.deepEqual(requests.filter((url) => !url.startsWith(address)), []);
    await context.close();
  }
});
