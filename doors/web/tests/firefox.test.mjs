// The page from disk in Firefox: tasks, first paint, keys, a phone's width, and no request.
//
//     npm run build && FIREFOX=/usr/bin/firefox-esr npm run browse:firefox

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { firefox } from "./bidi.mjs";

const ROOT = resolve(import.meta.dirname, "../../..");
const PAGE = pathToFileURL(resolve(import.meta.dirname, "../dist/gpucast-classroom.html")).href;
const TASKS = readdirSync(join(ROOT, "studies/lab/tasks"));
const FIRST_PAINT_MS = 1000;
const VIEWS = ["time", "access", "banks", "lanes", "steps", "timeline", "occupancy", "compare"];

/** @type {import("./bidi.mjs").Browser} */
let browser;
before(async () => {
  browser = await firefox(process.env["FIREFOX"] ?? "/usr/bin/firefox-esr");
});
after(() => browser.close());

/** The page in a tab of its own, when its first kernel has run. */
async function opened(width = 1280) {
  browser.events = [];
  const tab = await browser.tab(width, 900);
  await tab.open(PAGE);
  await ran(tab);
  return tab;
}

/** @param {import("./bidi.mjs").Tab} tab */
async function ran(tab) {
  await tab.until(60_000, () => /Executed in|No result/.test(document.querySelector(".status")?.textContent ?? ""));
}

/** Closes a page that has asked for nothing outside and complained of nothing. @param {import("./bidi.mjs").Tab} tab */
async function quiet(tab) {
  await tab.close();
  const asked = browser.events.filter(({ method }) => method === "network.beforeRequestSent").map(({ params }) => params.request.url);
  assert.deepEqual(asked.filter((url) => !/^(file|data|blob):/.test(url)), []);
  const logged = browser.events.filter(({ method, params }) => method === "log.entryAdded" && params.level === "error");
  assert.deepEqual(logged.map(({ params }) => params.text), []);
}

/** @param {import("./bidi.mjs").Tab} tab @param {string} name */
async function press(tab, name) {
  const isThere = await tab.call((name) => {
    const button = [...document.querySelectorAll("button")].find((one) => one.textContent === name || one.title === name);
    button?.click();
    return button !== undefined;
  }, name);
  assert.ok(isThere, `there is no button ${name}`);
}

/** @param {import("./bidi.mjs").Tab} tab @param {string} name */
async function select(tab, name) {
  await tab.call((name) => {
    const list = document.querySelector("select");
    if (!list) return;
    list.value = name;
    list.dispatchEvent(new Event("change"));
  }, name);
  await ran(tab);
}

test("the page paints before anybody waits", async (t) => {
  const tab = await opened();
  // Once more: a browser that has just started has other things to do.
  await tab.open(PAGE);
  await ran(tab);
  const { paint, ready } = await tab.call(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity,
    ready: performance.now(),
  }));
  assert.ok(paint < FIRST_PAINT_MS, `${paint} ms`);
  t.diagnostic(`first paint ${paint} ms, first kernel ${ready} ms`);
  await quiet(tab);
});

test("each task is solved by its solution, and not by its start code", { timeout: 900_000 }, async (t) => {
  const tab = await opened();
  const points = async () => {
    const began = performance.now();
    await press(tab, "Check");
    const checked = () => /points/.test(document.querySelector(".check")?.textContent ?? "");
    await tab.until(120_000, checked);
    const points = await tab.call(() => Number(/(\d+) of 100/.exec(document.querySelector(".check")?.textContent ?? "")?.[1]));
    return { points, seconds: (performance.now() - began) / 1000 };
  };
  for (const task of TASKS) {
    await select(tab, task);
    const start = await points();
    assert.ok(start.points < 100, `${task}: start`);
    await press(tab, "Show the solution");
    await press(tab, "Solution");
    await ran(tab);
    const solution = await points();
    assert.equal(solution.points, 100, `${task}: solution`);
    t.diagnostic(`${task}: ${start.seconds.toFixed(1)} s, ${solution.seconds.toFixed(1)} s`);
  }
  await quiet(tab);
});

test("what is typed runs, and a warp steps by keys", async () => {
  const tab = await opened();
  await tab.call(() => /** @type {HTMLElement} */ (document.querySelector('[aria-label="PTX"][contenteditable]')).focus());
  await tab.type("// mine");
  await press(tab, "Mine");
  await ran(tab);
  await press(tab, "Steps");
  await tab.until(60_000, () => document.querySelector(".position") !== null);
  await tab.call(() => /** @type {HTMLElement} */ (document.querySelector('[title="Forward"]')).focus());
  await tab.type("\uE014\uE014"); // ArrowRight, twice
  assert.match((await tab.call(() => document.querySelector(".position")?.textContent)) ?? "", /^Step 3 of/);
  await quiet(tab);
});

test("no view is wider than a phone", { timeout: 180_000 }, async () => {
  const tab = await opened(390);
  await select(tab, "06-transpose");
  for (const view of VIEWS) {
    await tab.call((view) => document.getElementById(`tab-${view}`)?.click(), view);
    await tab.until(60_000, () => document.querySelector('[aria-busy="true"]') === null);
    const beyond = await tab.call(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(beyond <= 0, `${view}: ${beyond} pixels too wide`);
  }
  await quiet(tab);
});
