// Looks through every section of the book for what stands in a search field, while one types there:
// definitions first, then headings, then text; in English and Chinese, names of code and what else a
// thing is called; a word that the book does not have is read as its nearest with one letter changed.

const ALSO_CALLED = [
  [/[-−]\s*inf(inity)?\b|\binf(inity)?\b/giu, "∞"],
  [/\bsqrt\b/giu, "√"],
  [/\blook[- ]?ahead\b/giu, "causal"],
  [/\brope\b/giu, "rotary positions"],
  [/\bkv\b/giu, "key-value"],
  [/\bgqa\b/giu, "grouped-query attention"],
  [/\bmha\b/giu, "multi-head attention"],
  [/\bmulti-?head\b/giu, "multi head"],
  [/\bsdpa\b/giu, "scaled_dot_product_attention"],
  [/\bbf16\b/giu, "bfloat16"],
  [/\bfp(16|32|64)\b/giu, "float$1"],
  [/\bvalid_lens?\b/giu, "valid lengths"],
  [/\bpositional\b/giu, "position"],
];
const UNSAID = new Set(
  (
    "a about an and are as at be been between by can could difference do does for from " +
    "had has have here how i if in into is it its let me might my of on or our s should " +
    "so t than that the their them then there these they this those to use vs was we were " +
    "what when where which why will with would you your"
  ).split(" "),
);
const WORD = /\p{Script=Han}+|√|∞|[\p{L}\p{N}_]+/gu;

const stem = (word) =>
  word.length > 4 ? word.replace(/(?<=.{3})(ation|ates?|ated|ing|es|ed|s|e)$/u, "") : word;
/** A name's or a heading's words: `masked_softmax`, `MultiHeadAttention` and "Multi-head attention" have several. */
const parts = (name) => [
  ...new Set(
    (
      name
        .replace(/(?<=[a-z]{2})(?=[A-Z][a-z]{2})|_/gu, " ")
        .toLowerCase()
        .match(WORD) ?? []
    )
      .filter((word) => !UNSAID.has(word))
      .map(stem),
  ),
];
/** The same with the names of code in it whole. */
const whole = (name) =>
  (name.toLowerCase().match(WORD) ?? [])
    .filter((word) => !UNSAID.has(word))
    .map((word) => (word.includes("_") ? word : stem(word)));
const called = (text) =>
  ALSO_CALLED.reduce((said, [name, other]) => said.replace(name, other), text);
const count = (text, pattern) => text.match(pattern)?.length ?? 0;

/** A word as a pattern. Chinese and signs are found within a text, short words alone, other words
    where they begin, whatever their ending. */
function pattern(word) {
  if (/[\p{Script=Han}√∞]/u.test(word)) return new RegExp(word, "giu");
  if (word.length < 4 || word.includes("_"))
    return new RegExp(`(?<![\\p{L}\\p{N}_])${word}s?(?![\\p{L}\\p{N}_])`, "giu");
  return new RegExp(`(?<![\\p{L}\\p{N}])${stem(word)}[\\p{L}\\p{N}]*`, "giu");
}

/** Whether one letter more, less or other, or two exchanged, makes one word the other. */
function near(one, other) {
  if (Math.abs(one.length - other.length) > 1) return false;
  let start = 0,
    end = 0;
  while (start < one.length && one[start] === other[start]) start++;
  while (
    end < Math.min(one.length, other.length) - start &&
    one.at(-1 - end) === other.at(-1 - end)
  )
    end++;
  const [a, b] = [one, other].map((word) => word.slice(start, word.length - end));
  return Math.max(a.length, b.length) < 2 || (a.length === 2 && a === b[1] + b[0]);
}

/** What a word of the question is looked for as: itself; Chinese that stands nowhere as a whole, in
    the longest pieces that do; a word with a typing error, as the commonest word beside it. */
function known(word, texts) {
  const stands = (piece) => texts.some((text) => text.search(pattern(piece)) >= 0);
  if (stands(word)) return [word];
  if (/\p{Script=Han}/u.test(word)) {
    for (let length = word.length - 1; length > 1; length--) {
      for (let at = 0; at + length <= word.length; at++) {
        const piece = word.slice(at, at + length);
        if (stands(piece))
          return [
            ...known(word.slice(0, at), texts),
            piece,
            ...known(word.slice(at + length), texts),
          ];
      }
    }
    return [];
  }
  if (word.length < 4) return [word];
  const frequencies = new Map();
  for (const other of texts.join(" ").toLowerCase().match(WORD) ?? []) {
    if (near(word, other)) frequencies.set(other, (frequencies.get(other) ?? 0) + 1);
  }
  const [best] = [...frequencies].sort((a, b) => b[1] - a[1]);
  return [best ? best[0] : word];
}

/** All words of a question, in the book's names, and those of them that are looked for. */
function wordsOf(text, texts) {
  const all = called(text).toLowerCase().match(WORD) ?? [];
  const contentWords = all.filter((word) => !UNSAID.has(word));
  return [
    all,
    [
      ...new Set(
        (contentWords.length ? contentWords : all)
          .flatMap((word) => known(word, texts))
          .flatMap((word) => called(word).match(WORD) ?? []),
      ),
    ],
  ];
}

/** Pages, best first, each with its best sections. A word weighs more the fewer sections have it,
    and more in a heading than in prose; a long section has each word more often by chance. What the
    question names exactly comes first: a term of the glossary, a name that readers have for a
    section or, of a name of code, its place in the library. */
function search(text, pages) {
  const all = pages.flatMap(([address, sections]) =>
    sections.map(([heading, anchor, prose, also]) => ({
      address,
      heading,
      anchor,
      prose,
      title: sections[0][0],
      head: [heading, ...also].join(" | "),
      length: prose.length,
      names: [heading, ...also].flatMap((name) =>
        name.includes("_") ? [parts(called(name)), whole(called(name))] : [parts(called(name))],
      ),
    })),
  );
  const mean = all.reduce((sum, one) => sum + one.length, 0) / all.length;
  const [spoken, wanted] = wordsOf(
    text,
    all.flatMap((one) => [one.head, one.prose]),
  );
  const patterns = wanted.map(pattern);
  const codes = text.match(/\w*(_|[a-z][A-Z])\w*/gu) ?? [];
  const isCode = all.some((one) => one.address.includes("/api") && codes.includes(one.heading));
  const counts = patterns.map((pattern) =>
    all.map((one) => [one.head, one.prose].map((field) => count(field, pattern))),
  );
  const frequent = counts.map((row) => row.filter((fields) => fields.some(Boolean)).length);
  const rarity = wanted.map(
    (word, i) =>
      Math.log(1 + all.length / (1 + frequent[i])) *
      (/\p{Script=Han}/u.test(word) ? word.length : 1),
  );
  // A name of code that the book has stands for itself, not for its parts.
  const searched = [
    ...new Set(
      wanted.flatMap((word, i) =>
        !isCode && frequent[i] && word.includes("_") ? [word] : parts(word),
      ),
    ),
  ];
  const weight = (words) =>
    words.reduce(
      (sum, word) =>
        sum +
        Math.max(
          ...wanted.map((one, i) => (one === word || parts(one).includes(word) ? rarity[i] : 0)),
        ),
      0,
    );
  const searchedWord = (part) =>
    searched.find(
      (word) => part === word || (word.length > 3 && !part.includes("_") && part.startsWith(word)),
    );
  const phrase = spoken.map(stem).join(" ");
  const [total, most] = [rarity.reduce((sum, one) => sum + one, 0) || 1, weight(searched) || 1];
  all.forEach((one, at) => {
    const { words, share } = one.names
      .map((name) => [name.map(searchedWord).filter(Boolean), name.length])
      .map(([words, length]) => ({ words, share: length && words.length / length }))
      .reduce((best, name) =>
        name.share > best.share ||
        (name.share === best.share && name.words.length > best.words.length)
          ? name
          : best,
      );
    const hits = counts
      .map((row) => row[at])
      .map(
        ([head, prose]) =>
          2 * Math.min(1, head) * share + prose / (0.8 + (0.2 * one.length) / mean),
      );
    const inText =
      (hits.reduce((sum, often, word) => sum + (rarity[word] * often) / (often + 1.5), 0) *
        hits.reduce((sum, often, word) => sum + (often ? rarity[word] : 0), 0)) /
      total;
    const [glossary, library] = [/glossary/u.test(one.address), /\/api/u.test(one.address)];
    const aside =
      /^(exercise|quiz|objectives|summary)/u.test(one.anchor) ||
      /sources|bibliography|teaching/u.test(one.address);
    const together = share === 1 || phrase.includes(words.join(" ")) ? 1 : 0.4;
    const named = together * share ** 2 * (weight(words) / most) ** 3;
    const [inItsText, byItsName] = library
      ? isCode
        ? [1.5, 50]
        : [0.5, 12.5]
      : glossary
        ? [1.3, !isCode && share === 1 ? 40 : 15]
        : [1, 15];
    one.score = (inText * inItsText + named * byItsName) * (aside ? 0.5 : 1);
  });
  const found = pages
    .map(([address]) => {
      const sections = all
        .filter((one) => one.address === address && one.score > 0)
        .sort((a, b) => b.score - a.score || a.prose.length - b.prose.length);
      // A page that says more of it comes before one that mentions it once.
      const [first, ...more] = sections.map((one) => one.score);
      return {
        score: (first ?? 0) + 0.2 * more.slice(0, 3).reduce((sum, one) => sum + one, 0),
        title: sections[0]?.title,
        address,
        sections: sections.slice(0, 3),
      };
    })
    .filter((page) => page.score > 0)
    .sort((a, b) => b.score - a.score);
  return { found, patterns, wanted };
}

/** The prose around the first word found, or its start; the words marked. */
function excerpt({ prose: text }, wanted) {
  const places = wanted.map((pattern) => text.search(pattern)).filter((at) => at >= 0);
  const first = places.length ? Math.min(...places) : 0; // none where the heading alone has it
  const start = first < 60 ? 0 : text.indexOf(" ", first - 60) + 1;
  const end = start + 200 < text.length ? text.lastIndexOf(" ", start + 200) : text.length;
  const part = (start ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
  const paragraph = document.createElement("p");
  let rest = 0;
  const marks = wanted
    .flatMap((pattern) => [...part.matchAll(pattern)])
    .sort((a, b) => a.index - b.index);
  for (const { 0: word, index } of marks) {
    if (index < rest) continue;
    const mark = document.createElement("mark");
    mark.textContent = word;
    paragraph.append(part.slice(rest, index), mark);
    rest = index + word.length;
  }
  paragraph.append(part.slice(rest));
  return paragraph;
}

/** The address of a section, with the first word found in it for the browser to mark. */
function addressOf({ address, anchor, prose }, patterns) {
  const [first] = patterns
    .map((pattern) => [...prose.matchAll(pattern)][0])
    .filter(Boolean)
    .sort((a, b) => a.index - b.index);
  const root = new URL("..", scripts);
  if (!first) return new URL(`${address}#${anchor}`, root);
  const said = (text) => encodeURIComponent(text).replaceAll("-", "%2D");
  const before = prose.slice(0, first.index).trim().split(/\s+/).slice(-3).join(" ");
  const text = (before && `${said(before)}-,`) + said(first[0]);
  return new URL(`${address}#${anchor}:~:text=${text}`, root);
}

/** What was found as items of a list, at most so many pages and sections of each. */
function itemsOf({ found, patterns }, pages, sections) {
  return found.slice(0, pages).map((page) => {
    const item = document.createElement("li");
    for (const section of page.sections.slice(0, sections)) {
      const link = document.createElement("a");
      link.href = addressOf(section, patterns);
      link.textContent =
        section.heading === page.title ? page.title : `${page.title}: ${section.heading}`;
      item.append(link, excerpt(section, patterns));
    }
    return item;
  });
}

/** On the page of the search: all that was found, and how much that is. */
function showAll(query, list) {
  const result = query ? search(query, window.searchIndex) : { found: [], wanted: [] };
  const { found, wanted } = result;
  const asked = wanted.every((word) => query.toLowerCase().includes(word))
    ? query
    : wanted.join(" ");
  document.querySelector(".found").textContent = found.length
    ? `${found.length} ${found.length === 1 ? "page has" : "pages have"} “${asked}”, the best first.`
    : query && `No page has “${query}”. A shorter word may.`;
  list.replaceChildren(...itemsOf(result, found.length, 3));
}

/** Below a field of any page: the best few while one types. */
const showFew = (query, list) =>
  list.replaceChildren(...(query ? itemsOf(search(query, window.searchIndex), 6, 1) : []));

/** Let a field show in a list what it finds, a moment after the last key. */
function follow(field, list, show) {
  let later;
  field.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(() => show(field.value.trim(), list), 150);
  });
  field.form.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [field, ...list.querySelectorAll("a")];
    if (event.key === "Escape") list.replaceChildren();
    if (!step || !list.childElementCount) return;
    event.preventDefault();
    stops[Math.max(0, stops.indexOf(document.activeElement) + step)]?.focus();
  });
  if (field.value.trim()) show(field.value.trim(), list);
}

const scripts = document.currentScript.src;
for (const field of document.querySelectorAll(".search input")) {
  const results = document.querySelector("article .results");
  if (field.closest("article")) {
    field.value ||= new URLSearchParams(location.search).get("q") ?? "";
    follow(field, results, showAll);
  } else if (!results) {
    const list = document.createElement("ol");
    list.className = "hits";
    field.form.append(list);
    follow(field, list, showFew);
  }
}
