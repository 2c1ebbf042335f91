// The views of the explorer, and which of them is shown.
import { ask, figure, h, items, latest, notes, percent, slider, some, title, whole } from "./page.js";
import { columns, ratios } from "./charts.js";
import { itemRows, whatIf } from "./whatif.js";

const view = document.getElementById("view");
const ROW = 52, PAGE = 100;
const ORDERS = { user_id: "by id", unsure: "least sure first", longest: "longest list first", shortest: "shortest list first", most_expected: "most hits expected", least_expected: "fewest hits expected" };
const ICONS = {
  users: "M3 20c0-3.5 3-5 6-5s6 1.5 6 5M9 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M17 11a3 3 0 1 0-1-5.8M21 19c0-2.500-1.500-4-4-4.500",
  promise: "M4 12.500l5 5L20 6.500",
  playground: "M4 7h10M18 7h2M4 17h4M12 17h8M16 5v4M10 15v4",
  budget: "M4 20V10M10 20V4M16 20v-7M22 20H2",
  page: "M4 4h16v16H4zM4 10h16M11 10v10",
  model: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
};
const VIEWS = { users: ["Users", users], promise: ["Promise", promise], playground: ["Playground", playground], budget: ["Budget", budget], page: ["Page", page], model: ["In force", model], user: [null, user] };
let about = null;

async function users() {
  const state = { search: "", order: "most_expected", pages: new Map(), found: null };
  const list = h("ul", { class: "users", "aria-label": "Users" });
  const scroller = h("div", { class: "window", tabindex: 0, role: "region", "aria-label": "Users, scroll for more" }, list);
  const summary = h("div", { class: "figures" });
  const status = h("p", { class: "explained", role: "status" });
  let sizes = [0];
  const chart = columns(() => sizes, "How many users have a list of each size");

  const fetched = latest(async (number) => {
    const { search, order } = state;
    const found = await ask(`v1/users?order=${order}&search=${encodeURIComponent(search)}&start=${number * PAGE}&limit=${PAGE}`);
    if (search !== state.search || order !== state.order) return;
    const more = !state.found || state.found.n_known !== found.n_known;
    if (more) state.pages.clear();
    state.found = found;
    state.pages.set(number, found.users);
    list.style.height = `${found.n_found * ROW}px`;
    if (more) summarise(found);
    render();
    if (found.n_known < Math.min(found.n_users, 100000) && view.contains(list)) setTimeout(() => fetched(number), 1000);
  });

  function summarise(found) {
    sizes = found.users_by_size;
    chart.again();
    const mean = sizes.reduce((sum, count, size) => sum + count * size, 0) / Math.max(1, found.n_known);
    summary.replaceChildren(
      figure(whole(found.n_users), "users can be given a list"),
      figure(some(mean), "items are shown to a user on average", true),
      figure(found.n_unsure ? percent(found.n_unsure / found.n_known) : "none", "of them are users we are unsure about, to whom no list is worth showing"));
    status.textContent = found.n_known < found.n_users ? `${whole(found.n_known)} of ${whole(found.n_users)} users have been looked at so far.` : "";
  }

  function render() {
    if (!state.found) return;
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 4);
    const last = Math.min(state.found.n_found, first + Math.ceil(scroller.clientHeight / ROW) + 8);
    const wanted = new Set();
    const rows = [];
    const focused = document.activeElement?.dataset?.place;
    for (let place = first; place < last; place += 1) {
      const number = Math.floor(place / PAGE);
      const found = state.pages.get(number)?.[place % PAGE];
      if (found) rows.push(row(found, place));
      else if (!state.pages.has(number)) wanted.add(number);
    }
    list.replaceChildren(...rows);
    if (focused != null) list.querySelector(`[data-place="${focused}"]`)?.focus({ preventScroll: true });
    for (const number of wanted) fetched(number);
    if (!state.found.n_found) list.replaceChildren(h("li", {}, `No user has “${state.search}” in the id.`));
  }

  function row(found, place) {
    const bar = h("i");
    bar.style.width = `${Math.max(2, (70 * found.list_size) / about.longest)}%`;
    const item = h("li", {}, h("a", { href: `#/user/${encodeURIComponent(found.user_id)}`, "data-place": place },
      h("span", { class: "id" }, `${found.user_id}`, found.unsure ? h("span", { class: "badge" }, "unsure") : null), h("span", { class: "size" }, bar, `${found.list_size}`),
      h("span", { class: "number" }, found.expected_hits.toFixed(1))));
    item.style.top = `${place * ROW}px`;
    return item;
  }

  function again() {
    state.pages.clear();
    state.found = null;
    scroller.scrollTop = 0;
    fetched(0);
  }
  scroller.addEventListener("scroll", () => requestAnimationFrame(render));
  new ResizeObserver(render).observe(scroller);
  const search = h("input", { type: "search", id: "search", placeholder: "part of an id", oninput: (event) => { state.search = event.target.value; again(); } });
  const order = h("select", { onchange: (event) => { state.order = event.target.value; again(); } },
    Object.entries(ORDERS).map(([name, words]) => h("option", { value: name, selected: name === state.order }, words)));
  await fetched(0);
  return [title("Users", "How many items each user is shown. Users get as many as are worth showing to them, and no more."),
    h("div", { class: "two even" }, h("section", { class: "card", "aria-label": "In numbers" }, summary, status),
      h("section", { class: "card", "aria-label": "List sizes" }, h("h2", {}, "How long the lists are"), chart.svg)),
    h("section", { class: "card", "aria-label": "All users" },
      h("div", { class: "row" }, h("label", {}, "Search", search), h("label", {}, "Sort", order)),
      h("div", { class: "heads", "aria-hidden": "true" }, h("span", {}, "user"), h("span", {}, "items shown"), h("span", {}, "hits expected")),
      scroller, h("p", { class: "explained" }, "Hits expected: how many of the items shown to the user will be taken, on average. Choose a user to see why."))];
}

async function user(id) {
  const found = await ask(`v1/users/${encodeURIComponent(id)}/list?explain=true`);
  const { explained, unsure } = found.list;
  const meaning = found.artefact.meaning;
  if (!explained.probabilities.length) return [title(`User ${id}`, "has seen everything: there is no candidate left.")];
  return [h("p", { class: "crumb" }, h("a", { href: "#/users" }, "← all users")),
    title(`User ${id}`, unsure ? "We are unsure about this user: no list is worth showing. " : "", "Move the sliders and see the list change."),
    notes(found.notes), whatIf(explained, about, meaning.split(",")[0])];
}

const OF = {
  there: ["Window by window, if the user is there", "Of those who came in each window: did they take what was promised? It was promised before the window began."],
  period: ["Window by window, all users", "The same in numbers of the whole window, whether users came or not: what a mailing or a stock needs."],
  users_there: ["Users who came", "How many users were expected in each window, and how many came."],
};
const KEPT_IN_TOTAL = "in total, the promise was kept";
const KEPT = {
  window: ["Window by window", "Each window was promised with what was known before it began."],
  rank: ["By place in the list", "Is the promise of the first item as good as that of the tenth?"],
  probability: ["By what was promised", "Of the items that were promised 10% to 20%, did as many come?"],
  group: ["By group", "Is anybody promised more than they get?"],
};

async function promise() {
  const { tables, coming, notes: cautions, artefact } = await ask("v1/promise");
  const heading = title("Was the promise kept?", "Every percentage is a promise. Here it is compared with what happened afterwards.");
  if (!tables.length) {
    return [heading, h("section", { class: "card" }, h("p", { class: "explained" }, "Nothing to compare with was given. Judge the recommender by what came later, and start the service with the result:"),
      h("p", {}, h("code", {}, "sureness evaluate recommender.sureness --test later.parquet --json > promise.json")),
      h("p", {}, h("code", {}, "sureness serve recommender.sureness --backtest promise.json")))];
  }
  const all = tables.flatMap((table) => table.rows).find((row) => row.name === "all" && row.ratio);
  const judged = tables.flatMap((table) => table.rows).filter((row) => row.name !== "all" && row.low != null);
  const held = judged.filter((row) => row.low <= 1 && row.high >= 1).length;
  const verdict = !all || all.low == null ? null : all.low > 1 ? "more came than was promised" : all.high < 1 ? "fewer came than were promised" : KEPT_IN_TOTAL;
  const figures = all ? [figure(whole(all.promised), "relevant items were promised, in the lists of all users"),
    figure(whole(all.realised), verdict ? `came: ${verdict}` : "came", verdict === KEPT_IN_TOTAL),
    figure(all.ratio.toFixed(2), all.low == null ? "came for each that was promised" : `came for each that was promised, ${all.low.toFixed(2)} to ${all.high.toFixed(2)} with 95% confidence`)] : [];
  if (judged.length) figures.push(figure(`${held} of ${judged.length}`, "rows below agree with their promise, as far as the data can tell"));
  const next = coming.map(({ what, promised, low, high }) => figure(some(promised, 3), `${what}, ${some(low, 3)} to ${some(high, 3)} with 90% confidence`));
  return [heading, notes(cautions),
    next.length ? h("section", { class: "card", "aria-label": "The next window" }, h("h2", {}, "Promised for the window that comes next"), h("div", { class: "figures" }, next)) : null,
    figures.length ? h("section", { class: "card", "aria-label": "In numbers" }, h("div", { class: "figures" }, figures)) : null,
    ...tables.filter((table) => table.of !== "all").map(({ by, of, rows }) => {
      const [words, sentence] = by === "window" && OF[of] ? OF[of] : KEPT[by];
      const name = of && !OF[of] ? `${words}: ${of}` : words;
      const named = rows.map((row) => ({ ...row, name: by === "window" ? row.name.replace(/T(\d\d:\d\d).*/, " $1")
        : by === "rank" && row.name !== "all" ? `${row.name.includes("-") ? "places" : "place"} ${row.name}` : row.name }));
      return h("section", { class: "card", "aria-label": name }, h("div", {}, h("h2", {}, name), h("p", { class: "explained" }, sentence)), ratios(named, name).svg);
    }),
    h("p", { class: "explained" }, `Dots are what came divided by what was promised, lines their 95% intervals; in the shaded band the promise is right within a tenth. A promise is the chance that an item is ${artefact.meaning}.`)];
}

async function playground() {
  const result = h("div", { class: "column" });
  const text = h("textarea", { id: "scores", spellcheck: false, "aria-describedby": "scores-help" });
  const history = h("input", { type: "number", min: 0, step: 1, value: 10 });
  const [low, high] = about.scores;
  text.value = Array.from({ length: 24 }, (_, place) => (high - (high - low) * (0.1 + place / 32)).toPrecision(4)).join("\n");
  const shown = latest(async () => {
    const lines = text.value.split(/[\n,;\s]+/).filter(Boolean).map(Number);
    if (!lines.length || lines.some((value) => !Number.isFinite(value))) {
      result.replaceChildren(notes(["Write numbers, one on each line."]));
      return;
    }
    try {
      const group = { scores: lines, history: Number(history.value) || 0 };
      const found = await ask("v1/lists", { groups: [group], explain: true });
      const { explained } = found.lists[0];
      result.replaceChildren(notes(found.notes), whatIf(explained, about, found.artefact.meaning.split(",")[0]));
    } catch (error) {
      result.replaceChildren(notes([error.message]));
    }
  });
  let timer = null;
  const soon = () => { clearTimeout(timer); timer = setTimeout(shown, 250); };
  text.addEventListener("input", soon);
  history.addEventListener("input", soon);
  await shown();
  return [title("Playground", "Paste the scores that your model gives to the candidates of one user, query or session. It need not be one that anybody has met before."),
    h("section", { class: "card", "aria-label": "Scores" },
      h("div", { class: "row top" }, h("label", {}, "Scores, one on each line", text), h("label", {}, "How many items the model knows of this user", history)),
      h("p", { class: "explained", id: "scores-help" }, `Scores must be on the scale of the model in force; it was fitted on scores from ${some(low, 3)} to ${some(high, 3)}.`)), result];
}

async function budget() {
  const numbers = h("div", { class: "figures" });
  const sentence = h("p", { class: "explained" });
  let sizes = [0];
  const chart = columns(() => sizes, "How many users get a list of each size");
  const shared = latest(async (each) => {
    const found = await ask("v1/budgets", { items_per_user: each });
    const gain = found.expected_utility / (found.expected_utility_of_equal_lists || 1) - 1;
    numbers.replaceChildren(
      figure(found.expected_utility_of_equal_lists ? `${gain >= 0 ? "+" : ""}${(100 * gain).toFixed(1)}%` : "–", "expected utility, compared with lists of the same size for everybody", true),
      figure(whole(found.spent), `items are shown to ${whole(found.n_users)} users in all`),
      figure(found.price < 0.001 ? "< 0.001" : some(found.price), "of expected utility is what one more item would bring"));
    sizes = found.users_by_size;
    chart.again();
    const none = sizes[0] / found.n_users;
    sentence.textContent = `The budget goes where it brings most. ${none ? `${percent(none)} of the users are shown nothing, because others gain more.` : "Nobody is left without an item."}`;
  });
  await shared(3);
  return [title("A budget over users", "Say how many items you can afford to show on average, for example in a mailing. Who should get a long list, and who a short one?"),
    h("section", { class: "card", "aria-label": "The budget" },
      slider("Items for each user on average", { min: 0, max: Math.min(about.longest, 30), step: 0.5, value: 3, words: (at) => some(at, 3), change: shared })),
    h("div", { class: "two even" }, h("section", { class: "card", "aria-label": "What it brings" }, numbers),
      h("section", { class: "card", "aria-label": "List sizes" }, h("h2", {}, "Who gets how much"), chart.svg, sentence))];
}

async function page() {
  const heading = title("A page over domains", "Several shelves share the places of one page: which gets how many?");
  if (!about.domains) {
    return [heading, h("section", { class: "card" }, h("p", { class: "explained" }, "The domains of the items are not known. Start the service with ", h("code", {}, "--items TABLE"), ", a table with the columns item_id and domain (and title, if you like)."))];
  }
  const state = { user: String((await ask("v1/users?limit=1&order=most_expected")).users[0].user_id), slots: 8 };
  const result = h("div", { class: "column" });
  const shown = latest(async () => {
    try {
      const found = await ask("v1/pages", { user_ids: [state.user], slots: state.slots });
      const { parts, expected_utility } = found.pages[0];
      const used = parts.filter((part) => part.size);
      const most = Math.max(...used.flatMap((part) => part.probabilities));
      result.replaceChildren(notes(found.notes), h("section", { class: "card", "aria-label": "The page" }, h("div", { class: "figures" },
        figure(`${used.length} of ${parts.length}`, "shelves are on the page"), figure(items(used.reduce((sum, part) => sum + part.size, 0)), `fill the ${state.slots} places`),
        figure(some(expected_utility), "is what the page is worth to the user, all shelves together", true))),
        h("div", { class: "parts" }, used.map((part) => h("section", { class: "card", "aria-label": part.domain || "no domain" }, h("h2", {}, `${part.domain || "no domain"} · ${part.size}`),
          h("ol", { class: about.pictures ? "items pictured" : "items" }, itemRows(part, about, most))))),
        h("p", { class: "explained" }, used.length < parts.length ? `Left out: ${parts.filter((part) => !part.size).map((part) => part.domain || "no domain").join(", ")}.` : ""));
    } catch (error) {
      result.replaceChildren(notes([error.message]));
    }
  });
  await shown();
  return [heading, h("section", { class: "card", "aria-label": "What if" },
    h("div", { class: "row" }, h("label", {}, "User", h("input", { type: "text", value: state.user, onchange: (event) => { state.user = event.target.value; shown(); } }))),
    slider("Places on the page", { min: 1, max: 30, value: state.slots, words: (at) => `${at} ${at === 1 ? "place" : "places"}`, change: (at) => { state.slots = at; shown(); } })), result];
}

async function model() {
  const found = await ask("v1/artefacts");
  const facts = (loaded) => h("dl", {}, Object.entries({
    file: loaded.path, version: loaded.artefact.version, "in force since": new Date(loaded.loaded_at).toLocaleString("en"),
    "a probability is the chance that an item is": loaded.artefact.meaning, "of which period and pairs": loaded.artefact.horizon, ...loaded.facts,
  }).filter(([name]) => !["horizon", "estimand"].includes(name)).flatMap(([name, value]) => [h("dt", {}, name === "seen" ? "not shown again" : name), h("dd", {}, value)]));
  const again = h("button", { class: "do", type: "button", onclick: async () => { await ask("v1/reload", {}).catch(() => null); show(); } }, "Look for a new file now");
  return [title("In force", "What answers at this moment. When the file changes, the new one takes over without a pause; one that cannot be used is refused, and the old one stays."),
    notes(found.problem ? [found.problem.message] : []),
    h("section", { class: "card", "aria-label": "Recommender" }, h("h2", {}, "Recommender"), facts(found.recommender), again),
    found.calibrator ? h("section", { class: "card", "aria-label": "Calibrator" }, h("h2", {}, "Map for /v1/probabilities"), facts(found.calibrator)) : null,
    h("section", { class: "card", "aria-label": "For programs" }, h("h2", {}, "For programs"), h("p", { class: "explained" }, "The same over HTTP: ", h("a", { href: "openapi.json" }, "openapi.json"), " describes it, ", h("a", { href: "metrics" }, "metrics"), " counts it. For example:"),
      h("p", {}, h("code", {}, `curl ${location.origin}${location.pathname}v1/users/${encodeURIComponent(about.first_user)}/list`)))];
}

function keyForm() {
  const input = h("input", { type: "password", autocomplete: "off" });
  return [title("A key is needed", "This service answers only to those who have one of its keys."),
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); sessionStorage.setItem("key", input.value); show(); } },
      h("div", { class: "row" }, h("label", {}, "Key", input)), h("button", { class: "do" }, "Open"))];
}

let showing = 0;
async function show() {
  const [name, ...rest] = (location.hash.replace(/^#\/?/, "") || "users").split("/");
  const current = name in VIEWS ? name : "users";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === (current === "user" ? "users" : current)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const turn = ++showing;
  let parts;
  try {
    about = (await ask("v1/artefacts")).about;
    parts = await VIEWS[current][1](decodeURIComponent(rest.join("/")));
  } catch (error) {
    parts = error.status === 401 ? keyForm() : [title("That did not work"), notes([error.message])];
  }
  if (turn !== showing) return;
  view.replaceChildren(...parts.filter(Boolean));
  view.dataset.view = current;
  scrollTo(0, 0);
  if (turn > 1) view.querySelector("h1")?.focus({ preventScroll: true });
}

function theme(name) {
  document.documentElement.dataset.theme = name;
}

theme(localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", next);
  theme(next);
});
document.getElementById("nav").append(...Object.entries(VIEWS).filter(([, [words]]) => words).map(([name, [words]]) =>
  h("a", { href: `#/${name}`, "data-view": name }, h("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, h("path", { d: ICONS[name] })), words)));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) {
    event.preventDefault();
    document.getElementById("search")?.focus();
  }
});
addEventListener("hashchange", show);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  view.focus();
});
show();
