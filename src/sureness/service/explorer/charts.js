// Drawings as SVG, in the pixels they have.
import { h, items, percent, ratio, some, whole } from "./page.js";

const TICKS = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000];

// Draw into a box, and again whenever its width changes.
export function drawn(draw, label) {
  const svg = h("svg", { class: "chart", role: "img", "aria-label": label });
  let width = 0;
  const again = () => {
    if (width) draw(svg, width);
  };
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) {
      width = now;
      again();
    }
  }).observe(svg);
  return { svg, again };
}

function frame(svg, width, height) {
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  svg.replaceChildren();
}

// What each list size is worth, with the best one marked; `state` is asked whenever it is drawn.
export function curve(state, label) {
  const height = 250;
  return drawn((svg, width) => {
    frame(svg, width, height);
    const { worth, plain, best } = state();
    const left = 46, right = 14, top = 30, bottom = 40;
    const n = worth.length;
    const high = Math.max(...worth, ...plain, 1e-9), low = Math.min(0, ...worth);
    const x = (k) => left + ((width - left - right) * k) / n;
    const y = (value) => top + ((height - top - bottom) * (high - value)) / (high - low || 1);
    const path = (values) => values.map((value, k) => `${k ? "L" : "M"}${x(k + 1).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    for (const value of [low, (low + high) / 2, high]) {
      svg.append(h("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
      svg.append(h("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, Math.abs(value) < 1e-12 ? "0" : some(value)));
    }
    const step = TICKS.find((each) => n / each <= 6) || n;
    for (let k = step; k <= n; k += step) svg.append(h("text", { x: x(k), y: height - bottom + 18, "text-anchor": "middle" }, k));
    svg.append(h("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "items in the list"));
    svg.append(h("path", { class: "under", d: `M${x(1)} ${y(Math.max(low, 0))}${path(worth).replace("M", "L")}L${x(n)} ${y(Math.max(low, 0))}Z` }));
    if (plain.some((value, k) => value !== worth[k])) svg.append(h("path", { class: "plain", d: path(plain) }));
    svg.append(h("path", { class: "curve", d: path(worth) }));
    const at = x(best), value = best ? worth[best - 1] : 0;
    svg.append(h("line", { class: "cutline", x1: at, x2: at, y1: top - 8, y2: height - bottom }));
    svg.append(h("circle", { class: "dot", cx: at, cy: y(value), r: 7 }));
    const side = at > width * 0.7 ? "end" : at < width * 0.3 ? "start" : "middle";
    svg.append(h("text", { class: "strong", x: at, y: top - 14, "text-anchor": side }, best ? `best: ${items(best)}` : "best: show nothing"));
  }, label);
}

// How many users have each list size.
export function columns(state, label) {
  const height = 190;
  return drawn((svg, width) => {
    frame(svg, width, height);
    const counts = state();
    let last = counts.length - 1;
    while (last > 10 && !counts[last]) last -= 1;
    const left = 8, right = 8, top = 22, bottom = 38;
    const high = Math.max(...counts, 1), every = counts.reduce((a, b) => a + b, 0) || 1;
    const each = (width - left - right) / (last + 1);
    const most = counts.indexOf(Math.max(...counts));
    for (let size = 0; size <= last; size += 1) {
      const tall = ((height - top - bottom) * counts[size]) / high;
      svg.append(h("rect", { class: size ? "column-bar" : "column-bar zero", x: left + size * each + Math.min(1, each / 6), y: height - bottom - tall, width: Math.max(1, each - Math.min(2, each / 3)), height: tall, rx: Math.min(3, each / 4) }));
    }
    svg.append(h("line", { class: "grid", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
    const step = TICKS.find((size) => (last + 1) / size <= width / 60) || last;
    for (let size = 0; size <= last; size += step) svg.append(h("text", { x: left + (size + 0.5) * each, y: height - bottom + 16, "text-anchor": "middle" }, size));
    svg.append(h("text", { x: width / 2, y: height - 4, "text-anchor": "middle" }, "items in the list"));
    const at = left + (most + 0.5) * each;
    const side = at > width - 150 ? "end" : at < 150 ? "start" : "middle";
    svg.append(h("text", { class: "strong", x: { start: left, end: width - right, middle: at }[side], y: 12, "text-anchor": side }, `most often ${items(most)}: ${percent(counts[most] / every)} of users`));
  }, label);
}

// Came over promised, one row for each window, rank or group, with its interval; 1 is a promise that was kept.
export function ratios(rows, label) {
  const known = rows.filter((row) => row.ratio);
  const ends = known.flatMap((row) => [row.low || row.ratio, row.high || row.ratio]);
  const low = Math.max(0.2, Math.min(0.7, ...ends)), high = Math.min(5, Math.max(1.4, ...ends));
  return drawn((svg, width) => {
    const wide = width > 560, tall = wide ? 36 : 54, top = 26, height = top + tall * rows.length + 24;
    frame(svg, width, height);
    const left = wide ? 150 : 6, right = wide ? 190 : 6;
    const x = (ratio) => left + ((width - left - right) * Math.log(Math.min(high, Math.max(low, ratio)) / low)) / Math.log(high / low);
    svg.append(h("rect", { class: "kept", x: x(0.9), width: x(1.1) - x(0.9), y: top, height: tall * rows.length }));
    for (const ratio of [0.2, 0.5, 0.8, 1, 1.25, 2, 5].filter((each) => each >= low && each <= high)) {
      svg.append(h("line", { class: ratio === 1 ? "one" : "grid", x1: x(ratio), x2: x(ratio), y1: top, y2: top + tall * rows.length }));
      svg.append(h("text", { x: x(ratio), y: height - 6, "text-anchor": "middle" }, ratio));
    }
    svg.append(h("text", { x: x(1) - 10, y: 14, "text-anchor": "end" }, "← fewer came"), h("text", { x: x(1) + 10, y: 14 }, "more came →"));
    rows.forEach((row, number) => {
      const start = top + tall * number, y = start + (wide ? tall / 2 : 36), words = start + (wide ? tall / 2 + 4 : 18);
      const numbers = `${whole(row.realised)} of ${whole(row.promised)} came`;
      svg.append(h("text", { class: row.name === "all" ? "words strong" : "words named", x: wide ? left - 14 : left, y: words, "text-anchor": wide ? "end" : "start" }, row.name));
      svg.append(h("text", { class: "words", x: width - (wide ? 0 : right), y: words, "text-anchor": "end" }, numbers));
      if (!row.ratio) return;
      const broken = row.low != null && (row.low > 1 || row.high < 1);
      if (row.low != null) svg.append(h("line", { class: broken ? "interval broken" : "interval", x1: x(row.low), x2: x(row.high), y1: y, y2: y }));
      svg.append(h("circle", { class: broken ? "dot" : "dot held", cx: x(row.ratio), cy: y, r: 6 }));
    });
  }, `${label}. ${known.map((row) => `${row.name}: ${ratio(row)}`).join("; ")}`);
}
