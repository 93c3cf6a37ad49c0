// LZMA, decoded: the interpreter's code is a sixth smaller this way than with gzip. Names and
// layout are those of the format's specification.

const ODDS = 1024; // of 2048: even chances to begin with
const POSITIONS = 2; // how many low bits of a position matter: the encoder's pb
const LITERALS = 3; // how many high bits of the byte before a literal matter: the encoder's lc

const odds = (count) => new Uint16Array(count).fill(ODDS);

class RangeDecoder {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 5;
    this.range = 0xffffffff;
    this.code = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
  }

  normalise() {
    if (this.range < 0x1000000) {
      this.range = (this.range << 8) >>> 0;
      this.code = ((this.code << 8) | this.bytes[this.at++]) >>> 0;
    }
  }

  bit(table, i) {
    const bound = (this.range >>> 11) * table[i];
    let value = 0;
    if (this.code < bound) {
      this.range = bound;
      table[i] += (2048 - table[i]) >>> 5;
    } else {
      this.range -= bound;
      this.code -= bound;
      table[i] -= table[i] >>> 5;
      value = 1;
    }
    this.normalise();
    return value;
  }

  direct(count) {
    let value = 0;
    for (let i = 0; i < count; i++) {
      this.range >>>= 1;
      const one = this.code >= this.range ? 1 : 0;
      if (one) this.code -= this.range;
      value = value * 2 + one;
      this.normalise();
    }
    return value;
  }

  tree(table, offset, count) {
    let node = 1;
    for (let i = 0; i < count; i++) node = node * 2 + this.bit(table, offset + node);
    return node - (1 << count);
  }

  reverseTree(table, offset, count) {
    let [node, value] = [1, 0];
    for (let i = 0; i < count; i++) {
      const one = this.bit(table, offset + node);
      node = node * 2 + one;
      value |= one << i;
    }
    return value;
  }
}

class Lengths {
  constructor() {
    [this.choice, this.high] = [odds(2), odds(256)];
    [this.low, this.middle] = [odds(8 << POSITIONS), odds(8 << POSITIONS)];
  }

  read(coder, position) {
    if (!coder.bit(this.choice, 0)) return coder.tree(this.low, position * 8, 3);
    if (!coder.bit(this.choice, 1)) return 8 + coder.tree(this.middle, position * 8, 3);
    return 16 + coder.tree(this.high, 0, 8);
  }
}

class Decoder {
  constructor(bytes, size) {
    this.coder = new RangeDecoder(bytes);
    this.result = new Uint8Array(size);
    this.at = 0;
    this.state = 0;
    this.distances = [0, 0, 0, 0]; // of the last matches, the latest first
    this.literals = odds(0x300 << LITERALS);
    [this.isMatch, this.isLong] = [odds(12 << POSITIONS), odds(12 << POSITIONS)];
    this.isRepeated = [odds(12), odds(12), odds(12), odds(12)];
    [this.lengths, this.repeatedLengths] = [new Lengths(), new Lengths()];
    [this.slots, this.middles, this.ends] = [odds(4 * 64), odds(115), odds(16)];
  }

  literal() {
    const { coder, result } = this;
    const before = this.at ? result[this.at - 1] : 0;
    const offset = 0x300 * (before >>> (8 - LITERALS));
    let symbol = 1;
    if (this.state >= 7) {
      let match = result[this.at - this.distances[0] - 1];
      while (symbol < 0x100) {
        const expected = (match >>> 7) & 1;
        match <<= 1;
        const bit = coder.bit(this.literals, offset + ((1 + expected) << 8) + symbol);
        symbol = symbol * 2 + bit;
        if (bit !== expected) break;
      }
    }
    while (symbol < 0x100) symbol = symbol * 2 + coder.bit(this.literals, offset + symbol);
    result[this.at++] = symbol;
    this.state = this.state < 4 ? 0 : this.state < 10 ? this.state - 3 : this.state - 6;
  }

  distance(length) {
    const slot = this.coder.tree(this.slots, Math.min(length, 3) * 64, 6);
    if (slot < 4) return slot;
    const bits = (slot >>> 1) - 1;
    const base = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return base + this.coder.reverseTree(this.middles, base - slot, bits);
    return base + this.coder.direct(bits - 4) * 16 + this.coder.reverseTree(this.ends, 0, 4);
  }

  /** Which of the last distances comes again; -1 where it is the last byte alone. */
  repeated(place) {
    const { coder, state, distances, isRepeated } = this;
    if (!coder.bit(isRepeated[1], state)) return coder.bit(this.isLong, place) ? 0 : -1;
    const which = !coder.bit(isRepeated[2], state) ? 1 : 2 + coder.bit(isRepeated[3], state);
    distances.unshift(...distances.splice(which, 1));
    return which;
  }

  copy(length) {
    const from = this.distances[0] + 1;
    for (let i = 0; i < length; i++, this.at++) this.result[this.at] = this.result[this.at - from];
  }

  decode() {
    const { coder, result } = this;
    while (this.at < result.length) {
      const position = this.at & ((1 << POSITIONS) - 1);
      const place = (this.state << POSITIONS) + position;
      if (!coder.bit(this.isMatch, place)) this.literal();
      else if (!coder.bit(this.isRepeated[0], this.state)) {
        const length = this.lengths.read(coder, position);
        this.distances.unshift(this.distance(length));
        this.distances.pop();
        this.state = this.state < 7 ? 7 : 10;
        this.copy(length + 2);
      } else if (this.repeated(place) < 0) {
        this.state = this.state < 7 ? 9 : 11;
        this.copy(1);
      } else {
        const length = this.repeatedLengths.read(coder, position);
        this.state = this.state < 7 ? 8 : 11;
        this.copy(length + 2);
      }
    }
    return result;
  }
}

/** The bytes that were packed: four bytes say how many there are. */
export function unpacked(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  return new Decoder(bytes.subarray(4), size).decode();
}
