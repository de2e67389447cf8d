// One interface, two engines: WebAssembly in a worker, and the program behind `gpucast serve`.

import type { Answer, Questions, Tool } from "./answers";
import StartWorker from "./worker?worker&inline";

/** Why there is no answer, beside faults of the input. */
export class Ended extends Error {
  constructor(readonly why: "stopped" | "broken" | "refused", message: string) {
    super(message);
  }
}

export interface Engine {
  /** True if it compiles CUDA. */
  readonly isNative: boolean;
  ask<T extends Tool>(tool: T, asks: Questions[T]["asks"]): Promise<Answer<Questions[T]["answers"]>>;
  /** Ends what runs. */
  stop(): void;
}

export type Progress = (share: number) => void;

/** Decompresses and compiles the engine that the page carries. */
async function compiled(): Promise<WebAssembly.Module> {
  const text = document.getElementById("engine")?.textContent ?? "";
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** The engine in the page. */
export class Inside implements Engine {
  readonly isNative = false;
  #module = compiled();
  #worker: Promise<Worker> | undefined;
  #last = 0;
  #waiting = new Map<number, { resolve: (text: string) => void; reject: (error: Ended) => void }>();

  constructor(private readonly progress: Progress) {}

  async ask<T extends Tool>(tool: T, asks: Questions[T]["asks"]): Promise<Answer<Questions[T]["answers"]>> {
    const id = ++this.#last;
    const answer = new Promise<string>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#worker ??= this.#begin();
    (await this.#worker).postMessage({ id, request: JSON.stringify({ tool, ...asks }) });
    return JSON.parse(await answer) as Answer<Questions[T]["answers"]>;
  }

  stop(): void {
    this.#end(new Ended("stopped", "stopped"));
  }

  async #begin(): Promise<Worker> {
    const module = await this.#module;
    const worker = new StartWorker();
    worker.onmessage = ({ data }: MessageEvent<{ id: number; answer?: string; broken?: string; progress?: number }>) => {
      if (data.progress !== undefined) return this.progress(data.progress);
      if (data.broken !== undefined) return this.#end(new Ended("broken", data.broken));
      this.#waiting.get(data.id)?.resolve(data.answer ?? "");
      this.#waiting.delete(data.id);
    };
    worker.postMessage(module);
    return worker;
  }

  #end(why: Ended): void {
    void this.#worker?.then((worker) => worker.terminate());
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(why);
    this.#waiting.clear();
  }
}

/** The program behind `gpucast serve`, which compiles CUDA and has all cores. */
export class Outside implements Engine {
  readonly isNative = true;
  #running = new Set<AbortController>();

  constructor(private readonly token: string) {}

  async ask<T extends Tool>(tool: T, asks: Questions[T]["asks"]): Promise<Answer<Questions[T]["answers"]>> {
    const running = new AbortController();
    this.#running.add(running);
    try {
      const response = await fetch("v1/classroom", {
        method: "POST",
        headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
        body: JSON.stringify({ request: JSON.stringify({ tool, ...asks }) }),
        signal: running.signal,
      });
      const answer = await response.json();
      if (!response.ok) throw new Ended("refused", answer.message ?? response.statusText);
      return answer.document ?? { document: null, errors: answer.errors ?? [], notes: [], printed: "" };
    } catch (error) {
      if (error instanceof Ended) throw error;
      throw running.signal.aborted ? new Ended("stopped", "stopped") : new Ended("refused", String(error));
    } finally {
      this.#running.delete(running);
    }
  }

  stop(): void {
    for (const running of this.#running) running.abort();
  }
}

/** The engine of this page: the server that it came from, or its own. */
export function begin(progress: Progress): Engine {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  return location.protocol.startsWith("http") && token ? new Outside(token) : new Inside(progress);
}
