// Looks through every section of the book for the words in the address, `?q=…`.

const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
const form = document.querySelector("article .search");
form.elements.q.value = query;

/** Each word as a pattern. Chinese is found within a text, other words where they begin, whatever
    their ending; a single sign must stand alone. */
function patterns(text) {
  const words = text.toLowerCase().match(/\p{Script=Han}+|[\p{L}\p{N}_√]+/gu) ?? [];
  return [...new Set(words)].map((word) => {
    if (/\p{Script=Han}/u.test(word)) return new RegExp(word, "giu");
    const stem = word.length > 4 ? word.replace(/(?<=.{3})(ation|ates?|ated|ing|es|ed|s|e)$/u, "") : word;
    const end = stem.length < 3 ? "(?![\\p{L}\\p{N}_])" : "[\\p{L}\\p{N}]*";
    return new RegExp(`(?<![\\p{L}\\p{N}])${stem}${end}`, "giu");
  });
}

const count = (text, pattern) => text.match(pattern)?.length ?? 0;

/** Pages, best first, each with its best sections. A word weighs more the fewer sections have it,
    and more in a heading than in prose than in code. */
function search(text, pages) {
  const wanted = patterns(text);
  const all = pages.flatMap(([address, sections]) =>
    sections.map(([heading, anchor, prose, code]) => ({ address, title: sections[0][0], heading, anchor, prose, code })));
  const hits = wanted.map((pattern) => all.map((one) =>
    6 * Math.min(1, count(one.heading, pattern)) + 3 * Math.min(1, count(one.title, pattern)) +
    2 * Math.log2(1 + count(one.prose, pattern)) + Math.log2(1 + count(one.code, pattern)) / 2));
  const rarity = hits.map((row) => Math.log(1 + all.length / (1 + row.filter(Boolean).length)));
  all.forEach((one, i) => {
    one.score = hits.reduce((sum, row, word) => sum + row[i] * rarity[word], 0) *
      (hits.filter((row) => row[i]).length / wanted.length) ** 2;
  });
  return pages.map(([address]) => {
    const found = all.filter((one) => one.address === address && one.score > 0)
      .sort((a, b) => b.score - a.score || a.prose.length - b.prose.length);
    return { score: found[0]?.score ?? 0, title: found[0]?.title, address, sections: found.slice(0, 3) };
  }).filter((page) => page.score > 0).sort((a, b) => b.score - a.score);
}

/** The prose around the first word found, the words marked. */
function excerpt({ prose, code }, wanted) {
  const text = wanted.some((pattern) => count(prose, pattern)) ? prose : code;
  const first = Math.min(...wanted.map((pattern) => text.search(pattern)).filter((at) => at >= 0), text.length);
  const start = first < 60 ? 0 : text.indexOf(" ", first - 60) + 1;
  const end = start + 200 < text.length ? text.lastIndexOf(" ", start + 200) : text.length;
  const part = (start ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
  const paragraph = document.createElement("p");
  let rest = 0;
  const marks = wanted.flatMap((pattern) => [...part.matchAll(pattern)]).sort((a, b) => a.index - b.index);
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

if (query) {
  const wanted = patterns(query);
  const found = search(query, window.searchIndex);
  document.querySelector(".found").textContent = found.length
    ? `${found.length} ${found.length === 1 ? "page has" : "pages have"} “${query}”, the best first.`
    : `No page has “${query}”. A shorter word may.`;
  document.querySelector(".results").append(...found.map((page) => {
    const item = document.createElement("li");
    for (const section of page.sections) {
      const link = document.createElement("a");
      link.href = `${page.address}#${section.anchor}`;
      link.textContent = section.heading === page.title ? page.title : `${page.title}: ${section.heading}`;
      item.append(link, excerpt(section, wanted));
    }
    return item;
  }));
}
