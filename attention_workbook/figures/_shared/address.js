// The state of a figure in the address of its page: #MaskLab.fill=-inf&MaskLab.valid_len=0

/** The name that a figure has in the address: its class, from the second of a class on with its
    number. None where it stands on no page of ours, as in a notebook. */
export function addressName(el) {
  const figure = el.closest(".attention-widget[data-widget]");
  if (!figure) return null;
  const kind = figure.dataset.widget;
  const place = [...document.querySelectorAll(`.attention-widget[data-widget="${kind}"]`)].indexOf(
    figure,
  );
  return place > 0 ? `${kind}-${place + 1}` : kind;
}

/** Whether a value from outside is of the kind of another: numbers stay numbers, lists lists of such. */
function alike(value, known) {
  if (Array.isArray(known)) {
    return (
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((one, i) => alike(one, known[Math.min(i, known.length - 1)]))
    );
  }
  return typeof value === typeof known && typeof value !== "object" && !Number.isNaN(value);
}

/** The values that an address has for a figure, by trait; whatever makes no sense is left out. */
export function readAddress(hash, name, initial) {
  const settings = {};
  for (const part of hash.slice(1).split("&")) {
    const [, figure, trait, text] = part.match(/^([\w-]+)\.(\w+)=(.*)$/) ?? [];
    if (figure !== name || !Object.hasOwn(initial, trait)) continue;
    try {
      const plain = decodeURIComponent(text);
      const value = typeof initial[trait] === "string" ? plain : JSON.parse(plain);
      if (alike(value, initial[trait])) settings[trait] = value;
    } catch {
      // an address typed by hand may be anything
    }
  }
  return settings;
}

/** The part of an address that holds what differs from the start; "#MaskLab." where nothing does. */
export function writeAddress(name, values, initial) {
  const parts = Object.keys(initial)
    .filter(
      (trait) =>
        alike(values[trait], initial[trait]) &&
        JSON.stringify(values[trait]) !== JSON.stringify(initial[trait]),
    )
    .map((trait) => {
      const value = values[trait];
      return `${name}.${trait}=${encodeURIComponent(typeof value === "string" ? value : JSON.stringify(value))}`;
    });
  return `#${parts.join("&") || `${name}.`}`;
}

/** The parts of a figure that an address names, whether it sets them or only points at them:
    `temperature` and `weights` of "#SoftLookup.temperature=2&SoftLookup:weights". */
export function partsOf(hash, name) {
  return hash
    .slice(1)
    .split("&")
    .flatMap((part) => {
      const [, figure, one] = part.match(/^([\w-]+)(?:\.(\w+)=.*|:\w+)$/) ?? [];
      return figure === name ? [one ?? part.slice(name.length + 1)] : [];
    });
}
