// name: gc-timeline
// title: Garbage collections of the trace of this dump
// group: Traces
// needs: collections
// mode: read
// param: dump   INTEGER         number of the dump
// param: limit  INTEGER = 1000  maximum number of rows
// column: number          INTEGER  number of the collection in the process
// column: generation      INTEGER  highest generation collected
// column: reason          STRING   why the collection was triggered
// column: mode            STRING   `blocking`, `background` or `foreground`
// column: started_us      INTEGER  start, microseconds since the start of the trace
// column: duration_us     INTEGER  duration, microseconds; the program is paused unless mode is background
// column: heap_bytes      INTEGER  heap size after the collection, bytes
// column: promoted_bytes  INTEGER  bytes that survived in the generations collected
// column: moved_bytes     INTEGER  of those, bytes that were moved
// column: unmoved_bytes   INTEGER  of those, bytes that stayed in place
// column: is_dump         BOOLEAN  whether the dump was taken at this collection
//
// A heap that is larger after each full collection (generation 2) grows by objects
// that roots keep alive: compare dumps. Many collections of generation 2 that
// promote nearly all of it examine the same live objects again and again.
MATCH (:Dump {number: $dump})-[:HAS_COLLECTION]->(c:GarbageCollection)
RETURN
  c.number AS number,
  c.generation AS generation,
  c.reason AS reason,
  c.mode AS mode,
  c.started_us AS started_us,
  c.duration_us AS duration_us,
  c.heap_bytes AS heap_bytes,
  c.promoted_bytes AS promoted_bytes,
  c.moved_bytes AS moved_bytes,
  c.unmoved_bytes AS unmoved_bytes,
  c.is_dump AS is_dump
ORDER BY c.key
LIMIT $limit
