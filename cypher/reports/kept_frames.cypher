// name: kept-frames
// title: Frames that are objects, by function and line, and what they retain
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: frame            STRING   function, file and line; null if the dump has none
// column: frame_count      INTEGER  reachable frames
// column: traceback_count  INTEGER  distinct reachable tracebacks of them
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// An exception that is kept holds its traceback, with all frames and their variables. Until
// CPython 3.10 running functions, generators and coroutines have frames that are objects
// too; later ones only if something asked for them. A frame that another one holds is
// counted with both. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(f:Object)
WHERE t.dump = $dump AND t.name = 'frame' AND f.root_distance IS NOT NULL
OPTIONAL MATCH (f)<-[r:REFERENCES]-(tb:Object)
WHERE r.field = 'tb_frame' AND tb.root_distance IS NOT NULL
WITH f, count(DISTINCT tb) AS traceback_count
ORDER BY f.retained_bytes DESC, f.key
WITH f.value AS frame, count(*) AS frame_count,
  sum(traceback_count) AS traceback_count,
  sum(f.retained_bytes) AS retained_bytes, collect(f)[0] AS largest
RETURN
  frame,
  frame_count,
  traceback_count,
  retained_bytes,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, frame_count DESC, largest.key
LIMIT $limit
