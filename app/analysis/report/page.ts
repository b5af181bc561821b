/** A column of figures ends at its right, one of words begins at its left. */
type Column = { readonly heading: string; readonly isFigure: boolean }

/** Columns of figures with these headings. */
export const figureColumns = (headings: ReadonlyArray<string>): ReadonlyArray<Column> =>
  headings.map((heading) => ({ heading, isFigure: true }))

export type Table = {
  readonly caption: string
  readonly columns: ReadonlyArray<Column>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  /** The sums of the columns. */
  readonly sums?: ReadonlyArray<string>
}

/** A chart, drawn, and the table of its numbers. */
export type Figure = { readonly svg: string; readonly table: Table }

export type Section = {
  readonly title: string
  /** Sentences that say what is shown. */
  readonly text: string
  /** None where there is nothing to show. */
  readonly figures: ReadonlyArray<Figure>
  /** What is said then. */
  readonly nothing: string
}

type Page = {
  readonly title: string
  /** What the report is of: a name and what it says of it. */
  readonly facts: ReadonlyArray<readonly [name: string, fact: string]>
  readonly summary: string
  readonly sections: ReadonlyArray<Section>
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as HTML writes it, in an element or an attribute. */
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (letter) => entities[letter] ?? letter)

const styles = `
body { margin: 2rem auto; max-width: 80rem; padding: 0 1rem; color: #222; background: #fff;
  font: 15px/1.5 Helvetica, Arial, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .25rem; padding-top: .75rem; border-top: 1px solid #ccc; }
p { max-width: 48rem; margin: .25rem 0 1rem; }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1rem; margin: 0 0 1rem; }
dt { color: #555; }
dd { margin: 0; overflow-wrap: anywhere; }
figure { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: flex-start; margin: 0 0 1.5rem; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #555; padding-bottom: .25rem; }
th, td { padding: .15rem .6rem .15rem 0; text-align: left; vertical-align: top; }
th.n, td.n { padding: .15rem 0 .15rem .9rem; text-align: right; white-space: nowrap; }
thead th { border-bottom: 1px solid #888; vertical-align: bottom; }
tbody td { border-bottom: 1px solid #eee; }
tfoot td { border-top: 1px solid #888; font-weight: bold; }
@page { margin: 15mm; }
@media print {
  body { margin: 0; max-width: none; padding: 0; font-size: 10pt; }
  table { font-size: 8.5pt; }
  h2, h2 + p, caption { break-after: avoid; }
  tfoot { display: table-row-group; }
  svg, tr { break-inside: avoid; }
}
`

const cells = (tag: 'th' | 'td', columns: ReadonlyArray<Column>, texts: ReadonlyArray<string>): string => {
  const written = columns.map(
    ({ isFigure }, index) => `<${tag}${isFigure ? ' class="n"' : ''}>${escaped(texts[index] ?? '')}</${tag}>`,
  )
  return `<tr>${written.join('')}</tr>`
}

const tableIn = ({ caption, columns, rows, sums }: Table): string => {
  const headings = cells(
    'th',
    columns,
    columns.map(({ heading }) => heading),
  )
  return `<table>
<caption>${escaped(caption)}</caption>
<thead>${headings}</thead>
<tbody>
${rows.map((row) => cells('td', columns, row)).join('\n')}
</tbody>
${sums === undefined ? '' : `<tfoot>${cells('td', columns, sums)}</tfoot>\n`}</table>`
}

/** The SVG of a chart has no text for those who can't see it: the table stands in its place. */
const figureIn = ({ svg, table }: Figure): string =>
  `<figure>\n<div aria-hidden="true">${svg}</div>\n${tableIn(table)}\n</figure>`

const sectionIn = ({ title, text, figures, nothing }: Section): string => `<section>
<h2>${escaped(title)}</h2>
<p>${escaped(figures.length === 0 ? nothing : text)}</p>
${figures.map(figureIn).join('\n')}
</section>`

/** One HTML file that loads nothing and runs nothing. */
export const pageText = ({ title, facts, summary, sections }: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${styles}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<dl>
${facts.map(([name, fact]) => `<dt>${escaped(name)}</dt><dd>${escaped(fact)}</dd>`).join('\n')}
</dl>
<p>${escaped(summary)}</p>
${sections.map(sectionIn).join('\n')}
</body>
</html>
`
