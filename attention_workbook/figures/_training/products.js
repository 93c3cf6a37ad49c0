// Products of matrices that lie row by row in typed arrays. Most of the time of training goes here.

/** Transpose rows × columns. */
export function transposed(matrix, rows, columns) {
  const result = new Float64Array(matrix.length);
  for (let i = 0; i < rows; i += 1)
    for (let j = 0; j < columns; j += 1) result[j * rows + i] = matrix[i * columns + j];
  return result;
}

/** A, rows × inner, times B, inner × columns. All sizes are multiples of four: sixteen sums are kept at
    a time, of four rows by four columns, so that each number that is read counts four times. */
export function product(A, B, rows, inner, columns) {
  const result = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row += 4)
    for (let column = 0; column < columns; column += 4)
      tile(A, B, result, inner, columns, row * inner, column, row * columns + column);
  return result;
}

/** Sixteen sums; `a`, `b` and `at` are where the tile begins in A, in B and in the result. They are
    written out one by one, because the compiler keeps single numbers in registers, and no lists. */
function tile(A, B, result, inner, columns, a, b, at) {
  let s00 = 0;
  let s01 = 0;
  let s02 = 0;
  let s03 = 0;
  let s10 = 0;
  let s11 = 0;
  let s12 = 0;
  let s13 = 0;
  let s20 = 0;
  let s21 = 0;
  let s22 = 0;
  let s23 = 0;
  let s30 = 0;
  let s31 = 0;
  let s32 = 0;
  let s33 = 0;
  for (let k = 0; k < inner; k += 1, a += 1, b += columns) {
    const b0 = B[b];
    const b1 = B[b + 1];
    const b2 = B[b + 2];
    const b3 = B[b + 3];
    const a0 = A[a];
    s00 += a0 * b0;
    s01 += a0 * b1;
    s02 += a0 * b2;
    s03 += a0 * b3;
    const a1 = A[a + inner];
    s10 += a1 * b0;
    s11 += a1 * b1;
    s12 += a1 * b2;
    s13 += a1 * b3;
    const a2 = A[a + 2 * inner];
    s20 += a2 * b0;
    s21 += a2 * b1;
    s22 += a2 * b2;
    s23 += a2 * b3;
    const a3 = A[a + 3 * inner];
    s30 += a3 * b0;
    s31 += a3 * b1;
    s32 += a3 * b2;
    s33 += a3 * b3;
  }
  put(result, at, s00, s01, s02, s03);
  put(result, at + columns, s10, s11, s12, s13);
  put(result, at + 2 * columns, s20, s21, s22, s23);
  put(result, at + 3 * columns, s30, s31, s32, s33);
}

function put(result, at, s0, s1, s2, s3) {
  result[at] = s0;
  result[at + 1] = s1;
  result[at + 2] = s2;
  result[at + 3] = s3;
}
