// name: fleet-examples
// title: Dumps of a fleet in which a leak retains most
// group: Fleet
// needs: fleet
// mode: read
// param: fingerprint  STRING  = null  only this leak
// param: program      STRING  = null  only dumps of this program
// param: limit        INTEGER = 20    maximum number of rows
// column: leak            STRING   what accumulates where
// column: retained_bytes  INTEGER  what it retains in the dump, bytes
// column: share           FLOAT    share of the reachable bytes, 0 to 1
// column: rank            INTEGER  1 if it is the dump's best suspect
// column: program         STRING   the program
// column: version         STRING   its version; null if unknown
// column: host            STRING   its host; null if unknown
// column: source          STRING   the dump: a path or an address
// column: dump_id         STRING   as in the datasets
// column: fingerprint     STRING   equal for the same leak in all dumps
//
// The dump to open is one in which the leak is large and the best suspect. Load it with
// ingest fleet load, or its file with ingest load, and ask why the type is kept alive.
// Fingerprints are in the rows of fleet-leaks and fleet-new-leaks.
MATCH (d:FleetDump)-[l:HAS_LEAK]->(f:Fingerprint)
WHERE ($fingerprint IS NULL OR f.fingerprint = $fingerprint) AND ($program IS NULL OR d.program = $program)
RETURN
  f.leak AS leak,
  l.retained_bytes AS retained_bytes,
  l.share AS share,
  l.rank AS rank,
  d.program AS program,
  d.version AS version,
  d.host AS host,
  d.source AS source,
  d.dump_id AS dump_id,
  f.fingerprint AS fingerprint
ORDER BY retained_bytes DESC, dump_id, fingerprint
LIMIT $limit
