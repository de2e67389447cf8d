// The engine as WebAssembly: memory, three functions, and a system without files, network and threads.

import { ConsoleStdout, File, OpenFile, PreopenDirectory, WASI } from "@bjorn3/browser_wasi_shim";

/**
 * Begins an engine of a compiled module.
 *
 * @param {WebAssembly.Module} module
 * @param {(share: number) => void} progress hears how much of a launch has run, from 0 to 1
 * @param {(line: string) => void} said hears of what should not happen
 * @returns {Promise<(request: string) => string>} answers a request
 */
export async function instance(module, progress, said) {
  const files = new PreopenDirectory("/", new Map());
  const line = ConsoleStdout.lineBuffered(said);
  const wasi = new WASI([], [], [new OpenFile(new File([])), line, line, files], { debug: false });
  const made = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: wasi.wasiImport,
    page: { progress: (/** @type {number} */ parts) => progress(parts / 1e6) },
  });
  const { memory, room, call, answer } = /** @type {Exports} */ (/** @type {unknown} */ (made.exports));
  wasi.initialize(/** @type {any} */ (made));
  return (request) => {
    const text = new TextEncoder().encode(request);
    const place = room(text.length);
    // Memory may have grown, and views of it are those of the smaller one.
    new Uint8Array(memory.buffer, place, text.length).set(text);
    const bytes = call();
    return new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), bytes));
  };
}

/**
 * @typedef {object} Exports
 * @property {WebAssembly.Memory} memory
 * @property {(bytes: number) => number} room
 * @property {() => number} call
 * @property {() => number} answer
 */
