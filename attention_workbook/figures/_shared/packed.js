// The weights and masks of many heads, as Python has packed them (heatmap_explorer.py).

/** Data of a model, a view or a buffer, or a list of numbers, as bytes. */
export function bytesOf(data) {
  return data.buffer
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

/** Where each head's code words begin, of which order they are, and what a step is. */
export function packedHeads(packed) {
  const bytes = bytesOf(packed);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const tables = [];
  for (let at = 1; at < bytes.length; at += 5 + view.getUint32(at, true)) {
    tables.push({ start: at + 5, order: bytes[at + 4] });
  }
  return { bytes, levels: 2 ** bytes[0] - 1, tables };
}

/** The weights of one head, in steps of 1/levels: exponential Golomb code words. */
export function unpackHead({ bytes, tables }, number, count) {
  const { start, order } = tables[number];
  const steps = new Int32Array(count);
  let at = start * 8; // in bits
  const next = () => {
    // 25 bits or more, which is as long as numbers are
    const i = at >>> 3;
    return (
      ((bytes[i] << 24) | (bytes[i + 1] << 16) | (bytes[i + 2] << 8) | bytes[i + 3]) << (at & 7)
    );
  };
  for (let i = 0; i < count; i += 1) {
    const zeros = Math.clz32(next());
    at += zeros;
    const length = zeros + 1 + order;
    steps[i] = (next() >>> (32 - length)) - 2 ** order;
    at += length;
  }
  return steps;
}

/** For each cell of a head, whether it may be attended to; there is a mask for each head, or one for all. */
export function unpackMask(packed, number, count) {
  const bytes = bytesOf(packed);
  if (bytes.length === 0) return new Uint8Array(count).fill(1);
  const size = Math.ceil(count / 8);
  const from = bytes.length === size ? 0 : number * size;
  const allowed = new Uint8Array(count);
  for (let i = 0; i < count; i += 1) allowed[i] = (bytes[from + (i >> 3)] >> (7 - (i & 7))) & 1; // `from` takes ten times as long
  return allowed;
}
