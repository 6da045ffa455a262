// The real browser that the tests of pages share: one for each file of tests, with nothing that reaches for the network.
//
// CHROMIUM names another browser.

import { after, before } from "node:test";
import { chromium } from "playwright-core";

// No part of the browser itself may reach for the network either.
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
export const LIMIT = { timeout: 60_000 };

let browser;

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS,
    timeout: 30_000,
  });
}, LIMIT);

after(() => browser?.close());

/** A page that is open at this address, and everything that it and those after it asked for or complained about. */
export async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const requests = [];
  const complaints = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address);
  return { context, page, requests, complaints };
}
