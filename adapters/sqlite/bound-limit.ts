/**
 * A limit that is bound to the statement. SQLite looks at the value of a bare `LIMIT ?`, and plans the statement anew
 * each time that one is bound, which takes longer than to find an event.
 */
export const boundLimit = 'LIMIT ? + 0'
