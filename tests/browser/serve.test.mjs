// A site that is served, in a real browser: pages follow the store, and what was seen before is known.
//
// BACKSIGHT_PROGRAM names the program, BACKSIGHT_STORE the store of `cargo run -p backsight-site --example sample_history -- STORE`.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { LIMIT, open } from "./browser.mjs";

const { BACKSIGHT_PROGRAM: program, BACKSIGHT_STORE: store } = process.env;
assert.ok(program && store, "BACKSIGHT_PROGRAM and BACKSIGHT_STORE must be set");
const run = promisify(execFile);

let server, address, control;

before(async () => {
  server = spawn(program, ["serve", "--control", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]();
  [address, control] = [await lines.next(), await lines.next()].map(({ value }) => /http:\S+/.exec(value)[0]);
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

test("any two versions are compared, and what is chosen of them survives a reload", LIMIT, async () => {
  for (const viewport of [{ width: 1400, height: 900 }, { width: 360, height: 800 }]) {
    const { context, page, complaints } = await open(address + "linux/", { viewport });
    const fits = async () => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
    await page.getByRole("link", { name: "Compare versions" }).click();
    await page.getByLabel("Baseline").fill("6.1.5");
    await page.getByLabel("Version 2").fill("6.1.22");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.waitForURL("**/linux/compare/6.1.5..6.1.22");
    assert.match(await page.locator(".verdict").innerText(), /1 worse/);
    // What didn't change is hidden.
    const rows = page.locator("table.compared tbody:visible");
    assert.equal(await rows.count(), 1);
    assert.match(await rows.innerText(), /tbench\.throughput[^]*✗ worse/);
    const all = await page.locator("table.compared tbody").count();
    await page.getByLabel("Verdict").selectOption("everything");
    assert.equal(await rows.count(), all);
    await page.getByRole("button", { name: "Difference" }).click();
    await page.getByRole("button", { name: "Difference" }).click();
    assert.match(await rows.last().innerText(), /throughput/, "the greatest first");
    await page.getByLabel("Search series").fill("latency");
    assert.equal(await rows.count(), 1);
    await page.reload();
    assert.match(await rows.innerText(), /latency/);
    assert.equal(await page.locator("[aria-sort=descending]").count(), 1);
    await page.getByLabel("At least so many percent").fill("50");
    assert.equal(await rows.count(), 0);
    assert.match(await page.locator("#filters [role=status]").innerText(), /none of/);
    await page.getByLabel("At least so many percent").fill("");
    // A row opens.
    const opener = page.getByRole("button", { name: /Distributions and course/ });
    assert.equal(await opener.getAttribute("aria-expanded"), "false");
    await opener.click();
    await page.locator("svg.distributions:visible").waitFor();
    assert.equal(await page.locator("svg.marked:visible circle").count(), 2);
    await fits();
    await page.goto(address + "linux/compare/6.1.22..6.1.5");
    assert.match(await page.locator(".verdict").innerText(), /1 better/);
    await page.locator("a.turned").click();
    await page.waitForURL("**/6.1.5..6.1.22.html");
    await page.goto(address + "linux/compare/6.1.5..6.1.17..6.1.22");
    assert.equal(await page.locator(".verdict").count(), 2);
    await fits();
    assert.deepEqual(complaints, []);
    await context.close();
  }
});

test("versions are compared without scripts", LIMIT, async () => {
  const { context, page } = await open(address + "linux/compare/", { javaScriptEnabled: false });
  await page.locator("input[name=v]").nth(0).fill("6.1.5");
  await page.locator("input[name=v]").nth(1).fill("6.1.22");
  await page.locator("form button").click();
  assert.equal(new URL(page.url()).pathname, "/linux/compare/6.1.5..6.1.22");
  assert.ok(await page.locator("table.compared tbody:visible").count() > 1, "all rows are there");
  await page.locator("summary:visible").first().click();
  assert.ok(await page.locator("svg.distributions:visible").count() === 1);
  await context.close();
});

test("pages are found from home, at two widths and in the dark, and complain of nothing", LIMIT, async () => {
  for (const viewport of [{ width: 1400, height: 900 }, { width: 360, height: 800 }]) {
    const { context, page, complaints, requests } = await open(address, { viewport, colorScheme: "dark" });
    for (const path of ["", "linux/", "linux/c/6.1.18", "studies/", "studies/weekly-1/", "linux/v/6.1.18", "linux/compare/6.1.17..6.1.18", "linux/compare/", "linux/compare/6.1.3..6.1.25"]) {
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

test("the page of a target says that there is something new, and keeps what is chosen", LIMIT, async () => {
  const { context, page, complaints } = await open(address);
  // It listens once it has looked for what came meanwhile.
  const looked = page.waitForResponse((answer) => answer.url() === `${address}linux/` && answer.request().resourceType() === "fetch");
  await page.goto(`${address}linux/`);
  await looked;
  await page.getByRole("checkbox", { name: "Unstable only" }).check();
  const chosen = page.url();
  const news = page.locator("#news");
  assert.ok(await news.isHidden());
  await run(program, ["accept", "6.1.18", "--target", "linux", "--reason", "known", "--by", "carol"]);
  await news.getByRole("button").click();
  await page.locator("#news[hidden]").waitFor({ state: "attached" });
  assert.equal(page.url(), chosen);
  await run(program, ["accept", "6.1.18", "--target", "linux", "--withdraw"]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("who came with the token says how a change stands, and others don't", LIMIT, async () => {
  const { context, page, complaints } = await open(address);
  await page.goto(`${address}linux/c/6.1.18`);
  assert.ok(await page.locator("#triage").isHidden());
  await page.goto(control);
  assert.equal(new URL(page.url()).hash, "", "the token isn't left in the address");
  await page.locator("a.alert").first().click();
  const form = page.locator("#triage");
  await form.locator("[name=state]").selectOption("investigating");
  await form.locator("[name=note]").fill("</p><script>alert(1)</script>");
  await form.locator("[name=by]").fill("erin");
  await form.locator("button").click();
  await form.locator("output.good").waitFor();
  await page.locator("#state .investigating").waitFor();
  assert.match(await page.locator("#state").innerText(), /by erin: <\/p><script>alert/);
  await page.reload();
  assert.equal(await form.locator("[name=by]").inputValue(), "erin");
  await page.evaluate(() => localStorage.setItem("backsight control", "00"));
  await form.locator("button").click();
  await form.locator("output.bad").getByText("token is missing, wrong").waitFor();
  assert.deepEqual(complaints.filter((complaint) => !/401/.test(complaint)), []);
  await context.close();
});

test("whom a proxy knows says it in that name, and needs no token", LIMIT, async (t) => {
  const { stdout: token } = await run(program, ["token", "add", "proxy", "--scope", "proxy"]);
  const { port, hostname } = new URL(address);
  const proxy = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token.trim()}`, "x-forwarded-user": "Zoe" };
    const forwarded = request({ port, hostname, method: asked.method, path: asked.url, headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    forwarded.on("error", () => answer.destroy());
    asked.pipe(forwarded);
  });
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { context, page, complaints } = await open(`http://127.0.0.1:${proxy.address().port}/linux/c/6.1.18`);
  const form = page.locator("#triage");
  await form.waitFor({ state: "visible" });
  const by = form.locator("[name=by]");
  assert.equal(await by.inputValue(), "Zoe");
  assert.ok(!await by.isEditable());
  await form.locator("[name=state]").selectOption("confirmed");
  await form.locator("[name=note]").fill("seen by a proxy");
  await form.locator("button").click();
  await page.getByText("by Zoe: seen by a proxy").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});
