// Softmax and cross-entropy on rows of typed arrays, in place.

/** Turn `count` scores from `start` on into weights; returns ln Σ exp(score). */
export function softmaxRow(scores, start, count) {
  let largest = -Infinity;
  for (let i = start; i < start + count; i += 1) largest = Math.max(largest, scores[i]);
  let total = 0;
  for (let i = start; i < start + count; i += 1) {
    scores[i] = Math.exp(scores[i] - largest);
    total += scores[i];
  }
  for (let i = start; i < start + count; i += 1) scores[i] /= total;
  return largest + Math.log(total);
}

/** The surprise −ln p at `target`, where p is the softmax of `count` scores. In place of the scores it
    leaves its gradient: p, less 1 at the target. */
export function surprise(scores, start, count, target) {
  const right = scores[start + target];
  const loss = softmaxRow(scores, start, count) - right;
  scores[start + target] -= 1;
  return loss;
}
