// Random numbers as PyTorch draws them on a CPU: Mersenne Twister, then Box and Muller's normals.

import { empty, isFloat, product, refuse } from "./tensors.js";

const SIZE = 624;
const SHIFT = 397;

export class Generator {
  constructor(seed) {
    this.state = new Uint32Array(SIZE);
    this.state[0] = seed;
    for (let i = 1; i < SIZE; i++) {
      const last = this.state[i - 1] ^ (this.state[i - 1] >>> 30);
      this.state[i] = Math.imul(1812433253, last) + i;
    }
    this.at = SIZE;
    this.spare = null; // the second of a pair of normal numbers
  }

  /** The next 32 random bits. */
  bits() {
    if (this.at === SIZE) this.renew();
    let y = this.state[this.at++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  renew() {
    const { state } = this;
    for (let i = 0; i < SIZE; i++) {
      const y = (state[i] & 0x80000000) | (state[(i + 1) % SIZE] & 0x7fffffff);
      state[i] = state[(i + SHIFT) % SIZE] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    this.at = 0;
  }

  /** A number from 0 up to 1, with the digits of float32 or of float64. */
  uniform(dtype) {
    if (dtype === "float32") return (this.bits() & 0xffffff) / 2 ** 24;
    const high = this.bits();
    return ((high & 0x1fffff) * 2 ** 32 + this.bits()) / 2 ** 53;
  }

  /** A normal number, of which two are made at a time. */
  normal() {
    if (this.spare !== null) {
      const { spare } = this;
      this.spare = null;
      return spare;
    }
    const turn = 2 * Math.PI * this.uniform("float64");
    const radius = Math.sqrt(-2 * Math.log1p(-this.uniform("float64")));
    this.spare = radius * Math.sin(turn);
    return radius * Math.cos(turn);
  }
}

/** Turn 16 uniform numbers into 16 normal ones, in place. */
function normalised(data, start) {
  for (let i = start; i < start + 8; i++) {
    const radius = Math.sqrt(-2 * Math.log(1 - data[i]));
    const turn = 2 * Math.PI * data[i + 8];
    data[i] = radius * Math.cos(turn);
    data[i + 8] = radius * Math.sin(turn);
  }
}

export function uniform(generator, shape, dtype) {
  if (!isFloat(dtype)) refuse("NotImplementedError", "random numbers here are decimals");
  const made = empty(shape, dtype);
  for (let i = 0; i < made.data.length; i++) made.data[i] = generator.uniform(dtype);
  return made;
}

export function normal(generator, shape, dtype) {
  const size = product(shape);
  const made = size < 16 ? empty(shape, dtype) : uniform(generator, shape, dtype);
  if (size < 16) {
    for (let i = 0; i < size; i++) made.data[i] = generator.normal();
    return made;
  }
  for (let i = 0; i + 16 <= size; i += 16) normalised(made.data, i);
  if (size % 16 !== 0) {
    for (let i = size - 16; i < size; i++) made.data[i] = generator.uniform(dtype);
    normalised(made.data, size - 16);
  }
  return made;
}

/** Whole numbers from `low` up to `high`. */
export function integers(generator, low, high, shape) {
  const made = empty(shape, "int64");
  for (let i = 0; i < made.data.length; i++) made.data[i] = low + (generator.bits() % (high - low));
  return made;
}
