// The door between Python and the tensors: Python knows a tensor by a number.

import { OPERATIONS } from "./operations.js";
import { text } from "./printing.js";
import { getItem, setItem } from "./indexing.js";
import { Refusal, Tensor, empty, flat, scalar } from "./tensors.js";

const LARGEST_SUM = 48 * 2 ** 20; // numbers that all tensors of the page may hold together
const WRAPPED = { b: "bool", i: "int64", f: "float64" };

export class Door {
  /** `memory()` returns the bytes of Python's memory. */
  constructor(memory) {
    this.memory = memory;
    this.tensors = new Map();
    this.next = 1;
    this.held = 0;
    this.deadline = Infinity; // when the reader's code has run long enough
    this.made = null; // told of every tensor that an operation makes
    this.operations = new Map();
    const signatures = [];
    for (const [signature, compute] of OPERATIONS) {
      const [name, ...given] = signature.split(" -> ")[0].split(" ");
      const kinds = given.map((part) => part.split("=")[0].split(":")[1]);
      this.operations.set(name, { compute, kinds });
      signatures.push(signature);
    }
    this.signatures = signatures.join("\n");
  }

  keep(tensor) {
    this.held += tensor.size;
    if (this.held > LARGEST_SUM) {
      throw new Refusal("MemoryError", "the tensors take more memory than this page has");
    }
    this.tensors.set(this.next, tensor);
    return this.next++;
  }

  get(number) {
    return this.tensors.get(number);
  }

  /** A list of Python's as an array. */
  list(...items) {
    return items;
  }

  /** Parts of an index: all axes that are not named, a slice, a tensor. */
  rest() {
    return { rest: true };
  }

  slice(start, stop, step) {
    return { start, stop, step };
  }

  picked(number) {
    return { tensor: this.get(number) };
  }

  /** Forget the tensors made since, but for some. */
  release(since, ...kept) {
    const stays = new Set(kept);
    for (const number of this.tensors.keys()) {
      if (number < since || stays.has(number)) continue;
      this.held -= this.tensors.get(number).size;
      this.tensors.delete(number);
    }
  }

  /** An error as an object that Python raises: an exception would break the interpreter. */
  guarded(compute) {
    if (performance.now() > this.deadline) return { error: "TimeIsUp", message: "" };
    try {
      return compute();
    } catch (error) {
      const { message } = error;
      if (error instanceof Refusal) return { error: error.kind, message };
      if (error instanceof RangeError) {
        return { error: "MemoryError", message: "this is too large for this page" };
      }
      return { error: "RuntimeError", message };
    }
  }

  call(name, ...given) {
    return this.guarded(() => {
      const { compute, kinds } = this.operations.get(name);
      let place = 0;
      const taken = kinds.map((kind) => {
        const value = given[place++];
        if (kind !== "o" && kind !== "O") return this.read(kind, value);
        const number = given[place++];
        if (value === null) return null;
        if (value === "t") return { tensor: this.get(number), kind };
        return { tensor: scalar(Number(number), WRAPPED[value]), wrapped: true, kind };
      });
      return this.given(compute(...taken), name);
    });
  }

  read(kind, value) {
    if (kind === "t") return this.get(value);
    if (kind === "T") return value.map((number) => this.get(number));
    return value ?? null;
  }

  given(result, name) {
    if (result instanceof Tensor) {
      this.made?.(result, name);
      return this.keep(result);
    }
    if (!Array.isArray(result)) return result;
    for (const tensor of result) this.made?.(tensor, name);
    return result.map((tensor) => this.keep(tensor));
  }

  /** A tensor of the doubles that stand in Python's memory. */
  tensor(address, count, shape, dtype) {
    return this.guarded(() => {
      const values = new Float64Array(this.memory(), address, count);
      const made = empty(shape, dtype);
      if (dtype === "bool") for (let i = 0; i < count; i++) made.data[i] = values[i] ? 1 : 0;
      else made.data.set(values);
      return this.keep(made);
    });
  }

  /** Write a tensor's numbers into Python's memory as doubles. */
  write(number, address) {
    const values = flat(this.get(number));
    new Float64Array(this.memory(), address, values.length).set(values);
  }

  getItem(number, index) {
    return this.guarded(() => {
      return this.given(getItem(this.get(number), index), "getitem");
    });
  }

  setItem(number, index, kind, value) {
    return this.guarded(() => {
      const x = this.get(number);
      const source = kind === "t" ? this.get(value) : scalar(Number(value), WRAPPED[kind]);
      setItem(x, index, source, kind !== "t");
      return null;
    });
  }

  text(number) {
    return text(this.get(number));
  }

  dtype(number) {
    return this.get(number).dtype;
  }

  shape(number) {
    return this.get(number).shape;
  }

  strides(number) {
    return this.get(number).strides;
  }
}
