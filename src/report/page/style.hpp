#pragma once

namespace widthwise::internal {

/// The style of the report on an evaluation. Blue and orange are those of the Okabe-Ito palette, which are
/// distinguishable with any colour vision; shapes carry the same information everywhere.
inline constexpr const char* kPageStyle = R"css(:root {
  color-scheme: light dark;
  --paper: #fcfcfa; --card: #ffffff; --ink: #1d2329; --soft: #5a646e; --line: #dfe3e6;
  --good: #0072b2; --bad: #d55e00;
  --valid: #00694b; --weak: #8a5a00; --broken: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1c2024; --ink: #e6e8ea; --soft: #a3acb5; --line: #343a40;
    --good: #56b4e9; --bad: #e69f00;
    --valid: #4fc79a; --weak: #e8b04a; --broken: #ff8a80;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; }
h1 { font-size: clamp(1.45rem, 1.1rem + 1.7vw, 2.1rem); line-height: 1.25; margin: .35rem 0 .75rem; text-wrap: balance; }
h2 { font-size: 1.3rem; margin: 3rem 0 .75rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; }
p, ul { margin: .5rem 0; max-width: 46rem; }
ul { padding-left: 1.25rem; }
li + li { margin-top: .35rem; }
code { font: .92em ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.soft, footer { color: var(--soft); font-size: .9rem; }
h1, h3, p, li, dd, figcaption { overflow-wrap: anywhere; }

.verdict { border-left: .35rem solid var(--tone); padding: .1rem 0 .1rem 1.25rem; }
.verdict.valid { --tone: var(--valid); }
.verdict.weak { --tone: var(--weak); }
.verdict.broken { --tone: var(--broken); }
.word { color: var(--tone); font-weight: 650; margin: 0; }
.verdict h2 { font-size: 1rem; margin: 1.1rem 0 .25rem; }

.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 2rem 0 0; }
.tiles div { flex: 1 1 8.5rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .7rem .9rem; }
.tiles dt { color: var(--soft); font-size: .82rem; }
.tiles dd { margin: .1rem 0 0; font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tiles dd small { display: block; color: var(--soft); font-size: .78rem; font-weight: 400; }

.scroll {
  overflow-x: auto; background: linear-gradient(to right, var(--paper) 30%, transparent) left,
    linear-gradient(to left, var(--paper) 30%, transparent) right,
    linear-gradient(to right, var(--line), transparent) left, linear-gradient(to left, var(--line), transparent) right;
  background-repeat: no-repeat; background-size: 3rem 100%, 3rem 100%, 1rem 100%, 1rem 100%;
  background-attachment: local, local, scroll, scroll;
}
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; min-width: 100%; }
th, td { text-align: right; padding: .45rem .8rem; border-bottom: 1px solid var(--line); vertical-align: top; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; white-space: normal; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.text, th.text { text-align: left; }
td.text:last-child { white-space: normal; min-width: 13rem; overflow-wrap: anywhere; }
td small { display: block; min-width: 8.2em; color: var(--soft); white-space: normal; }
td.text small { min-width: 0; }

.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; min-width: 0; padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
.pictures figure:last-child:nth-child(odd) { grid-column: 1 / -1; }
figure svg { display: block; width: 100%; max-width: 34rem; height: auto; margin: 0 auto; color: var(--ink); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: 0 0 .4rem; padding: 0; list-style: none; }
.legend li { display: flex; align-items: center; gap: .4rem; margin: 0; font-size: .8rem; }
.mark { flex: none; width: 1.1rem; height: .6rem; color: var(--ink); }
.mark.good { color: var(--good); }
.mark.bad { color: var(--bad); }
.mark.line, .mark.dashes { height: 0; border-top: 2px solid; }
.mark.dashes { border-top-style: dashed; }
.mark.band { background: currentColor; opacity: .35; }
.mark.dot { width: .4rem; height: .4rem; border-radius: 50%; background: currentColor; }
.mark.cross {
  width: .6rem; background: linear-gradient(45deg, transparent 42%, currentColor 42% 58%, transparent 58%),
    linear-gradient(-45deg, transparent 42%, currentColor 42% 58%, transparent 58%);
}
.axis { display: flex; justify-content: space-between; gap: 1rem; margin: 0; color: var(--soft); font-size: .8rem; line-height: 1.3; }
.axis.x { display: block; margin-top: .15rem; text-align: center; }
figcaption { margin-top: .6rem; color: var(--soft); font-size: .9rem; line-height: 1.45; }

.facts { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; margin: .75rem 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .75rem; }

@media (max-width: 48rem) {
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { padding: .6rem 0; border-bottom: 1px solid var(--line); }
  td, td.text, td:first-child { display: flex; gap: 1rem; padding: .15rem 0; border: 0; text-align: right; white-space: normal; }
  td::before { content: attr(data-head); flex: none; width: 7.5rem; color: var(--soft); text-align: left; }
  td span { flex: 1; min-width: 0; }
  td small { min-width: 0; }
  td.text:last-child { min-width: 0; }
  td:first-child { font-weight: 600; }
}
@media (max-width: 32rem) {
  main { padding: 1.25rem .9rem 2rem; }
  figure { padding: .75rem .6rem; }
  .tiles { gap: .5rem; }
  .tiles div { flex-basis: 7.5rem; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .5rem; }
}
@media print {
  :root {
    --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #bbb; --good: #0072b2; --bad: #d55e00;
    --valid: #00694b; --weak: #8a5a00; --broken: #b3261e;
  }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  h2, h3, h2 + .soft { break-after: avoid; }
  h2 { margin-top: 1.75rem; }
  footer { margin-top: 1rem; }
  figure, tr, .tiles div { break-inside: avoid; }
  .pictures { grid-template-columns: 1fr 1fr; }
  .scroll { overflow: visible; }
}
)css";

}  // namespace widthwise::internal
