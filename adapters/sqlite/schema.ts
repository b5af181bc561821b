/** Stored in the file: an older Leadloop leaves a newer one's file alone. */
export const schemaVersion = 2

/** From this version on whatever is removed is overwritten. */
export const overwritesSince = 2

/**
 * The tables of the embedded store. Every column is readable with any SQLite tool; each read model also has a view
 * under its plain name.
 */
export const schema = `
  CREATE TABLE IF NOT EXISTS events (
    position       INTEGER PRIMARY KEY,
    stream         TEXT    NOT NULL,
    revision       INTEGER NOT NULL,
    category       TEXT    NOT NULL,
    id             TEXT    NOT NULL,
    type           TEXT    NOT NULL,
    time           TEXT    NOT NULL,
    correlation_id TEXT    NOT NULL,
    causation_id   TEXT    NOT NULL,
    schema_version INTEGER NOT NULL,
    actor          TEXT    NOT NULL,
    data           TEXT    NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS events_by_stream ON events (stream, revision);
  CREATE INDEX IF NOT EXISTS events_by_category ON events (category, position);
  CREATE TABLE IF NOT EXISTS checkpoints (
    follower TEXT    NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS collections (
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    generation TEXT    NOT NULL,
    table_name TEXT    NOT NULL UNIQUE,
    checkpoint INTEGER NOT NULL,
    PRIMARY KEY (name, version, generation)
  ) STRICT;
`
