// name: gc-timeline
// title: The collections of the trace that the dump was in
// mode: read
// param: dump   INTEGER         number of the dump
// param: limit  INTEGER = 1000  most rows to return
// column: number          INTEGER  the runtime's own
// column: generation      INTEGER  the highest that it collected
// column: reason          STRING   why it ran
// column: mode            STRING   `blocking`, `background` or `foreground`
// column: started_us      INTEGER  microseconds after the start of the trace
// column: duration_us     INTEGER  how long it took; the program stands unless background
// column: heap_bytes      INTEGER  size of the heap after it
// column: promoted_bytes  INTEGER  what outlived it in the generations it collected
// column: moved_bytes     INTEGER  of that, what it moved
// column: kept_bytes      INTEGER  what it left in place
// column: is_dump         BOOLEAN  whether the dump is what it found
//
// A heap that is larger after each full collection (generation 2) grows with what
// roots keep: compare dumps. Many collections of generation 2 that promote nearly all
// of it look at the same live objects again and again.
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
  c.kept_bytes AS kept_bytes,
  c.is_dump AS is_dump
ORDER BY c.key
LIMIT $limit
