// On the page for lost addresses, where the site's own is not known: shown at any depth, it looks
// from the address upwards for the folder that the site stands in, and lets its links begin there.
addEventListener("DOMContentLoaded", async () => {
  for (let at = location.pathname; at !== "/";) {
    at = at.slice(0, at.lastIndexOf("/", at.length - 2) + 1);
    const mark = await fetch(`${at}_static/favicon.svg`).catch(() => null);
    if (!mark?.ok || !mark.headers.get("content-type")?.includes("svg")) continue;
    if (at === "/") return;
    for (const name of ["href", "src", "action"])
      for (const link of document.querySelectorAll(`[${name}^="/"]`)) {
        const mended = link.tagName === "SCRIPT" ? document.createElement("script") : link;
        mended.setAttribute(name, at + link.getAttribute(name).slice(1));
        if (mended !== link) link.replaceWith(mended);
      }
    return;
  }
});
