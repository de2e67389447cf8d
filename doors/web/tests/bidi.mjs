// A browser by WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/). Playwright drives Firefox of its own making;
// the Firefox that people have speaks BiDi without a driver.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** What a new profile would show, ask or fetch beside the page. */
const PREFERENCES = {
  "app.normandy.enabled": false,
  "browser.aboutwelcome.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "intl.accept_languages": "en",
  "toolkit.telemetry.server": "",
};

export class Browser {
  /** Events that nobody has asked about yet. @type {{ method: string, params: any }[]} */
  events = [];
  #last = 0;
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();

  /**
   * @param {WebSocket} socket
   * @param {() => Promise<void>} end
   */
  constructor(socket, end) {
    this.socket = socket;
    this.end = end;
    socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
  }

  /** @param {any} message */
  #hear(message) {
    if (message.type === "event") {
      this.events.push(message);
      const { context } = message.params;
      if (message.method === "browsingContext.userPromptOpened") void this.send("browsingContext.handleUserPrompt", { context, accept: true });
      return;
    }
    const { resolve, reject } = this.#waiting.get(message.id) ?? {};
    this.#waiting.delete(message.id);
    if (message.type === "error") reject?.(new Error(`${message.error}: ${message.message}`));
    else resolve?.(message.result);
  }

  /**
   * @param {string} method
   * @param {object} params
   * @returns {Promise<any>}
   */
  send(method, params) {
    const id = ++this.#last;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.socket.send(JSON.stringify({ id, method, params }));
    return answer;
  }

  /** A tab of so many pixels. @param {number} width @param {number} height */
  async tab(width, height) {
    const { context } = await this.send("browsingContext.create", { type: "tab" });
    await this.send("browsingContext.setViewport", { context, viewport: { width, height } });
    return new Tab(this, context);
  }

  async close() {
    await this.send("browser.close", {});
    await this.end();
  }
}

export class Tab {
  /**
   * @param {Browser} browser
   * @param {string} context
   */
  constructor(browser, context) {
    this.browser = browser;
    this.context = context;
  }

  /** @param {string} url */
  async open(url) {
    await this.browser.send("browsingContext.navigate", { context: this.context, url, wait: "complete" });
  }

  async close() {
    await this.browser.send("browsingContext.close", { context: this.context });
  }

  /**
   * Calls a function in the page. What it takes and gives travels as JSON.
   *
   * @template {unknown[]} A
   * @template R
   * @param {(...asks: A) => R | Promise<R>} act
   * @param {A} asks
   * @returns {Promise<R>}
   */
  async call(act, ...asks) {
    const { type, result, exceptionDetails } = await this.browser.send("script.callFunction", {
      functionDeclaration: `async (asks) => JSON.stringify(await (${act})(...JSON.parse(asks)) ?? null)`,
      arguments: [{ type: "string", value: JSON.stringify(asks) }],
      target: { context: this.context },
      awaitPromise: true,
    });
    if (type === "exception") throw new Error(exceptionDetails.text);
    return JSON.parse(result.value);
  }

  /**
   * Waits until a function of the page is true.
   *
   * @template {unknown[]} A
   * @param {number} ms at most
   * @param {(...asks: A) => boolean} holds
   * @param {A} asks
   */
  async until(ms, holds, ...asks) {
    const last = performance.now() + ms;
    while (!(await this.call(holds, ...asks))) {
      if (performance.now() > last) throw new Error(`not in ${ms} ms: ${holds}(${asks})`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Presses keys one after the other. @param {string} keys */
  async type(keys) {
    const actions = [...keys].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    await this.browser.send("input.performActions", { context: this.context, actions: [{ type: "key", id: "keys", actions }] });
  }
}

/**
 * Starts a Firefox in a profile of its own, with the events of pages, dialogs accepted.
 *
 * @param {string} path
 */
export async function firefox(path) {
  const profile = mkdtempSync(join(tmpdir(), "gpucast-firefox-"));
  const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`);
  writeFileSync(join(profile, "user.js"), lines.join(""));
  const child = spawn(path, ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", profile], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const end = async () => {
    child.kill();
    await ended;
    rmSync(profile, { recursive: true, force: true });
  };
  const address = await new Promise((/** @type {(address: string) => void} */ resolve, reject) => {
    createInterface(child.stderr).on("line", (line) => {
      const [, found] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? [];
      if (found) resolve(found);
    });
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`${path} ended before it listened`)));
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
  const browser = new Browser(socket, end);
  await browser.send("session.new", { capabilities: { alwaysMatch: { unhandledPromptBehavior: { default: "ignore" } } } });
  await browser.send("session.subscribe", { events: ["network.beforeRequestSent", "log.entryAdded", "browsingContext.userPromptOpened"] });
  return browser;
}
