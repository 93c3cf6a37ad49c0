// The steps of the walk.

export const STEPS = [
  "The question",
  "Vectors",
  "Query and keys",
  "Scores",
  "Divide by √d",
  "The mask",
  "Softmax",
  "The mixture",
  "Several heads",
  "Two layers",
  "The answer",
  "Another word",
  "The whole machine",
];
export const ALONE = "Which head decides?"; // a figure of its own, after the walk
export const WORDS = 1;
export const VECTORS = 2;
export const KEYS = 3;
export const SCORES = 4;
export const DIVIDED = 5;
export const MASKED = 6;
export const SOFTMAX = 7;
export const MIXTURE = 8;
export const HEADS = 9;
export const LAYERS = 10;
export const ANSWER = 11;
export const OTHER = 12;
export const MACHINE = 13;
export const BRIGHTEST = 14; // the figure about heads alone

export const PADS = 2; // empty places after the sentence, in the step about the mask
