// Takes pictures of every view for somebody who looks at them: light and dark, at 1,280 and 390 pixels; the whole page,
// and the view alone.
//
//     npm run build && npm run look -- FOLDER [TASK]

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const PAGE = resolve(import.meta.dirname, "dist/gpucast-classroom.html");
const VIEWS = ["time", "access", "banks", "lanes", "steps", "timeline", "occupancy", "compare"];
const WIDTHS = [1280, 390];
const READY_MS = 120_000;
const [folder = "look", task = "06-transpose"] = process.argv.slice(2);

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const width of WIDTHS) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    const context = await browser.newContext({ locale: "en", reducedMotion: "reduce", colorScheme, viewport: { width, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(READY_MS);
    page.on("dialog", (dialog) => dialog.accept());
    const settled = () => page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'), null);
    const taken = async (/** @type {string} */ view) => {
      await settled();
      const name = `${view}-${width}-${colorScheme}.png`;
      await page.screenshot({ path: join(folder, name), fullPage: true });
      await page.locator(`#panel-${view}`).screenshot({ path: join(folder, `panel-${name}`) });
    };
    await page.goto(pathToFileURL(PAGE).href);
    await page.locator(".status", { hasText: /Executed in|No result/ }).waitFor();
    await page.getByLabel("Kernel").selectOption(task);
    const ran = async () => {
      await page.locator(".status", { hasText: /Executed in|No result/ }).waitFor();
      await settled();
    };
    await ran();
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.locator(".check", { hasText: /points/ }).waitFor();
    await page.getByRole("button", { name: "Show the solution" }).click();
    await page.getByRole("button", { name: "Solution", exact: true }).click();
    await ran();
    for (const view of VIEWS) {
      await page.locator(`#tab-${view}`).click();
      await taken(view);
    }
    await context.close();
  }
}
await browser.close();
