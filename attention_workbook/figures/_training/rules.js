// Update rules: how numbers follow their gradient. Each changes `parameter` in place; `state` is what
// a rule remembers of a tensor from step to step.

export const createState = (size) => ({
  mean: new Float64Array(size),
  square: new Float64Array(size),
});

/** Plain descent: one step against the gradient. */
export function descent(parameter, gradient, state, step, rate) {
  for (let i = 0; i < parameter.length; i += 1) parameter[i] -= rate * gradient[i];
}

/** Adam: the running mean of the gradients over the root of the running mean of their squares. Both
    start at 0 and are corrected for it; `step` counts from 1. */
export function adam(parameter, gradient, { mean, square }, step, rate, keep = 0.99) {
  const [meanShare, squareShare] = [1 - 0.9 ** step, 1 - keep ** step];
  for (let i = 0; i < parameter.length; i += 1) {
    mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
    square[i] = keep * square[i] + (1 - keep) * gradient[i] ** 2;
    parameter[i] -= (rate * (mean[i] / meanShare)) / (Math.sqrt(square[i] / squareShare) + 1e-8);
  }
}

/** Adam without the corrections, as chapter “It learns” writes it. */
export function uncorrected(parameter, gradient, { mean, square }, step, rate) {
  for (let i = 0; i < parameter.length; i += 1) {
    mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
    square[i] = 0.99 * square[i] + 0.01 * gradient[i] ** 2;
    parameter[i] -= (rate * mean[i]) / (Math.sqrt(square[i]) + 1e-8);
  }
}
