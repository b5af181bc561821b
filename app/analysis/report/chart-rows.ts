/** What a chart has room for. */
const most = 8

type ChartRow = { readonly name: string; readonly ids: ReadonlyArray<string> }

/** The first ones under their names, and the rest together where a chart has no room for all. */
export const chartRowsOf = (
  ids: ReadonlyArray<string>,
  names: ReadonlyMap<string, string>,
): ReadonlyArray<ChartRow> => {
  const alone = ids.length <= most ? ids : ids.slice(0, most - 1)
  const rest = ids.slice(alone.length)
  const named = alone.map((id) => ({ name: names.get(id) ?? id, ids: [id] }))
  return rest.length === 0 ? named : [...named, { name: `(${rest.length} others)`, ids: rest }]
}
