// name: walk
// title: Objects of a segment in address order
// group: Segments and generations
// needs: segments
// mode: read
// searched: segment $segment from address $start on
// param: dump     INTEGER         number of the dump
// param: segment  INTEGER = 0     ordinal of the segment
// param: start    STRING = "0x0"  first address to list
// param: limit    INTEGER = 100   maximum number of rows
// column: address        STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes  INTEGER  shallow size, bytes
// column: generation     INTEGER  0, 1 or 2; 3 is the LOH, 4 the POH
// column: type           STRING   full type name
// column: alive          BOOLEAN  whether it is reachable from a root
//
// Which objects lie next to one another. No rows: the dump has no segments, or none
// with that ordinal (see segments). Continue with the last address.
MATCH (o:Object)
WHERE o.dump = $dump AND o.segment = $segment
  AND (size(o.address) > size($start)
    OR (size(o.address) = size($start) AND o.address >= $start))
WITH o
ORDER BY size(o.address), o.address
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.generation AS generation,
  t.name AS type,
  o.root_distance IS NOT NULL AS alive
ORDER BY size(address), address
LIMIT $limit
