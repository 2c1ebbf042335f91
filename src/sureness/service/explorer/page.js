// The little that all views share: elements, numbers in words, questions to the service.

export function h(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "circle", "text", "rect", "g", "polyline"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

export const whole = (value) => Math.round(value).toLocaleString("en");
export const some = (value, digits = 2) => value.toLocaleString("en", { maximumSignificantDigits: digits });
export const items = (count) => `${whole(count)} ${count === 1 ? "item" : "items"}`;

export const ratio = (row) => row.ratio.toFixed(2) + (row.low == null ? "" : ` (${row.low.toFixed(2)} to ${row.high.toFixed(2)})`);

export function percent(chance) {
  if (chance >= 0.995) return "> 99%";
  if (chance < 0.001) return "< 0.1%";
  return `${(100 * chance).toFixed(chance < 0.0995 ? 1 : 0)}%`;
}

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.message);
    this.status = status;
  }
}

export async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem("key");
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await fetch(path, body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) });
  const found = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, found);
  return found;
}

// Calls at most one at a time, and the last one for sure.
export function latest(work) {
  let running = false;
  let next = null;
  return async function run(...words) {
    if (running) {
      next = words;
      return;
    }
    running = true;
    try {
      await work(...words);
    } finally {
      running = false;
      if (next) {
        const words = next;
        next = null;
        run(...words);
      }
    }
  };
}

export function title(heading, ...lead) {
  document.title = `${heading} · sureness`;
  return h("div", {}, h("h1", { tabindex: -1 }, heading), h("p", { class: "lead" }, ...lead));
}

export function figure(number, sentence, good = false) {
  return h("div", { class: "figure" }, h("strong", good ? { class: "good" } : {}, number), h("span", {}, sentence));
}

export const notes = (found) => h("div", { class: "notes" }, found.map((note) => h("p", { class: "note" }, note)));

// A slider with its name and its value in words.
export function slider(name, { min, max, step = 1, value, words, change }) {
  const id = `slider-${name.replace(/\W+/g, "-").toLowerCase()}`;
  const shown = h("output", { for: id }, words(value));
  const input = h("input", { type: "range", id, min, max, step, value, "aria-valuetext": words(value) });
  input.addEventListener("input", () => {
    const words_ = words(Number(input.value));
    shown.value = words_;
    input.setAttribute("aria-valuetext", words_);
    change(Number(input.value));
  });
  return h("div", {}, h("label", { class: "label", for: id }, h("span", {}, name), shown), input);
}
