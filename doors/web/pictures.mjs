// Draws the page's pictures of docs/classroom.md anew: two views, and a recording of a warp's steps.
//
//     npm run build && npm run pictures
//
// The recording is a GIF whose frames hold what has changed: everything else shows through. It ends after a few rounds,
// so that nothing moves for long beside somebody who reads.

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import gifenc from "gifenc";
import { chromium } from "playwright-core";

const PAGE = resolve(import.meta.dirname, "dist/gpucast-classroom.html");
const PICTURES = resolve(import.meta.dirname, "../../docs/pictures");
const READY_MS = 60_000;
/** A GIF has at most 256; fewer suffice for text and a few areas. The last one shows what was there before. */
const COLOURS = 32;
/** The height of the recording: room for the registers of a short kernel. */
const HEIGHT = 480;
const ROUNDS = 3;

/** @typedef {import("playwright-core").Page} Page */

const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  await desktop();
  await phone();
  await recording();
} finally {
  await browser.close();
}

/**
 * The page with a task that has run.
 *
 * @param {string} task
 * @param {import("playwright-core").BrowserContextOptions} options
 */
async function opened(task, options) {
  const context = await browser.newContext({ locale: "en", reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  await page.goto(pathToFileURL(PAGE).href);
  await ran(page);
  await page.getByLabel("Kernel").selectOption(task);
  await ran(page);
  return page;
}

/** Also of a kernel with a fault. @param {Page} page */
async function ran(page) {
  await page.locator(".status", { hasText: /Executed in|No result/ }).waitFor({ timeout: READY_MS });
  await settled(page);
}

/** @param {Page} page */
async function settled(page) {
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'), null, { timeout: READY_MS });
}

/** The banks of a line that has conflicts. */
async function desktop() {
  const page = await opened("07-banks", { viewport: { width: 1280, height: 860 } });
  await page.getByRole("tab", { name: "Banks" }).click();
  await page.getByLabel("Line", { exact: true }).selectOption("11");
  await settled(page);
  await page.locator(".picture", { hasText: "line 11" }).waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(PICTURES, "classroom-desktop.png") });
}

/** The steps of a warp, in the dark. @param {Page} page */
async function steps(page) {
  await page.getByRole("tab", { name: "Steps" }).click();
  await page.locator(".position").waitFor();
  await page.getByRole("button", { name: "Forward" }).focus();
}

async function phone() {
  const page = await opened("07-banks", { viewport: { width: 390, height: 860 }, colorScheme: "dark" });
  await steps(page);
  for (let step = 0; step < 40; step++) await page.keyboard.press("ArrowRight");
  await page.locator(".keys").evaluate((keys) => scrollBy(0, keys.getBoundingClientRect().top - 500));
  await page.screenshot({ path: join(PICTURES, "classroom-phone.png") });
}

/** The last warp of a guarded kernel, to its end and some steps back: most of its lanes leave at the guard. */
async function recording() {
  const page = await opened("02-guard", { viewport: { width: 760, height: 1000 } });
  page.on("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Show the solution" }).click();
  await page.getByRole("button", { name: "Solution", exact: true }).click();
  await ran(page);
  await steps(page);
  await page.getByLabel("Block (x, y, z): x").fill("3");
  await page.getByLabel("Warp", { exact: true }).fill("7");
  await page.getByRole("button", { name: "Record this warp" }).click();
  await settled(page);
  await page.getByRole("button", { name: "Forward" }).focus();
  const clip = await page.locator("#panel-steps").evaluate((view, height) => {
    view.style.minHeight = `${height}px`;
    view.scrollIntoView({ block: "end" });
    const { x, y, width } = view.getBoundingClientRect();
    return { x: x - 8, y: y + 8, width: width + 16, height: height - 8 };
  }, HEIGHT);
  const count = Number(/of (\d+)/.exec((await page.locator(".position").textContent()) ?? "")?.[1]);
  const film = [
    { key: "Home", ms: 1500 },
    ...Array.from({ length: count - 2 }, () => ({ key: "ArrowRight", ms: 700 })),
    { key: "ArrowRight", ms: 2000 },
    ...Array.from({ length: 4 }, () => ({ key: "ArrowLeft", ms: 500 })),
    { key: "End", ms: 3000 },
  ];
  // The page itself may fetch nothing, not even a picture that it is handed.
  const reader = await page.context().newPage();
  const shots = [];
  for (const { key, ms } of film) {
    await page.keyboard.press(key);
    const png = await page.screenshot({ clip });
    shots.push({ ...(await pixels(reader, png)), ms });
  }
  const bytes = encoded(shots);
  writeFileSync(join(PICTURES, "classroom-steps.gif"), bytes);
  console.log(`classroom-steps.gif has ${bytes.length} bytes and ${shots.length} frames`);
}

/**
 * The pixels of a PNG, four bytes each: the browser reads it.
 *
 * @param {Page} reader
 * @param {Buffer} png
 */
async function pixels(reader, png) {
  const { width, height, data } = await reader.evaluate(async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const place = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
    place.drawImage(image, 0, 0);
    const { data } = place.getImageData(0, 0, image.width, image.height);
    let text = "";
    for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
    return { width: image.width, height: image.height, data: btoa(text) };
  }, png.toString("base64"));
  return { width, height, data: new Uint8Array(Buffer.from(data, "base64")) };
}

/**
 * @param {{ width: number, height: number, data: Uint8Array, ms: number }[]} shots of one size
 * @returns {Uint8Array} a GIF
 */
function encoded(shots) {
  const [first] = shots;
  if (!first) throw new Error("a recording has a frame");
  const { width, height } = first;
  const all = Buffer.concat(shots.map(({ data }) => data));
  const palette = gifenc.quantize(all, COLOURS - 1);
  const same = palette.length;
  palette.push([0, 0, 0]);
  const gif = gifenc.GIFEncoder();
  /** @type {Uint8Array | undefined} */
  let before;
  for (const { data, ms } of shots) {
    const now = gifenc.applyPalette(data, palette.slice(0, same));
    const shown = before ? now.map((colour, at) => (colour === before?.[at] ? same : colour)) : now;
    const isFirst = before === undefined;
    gif.writeFrame(shown, width, height, {
      delay: ms, dispose: 1, repeat: ROUNDS, ...(isFirst ? { palette } : { transparent: true, transparentIndex: same }),
    });
    before = now;
  }
  gif.finish();
  return gif.bytes();
}
