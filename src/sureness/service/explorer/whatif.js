// One list, and what becomes of it under another utility, limit or price. The service sends what every size is worth;
// here only the largest value is looked for.
import { figure, h, items, percent, slider, some } from "./page.js";
import { curve } from "./charts.js";

const WORDS = {
  f1: ["Balanced", "Finding what is wanted and leaving out what is not count alike (F1)."],
  ndcg: ["Best first", "Hits near the top count more than hits further down (NDCG)."],
  pdcg: ["Misses hurt", "An item that is not taken costs as much as a hit at its place brings (penalised DCG)."],
  tp: ["Share of hits", "How many of the places that could hold a hit do (truncated precision)."],
  dcg: ["More hits", "Every hit adds something, a miss costs nothing (DCG). Set a price, or the list grows as long as it may."],
};
const TIE = 1e-12;

// A chip for each utility.
export function utilities(names, chosen, change) {
  const sentence = h("p", { class: "explained" });
  const say = (name) => (sentence.textContent = (WORDS[name] || [name, `The utility ${name}, which was registered by name.`])[1]);
  say(chosen);
  const ordered = [chosen, ...names.filter((name) => name !== chosen)];
  const chips = ordered.map((name) =>
    h("label", {}, h("input", { type: "radio", name: "utility", value: name, checked: name === chosen, onchange: () => { say(name); change(name); } }), h("span", {}, (WORDS[name] || [name])[0])));
  return h("fieldset", {}, h("legend", {}, "What is a good list?"), h("div", { class: "chips" }, chips), sentence);
}

export function itemRows(explained, about, most = Math.max(...explained.probabilities)) {
  return explained.probabilities.map((chance, place) => {
    const id = explained.item_ids[place];
    const name = explained.titles[place] || (id == null ? `candidate ${place + 1}` : `item ${id}`);
    const fill = h("div", { class: "fill" });
    fill.style.width = `${Math.max(1, (100 * chance) / most)}%`;
    const picture = about.pictures && id != null
      ? h("img", { src: `pictures/${encodeURIComponent(id)}`, alt: "", loading: "lazy", onerror: (event) => { event.target.style.visibility = "hidden"; } })
      : about.pictures ? h("span") : null;
    return h("li", {}, h("span", { class: "rank" }, place + 1), picture,
      h("div", { class: "what" }, h("span", { class: "title", title: name }, name), h("div", { class: "track" }, fill)),
      h("span", { class: "chance" }, percent(chance)));
  });
}

export function whatIf(explained, about, meaning, before) {
  const state = { utility: about.utility, limit: Math.min(about.longest, explained.probabilities.length), price: 0, best: 0 };
  const n = explained.probabilities.length;
  const rows = itemRows(explained, about);
  const worth = () => explained.expected_utility[state.utility].map((value, k) => value - state.price * (k + 1));
  const chart = curve(() => ({ worth: worth(), plain: explained.expected_utility[state.utility], best: state.best }), "What a list of each size is worth");
  const shown = figure("", ""), hits = figure("", "", true);
  const [shownNumber, shownWords] = shown.children;
  const [hitsNumber, hitsWords] = hits.children;
  const announced = document.getElementById("announced");
  let asked = null;

  function update() {
    asked = null;
    const values = worth();
    let best = state.price > 0 ? 0 : 1, most = best ? values[0] : 0;
    for (let k = best; k < Math.min(state.limit, n); k += 1) if (values[k] > most + TIE) [most, best] = [values[k], k + 1];
    state.best = best;
    rows.forEach((row, place) => {
      row.classList.toggle("below", place >= best);
      row.classList.toggle("cut", place === best && place > 0);
    });
    const expected = explained.probabilities.slice(0, best).reduce((sum, chance) => sum + chance, 0);
    shownNumber.textContent = best ? `${best} of ${n}` : "nothing";
    shownWords.textContent = best ? "candidates are worth showing" : "is worth its price";
    hitsNumber.textContent = best ? some(expected) : "0";
    hitsWords.textContent = `of these will be ${meaning}, on average`;
    announced.textContent = `${items(best)} shown`;
    chart.again();
  }
  const soon = () => { asked ??= requestAnimationFrame(update); };
  const mostWorth = () => Math.max(1e-6, ...explained.expected_utility[state.utility].map(Math.abs));
  const price = slider("Price of showing an item", {
    min: 0, max: 100, value: 0, words: (at) => (at ? `${some((at * at * mostWorth()) / 1e4)} of utility each` : "free"),
    change: (at) => { state.price = (at * at * mostWorth()) / 1e4; soon(); },
  });
  const controls = h("section", { class: "card controls", "aria-label": "What if" },
    utilities(about.utilities, state.utility, (name) => { state.utility = name; price.querySelector("input").dispatchEvent(new Event("input")); soon(); }),
    slider("Longest list", { min: 1, max: Math.max(1, n), value: Math.max(1, Math.min(state.limit, n)), words: items, change: (at) => { state.limit = at; soon(); } }),
    price);
  update();
  return h("div", { class: "two" },
    h("section", { class: "card", "aria-label": "The list" },
      h("div", { class: "figures" }, shown, hits),
      h("p", { class: "legend" }, h("span", {}, h("i", { class: "i-shown" }), "shown"), h("span", {}, h("i", { class: "i-cut" }), "the cut"), h("span", {}, h("i", { class: "i-below" }), "left out")),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Candidates, the most likely first" }, h("ol", { class: about.pictures ? "items pictured" : "items" }, rows)),
      h("p", { class: "explained" }, `Each percentage is the chance that the item is ${meaning}. Of a hundred items with 20%, about twenty are.`)),
    h("div", { class: "column" }, before, controls,
      h("section", { class: "card", "aria-label": "Worth of each size" }, h("h2", {}, "What a list of each size is worth"), chart.svg,
        h("p", { class: "explained" }, "A longer list finds more, and shows more that is not wanted. The list ends where the curve is highest. With a price, the dashed line is the worth before it is paid."))));
}
