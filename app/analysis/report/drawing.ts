import { logger, parse, resetSVGDefIds, Error as errors, View } from 'vega'
import { compile, type Config, type TopLevelSpec } from 'vega-lite'

const quiet = logger(errors)

const config: Config = {
  // The page says what a chart shows, and its table has the numbers.
  aria: false,
  background: 'white',
  font: 'Helvetica, Arial, sans-serif',
  padding: 4,
  view: { stroke: null },
  axis: {
    domainColor: '#999999',
    gridColor: '#e5e5e5',
    labelColor: '#333333',
    labelFontSize: 11,
    labelLimit: 0,
    tickColor: '#999999',
    titleColor: '#333333',
    titleFontSize: 11,
  },
  axisY: { domain: false, ticks: false, labelPadding: 6 },
  header: { labelColor: '#333333', labelFontSize: 12, labelFontWeight: 'bold', labelLimit: 0 },
  text: { color: '#333333', fontSize: 11 },
  title: { color: '#333333', fontSize: 12, anchor: 'start' },
}

/** A chart as the text of an SVG element: the same bytes each time, without a browser and without a network. */
export const drawn = async (chart: TopLevelSpec): Promise<string> => {
  resetSVGDefIds()
  const { spec } = compile(chart, { config, logger: quiet })
  const view = new View(parse(spec), { renderer: 'none', logger: quiet })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}
