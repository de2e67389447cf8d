// The engine in a thread of its own: whoever does not want to wait ends it.

import { instance } from "./instance.js";

interface Question {
  id: number;
  request: string;
}

const scope = self as unknown as {
  postMessage(message: unknown): void;
  onmessage: ((event: MessageEvent) => void) | null;
};

let ready: Promise<(request: string) => string>;
let asked = 0;
let told = 0;

function progress(share: number): void {
  const now = performance.now();
  if (now - told < 100) return;
  told = now;
  scope.postMessage({ id: asked, progress: share });
}

scope.onmessage = async (event: MessageEvent<WebAssembly.Module | Question>) => {
  const { data } = event;
  if (data instanceof WebAssembly.Module) {
    ready = instance(data, progress, (line) => console.warn(line));
    return;
  }
  asked = data.id;
  try {
    scope.postMessage({ id: data.id, answer: (await ready)(data.request) });
  } catch (error) {
    // The engine's memory is in no known state: the page begins a new one.
    scope.postMessage({ id: data.id, broken: String(error) });
  }
};
