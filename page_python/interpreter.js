// MicroPython with the page's torch, in a worker of the page or in Node.

import { Door } from "./door.js";

const LARGEST_HEAP = 288 * 2 ** 20; // bytes of Python's memory: a loop that fills it must end
// what Python asks of the door
const CALLS = [
  ...["call", "getItem", "setItem", "tensor", "write", "text", "dtype", "shape", "strides"],
  ...["list", "rest", "slice", "picked"],
];

/** Start MicroPython from a compiled module, and hold its memory to a bound. */
async function instantiated(load, module, print, full) {
  const { instantiate, instantiateStreaming } = WebAssembly;
  let memory;
  WebAssembly.instantiateStreaming = WebAssembly.instantiate = async (_, imports) => {
    const instance = await instantiate(module, imports);
    memory = instance.exports.memory;
    const grow = memory.grow.bind(memory);
    memory.grow = (pages) => {
      if (memory.buffer.byteLength + pages * 65536 > LARGEST_HEAP) {
        full();
        throw new RangeError("full");
      }
      return grow(pages);
    };
    return { instance, module };
  };
  try {
    const python = await load({ heapsize: 4 * 2 ** 20, pystack: 8192, stdout: print });
    return { python, memory };
  } finally {
    Object.assign(WebAssembly, { instantiate, instantiateStreaming });
  }
}

/**
 * Return an interpreter that can import torch, and the door to its tensors.
 *
 * `load` is MicroPython's own loader, `module` its compiled WebAssembly, `files` the texts of
 * Python's modules by their paths, `host` what Python can call in the page; `full` is called where it
 * gets no more memory.
 */
export async function startPython({ load, module, files, print, host = {}, full = () => {} }) {
  const { python, memory } = await instantiated(load, module, print, full);
  const door = new Door(() => memory.buffer);
  const calls = CALLS.map((name) => [name, (...given) => door[name](...given)]);
  python.registerJsModule("door", { signatures: door.signatures, ...Object.fromEntries(calls) });
  python.registerJsModule("host", host);
  for (const [path, text] of Object.entries(files)) {
    const folders = path.split("/").slice(0, -1);
    folders.forEach((_, i) => {
      const folder = `/lib/${folders.slice(0, i + 1).join("/")}`;
      if (!python.FS.analyzePath(folder).exists) python.FS.mkdirTree(folder);
    });
    if (!python.FS.analyzePath("/lib").exists) python.FS.mkdir("/lib");
    python.FS.writeFile(`/lib/${path}`, text);
  }
  python.runPython(
    "import sys\nsys.path[:] = ['/lib', '.frozen']\nimport torch\ntorch.as_builtins()",
  );
  return { python, door };
}
